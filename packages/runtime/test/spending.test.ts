import { type Ask, defineTool, type ModelChunk, ModelError, type RuntimeEvent, z } from "@heddle/kernel";
import { describe, expect, it } from "vitest";
import { explain, type OpenOptions } from "../src/index.ts";
import type { Candidate } from "../src/types.ts";
import { allowAll, echo, pluginOf, type Reply, scripted, seenBy, start } from "./support.ts";
import { BUSY, call, clock, fails, half, hangs, play, whole } from "./support-recovery.ts";

const tiers = [{ input: 10, output: 100, cacheRead: 1, cacheWrite: 12.5 }];
/** One dollar each, of "fake", whose models have a price unless their name says otherwise. */
const dollar: ModelChunk = { type: "stop", stop: "end", usage: { input: 100_000, output: 0 } };
const costs = (text: string): Reply => [{ type: "text", part: 0, text }, dollar];
const callsFor = (id: string): Reply => [...call(id), { ...dollar, stop: "tool-calls" }];

function shop(replies: readonly Reply[]): { candidate: Candidate; requests: ReturnType<typeof scripted>["requests"] } {
  const { candidate, requests } = scripted(replies);
  const load = async () => {
    const inner = (await candidate.load()) as { setup: () => { providers: { stream: never }[] } };
    const info = (id: string) => ({ id, ...(id.startsWith("free") ? {} : { prices: { at: "2026-11-30", tiers } }) });
    return { ...inner, setup: () => ({ providers: inner.setup().providers.map((p) => ({ ...p, info })) }) };
  };
  return { candidate: { ...candidate, load }, requests };
}

type Opened = OpenOptions & { readonly answers?: readonly string[]; readonly think?: (advance: (ms: number) => void) => void };
async function open(replies: readonly Reply[], { answers = [], think, ...options }: Opened = {}, host = clock()) {
  const { candidate, requests } = shop(replies);
  const { runtime } = await start([candidate, echo(), allowAll], { host });
  const session = await runtime.open(options);
  const asks: Ask[] = [];
  const left = [...answers];
  const events = seenBy(session);
  session.subscribe((e) => {
    if (e.type !== "ask.opened") return;
    asks.push(e.ask);
    think?.(host.advance);
    const text = left.shift();
    const chosen = e.ask.kind === "question" ? e.ask.choices?.[Number(text) - 1] : undefined;
    if (text !== undefined) session.answer(e.ask.id, { kind: "text", text: chosen ?? text });
  });
  const texts = () => asks.map((a) => (a.kind === "question" ? `${a.from}: ${a.text} ${a.choices?.join(" | ")}` : a.kind));
  return { session, runtime, requests, events, asks, texts, host };
}

