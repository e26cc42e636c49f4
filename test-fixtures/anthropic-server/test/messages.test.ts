/** One row for each rule about messages, their order, and calls with their results. */

import { describe, expect, it } from "vitest";
import { assistant, call, OLD, type Row, refusalOf, result, system, TOOL, text, user } from "./helpers.ts";

const conversation = (...messages: object[]) => ({ messages });
const XI = "Extra inputs are not permitted";
const SETTINGS = "mid-conversation-output-config-2026-07-01";
const effort = system([], { output_config: { effort: "low" } });
const serverResult = { type: "web_search_tool_result", tool_use_id: "srvtoolu_1", content: [] };
const round = (id: string) => [assistant([call(id)]), user([result(id)])];

const unanswered = (i: number, ids: string) =>
  `messages.${i}: \`tool_use\` ids were found without \`tool_result\` blocks immediately after: ${ids}. Each \`tool_use\` block must have a corresponding \`tool_result\` block in the next message.`;
const unexpected = (at: string, id: string) =>
  `${at}: unexpected \`tool_use_id\` found in \`tool_result\` blocks: ${id}. Each \`tool_result\` block must have a corresponding \`tool_use\` block in the previous message.`;
const PREFILL = "This model does not support assistant message prefill. The conversation must end with a user message.";

const rows: Row[] = [
  {
    rule: "role",
    body: conversation({ role: "tool", content: "x" }),
    message: 'messages: Unexpected role "tool". Allowed roles are "user", "assistant" and "system".',
  },
  { rule: "role missing", body: conversation({ content: "x" }), message: "messages.0.role: Field required" },
  {
    rule: "message no object",
    body: { messages: ["x"] },
    message: "messages.0: Input should be a valid dictionary or object to extract fields from",
  },
  {
    rule: "first not user",
    body: conversation(assistant("x"), user("y")),
    message: 'messages: first message must use the "user" role',
  },
  {
    rule: "message key",
    body: conversation({ role: "user", content: "x", id: "m" }),
    message: `messages.0.id: ${XI}`,
  },
  {
    rule: "system key on another role",
    body: conversation({ role: "user", content: "x", output_config: { effort: "low" } }),
    message: `messages.0.output_config: ${XI}`,
  },
  { rule: "content missing", body: conversation({ role: "user" }), message: "messages.0.content: Field required" },
  { rule: "content no list", body: conversation(user(5)), message: "messages.0.content: Input should be a valid list" },
  {
    rule: "content empty text",
    body: conversation(user("")),
    message: "messages.0: user messages must have non-empty content",
  },
  {
    rule: "content empty list",
    body: conversation(user("x"), assistant([]), user("y")),
    message: "messages.1: assistant messages must have non-empty content",
  },
  {
    rule: "system content empty without settings",
    body: conversation(user("x"), system([], { output_config: {} })),
    betas: SETTINGS,
    message: "messages.1: system messages must have non-empty content",
  },
  {
    rule: "content blank",
    body: conversation(user(" \n ")),
    message: "messages: text content blocks must contain non-whitespace text",
  },
  {
    rule: "effort of a system message",
    body: conversation(user("x"), system([], { output_config: { effort: "no" } })),
    betas: SETTINGS,
    message: "messages.1.output_config.effort: Input should be 'low', 'medium', 'high', 'xhigh' or 'max'",
  },
  {
    rule: "clear_at of a system message",
    body: conversation(user("x"), system("y", { clear_at: "soon" })),
    betas: "per-turn-control-2026-07-01",
    message: "messages.1.clear_at: Input should be 'next_user_message' or 'never'",
  },
  ...["claude-sonnet-5", "claude-opus-4-7", OLD].map((model) => ({
    rule: `system role on ${model}`,
    body: { model, ...conversation(user("x"), system("y")) },
    message: "role 'system' is not supported on this model",
  })),
  {
    rule: "system before user",
    body: conversation(user("x"), system("y"), user("z")),
    message: "messages.1: role 'system' must precede an 'assistant' message or end the array",
  },
  {
    rule: "system after assistant",
    body: conversation(user("x"), assistant("y"), system("z")),
    message: "messages.2: role 'system' must follow a 'user' message",
  },
  {
    rule: "two system messages in a row",
    body: conversation(user("x"), system("y"), system("z")),
    message: "messages.2: role 'system' must follow a 'user' message",
  },
  {
    rule: "calls unanswered",
    body: conversation(user("x"), assistant([call("a"), call("b"), call("c")]), user([result("b")])),
    message: unanswered(1, "a, c"),
  },
  {
    rule: "call unanswered at the end",
    body: conversation(user("x"), assistant([call("a")])),
    message: unanswered(1, "a"),
  },
  {
    rule: "text before the results",
    body: conversation(user("x"), assistant([call("a")]), user([text("first"), result("a")])),
    message: unanswered(1, "a"),
  },
  {
    rule: "text between the results",
    body: conversation(user("x"), assistant([call("a"), call("b")]), user([result("a"), text("y"), result("b")])),
    message: unanswered(1, "b"),
  },
  {
    rule: "last message of the turn is named",
    body: conversation(user("x"), assistant([call("a")]), assistant("more"), user("y")),
    message: unanswered(2, "a"),
  },
  {
    rule: "result without call",
    body: conversation(user("x"), assistant("y"), user([result("a")])),
    message: unexpected("messages.2.content.0", "a"),
  },
  {
    rule: "result in the first message",
    body: conversation(user([result("a")])),
    message: unexpected("messages.0.content.0", "a"),
  },
  {
    rule: "result for an older call",
    body: conversation(user("x"), ...round("a"), assistant([call("b")]), user([result("b"), result("a")])),
    message: unexpected("messages.4.content.1", "a"),
  },
  {
    rule: "two results for one call",
    body: conversation(user("x"), assistant([call("a")]), user([result("a"), result("a")])),
    message: "messages.2.content.1: each tool_use must have a single result. Found multiple `tool_result` blocks with id: a",
  },
  {
    rule: "id used twice",
    body: conversation(user("x"), ...round("a"), ...round("a")),
    message: "messages.3.content.0: `tool_use` ids must be unique",
  },
  ...["claude-opus-4-6", "claude-sonnet-5", "claude-opus-5-5"].map((model) => ({
    rule: `prefill on ${model}`,
    body: { model, ...conversation(user("x"), assistant("y")) },
    message: PREFILL,
  })),
  {
    rule: "prefill before a mere setting",
    body: conversation(user("x"), assistant("y"), effort),
    betas: SETTINGS,
    message: PREFILL,
  },
  {
    rule: "white space at the end of a prefill",
    body: { model: OLD, ...conversation(user("x"), assistant("y ")) },
    message: "messages: final assistant content cannot end with trailing whitespace",
  },
];

