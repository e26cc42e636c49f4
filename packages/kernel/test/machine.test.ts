import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { ACCEPTS, IllegalTransition, initialTurn, link, type TurnEvent, type TurnState, transition } from "../src/machine.ts";
import { type AssistantMessage, callsOf, type Draft, type Message, type Phase, type ToolMessage, unpaired } from "../src/protocol.ts";

const user = (id: string): Draft => ({ role: "user", id, at: 0, origin: { by: "user" }, content: [{ type: "text", text: id }] });
const assistant = (id: string, calls: readonly string[], stop: AssistantMessage["stop"] = "end"): Draft<AssistantMessage> => ({
  role: "assistant",
  id,
  at: 0,
  origin: { by: "model", provider: "p", model: "m" },
  stop,
  content: [{ type: "text", text: "ok" }, ...calls.map((callId) => ({ type: "tool-call" as const, callId, tool: "T", input: {} }))],
});
const result = (callId: string): Draft<ToolMessage> => ({
  role: "tool",
  id: `r-${callId}`,
  at: 0,
  origin: { by: "kernel" },
  callId,
  tool: "T",
  outcome: "ok",
  content: [{ type: "text", text: "x" }],
});
const fault = { code: "kernel-bug" as const, message: "broken" };

/** One event of each type that is legal in this state; `n` keeps ids unique. */
function eventOf(type: TurnEvent["type"], s: TurnState, n: number, pick: number): TurnEvent {
  switch (type) {
    case "input.ready":
      return { type, messages: [user(`u${n}`)], controls: { allowedTools: ["T"] } };
    case "input.handled":
      return { type, command: "help", messages: [] };
    case "input.blocked":
      return { type, why: "no", messages: [] };
    case "context.ready":
      return { type, messages: pick % 2 ? [user(`c${n}`)] : [] };
    case "model.replied":
      return {
        type,
        message: assistant(
          `a${n}`,
          Array.from({ length: pick % 4 }, (_, i) => `c${n}.${i}`),
          pick % 7 === 0 ? "refusal" : "end",
        ),
      };
    case "model.overflow":
      return { type, fault };
    case "model.truncated":
      return { type, message: assistant(`a${n}`, pick % 3 === 0 ? [`c${n}.0`] : [], "length"), reminder: user(`m${n}`) as never };
    case "gates.decided":
      return { type, approved: s.open.map((c) => c.callId) };
    case "tools.settled": {
      const some = s.open.slice(0, 1 + (pick % Math.max(1, s.open.length))).map((c) => result(c.callId));
      const noise = pick % 5 === 0 ? [result("stranger"), ...some] : some; // a result for no open call is dropped
      return { type, results: noise, notes: pick % 3 === 0 ? [user(`n${n}`)] : [] };
    }
    case "closing.accepted":
      return { type };
    case "closing.continued":
      return { type, messages: [user(`k${n}`)] };
    case "abort":
      return { type, reason: "stop", id: `x${n}`, at: 0 };
    case "fault":
      return { type, fault, id: `x${n}`, at: 0 };
  }
}