describe("a sum at which the person is asked", () => {
  it("is passed by a yes, and then lasts for as much again", async () => {
    const t = await open([callsFor("a"), callsFor("b"), callsFor("c"), costs("done")], { askBudgetUsd: 1, answers: ["1", "yes", "y"] });
    expect((await t.session.submit("go")).outcome).toEqual({ kind: "completed" });
    expect(t.texts()).toEqual([
      "heddle: The session has cost $1.00. Go on? go on, and ask again at $2.00 | stop",
      "heddle: The session has cost $2.00. Go on? go on, and ask again at $3.00 | stop",
      "heddle: The session has cost $3.00. Go on? go on, and ask again at $4.00 | stop",
    ]);
  });
  it.each(["2", "no", "what for?"])("ends the turn by anything else, and the session goes on: %s", async (answer) => {
    const t = await open([callsFor("a"), costs("later")], { askBudgetUsd: 0.5, answers: [answer, "1"] });
    expect((await t.session.submit("go")).outcome).toEqual({
      kind: "aborted",
      reason: "the session has cost $1.00, and the next turn asks again",
    });
    expect(t.session.messages.map((m) => m.role)).toEqual(["user", "assistant", "tool"]);
    const next = await t.session.submit("go on");
    expect([next.outcome, next.text, t.asks.length, t.requests.length]).toEqual([{ kind: "completed" }, "later", 2, 2]);
  });
  it("is not asked for before it is spent, nor for a model without a price", async () => {
    const cheap = await open([callsFor("a"), costs("done")], { askBudgetUsd: 1.01 });
    await cheap.session.submit("go");
    expect(cheap.asks).toEqual([]);
    const free = await open([callsFor("a"), costs("done")], { askBudgetUsd: 0.01 });
    free.session.setModel("free-1");
    expect([(await free.session.submit("go")).outcome.kind, free.asks]).toEqual(["completed", []]);
  });
  it("fails the turn where nobody can be asked, and says what to do", async () => {
    const t = await open([callsFor("a")], { askBudgetUsd: 1, headless: true });
    const { outcome } = await t.session.submit("go");
    expect(outcome).toMatchObject({ kind: "failed", fault: { model: { kind: "billing" } } });
    expect(outcome.kind === "failed" && outcome.fault.message).toContain(
      "The budget of $1 that needs no asking is spent: the session has cost $1.00, and nobody can be asked. Raise it, or go on where somebody can.",
    );
    expect(t.requests.length).toBe(1);
  });
  it("gives way to the limit that holds", async () => {
    const t = await open([callsFor("a")], { askBudgetUsd: 0.5, maxBudgetUsd: 1 });
    expect((await t.session.submit("go")).outcome).toMatchObject({
      kind: "failed",
      fault: { message: expect.stringContaining("of $1 is spent") },
    });
    expect(t.asks).toEqual([]);
  });
  it("counts what a resumed session has cost, and the person's time for nothing", async () => {
    const one = await open([costs("one")], { askBudgetUsd: 1 });
    await one.session.submit("go");
    await one.runtime.dispose();
    const options = { resume: "latest", askBudgetUsd: 1, answers: ["1"], think: (advance: (ms: number) => void) => advance(3_600_000) };
    const two = await open([costs("two")], options, one.host);
    await two.session.submit("go on");
    await two.runtime.dispose();
    expect([two.texts().length, two.session.cost.usd, two.session.cost.apiMs]).toEqual([1, 2, 0]);
    const three = await open([], { resume: "latest" }, one.host);
    expect(three.session.cost).toEqual(two.session.cost);
  });
  it("is still there when the person interrupts it", async () => {
    const t = await open([callsFor("a"), costs("later")], { askBudgetUsd: 1 });
    t.session.subscribe((e) => {
      if (e.type === "ask.opened" && t.asks.length === 1) t.session.abort("interrupted");
      else if (e.type === "ask.opened") t.session.answer(e.ask.id, { kind: "allow" });
    });
    expect((await t.session.submit("go")).outcome).toEqual({ kind: "aborted", reason: "interrupted" });
    expect((await t.session.submit("go on")).outcome).toEqual({ kind: "completed" });
    const closed = t.events.flatMap((e) => (e.type === "ask.closed" ? [e.answer.kind] : []));
    expect(closed).toEqual(["deny", "allow"]);
  });
});

describe("a call that was paid for and brought no reply", () => {
  const billed = (events: readonly RuntimeEvent[]) =>
    events.flatMap((e) => (e.type === "model.billed" ? [`${e.provider}/${e.model} ${e.usage.input}`] : []));
  const told: ModelChunk = { type: "usage", usage: { input: 7, output: 1 } };
  const last: Reply = [...whole("ok"), { type: "stop", stop: "end", usage: { input: 100, output: 1 } }];

  it("counts when it is made again", async () => {
    const ran = await play([fails("network", {}, [told, ...half("He")]), last]);
    expect(billed(ran.events)).toEqual(["fake/m 7"]);
    expect(ran.session.cost.models).toEqual([
      { provider: "fake", model: "m", calls: 2, usage: { input: 107, output: 2, cacheRead: 0, cacheWrite: 0 } },
    ]);
    expect(explain(ran.events, { times: false })).toMatch(/billed +fake\/m +no reply +tokens: in 7, out 1[\s\S]*tokens in 107, out 2/);
  });
  it("counts for the model that was asked, when another one answers", async () => {
    const refusal: Reply = [told, { type: "stop", stop: "refusal", usage: { input: 9, output: 1 } }];
    const ran = await play([refusal, last], { recovery: { fallbackModels: ["small"] } });
    expect(ran.session.cost.models.map((m) => `${m.model} ${m.usage.input}`)).toEqual(["m 9", "small 100"]);
  });
  it("counts when it was the last", async () => {
    const ran = await play([fails("network", {}, [told])], { recovery: { retries: 0 } });
    expect([ran.outcome.kind, billed(ran.events)]).toEqual(["failed", ["fake/m 7"]]);
  });
  it("counts when the person interrupts it, in its own turn", async () => {
    const host = clock();
    const ran = await play([hangs(host, 1, [told, ...half("He")])], {
      host,
      onEvent: (e, session) => e.type === "message.delta" && session.abort("interrupted"),
    });
    expect([ran.outcome.kind, billed(ran.events)]).toEqual(["aborted", ["fake/m 7"]]);
    expect(new Set(ran.events.map((e) => e.turn)).size).toBe(1);
  });
  it("does not count twice when a part of it stands", async () => {
    const ran = await play([fails("network", {}, [told, ...whole("One.")]), last]);
    expect([billed(ran.events), ran.session.cost.models[0]!.usage.input]).toEqual([[], 107]);
  });
});

