/** Every way a turn can end, as a result object and as an exit code. */
import type { Message, TurnOutcome } from "@heddle/kernel/protocol";
import type { TurnResult } from "@heddle/runtime";
import { describe, expect, it } from "vitest";
import { exitOf, wireResult } from "../src/faces/result.ts";
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

describe("wireResult", () => {
  it("has the whole contract", () => {
    const denials = [{ tool: "Bash", callId: "c2", input: { command: "rm" } }];
    expect(wireResult(turn({ kind: "completed" }, { denials }), "s1", "u1")).toEqual({
      type: "result",
      subtype: "success",
      is_error: false,
      duration_ms: 12,
      duration_api_ms: 8,
      num_turns: 1,
      result: "Hello",
      stop_reason: "tool_use",
      usage: { input_tokens: 3, output_tokens: 4, cache_read_input_tokens: 5, cache_creation_input_tokens: 0 },
      permission_denials: [{ tool_name: "Bash", tool_use_id: "c2", tool_input: { command: "rm" } }],
      terminal_reason: "completed",
      session_id: "s1",
      uuid: "u1",
    });
  });

  it.each([
    ["completed", turn({ kind: "completed" }), "success", "completed", 0],
    ["empty", turn({ kind: "completed" }, { text: " \n" }), "error_during_execution", "completed", 1],
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
    const wire = wireResult(result, "s", "u");
    expect([wire.subtype, wire.terminal_reason, wire.is_error, exitOf(result)]).toEqual([subtype, reason, exit === 1, exit]);
    expect("result" in wire).toBe(subtype === "success");
    expect("errors" in wire).toBe(subtype !== "success");
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
