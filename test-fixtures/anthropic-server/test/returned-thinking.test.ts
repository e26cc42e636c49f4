/** Thinking that comes back: signatures, its place, and its binding to a conversation. */

import { describe, expect, it } from "vitest";
import type { AnthropicServer, JsonObject, ServerOptions, Step } from "../src/index.ts";
import { ask, assistant, body, NEW, OLD, post, result, TOOL, text, user, useServers } from "./helpers.ts";

const start = useServers();
const BINDING = { "anthropic-beta": "thinking-binding-controls-2026-08-01" };
const STEPS: Step[] = [0, 1, 2, 3, 4].map((n) => ({ thinking: `thought ${n}`, calls: [{ name: "read" }] }));
const DOCS = "Please consult our documentation at https://docs.claude.com/en/docs/build-with-claude/extended-thinking";

interface Chat {
  server: AnthropicServer;
  request: JsonObject & { messages: JsonObject[] };
}

/** A conversation of some tool rounds, every reply of which began with thinking. */
async function chat(rounds: number, more: Record<string, unknown> = {}, options: ServerOptions = {}): Promise<Chat> {
  const server = await start({ script: [...STEPS, { text: "end" }], ...options });
  const request = body({ system: "be good", messages: [user("prompt")], ...more }) as Chat["request"];
  for (let n = 0; n < rounds; n++) {
    const reply = await ask(server, request);
    const id = reply.content.find((block) => block["type"] === "tool_use")?.["id"];
    request.messages.push(assistant(reply.content), user([result(String(id))]));
  }
  return { server, request };
}

const blocks = (message: JsonObject | undefined) => message?.["content"] as JsonObject[];

function withoutThought(message: JsonObject): JsonObject {
  return { ...message, content: blocks(message).filter((block) => block["type"] !== "thinking") };
}

async function refusalOf(chatted: Chat, request: unknown, headers: Record<string, string> = {}) {
  const response = await post(chatted.server, request, headers);
  const answer = (await response.json()) as { error?: { message: string } };
  return response.ok ? undefined : answer.error?.message;
}

const bound = (path: string, reason: string) =>
  `${path}: Invalid \`signature\` in \`thinking\` block. The block is bound to a different conversation. Remove the block, or set \`thinking.block_binding.prefix_mismatch_behavior\` to "drop_block". That setting requires the \`thinking-binding-controls-2026-08-01\` value in the \`anthropic-beta\` header. ${reason}`;
const CHANGED = "The `messages` before this block differ from the ones it was created with.";
const GAP = "The `thinking` block that preceded this one when it was created is missing from this request.";

describe("signatures", () => {
  it("takes back what it gave", async () => {
    const c = await chat(3);
    expect(await refusalOf(c, c.request)).toBeUndefined();
    expect(c.server.warnings()).toEqual([]);
  });

  it.each([{}, { thinking: { type: "adaptive", display: "summarized" } }])(
    "hides or shows the text, under a signature either way: %o",
    async (more) => {
      const c = await chat(1, more);
      const thought = blocks(c.request.messages[1])[0];
      expect(thought?.["thinking"]).toBe("thinking" in more ? "thought 0" : "");
      expect(await refusalOf(c, c.request)).toBeUndefined();
    },
  );

  it("refuses a signature that is not its own", async () => {
    const c = await chat(2);
    blocks(c.request.messages[1])[0]!["signature"] = "bm90IG1pbmU=";
    expect(await refusalOf(c, c.request)).toBe("messages.1.content.0: Invalid `signature` in `thinking` block");
  });

  it("refuses altered text in an older turn by its signature", async () => {
    const c = await chat(2, { thinking: { type: "adaptive", display: "summarized" } });
    blocks(c.request.messages[1])[0]!["thinking"] = "another thought";
    expect(await refusalOf(c, c.request)).toBe("messages.1.content.0: Invalid `signature` in `thinking` block");
  });

  it("refuses altered text in the latest turn as a modification", async () => {
    const c = await chat(2, { thinking: { type: "adaptive", display: "summarized" } });
    blocks(c.request.messages[3])[0]!["thinking"] = "another thought";
    expect(await refusalOf(c, c.request)).toBe(
      "messages.3.content.0: `thinking` or `redacted_thinking` blocks in the latest assistant message cannot be modified. These blocks must remain as they were in the original response.",
    );
  });

  it("takes signatures of another server with the same secret", async () => {
    const c = await chat(2);
    const other = await start({ script: STEPS });
    const foreign = await start({ script: STEPS, secret: "another" });
    expect(await refusalOf({ ...c, server: other }, c.request)).toBeUndefined();
    expect(await refusalOf({ ...c, server: foreign }, c.request)).toMatch(/Invalid `signature`/);
  });
});

