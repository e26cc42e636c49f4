/** Every way a turn can end, as a result object and as an exit code. */
import type { Message, StopReason, TurnOutcome } from "@heddle/kernel/protocol";
import type { TurnResult } from "@heddle/runtime";
import { describe, expect, it } from "vitest";
import { answerOf, exitOf, printedOf, wireResult } from "../src/faces/result.ts";
import { summary } from "../src/faces/terminal.ts";
import { wireMessages } from "../src/faces/wire.ts";

const model = { by: "model", provider: "p", model: "m" } as const;
const reply: Message = {
  role: "assistant",
  id: "a1",
  parentId: null,
  at: 0,
  origin: model,
  content: [
    { type: "text", text: "Hello" },
    { type: "tool-call", callId: "c1", tool: "Read", input: { file_path: "/a" } },
  ],
  stop: "tool-calls",
  usage: { input: 3, output: 4, cacheRead: 5 },
};
const said = (text: string, stop: StopReason = "end"): Message => ({ ...reply, content: [{ type: "text", text }], stop }) as Message;
const goOn: Message = { role: "user", id: "u9", parentId: null, at: 0, origin: model, content: [], isMeta: true };
const turn = (outcome: TurnOutcome, more: Partial<TurnResult> = {}): TurnResult => ({
  turn: "t1",
  outcome,
  steps: 1,
  ms: 12.4,
  apiMs: 8,
  messages: [reply],
  text: "Hello",
  usage: { input: 3, output: 4, cacheRead: 5 },
  denials: [],
  ...more,
});
const fault = { code: "model-error", message: "the API is down", model: { kind: "overloaded" } } as const;

const usage = { input: 3, output: 4, cacheRead: 5, cacheWrite: 0 };
const priced = { provider: "anthropic", model: "m", calls: 1, usage, usd: 0.5 };
const unpriced = { provider: "ollama", model: "x", calls: 1, usage };
const cost = { usd: 0.5, unpriced: [], models: [priced], breaks: [], apiMs: 8 };

describe("wireResult", () => {
  it("has the whole contract", () => {
    const denials = [{ tool: "Bash", callId: "c2", input: { command: "rm" } }];
    expect(wireResult(turn({ kind: "completed" }, { denials }), { id: "s1", cost }, "u1")).toEqual({
      type: "result",
      subtype: "success",
      is_error: false,
      duration_ms: 12,
      duration_api_ms: 8,
      num_turns: 1,
      result: "Hello",
      stop_reason: "tool_use",
      usage: { input_tokens: 3, output_tokens: 4, cache_read_input_tokens: 5, cache_creation_input_tokens: 0 },
      total_cost_usd: 0.5,
      modelUsage: {
        m: { inputTokens: 3, outputTokens: 4, cacheReadInputTokens: 5, cacheCreationInputTokens: 0, costUSD: 0.5 },
      },
      permission_denials: [{ tool_name: "Bash", tool_use_id: "c2", tool_input: { command: "rm" } }],
      terminal_reason: "completed",
      session_id: "s1",
      uuid: "u1",
    });
  });

  it.each([
    ["completed", turn({ kind: "completed" }), "success", "completed", 0],
    ["empty", turn({ kind: "completed" }, { messages: [said(" \n")] }), "error_during_execution", "completed", 1],
    ["cut off", turn({ kind: "completed" }, { messages: [said("Half an", "length")] }), "success", "completed", 1],
    ["command", turn({ kind: "handled", command: "help" }, { messages: [] }), "success", "completed", 0],
    ["blocked", turn({ kind: "blocked", why: "no" }), "error_during_execution", "hook_stopped", 1],
    ["aborted", turn({ kind: "aborted", reason: "interrupted" }), "error_during_execution", "aborted_streaming", 1],
    ["refused", turn({ kind: "refused" }), "success", "completed", 1],
    ["step limit", turn({ kind: "step-limit", steps: 3 }), "error_max_turns", "max_turns", 1],
    ["failed", turn({ kind: "failed", fault }), "error_during_execution", "api_error", 1],
    [
      "overflow",
      turn({ kind: "failed", fault: { ...fault, model: { kind: "overflow" } } }),
      "error_during_execution",
      "prompt_too_long",
      1,
    ],
    ["bug", turn({ kind: "failed", fault: { code: "kernel-bug", message: "x" } }), "error_during_execution", "turn_setup_failed", 1],
  ] as const)("%s", (_name, result, subtype, reason, exit) => {
    const wire = wireResult(result, { id: "s", cost }, "u");
    expect([wire.subtype, wire.terminal_reason, wire.is_error, exitOf(result)]).toEqual([subtype, reason, exit === 1, exit]);
    expect("result" in wire).toBe(subtype === "success");
    expect("errors" in wire).toBe(exit === 1 && _name !== "refused");
  });

  it.each([
    ["what had arrived", [said("One, two", "aborted")], "One, two"],
    ["what was cut off before it", [said("One, ", "length"), goOn], "One, "],
    ["nothing when the model was at its tools", [reply], undefined],
    ["nothing when it had said nothing", [], undefined],
  ] as const)("tells of a turn that failed %s", (_, messages, kept) => {
    const failed = turn({ kind: "failed", fault }, { messages });
    const { subtype, is_error, result, errors } = wireResult(failed, { id: "s", cost }, "u");
    expect([subtype, is_error, result, errors, printedOf(failed)]).toEqual([
      "error_during_execution",
      true,
      kept,
      ["the API is down"],
      kept,
    ]);
  });

  it("names calls that nobody could read as the reason", () => {
    const torn = { ...reply, content: [{ type: "tool-call", callId: "c1", tool: "Read", input: {}, malformed: "torn" }] } as Message;
    const protocol = { ...fault, model: { kind: "protocol" } } as const;
    const reasons = [torn, reply].map((m) =>
      wireResult(turn({ kind: "failed", fault: protocol }, { messages: [m] }), { id: "s", cost }, "u"),
    );
    expect(reasons.map((r) => r.terminal_reason)).toEqual(["malformed_tool_use_exhausted", "api_error"]);
  });
});

