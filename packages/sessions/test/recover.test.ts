import { type Message, type Prefix, type RuntimeEvent, unpaired } from "@heddle/kernel/protocol";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { INTERRUPTED, type LogLine, readLog, recover } from "../src/index.ts";
import { added, assistant, bytesOf, changed, header, jsonl, result, user } from "./support.ts";

const from = (...lines: readonly (LogLine | string)[]) => recover(readLog(bytesOf(jsonl(header, ...lines))));
const ids = (messages: readonly Message[]): string[] => messages.map((m) => m.id);
const prefix: Prefix = { system: [{ plugin: "p", name: "n", text: "x" }], context: [] };
const built: RuntimeEvent = { type: "prefix.built", prefix, at: 1, turn: "t", step: 0 };

describe("recovering a session", () => {
  it("takes the history, the prefix and the settings that are in force", () => {
    const r = from(
      built,
      added(user("u1")),
      added(assistant("a1")),
      changed({ model: "big", effort: "high" }),
      changed({ permissionMode: "plan" }),
    );
    expect(r).toEqual({
      messages: [user("u1"), assistant("a1")],
      prefix,
      model: "big",
      effort: "high",
      permissionMode: "plan",
      pending: [],
      spent: [],
      notices: [],
      append: [],
    });
  });

  it("begins anew at the last clear, and keeps what was set before it", () => {
    const r = from(built, added(user("u1")), changed({ model: "big" }), changed({ clear: true }), added(user("u2")));
    expect([ids(r.messages), r.prefix, r.model]).toEqual([["u2"], undefined, "big"]);
  });

  it("ends the forks that the process left behind, once, and tells the model and the person of them", () => {
    const event = (body: object, at: number): LogLine => ({ ...body, at, turn: null, step: 0 }) as LogLine;
    const started = (fork: string, at: number): LogLine => event({ type: "fork.started", fork, title: `look at ${fork}` }, at);
    const ended = (fork: string, at: number): LogLine =>
      event({ type: "fork.ended", fork, outcome: { kind: "completed" }, models: [] }, at);
    const lines = [added(user("u1")), started("f1", 2), started("f2", 3), ended("f1", 4), started("f1", 5), ended("f2", 6)];
    const models = [{ provider: "p", model: "m", calls: 1, usage: { input: 1, output: 1, cacheRead: 0, cacheWrite: 0 }, usd: 2 }];
    const r = recover(readLog(bytesOf(jsonl(header, ...lines))), new Map([["f1", models]]));
    const text =
      'The sub-agent "look at f1" (f1) was interrupted when the process ended. What it did until then stands, and it can be resumed.';
    const message: Message = {
      role: "user",
      id: "f1.5.interrupted",
      parentId: null,
      at: 6,
      origin: { by: "kernel" },
      content: [{ type: "text", text }],
      isMeta: true,
    };
    const end = event({ type: "fork.ended", fork: "f1", outcome: { kind: "aborted", reason: "the process ended" }, models }, 6);
    expect(r).toMatchObject({ messages: [user("u1"), message], notices: [text], append: [end, { type: "message.added", message }] });
    expect(r.spent.at(-1)).toEqual(end);
    const again = from(...lines, ...r.append);
    expect([again.messages, again.notices, again.append]).toEqual([[user("u1"), message], [], []]);
  });

  it("leaves out what was dropped, and reads what only tells of a model call", () => {
    const event = (body: object): LogLine => ({ ...body, at: 1, turn: "t", step: 0 }) as LogLine;
    const r = from(
      added(user("u1")),
      event({ type: "model.retry", cause: "overloaded", attempt: 1, of: 6, waitMs: 500, message: "busy", model: "fake/small" }),
      event({ type: "message.voided", id: "a1", why: "busy" }),
      event({ type: "prefix.broken", cause: "the model changed", tokens: 10 }),
      added(assistant("a1")),
      event({ type: "history.dropped", ids: ["u1", "a1"], why: "refused" }),
      added(user("u2")),
    );
    expect([ids(r.messages), r.notices]).toEqual([["u2"], []]);
  });

  it("knows of calls that had begun before their reply was written down, and of no others", () => {
    const began = (callId: string): LogLine =>
      ({ type: "tool.started", call: { type: "tool-call", callId, tool: "Bash", input: {} }, at: 2, turn: "t", step: 0 }) as LogLine;
    const size = { tools: 0, system: 0, context: 0, messages: 0 };
    const asked = { type: "model.requested", provider: "p", model: "m", messages: 1, tools: [], size, at: 1, turn: "t", step: 0 };
    const { parentId: _, ...early } = result("r2", "c2");
    const ended = { type: "tool.finished", callId: "c2", tool: "Bash", outcome: "ok", ms: 1, early, at: 2, turn: "t", step: 0 };
    const before = [added(user("u1")), asked as unknown as LogLine, began("c1"), began("c2"), ended as LogLine];
    const killed = from(...before);
    expect(killed.messages.map((m) => [m.role, m.id])).toEqual([
      ["user", "u1"],
      ["assistant", "c1.unsaid"],
      ["tool", "r2"],
      ["tool", "c1.unsaid.c1.interrupted"],
    ]);
    expect(killed.messages[2]).toEqual({ ...early, parentId: "c1.unsaid" });
    expect(killed.messages[1]).toMatchObject({ origin: { provider: "p", model: "m" }, stop: "aborted", at: 2, parentId: "u1" });
    expect(unpaired(killed.messages)).toEqual({ open: [], orphan: [] });
    expect(from(...before, ...killed.append).messages).toEqual(killed.messages);
    const whole = [added(assistant("a1", "c1", "c2", "c3")), added(result("r1", "c1")), began("c3"), added(result("r2", "c2"))];
    const r = from(...before, ...whole, added(result("r3", "c3")));
    expect([ids(r.messages), r.notices]).toEqual([["u1", "a1", "r1", "r2", "r3"], []]);
  });

  it("gives calls that were running when the process died a result, and writes it down", () => {
    const r = from(added(user("u1")), added(assistant("a1", "c1", "c2")), added(result("r1", "c1")));
    const invented = r.messages.at(-1)!;
    expect(invented).toEqual({
      role: "tool",
      id: "a1.c2.interrupted",
      parentId: "a1",
      at: 1,
      origin: { by: "kernel" },
      callId: "c2",
      tool: "Echo",
      outcome: "aborted",
      content: [{ type: "text", text: INTERRUPTED }],
    });
    expect(r.append).toEqual([{ type: "message.added", message: invented, at: 1, turn: null, step: 0 }]);
    expect(r.notices).toEqual(["1 tool call was interrupted and may or may not have taken effect"]);
  });

  it("reads the same bytes again once that is written", () => {
    const lines = [added(user("u1")), added(assistant("a1", "c1", "c2"))];
    const first = from(...lines);
    const second = from(...lines, ...first.append);
    expect(JSON.stringify(second.messages)).toBe(JSON.stringify(first.messages));
    expect([second.append, second.notices]).toEqual([[], []]);
  });

  it("gives a call in the middle whose result is lost the same result each time, without writing", () => {
    const r = from(added(assistant("a1", "c1")), "{torn", added(user("u2")));
    expect(ids(r.messages)).toEqual(["a1", "a1.c1.interrupted", "u2"]);
    expect(r.append).toEqual([]);
  });

  it("goes by the order of the file where parents are missing or run in a circle", () => {
    const lost = { ...user("u2"), parentId: "never-written" };
    const circle = [
      { ...user("u3"), parentId: "u4" },
      { ...user("u4"), parentId: "u3" },
    ];
    expect(ids(from(added(user("u1")), added(lost), ...circle.map(added)).messages)).toEqual(["u1", "u2", "u3", "u4"]);
  });

  it("uses a message once, leaves out a result without a call, and says so", () => {
    const r = from(added(user("u1")), added(user("u1")), added(result("r9", "gone")), added(assistant("a1")));
    expect(ids(r.messages)).toEqual(["u1", "a1"]);
    expect(r.notices).toEqual(["1 message recorded twice and used once", "1 tool result without a call left out"]);
  });

  it("takes a call id that comes again for a duplicate", () => {
    const r = from(added(assistant("a1", "c1")), added(result("r1", "c1")), added(assistant("a2", "c1")), added(result("r2", "c1")));
    expect(unpaired(r.messages)).toEqual({ open: [], orphan: [] });
    expect(ids(r.messages)).toEqual(["a1", "r1", "a2"]);
  });

  it("hands over what was typed and never answered", () => {
    const queued = (id: string, said: string): LogLine => ({ type: "input.queued", id, at: 1, input: { text: said, source: "repl" } });
    const begun: RuntimeEvent = {
      type: "turn.started",
      input: { text: "lost", source: "repl" },
      model: "m",
      permissionMode: "default",
      at: 1,
      turn: "t9",
      step: 0,
    };
    const r = from(queued("i1", "taken"), { type: "input.taken", id: "i1", at: 1 }, queued("i2", "and\nthis?"), begun);
    expect(r.pending).toEqual([
      { text: "and\nthis?", source: "repl" },
      { text: "lost", source: "repl" },
    ]);
    expect(r.notices).toEqual(['not yet answered when the process ended: "and this?"', 'not yet answered when the process ended: "lost"']);
    expect(from(queued("i2", "x"), begun, ...r.append).pending).toEqual([]);
  });
});