describe("the place of thinking", () => {
  const enabled = { model: OLD, max_tokens: 5000, thinking: { type: "enabled", budget_tokens: 2000 } };

  it("wants the latest turn with calls to start with thinking when it is enabled", async () => {
    const c = await chat(2, enabled);
    c.request.messages[3] = withoutThought(c.request.messages[3]!);
    expect(await refusalOf(c, c.request)).toBe(
      `messages.3.content.0.type: Expected \`thinking\` or \`redacted_thinking\`, but found \`tool_use\`. When \`thinking\` is enabled, a final \`assistant\` message must start with a thinking block (preceeding the lastmost set of \`tool_use\` and \`tool_result\` blocks). We recommend you include thinking blocks from previous turns. To avoid this requirement, disable \`thinking\`. ${DOCS}`,
    );
    const older = await chat(2, enabled);
    older.request.messages[1] = withoutThought(older.request.messages[1]!);
    expect(await refusalOf(older, older.request)).toBeUndefined();
  });

  it("only warns of missing thinking in adaptive mode", async () => {
    const c = await chat(2);
    c.request.messages[3] = withoutThought(c.request.messages[3]!);
    expect(await refusalOf(c, c.request)).toBeUndefined();
    expect(c.server.warnings()).toEqual([expect.stringMatching(/^messages\.3\.content\.0: .*missing/)]);
  });

  it("does not warn when the reply had no thinking to begin with", async () => {
    const c = await chat(2, {}, { script: [{ calls: [{ name: "read" }] }, { calls: [{ name: "read" }] }, {}] });
    expect(await refusalOf(c, c.request)).toBeUndefined();
    expect(c.server.warnings()).toEqual([]);
  });

  it("refuses thinking as the last block of an assistant message", async () => {
    const c = await chat(1);
    const [thought] = blocks(c.request.messages[1]);
    const request = { ...c.request, messages: [user("prompt"), assistant([thought]), user("go on")] };
    expect(await refusalOf(c, request)).toBe("messages.1: The final block in an assistant message cannot be `thinking`.");
  });

  it("refuses thinking in a tool loop that goes on without", async () => {
    const c = await chat(1, enabled);
    const off = { ...c.request, thinking: { type: "disabled" } };
    const message =
      "messages.1.content.0: When thinking is disabled, an `assistant` message in the final position cannot contain `thinking`. To use thinking blocks, enable `thinking` in your request.";
    expect(await refusalOf(c, off)).toBe(message);
    off.messages.push(assistant("fine"), user("something else"));
    expect(await refusalOf(c, off)).toBeUndefined();
  });
});