describe("what it cost", () => {
  it("has no sum while a price is missing", () => {
    const both = { ...cost, models: [priced, unpriced], unpriced: ["ollama/x"] };
    const wire = wireResult(turn({ kind: "completed" }), { id: "s", cost: both }, "u");
    expect("total_cost_usd" in wire).toBe(false);
    expect(wire.modelUsage?.["ollama/x"]).toEqual({
      inputTokens: 3,
      outputTokens: 4,
      cacheReadInputTokens: 5,
      cacheCreationInputTokens: 0,
    });
  });

  it("is one line at the end of a session", () => {
    const none = { added: 0, removed: 0 };
    expect([
      summary({ cost, lines: { added: 12, removed: 0 } }, 61_500),
      summary({ cost: { ...cost, models: [priced, unpriced], unpriced: ["ollama/x"] }, lines: none }, 3_700_000),
      summary({ cost: { ...cost, usd: 0, models: [unpriced], unpriced: ["ollama/x"] }, lines: none }, 900),
    ]).toEqual([
      "cost $0.5000 · +12 -0 lines · 0.0 s of waiting for models · 1 min 1 s in all",
      "cost $0.5000 without ollama/x · 0.0 s of waiting for models · 1 h 1 min in all",
      "cost not known · 0.0 s of waiting for models · 0.9 s in all",
    ]);
  });
});

describe("answerOf", () => {
  it.each([
    ["the last reply", [said("Let me look."), said("Done.")], "Done."],
    [
      "what was cut off, with what went on",
      [said("One, ", "length"), goOn, said("two, ", "aborted"), goOn, said("three.")],
      "One, two, three.",
    ],
    ["nothing of before a closer's question", [said("Done."), goOn, said("Really done.")], "Really done."],
    ["nothing of before a person's word", [said("One, ", "length"), { ...goOn, isMeta: false }, said("Other.")], "Other."],
    ["what a command shows", [], "shown"],
  ])("is %s", (_, messages, answer) => {
    expect(answerOf({ messages, text: "shown" })).toBe(answer);
  });
});

describe("wireMessages", () => {
  it("gives a line for each block of a reply, under one id", () => {
    let n = 0;
    const lines = wireMessages(reply, "s1", () => `u${++n}`);
    expect(lines.map((l) => l.type === "assistant" && [l.uuid, l.message.id, l.message.content, l.message.stop_reason])).toEqual([
      ["u1", "a1", [{ type: "text", text: "Hello" }], null],
      ["u2", "a1", [{ type: "tool_use", id: "c1", name: "Read", input: { file_path: "/a" } }], "tool_use"],
    ]);
  });

  it("gives a tool result as a user line", () => {
    const content = [{ type: "text", text: "no such file" }] as const;
    const message: Message = {
      role: "tool",
      id: "r1",
      parentId: "a1",
      at: 0,
      origin: { by: "kernel" },
      callId: "c1",
      tool: "Read",
      outcome: "error",
      content,
    };
    expect(wireMessages(message, "s1", () => "u1")).toEqual([
      {
        type: "user",
        message: { role: "user", content: [{ type: "tool_result", tool_use_id: "c1", content, is_error: true }] },
        timestamp: "1970-01-01T00:00:00.000Z",
        parent_tool_use_id: null,
        session_id: "s1",
        uuid: "u1",
      },
    ]);
  });
});