describe("turn machine", () => {
  it("refuses every event that the table does not list, in every phase", () => {
    const all = [...new Set(Object.values(ACCEPTS).flat())];
    for (const phase of Object.keys(ACCEPTS) as Phase[]) {
      const state = { ...initialTurn(), phase };
      for (const type of all) {
        const step = (): TurnState => transition(state, eventOf(type, state, 0, 1));
        if (ACCEPTS[phase].includes(type)) expect(step, `${phase}/${type}`).not.toThrow();
        else expect(step, `${phase}/${type}`).toThrow(IllegalTransition);
      }
    }
  });

  it("ends every walk with each call answered once, whatever happened", () => {
    const limits = { steps: 12 };
    fc.assert(
      fc.property(fc.array(fc.nat(1000), { minLength: 1, maxLength: 120 }), (picks) => {
        let s = initialTurn({ limits });
        let n = 0;
        for (const pick of picks) {
          if (s.phase === "done") break;
          const accepts = ACCEPTS[s.phase];
          // abort and fault are rare, so that walks get deep
          const legal = pick % 23 === 0 ? accepts : accepts.filter((t) => t !== "abort" && t !== "fault");
          const before = s;
          s = transition(s, eventOf(legal[pick % legal.length]!, s, n++, pick));
          expect(s.added.slice(0, before.added.length)).toEqual(before.added); // append-only: what was finished is kept
        }
        if (s.phase !== "done") s = transition(s, { type: "abort", reason: "end of walk", id: "end", at: 0 });
        expect(s.outcome).toBeDefined();
        expect(s.open).toEqual([]);
        expect(unpaired(s.added)).toEqual({ open: [], orphan: [] });
        let parent: string | null = null;
        for (const m of s.added) {
          expect(m.parentId).toBe(parent);
          parent = m.id;
        }
      }),
      { numRuns: 3_000 },
    );
  });

  it("ends by itself when nobody aborts", () => {
    fc.assert(
      fc.property(fc.infiniteStream(fc.nat(1000)), (stream) => {
        let s = initialTurn({ limits: { steps: 8 } });
        let n = 0;
        while (s.phase !== "done" && n < 500) {
          const pick = stream.next().value as number;
          const legal = ACCEPTS[s.phase].filter((t) => t !== "abort" && t !== "fault");
          s = transition(s, eventOf(legal[pick % legal.length]!, s, n++, pick));
        }
        expect(s.phase).toBe("done");
      }),
      { numRuns: 500 },
    );
  });

  it("keeps finished results and invents only the missing ones on an abort", () => {
    let s = initialTurn({ tail: "before" });
    s = transition(s, { type: "input.ready", messages: [user("u")] });
    s = transition(s, { type: "context.ready", messages: [] });
    s = transition(s, { type: "model.replied", message: assistant("a", ["c1", "c2"]) });
    s = transition(s, { type: "gates.decided", approved: ["c1", "c2"] });
    s = transition(s, { type: "tools.settled", results: [result("c2")] });
    expect(s.phase).toBe("executing");
    s = transition(s, { type: "abort", reason: "Esc", id: "x", at: 7 });
    expect(s.outcome).toEqual({ kind: "aborted", reason: "Esc" });
    expect(s.added.map((m) => [m.id, m.parentId])).toEqual([
      ["u", "before"],
      ["a", "u"],
      ["r-c2", "a"],
      ["x.c1", "r-c2"],
    ]);
    expect(s.added.at(-1)).toMatchObject({ role: "tool", callId: "c1", outcome: "aborted", at: 7 });
  });

  it("sends a turn round again only as often as its limits allow", () => {
    let s = initialTurn({ limits: { overflows: 1, truncations: 1, continuations: 1 } });
    s = transition(s, { type: "input.ready", messages: [user("u")] });
    s = transition(s, { type: "context.ready", messages: [] });
    s = transition(s, { type: "model.overflow", fault });
    expect(s.phase).toBe("context");
    s = transition(s, { type: "context.ready", messages: [] });
    expect(transition(s, { type: "model.overflow", fault }).outcome).toEqual({ kind: "failed", fault });
    s = transition(s, { type: "model.truncated", message: assistant("a1", [], "length"), reminder: user("r1") as never });
    s = transition(s, { type: "context.ready", messages: [] });
    s = transition(s, { type: "model.truncated", message: assistant("a2", [], "length"), reminder: user("r2") as never });
    expect(s.phase).toBe("closing");
    s = transition(s, { type: "closing.continued", messages: [user("k1")] });
    s = transition(s, { type: "context.ready", messages: [] });
    s = transition(s, { type: "model.replied", message: assistant("a3", []) });
    s = transition(s, { type: "closing.continued", messages: [user("k2")] });
    expect(s.outcome).toEqual({ kind: "completed" });
  });

  it("answers the calls of a partial reply that was cut off", () => {
    let s = initialTurn();
    s = transition(s, { type: "input.ready", messages: [user("u")] });
    s = transition(s, { type: "context.ready", messages: [] });
    s = transition(s, { type: "abort", reason: "Esc", id: "x", at: 0, partial: assistant("a", ["c1"], "aborted") });
    expect(unpaired(s.added)).toEqual({ open: [], orphan: [] });
  });
});

describe("unpaired", () => {
  const view = (drafts: readonly Draft[]): Message[] => link(null, drafts);
  it.each<[string, Draft[], { open: string[]; orphan: string[] }]>([
    ["nothing", [], { open: [], orphan: [] }],
    ["a call with its result", [assistant("a", ["c"]), result("c")], { open: [], orphan: [] }],
    ["a call without a result", [assistant("a", ["c"])], { open: ["c"], orphan: [] }],
    ["a result without a call", [user("u"), result("c")], { open: [], orphan: ["c"] }],
    ["two results for one call", [assistant("a", ["c"]), result("c"), result("c")], { open: [], orphan: ["c"] }],
    ["a prompt between a call and its result", [assistant("a", ["c"]), user("u"), result("c")], { open: ["c"], orphan: ["c"] }],
    ["one id used twice", [assistant("a", ["c"]), result("c"), assistant("b", ["c"]), result("c")], { open: ["c"], orphan: [] }],
    ["a result before its call", [result("c"), assistant("a", ["c"])], { open: ["c"], orphan: ["c"] }],
  ])("%s", (_, drafts, expected) => {
    expect(unpaired(view(drafts))).toEqual(expected);
  });
  it("counts calls by their parts", () => {
    expect(callsOf(assistant("a", ["x", "y"])).map((c) => c.callId)).toEqual(["x", "y"]);
  });
});