describe("binding", () => {
  const edits: { name: string; edit: (request: Chat["request"]) => void; refused: string }[] = [
    {
      name: "tools",
      edit: (request) => {
        request["tools"] = [TOOL, { ...TOOL, name: "write" }];
      },
      refused: bound("messages.1.content.0", "The `tools` differ from the ones this block was created with."),
    },
    {
      name: "system",
      edit: (request) => {
        request["system"] = "be better";
      },
      refused: bound("messages.1.content.0", "The `system` prompt differs from the one this block was created with."),
    },
    {
      name: "the first prompt",
      edit: (request) => {
        request.messages[0] = user("another prompt");
      },
      refused: bound("messages.1.content.0", CHANGED),
    },
    {
      name: "an earlier result",
      edit: (request) => {
        blocks(request.messages[2])[0]!["content"] = "[cleared]";
      },
      refused: bound("messages.3.content.0", CHANGED),
    },
    {
      name: "a thought left out in the middle",
      edit: (request) => {
        request.messages[3] = withoutThought(request.messages[3]!);
      },
      refused: bound("messages.5.content.0", GAP),
    },
  ];

  it.each(edits)("refuses an edit of $name", async ({ edit, refused }) => {
    const c = await chat(3);
    edit(c.request);
    expect(await refusalOf(c, c.request)).toBe(refused);
  });

  it.each(edits)("lets an edit of $name pass when binding is off", async ({ edit }) => {
    const c = await chat(3, {}, { binding: false });
    edit(c.request);
    expect(await refusalOf(c, c.request)).toBeUndefined();
  });

  it.each(edits)("drops blocks on request after an edit of $name", async ({ edit, refused }) => {
    const c = await chat(3);
    edit(c.request);
    c.request["thinking"] = { type: "adaptive", block_binding: { prefix_mismatch_behavior: "drop_block" } };
    const reply = await ask(c.server, c.request, BINDING);
    const first = refused.split(":")[0];
    expect(reply.input_transformations?.[0]).toEqual({
      type: "thinking_dropped",
      path: first,
      reason: "prefix_binding_mismatch",
    });
    expect(c.server.warnings()[0]).toMatch(`${first}: thinking dropped`);
    expect(c.server.requests.at(-1)?.dropped).toEqual(reply.input_transformations);
  });

  it.each([
    ["the oldest", [1]],
    ["the oldest two", [1, 3]],
    ["the newest", [5]],
    ["all", [1, 3, 5]],
  ])("allows %s left out", async (_name, places) => {
    const c = await chat(3);
    for (const place of places) c.request.messages[place] = withoutThought(c.request.messages[place]!);
    expect(await refusalOf(c, c.request)).toBeUndefined();
    const next = await ask(c.server, c.request);
    const id = next.content.find((block) => block["type"] === "tool_use")?.["id"];
    c.request.messages.push(assistant(next.content), user([result(String(id))]));
    expect(await refusalOf(c, c.request)).toBeUndefined();
  });

  it("allows moved breakpoints, another key order and one message in place of two", async () => {
    const c = await chat(2);
    c.request["system"] = [{ text: "be good", type: "text", cache_control: { type: "ephemeral" } }];
    c.request.messages[0] = user([text("prompt", { cache_control: { type: "ephemeral" } })]);
    expect(await refusalOf(c, c.request)).toBeUndefined();
  });

  it("allows an added deferred tool", async () => {
    const c = await chat(2);
    c.request["tools"] = [TOOL, { ...TOOL, name: "later", defer_loading: true }];
    expect(await refusalOf(c, c.request)).toBeUndefined();
  });

  it("binds a request that does not mention thinking on generation 5, and none before", async () => {
    const bound5 = await chat(1, { model: "claude-haiku-5-5" });
    bound5.request.messages[0] = user("another prompt");
    expect(await refusalOf(bound5, bound5.request)).toMatch(/bound to a different conversation/);
    const free = await chat(1, { model: "claude-opus-4-8", thinking: { type: "adaptive" } });
    free.request.messages[0] = user("another prompt");
    expect(await refusalOf(free, free.request)).toBeUndefined();
  });

  it("drops the blocks of another model without a word", async () => {
    const c = await chat(2, { model: "claude-sonnet-5-5" });
    c.request["model"] = NEW;
    c.request.messages[0] = user("another prompt");
    expect(await refusalOf(c, c.request)).toBeUndefined();
    expect(c.server.warnings()).toEqual([]);
    const reply = await ask(c.server, c.request, BINDING);
    expect(reply.input_transformations?.map(({ reason }) => reason)).toEqual(["model_binding_mismatch", "model_binding_mismatch"]);
  });

  it("takes the continuation of a paused reply as one turn with it", async () => {
    const pause: Step = {
      thinking: "a",
      text: "searching",
      serverBlocks: [{ type: "server_tool_use", id: "srvtoolu_1", name: "web_search", input: {} }],
      stop_reason: "pause_turn",
    };
    const c = await chat(0, {}, { script: [pause, { thinking: "b", calls: [{ name: "read" }] }, { text: "end" }] });
    const paused = await ask(c.server, c.request);
    expect(paused.stop_reason).toBe("pause_turn");
    c.request.messages.push(assistant(paused.content));
    const resumed = await ask(c.server, c.request);
    const id = resumed.content.find((block) => block["type"] === "tool_use")?.["id"];
    c.request.messages.push(assistant(resumed.content), user([result(String(id))]));
    expect(await refusalOf(c, c.request)).toBeUndefined();
  });

  it("gives thoughts between tools only where asked so", async () => {
    const c = await chat(2, { model: "claude-sonnet-5-5", thinking: { type: "between_tools" } });
    expect(blocks(c.request.messages[1]).map(({ type }) => type)).toEqual(["tool_use"]);
    expect(blocks(c.request.messages[3]).map(({ type }) => type)).toEqual(["thinking", "tool_use"]);
  });
});