describe("the reply of a model that a turn fell back to", () => {
  it("bears its name, in each step, also after a resume", async () => {
    const { candidate, requests } = shop([BUSY, BUSY, BUSY, callsFor("a"), costs("done"), costs("again")]);
    const { runtime, host } = await start([candidate, echo(), allowAll], { recovery: { fallbackModels: ["small"] } });
    const session = await runtime.open();
    const events = seenBy(session);
    session.subscribe((e) => {
      if (e.type === "message.delta" || e.type === "model.retry") session.setModel("other"); // for the turns to come
    });
    await session.submit("go");
    await session.submit("next");
    await runtime.dispose();
    const names = session.messages.flatMap((m) => (m.origin.by === "model" ? [`${m.origin.provider}/${m.origin.model}`] : []));
    expect(names).toEqual(["fake/small", "fake/small", "fake/other"]);
    expect(requests.map((r) => r.model)).toEqual(["m", "m", "m", "small", "small", "other"]);
    expect(events.flatMap((e) => (e.type === "model.requested" ? [e.model] : []))).toEqual(["m", "small", "other"]);
    expect(session.cost.models.map((m) => `${m.model} ${m.calls}`)).toEqual(["small 2", "other 1"]);
    const again = await (await start([shop([]).candidate], { host })).runtime.open({ resume: "latest" });
    expect([again.messages, again.cost]).toEqual([session.messages, session.cost]);
  });
});

describe("a break of the cached prefix", () => {
  it("has its price, in the log, in the table and after a resume", async () => {
    const t = await open([costs("one"), costs("two"), costs("three")]);
    await t.session.submit("x".repeat(3_600));
    t.session.setModel("big");
    await t.session.submit("y");
    t.session.setModel("free-1");
    await t.session.submit("z");
    const { breaks } = t.session.cost;
    expect(breaks.map((b) => b.cause)).toEqual(["the model changed from m to big", "the model changed from big to free-1"]);
    expect(breaks[0]!.usd).toBeCloseTo((breaks[0]!.tokens * (12.5 - 1)) / 1e6, 9);
    expect([breaks[0]!.tokens > 1_000, breaks[1]!.usd]).toEqual([true, undefined]);
    const rows = t.events.flatMap((e) =>
      e.type === "turn.started"
        ? [
            explain(
              t.events.filter((o) => o.turn === e.turn),
              { times: false },
            ),
          ]
        : [],
    );
    const flat = rows.map((row) => row.replace(/\s+/g, " "));
    expect(flat[1]).toMatch(
      /prefix broken the model changed from m to big: about 1,\d\d\d tokens paid for anew, \$0\.01\d\d more than from the cache/,
    );
    expect(flat[2]).toMatch(/tokens paid for anew, price unknown/);
    await t.runtime.dispose();
    const again = await open([], { resume: "latest" }, t.host);
    expect(again.session.cost.breaks).toEqual(breaks);
  });
});

describe("a request that nobody answered", () => {
  it("breaks no prefix, and what was asked before still counts as the one before", async () => {
    const refused: Reply = async function* () {
      yield* [];
      throw new ModelError("no such model", { kind: "not-found", status: 404 });
    };
    const t = await open([costs("one"), refused, costs("two")]);
    await t.session.submit("x".repeat(3_600));
    t.session.setModel("big");
    await t.session.submit("y");
    t.session.setModel("m");
    await t.session.submit("z");
    expect(t.session.cost.breaks).toEqual([]);
  });
});

describe("lines that tools have changed", () => {
  it("are added up for the session, also over a resume", async () => {
    const writer = pluginOf("writer", {
      tools: [
        defineTool({
          name: "Echo",
          description: "",
          input: z.object({ text: z.string() }),
          overlap: "exclusive",
          effects: () => [],
          run: () => ({ content: "done", lines: { added: 3, removed: 1 } }),
        }),
      ],
    });
    const { candidate } = shop([callsFor("a"), callsFor("b"), costs("done")]);
    const { runtime, host } = await start([candidate, writer]);
    const session = await runtime.open();
    await session.submit("go");
    expect(session.lines).toEqual({ added: 6, removed: 2 });
    await runtime.dispose();
    const again = await open([], { resume: "latest" }, host);
    expect(again.session.lines).toEqual({ added: 6, removed: 2 });
    expect(again.session.messages[2]).toMatchObject({ role: "tool", content: [{ type: "text", text: "done" }] });
  });
});