const taken: Row[] = [
  { rule: "consecutive messages of one role", body: conversation(user("x"), user("y")), message: "" },
  { rule: "an empty last assistant message", body: { model: OLD, ...conversation(user("x"), assistant("")) }, message: "" },
  { rule: "prefill on old models", body: { model: OLD, ...conversation(user("x"), assistant("y")) }, message: "" },
  { rule: "system after user", body: conversation(user("x"), system("y")), message: "" },
  { rule: "system before assistant", body: conversation(user("x"), system("y"), assistant("z"), user("w")), message: "" },
  {
    rule: "system after results",
    body: conversation(user("x"), assistant([call("a")]), user([result("a")]), system("y")),
    message: "",
  },
  {
    rule: "system after a server tool's result",
    body: conversation(user("x"), assistant([text("y"), serverResult]), system("z")),
    message: "",
  },
  {
    rule: "settings anywhere",
    body: conversation(effort, user("x"), effort, assistant([call("a")]), effort, user([result("a")]), effort),
    betas: SETTINGS,
    message: "",
  },
  {
    rule: "settings without content",
    body: conversation(user("x"), { role: "system", output_config: { effort: "low" } }),
    betas: SETTINGS,
    message: "",
  },
  {
    rule: "text behind the results",
    body: conversation(user("x"), assistant([call("a"), call("b")]), user([result("b"), result("a"), text("y")])),
    message: "",
  },
  {
    rule: "results over two messages of one turn",
    body: conversation(user("x"), assistant([call("a"), call("b")]), user([result("a")]), user([result("b")])),
    message: "",
  },
  {
    rule: "a paused reply sent back as it is",
    body: conversation(user("x"), assistant([text("y"), serverResult])),
    message: "",
  },
];

describe("messages and pairing", () => {
  it.each(rows)("$rule", (row) => {
    expect(refusalOf(row)).toEqual({ status: 400, type: "invalid_request_error", message: row.message });
  });

  it.each(taken)("takes $rule", (row) => {
    expect(refusalOf(row)).toBeUndefined();
  });

  it("looks at roles before cache_control, and at cache_control before pairing", () => {
    const wrongMark = text("x", { cache_control: { type: "no" } });
    expect(refusalOf({ body: conversation(assistant("x"), user([wrongMark])) })?.message).toMatch(/first message/);
    expect(refusalOf({ body: conversation(user([wrongMark]), assistant([call("a")])) })?.message).toMatch(/cache_control: Input tag 'no'/);
    expect(refusalOf({ body: { tools: [TOOL], ...conversation(user("x"), assistant([call("a")])) } })?.message).toMatch(
      /ids were found without/,
    );
  });
});