const turn = fc.record({
  calls: fc.integer({ min: 0, max: 3 }),
  said: fc.string({ unit: "grapheme", maxLength: 12 }),
  clear: fc.boolean(),
});
const logOf = (turns: readonly { calls: number; said: string; clear: boolean }[]): LogLine[] =>
  turns.flatMap(({ calls, said, clear }, i) => {
    const callIds = Array.from({ length: calls }, (_, c) => `c${i}.${c}`);
    return [
      ...(clear && i % 3 === 2 ? [changed({ clear: true })] : []),
      added(user(`u${i}`, said)),
      added(assistant(`a${i}`, ...callIds)),
      ...callIds.map((c) => added(result(`r${c}`, c))),
      ...(calls > 0 ? [added(assistant(`b${i}`))] : []),
    ];
  });
const whole = { open: [], orphan: [] };

describe("whatever happens to a log, each call has its result", () => {
  it("cut at any byte, nothing before the cut is lost", () => {
    fc.assert(
      fc.property(fc.array(turn, { minLength: 1, maxLength: 5 }), fc.nat(), (turns, at) => {
        const lines = logOf(turns).filter((l) => l.type !== "session.changed");
        const bytes = bytesOf(jsonl(header, ...lines));
        const cut = bytes.subarray(0, at % (bytes.length + 1));
        const r = recover(readLog(cut));
        expect(unpaired(r.messages)).toEqual(whole);
        const complete = new TextDecoder().decode(cut).split("\n").length - 2;
        const said = lines.slice(0, Math.max(0, complete)).map((l) => (l as { message: Message }).message.id);
        expect(ids(r.messages)).toEqual(expect.arrayContaining(said));
      }),
      { numRuns: 300 },
    );
  });

  it("with lines dropped, doubled, shuffled and broken, and after its own repair is read again", () => {
    const damage = fc.array(fc.tuple(fc.constantFrom("drop", "double", "swap", "break"), fc.nat(), fc.nat()), { maxLength: 8 });
    fc.assert(
      fc.property(fc.array(turn, { minLength: 1, maxLength: 6 }), damage, (turns, harm) => {
        const lines = [header, ...logOf(turns)].map((l) => JSON.stringify(l));
        for (const [how, a, b] of harm) {
          const [i, j] = [a % Math.max(1, lines.length), b % Math.max(1, lines.length)];
          if (how === "drop") lines.splice(i, 1);
          else if (how === "double") lines.splice(j, 0, lines[i] ?? "");
          else if (how === "break") lines[i] = (lines[i] ?? "").slice(0, 20);
          else [lines[i], lines[j]] = [lines[j] ?? "", lines[i] ?? ""];
        }
        const first = recover(readLog(bytesOf(jsonl(...lines))));
        expect(unpaired(first.messages)).toEqual(whole);
        const second = recover(readLog(bytesOf(jsonl(...lines, ...first.append))));
        expect(JSON.stringify(second.messages)).toBe(JSON.stringify(first.messages));
      }),
      { numRuns: 500 },
    );
  });
});
