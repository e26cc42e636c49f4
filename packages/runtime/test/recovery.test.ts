import { type ModelChunk, type ModelRequest, textOf, unpaired } from "@heddle/kernel";
import { describe, expect, it } from "vitest";
import { explain } from "../src/index.ts";
import { linesOf, pluginOf, type Reply, says, scripted, start } from "./support.ts";
import { BUSY, call, clock, fails, half, hangs, play, story, whole } from "./support-recovery.ts";

const CUT = "meta The connection broke and the reply was cut off. Resume directly where it stopped.";
const LIMIT = "meta The reply was cut off at the output limit. Resume directly where it stopped, without an apology or a recap.";
const stops = (stop: "length" | "pause" | "refusal" | "end" | "overflow", chunks: readonly ModelChunk[] = [], output = 1): Reply => [
  ...chunks,
  { type: "stop", stop, usage: { input: 1, output } },
];
const times = (n: number, reply: Reply): Reply[] => Array.from({ length: n }, () => reply);

describe("a call that fails before anything of its reply is complete", () => {
  it.each(["network", "overloaded", "rate-limit", "server", "protocol"] as const)("is made again: %s", async (kind) => {
    const ran = await play([fails(kind, { status: 500 }), says("hello")]);
    expect(ran.story).toEqual(["user go", `retry 1/6 ${kind} 500`, 'model end "hello"']);
  });

  it.each(["auth", "billing", "not-found", "invalid"] as const)("is not made again: %s", async (kind) => {
    const ran = await play([fails(kind)]);
    expect([ran.story, ran.failure, ran.requests.length]).toEqual([["user go"], kind, 1]);
  });

  it("is not made again for a bug of the provider", async () => {
    const bug: Reply = async function* () {
      yield* half("He");
      throw new Error("a bug");
    };
    expect((await play([bug])).failure).toBe("threw: a bug");
  });

  it("voids what was shown, and waits twice as long each time, 32 s in all where nobody waits", async () => {
    const ran = await play(times(7, fails("server", { status: 500, requestId: "req_1" }, half("He"))));
    const waits = [500, 1_000, 2_000, 4_000, 8_000, 16_000];
    expect(ran.story).toEqual(["user go", ...waits.flatMap((ms, i) => ["void", `retry ${i + 1}/6 server ${ms}`]), 'model aborted "He"']);
    expect(ran.outcome).toMatchObject({ kind: "failed", fault: { model: { kind: "server", status: 500, requestId: "req_1" } } });
    expect(ran.failure).toBe("server Gave up after 6 retries in this turn, 32 s of waiting.");
    expect(ran.events.at(-1)!.at - ran.events[0]!.at).toBe(31_500);
  });

  it.each([
    [0, [375, 750, 1_500, 3_000, 6_000, 12_000]],
    [0.999999, [625, 1_250, 2_500, 5_000, 10_000, 12_625]],
  ])("spreads its waits by a quarter, never past the 32 s: %d", async (random, waits) => {
    const host = clock();
    const ran = await play(times(7, BUSY), { host: Object.assign(host, { timers: { ...host.timers, random: () => random } }) });
    expect(ran.events.flatMap((e) => (e.type === "model.retry" ? [e.waitMs] : []))).toEqual(waits);
  });

  it("is made again 10 times where a person may end it, 32 s apart at most", async () => {
    const ran = await play(times(11, BUSY), { headless: false });
    const waits = [500, 1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 32_000, 32_000, 32_000];
    expect(ran.story).toEqual(["user go", ...waits.map((ms, i) => `retry ${i + 1}/10 overloaded ${ms}`)]);
  });

  it("waits as long as the server asks for, never less", async () => {
    const limited = fails("rate-limit", { status: 429, retryAfterMs: 1_000 });
    const ran = await play([limited, limited, says("ok")]);
    expect(ran.story).toEqual(["user go", "retry 1/6 rate-limit 1000", "retry 2/6 rate-limit 1000", 'model end "ok"']);
  });

  it("stops at once where nobody waits and the server asks for more than a minute, and says when it clears", async () => {
    const limited = fails("rate-limit", { status: 429, retryAfterMs: 300_000 });
    const alone = await play([limited]);
    expect([alone.requests.length, alone.failure]).toEqual([1, "rate-limit It clears in 5 min, at 2026-01-01 00:05 UTC: try again then."]);
    const watched = await play([limited, says("ok")], { headless: false });
    expect(watched.story).toEqual(["user go", "retry 1/10 rate-limit 300000", 'model end "ok"']);
  });

  it("is one of the turn's retries, whatever the cause and the step", async () => {
    const ran = await play([fails("network"), [...call("c1"), { type: "stop", stop: "tool-calls" }], BUSY, fails("server"), says("done")], {
      recovery: { retries: 2 },
    });
    expect(ran.story).toEqual(["user go", "retry 1/2 network 500", "model tool-calls c1", "tool c1", "retry 2/2 overloaded 500"]);
    expect(ran.failure).toBe("server Gave up after 2 retries in this turn, 1 s of waiting.");
  });

  it("counts a stream without a stop as a connection that broke, and names the provider in the end", async () => {
    const ran = await play([half("He"), says("Hello")]);
    expect(ran.story).toEqual(["user go", "void", "retry 1/6 network 500", 'model end "Hello"']);
    expect((await play([half("He")], { recovery: { retries: 0 } })).failure).toBe(
      "returned something unusable: a stream that ends without a stop chunk",
    );
  });

  it("asks for the whole reply once when the stream itself brings an error", async () => {
    const inStream = fails("overloaded", {}, half("He"));
    const ran = await play([inStream, inStream, says("ok")]);
    expect(ran.story).toEqual(["user go", "void", "retry 1/6 overloaded 500", "void", "retry 2/6 overloaded 1000", 'model end "ok"']);
    expect(ran.requests.map((r) => r.streaming)).toEqual([undefined, false, undefined]);
  });
});

describe("a call that fails behind complete parts", () => {
  it("keeps the text that is complete, and asks the model to go on after the wait", async () => {
    const usage: ModelChunk = { type: "usage", usage: { input: 7, output: 3 } };
    const ran = await play([fails("network", {}, [usage, ...whole("One."), ...half("Tw", 1)]), says("Two.")]);
    expect(ran.story).toEqual(["user go", 'model aborted "One."', CUT, "retry 1/6 network 500", 'model end "Two."']);
    expect(ran.session.messages[1]).toMatchObject({ usage: { input: 7, output: 3 } });
    expect(ran.requests[1]?.messages.map((m) => m.role)).toEqual(["user", "assistant", "user"]);
  });

  it("runs the calls that are complete and drops the half ones", async () => {
    const delta: ModelChunk = { type: "call.delta", part: 2, text: '{"te' };
    const ran = await play([fails("overloaded", {}, [...half("I will"), ...call("c1", 1), delta]), says("done")]);
    expect(ran.story).toEqual(["user go", "model aborted c1", "tool c1", "retry 1/6 overloaded 500", 'model end "done"']);
    expect(ran.requests[1]?.streaming).toBe(undefined);
  });

  it("takes reasoning alone for nothing", async () => {
    const thought: ModelChunk[] = [
      { type: "reasoning", part: 0, text: "hm", opaque: "sig" },
      { type: "part.end", part: 0 },
    ];
    const ran = await play([fails("network", {}, thought), fails("network", {}, half("He")), says("ok")]);
    expect(ran.story).toEqual(["user go", "void", "retry 1/6 network 500", "void", "retry 2/6 network 1000", 'model end "ok"']);
  });

  it("does not take what was void for complete", async () => {
    const thought: ModelChunk[] = [
      { type: "reasoning", part: 0, text: "hm" },
      { type: "part.end", part: 0 },
    ];
    const ran = await play([
      fails("network", {}, [...thought, ...half("a", 1)]),
      fails("network", {}, [...half("b"), ...call("c1", 1)]),
      says("ok"),
    ]);
    expect(ran.story.slice(3)).toEqual(["model aborted c1", "tool c1", "retry 2/6 network 1000", 'model end "ok"']);
  });

  it("does not run a call without arguments that nothing came behind: they may be what is missing", async () => {
    const bare: ModelChunk = { type: "call", part: 1, callId: "c1", tool: "Echo", input: {} };
    const last = await play([fails("network", {}, [...whole("One."), bare]), says("ok")]);
    expect(last.story).toEqual(["user go", 'model aborted "One."', CUT, "retry 1/6 network 500", 'model end "ok"']);
    const before = await play([fails("network", {}, [{ ...bare, part: 0 }, ...half("Tw", 1)]), says("ok")]);
    expect(before.story.slice(0, 2)).toEqual(["user go", "model aborted c1"]);
  });

  it("fails with what was said when the turn has no retry left", async () => {
    const ran = await play([fails("network", {}, whole("One."))], { recovery: { retries: 0 } });
    expect([ran.story, ran.failure]).toEqual([["user go", 'model aborted "One."'], "network"]);
  });
});

describe("a fallback model", () => {
  const spare = (replies: readonly Reply[]) => {
    const asked: { model: string; options: unknown; plugin: string }[] = [];
    const provider = {
      name: "spare",
      async *stream(request: ModelRequest, ctx: { options: unknown; plugin: string; capability: (c: { id: "fs" }) => unknown }) {
        asked.push({ model: request.model, options: ctx.options, plugin: ctx.plugin });
        ctx.capability({ id: "fs" });
        const reply = replies[asked.length - 1];
        yield* (typeof reply === "function" ? reply(request, new AbortController().signal) : reply) ?? [];
      },
    };
    const candidate = pluginOf("spare", { providers: [provider as never] }, { options: { key: 1 }, manifest: { capabilities: ["fs"] } });
    return { candidate, asked };
  };

  it("is asked at the third overload in a row, and stays for the turn", async () => {
    const ran = await play([BUSY, BUSY, BUSY, [...call("c1"), { type: "stop", stop: "tool-calls" }], says("done"), says("again")], {
      recovery: { fallbackModels: ["m", "small"] },
      inputs: ["go", "next"],
    });
    expect(ran.requests.map((r) => r.model)).toEqual(["m", "m", "m", "small", "small", "m"]);
    expect(ran.story.slice(0, 5)).toEqual([
      "user go",
      "retry 1/6 overloaded 500",
      "retry 2/6 overloaded 1000",
      "retry 3/6 overloaded 0 fake/small",
      "model tool-calls c1",
    ]);
  });

  it("may be another provider's, which gets its own options and whose reply bears its name", async () => {
    const { candidate, asked } = spare([
      [{ type: "reasoning", part: 0, text: "hm", opaque: "sig" }, ...half("hi", 1), { type: "stop", stop: "end" }],
    ]);
    const ran = await play(times(3, BUSY), { more: [candidate], recovery: { fallbackModels: ["spare/big"] } });
    expect(asked).toEqual([{ model: "big", options: { key: 1 }, plugin: "spare" }]);
    expect(ran.session.messages.at(-1)).toMatchObject({
      origin: { by: "model", provider: "spare", model: "big" },
      content: [
        { type: "reasoning", text: "hm", opaque: "sig" },
        { type: "text", text: "hi" },
      ],
    });
  });
});

describe("a fallback model that cannot be asked", () => {
  const GONE = fails("not-found", { status: 404 });
  it("is passed over, and the turn goes on with the next one or with the model that was meant", async () => {
    const one = await play([BUSY, BUSY, BUSY, GONE, says("hi")], { recovery: { fallbackModels: ["gone", "small"] } });
    expect(one.story.slice(3)).toEqual(["retry 3/6 overloaded 0 fake/gone", "retry 4/6 not-found 0 fake/small", 'model end "hi"']);
    const two = await play([BUSY, BUSY, BUSY, GONE, BUSY, says("hi")], { recovery: { fallbackModels: ["gone"] } });
    expect([two.story.slice(3), two.requests.map((r) => r.model)]).toEqual([
      ["retry 3/6 overloaded 0 fake/gone", "retry 4/6 not-found 2000 fake/m", "retry 5/6 overloaded 4000", 'model end "hi"'],
      ["m", "m", "m", "gone", "m", "m"],
    ]);
    expect(two.session.messages.at(-1)).toMatchObject({ origin: { model: "m" } });
  });
  it("is told beside the failure of the model that was meant", async () => {
    const ran = await play([BUSY, BUSY, BUSY, GONE], { recovery: { fallbackModels: ["gone"], retries: 3 } });
    expect(ran.failure).toBe(
      "fake/m failed: overloaded And so did fake/gone: not-found Gave up after 3 retries in this turn, 2 s of waiting.",
    );
  });
});

describe("a reply that breaks after its calls have begun", () => {
  const after = (...ends: Parameters<typeof fails>): Reply =>
    fails(ends[0], ends[1] ?? {}, [...call("c1"), { type: "part.end", part: 0 }, ...half("And", 1)]);
  it.each<[string, Reply, number | undefined, string]>([
    ["cut, and may be asked again", after("network"), undefined, "retry 1/6 network 500"],
    ["cut, and no retry is left", after("network"), 0, "retry 1/1 network 0"],
    ["an error that stays", after("invalid"), undefined, "retry 1/6 invalid 0"],
    ["refused", [...call("c1"), ...half("And", 1), { type: "stop", stop: "refusal" }], undefined, "retry 1/6 refusal 0"],
    ["without an end", [...call("c1"), ...half("And", 1)], 0, "retry 1/1 network 0"],
  ])("is told in one line: %s", async (_, reply, retries, line) => {
    const ran = await play([reply, says("done")], { recovery: retries === undefined ? {} : { retries } });
    expect(ran.story.filter((s) => s.startsWith("retry"))).toEqual([line]);
    expect(ran.outcome).toEqual({ kind: "completed" });
    expect(explain(ran.events, { times: false })).toMatch(/retry +(network|invalid|refusal) +1 of [16]/);
  });
});

describe("a stream that stalls", () => {
  it("is ended after 90 s without a first byte and after 60 s within, and asked again", async () => {
    const host = clock();
    const ran = await play([hangs(host, 90_000), says("a"), hangs(host, 60_000, half("He")), says("b")], { host, inputs: ["one", "two"] });
    expect(ran.story).toEqual([
      "user one",
      "retry 1/6 stall 500",
      'model end "a"',
      "user two",
      "void",
      "retry 1/6 stall 500",
      'model end "b"',
    ]);
  });

  it("is waited for longer when the prompt is huge and not known to be cached", async () => {
    const chars = 3_600_000; // a million tokens, 900,000 of which get a second for 5,000
    const huge = "x".repeat(chars);
    const silences = async (ms: number, first: Reply) => {
      const host = clock();
      const ran = await play([first, hangs(host, ms), says("b")], { host, inputs: [huge, "two"] });
      return ran.events.flatMap((e) => (e.type === "model.retry" ? [e.message] : []));
    };
    const cold: Reply = says("a");
    const warm: Reply = [
      ...half("a"),
      { type: "stop", stop: "end", usage: { input: 1, output: 1, cacheRead: 500_000, cacheWrite: 450_000 } },
    ];
    expect(await silences(271_000, cold)).toEqual(["The model sent nothing for 5 min."]);
    expect(await silences(91_000, warm)).toEqual(["The model sent nothing for 90 s."]);
  });

  it("is not ended before", async () => {
    const host = clock();
    const late: Reply = async function* (_, signal) {
      host.advance(89_999);
      yield { type: "ping" };
      host.advance(59_999);
      yield* half(signal.aborted ? "ended" : "hello");
      yield { type: "stop", stop: "end" };
    };
    expect((await play([late], { host })).story).toEqual(["user go", 'model end "hello"']);
  });

  it("fails the turn the second time running, also when it heeds no signal", async () => {
    const host = clock();
    const deaf: Reply = async function* () {
      setImmediate(() => host.advance(90_000));
      await new Promise(() => {});
      yield* [];
    };
    const ran = await play([deaf, deaf], { host });
    expect([ran.story, ran.failure]).toEqual([
      ["user go", "retry 1/6 stall 500"],
      "The model sent nothing for 90 s. It stalled 2 times running: try again, or set longer limits (recovery.firstByteMs, recovery.idleMs).",
    ]);
  });

  it("fails the turn after 10 minutes of nothing but pings", async () => {
    const host = clock();
    const pings: Reply = async function* (_, signal) {
      while (!signal.aborted) {
        yield { type: "ping" };
        await new Promise((resolve) => setImmediate(resolve));
        host.advance(30_000);
      }
    };
    const ran = await play([pings], { host });
    expect([ran.story, ran.failure]).toEqual([["user go"], "The model sent nothing but signs of life for 10 min: try again later."]);
    expect(ran.events.at(-1)!.at - ran.events[0]!.at).toBe(600_000);
  });

  it("has other limits where the settings or the provider name them", async () => {
    const host = clock();
    const ran = await play([hangs(host, 10), says("a")], { host, recovery: { firstByteMs: 10 } });
    expect(ran.story).toEqual(["user go", "retry 1/6 stall 500", 'model end "a"']);
    const patient = clock();
    let asked = 0;
    async function* slow(): AsyncIterable<ModelChunk> {
      patient.advance(++asked === 1 ? 400_000 : 0);
      yield* half("hi");
      yield { type: "stop", stop: "end" };
    }
    const own = pluginOf("own", { providers: [{ name: "own", deadlineMs: 500_000, stream: slow }] });
    expect((await play([], { host: patient, more: [own], provider: "own" })).story).toEqual(["user go", 'model end "hi"']);
  });
});

describe("a reply that is not the last word", () => {
  it("cut off at the output limit is gone on with, with a larger limit, three times at most", async () => {
    const ran = await play([
      stops("length", half("a")),
      stops("length", half("b")),
      stops("length", half("c")),
      stops("length", half("d")),
    ]);
    expect(ran.story).toEqual(["user go", ...["a", "b", "c"].flatMap((t) => [`model length "${t}"`, LIMIT]), 'model length "d"']);
    expect([ran.requests.map((r) => r.maxOutput), ran.outcome]).toEqual([[undefined, 64_000, 64_000, 64_000], { kind: "completed" }]);
  });

  it("gets no larger limit than the model has, and none when it has used more", async () => {
    const limit = (maxOutput: number) =>
      pluginOf("own", {
        providers: [{ name: "own", stream: scriptedStream, info: (id: string) => ({ id, maxOutput }) }],
      });
    const seen: (number | undefined)[] = [];
    let n = 0;
    async function* scriptedStream(request: ModelRequest): AsyncIterable<ModelChunk> {
      seen.push(request.maxOutput);
      yield* (n++ % 2 === 0 ? stops("length", half("a"), n === 1 ? 5 : 70_000) : says("b")) as readonly ModelChunk[];
    }
    await play([], { more: [limit(8_000)], provider: "own" });
    await play([], { more: [limit(128_000)], provider: "own" });
    expect(seen).toEqual([undefined, 8_000, undefined, undefined]);
  });

  it("whose call was cut off by the limit answers it with words about the limit", async () => {
    const torn: ModelChunk = { type: "call", part: 0, callId: "c1", tool: "Echo", input: "{", malformed: "unexpected end" };
    const ran = await play([stops("length", [torn]), says("ok")]);
    expect(ran.story[2]).toContain("unexpected end (the output limit was hit, so write less per call)");
    expect([ran.story.length, ran.requests[1]?.maxOutput]).toEqual([4, 64_000]);
    const other = await play([[torn, { type: "stop", stop: "tool-calls" }], says("ok")]);
    expect(other.story[2]).not.toContain("limit");
  });

  it.each([
    ["nothing", {}],
    ["what can be read", { text: "rm -rf build" }],
  ])("runs no call that the limit fell into, of which there is %s", async (_, input) => {
    const torn: ModelChunk = { type: "call", part: 1, callId: "c2", tool: "Echo", input };
    const ran = await play([stops("length", [...call("c1"), torn]), says("ok")]);
    expect(ran.story).toEqual([
      "user go",
      "model length c1 c2",
      "tool c1",
      expect.stringMatching(/^tool The call was not run.*: the reply was cut off within them \(the output limit was hit/),
      'model end "ok"',
    ]);
    expect(ran.events.flatMap((e) => (e.type === "tool.started" ? [e.call.callId] : []))).toEqual(["c1"]);
  });

  it("fails the turn after three in a row with calls that cannot be read, and the session goes on", async () => {
    const torn = (n: number): ModelChunk => ({ type: "call", part: 0, callId: `c${n}`, tool: "Echo", input: "{", malformed: "torn" });
    const bad = (n: number): Reply => stops("length", [torn(n)]);
    const good = [...call("good"), { type: "stop", stop: "tool-calls" } as const];
    const ran = await play([bad(1), bad(2), good, bad(3), bad(4), bad(5), says("fine")], { inputs: ["go", "again"] });
    const failed = ran.events.flatMap((e) => (e.type === "turn.ended" && e.outcome.kind === "failed" ? [e.outcome.fault] : []));
    expect(failed).toEqual([
      expect.objectContaining({
        message: expect.stringMatching(
          /cannot be read, 3 times running \(Echo: torn \(the output limit was hit.*\)\)\. Ask for it in smaller/,
        ),
        model: { kind: "protocol" },
      }),
    ]);
    expect([ran.requests.length, ran.story.at(-1), ran.outcome]).toEqual([7, 'model end "fine"', { kind: "completed" }]);
  });

  it("is gone on with at a pause, ten times at most", async () => {
    const ran = await play(times(11, stops("pause", half("x"))));
    expect(ran.story).toEqual([
      "user go",
      ...Array.from({ length: 10 }, () => ['model pause "x"', "meta Continue."]).flat(),
      'model pause "x"',
    ]);
  });

  it("is asked for once more when it is empty, and fails the turn then", async () => {
    const EMPTY = "meta The reply was empty. Give visible output: an answer, or a tool call.";
    const once = await play([stops("end", half(" ")), says("here")]);
    expect(once.story).toEqual(["user go", EMPTY, 'model end "here"']);
    const twice = await play([stops("end"), stops("end")]);
    expect([twice.story, twice.failure]).toEqual([
      ["user go", EMPTY],
      "The model ended its reply without any output (end), also when it was asked again: put the question another way.",
    ]);
  });

  it("that filled the window goes on, and what was refused in its place is shown to the kernel as too long", async () => {
    const ran = await play([stops("overflow", half("a")), says("b")]);
    expect(ran.story).toEqual(["user go", 'model overflow "a"', LIMIT, 'model end "b"']);
  });
});

describe("a refusal", () => {
  const REFUSED = "meta A safety filter stopped the reply. Answer again, and leave out what it may have objected to.";

  it("is asked about once more, and what came of it is dropped", async () => {
    const ran = await play([stops("refusal", [...half("I"), ...call("c1", 1)]), says("fine")]);
    expect(ran.story).toEqual(["user go", "void", REFUSED, 'model end "fine"']);
  });

  it("that comes when a call has begun leaves the call and its result, and nothing else", async () => {
    const ran = await play([stops("refusal", [...half("I"), ...call("c1", 1), ...half("and", 2)]), says("fine")]);
    expect(ran.story).toEqual(["user go", "retry 1/6 refusal 0", "model aborted c1", "tool c1", 'model end "fine"']);
  });

  it("is left to the next model where there is one", async () => {
    const ran = await play([stops("refusal"), says("fine")], { recovery: { fallbackModels: ["small"] } });
    expect(ran.story).toEqual(["user go", "retry 1/6 refusal 0 fake/small", 'model end "fine"']);
  });

  it("goes through the second time, and its turn is in no later request, also after a resume", async () => {
    const host = clock();
    const { candidate, requests } = scripted([says("one"), stops("refusal"), stops("refusal", half("I")), says("two"), says("three")]);
    const { runtime } = await start([candidate], { host });
    const session = await runtime.open({ headless: true });
    const events: Parameters<typeof story>[0][number][] = [];
    session.subscribe((e) => void events.push(e));
    for (const text of ["a", "bad", "b"]) await session.submit(text);
    await session.idle();
    expect(story(events)).toEqual([
      ...["user a", 'model end "one"'],
      ...["user bad", REFUSED, "void", "model refusal", "dropped 3"],
      ...["user b", 'model end "two"'],
    ]);
    await session.dispose();
    const resumed = await runtime.open({ resume: session.id });
    expect([resumed.notices, resumed.messages]).toEqual([[], session.messages]);
    await resumed.submit("c");
    const texts = (r: ModelRequest | undefined) => r?.messages.map((m) => ("content" in m ? textOf(m.content) : ""));
    expect([texts(requests[3]), texts(requests[4])]).toEqual([
      ["a", "one", "b"],
      ["a", "one", "b", "two", "c"],
    ]);
    expect(linesOf(host).filter((l) => l.type === "history.dropped")).toHaveLength(1);
  });
});

describe("a request that is too much", () => {
  const image = { type: "image" as const, mimeType: "image/png", data: "A".repeat(40_000) };
  const big = pluginOf("big", {
    commands: [],
    attachments: [],
    classifiers: [
      {
        name: "pictures",
        classify: ({ text }) => ({
          as: "prompt",
          content: text.includes("p") ? [{ type: "text", text }, image] : [{ type: "text", text }],
        }),
      },
    ],
  });
  const shape = (r: ModelRequest | undefined) =>
    r?.messages.map((m) => ("content" in m ? m.content.map((p) => (p.type === "text" ? p.text : p.type)).join("|") : ""));
  const NOTE = "[A file (image/png, 30 KB) left out, because the request was too large.]";
  const LARGE = fails("too-large", { status: 413 });

  it("in bytes loses its oldest images, for good, and is sent once more", async () => {
    const ran = await play([says("1"), LARGE, says("2"), says("3")], { more: [big], inputs: ["p1", "p2", "end"] });
    expect(ran.story.filter((s) => s.startsWith("retry"))).toEqual(["retry 1/6 too-large 0"]);
    expect([shape(ran.requests[1]), shape(ran.requests[2]), shape(ran.requests[3])]).toEqual([
      ["p1|image", "1", "p2|image"],
      [`p1|${NOTE}`, "1", "p2|image"],
      [`p1|${NOTE}`, "1", "p2|image", "2", "end"],
    ]);
  });

  it("in bytes loses the middle of its largest results", async () => {
    const long = "x".repeat(20_000);
    const ran = await play([
      [
        { type: "call", part: 0, callId: "c1", tool: "Echo", input: { text: long } },
        { type: "stop", stop: "tool-calls" },
      ],
      LARGE,
      says("ok"),
    ]);
    const result = ran.requests[2]?.messages.find((m) => m.role === "tool");
    expect(result?.role === "tool" && textOf(result.content)).toMatch(/^x{2000}\n\n\[17000 characters left out, .*\]\n\nx{1000}$/);
    expect(ran.outcome).toEqual({ kind: "completed" });
  });

  it("in bytes fails the turn when it is so again, or when there is nothing to leave out", async () => {
    const twice = await play([LARGE, LARGE], { more: [big], inputs: ["p"] });
    expect([twice.failure, twice.requests.length]).toEqual(["too-large", 2]);
    const nothing = await play([LARGE]);
    expect([nothing.story, nothing.requests.length]).toEqual([["user go"], 1]);
  });

  it("in tokens is left to the kernel, and not sent again as long as it was", async () => {
    const LONG = fails("overflow", { status: 400 }, half("He"));
    const ran = await play([LONG]);
    expect([ran.story, ran.failure, ran.requests.length]).toEqual([["user go", "void"], "overflow Nothing more of it can be left out.", 1]);
    const shorter = pluginOf("shorter", {
      compaction: [{ name: "s", compact: (view, { overflowed }) => (overflowed ? view.slice(-1) : view) }],
    });
    const fine = await play([says("1"), LONG, says("2")], { more: [shorter], inputs: ["a", "b"] });
    expect(fine.story.slice(2)).toEqual(["user b", "void", 'model end "2"']);
  });
});

describe("an abort", () => {
  it("ends a wait within a tick", async () => {
    const host = clock();
    const waiting: AbortSignal[] = [];
    const timers = {
      ...host.timers,
      sleep: (_: number, signal: AbortSignal) =>
        new Promise<void>((resolve) => {
          waiting.push(signal);
          signal.addEventListener("abort", () => resolve(), { once: true });
        }),
    };
    const ran = await play([BUSY, says("never")], {
      host: Object.assign(host, { timers }),
      onEvent: (e, session) => {
        if (e.type === "model.retry") setImmediate(() => session.abort());
      },
    });
    expect([ran.outcome, ran.requests.length, waiting.map((s) => s.aborted)]).toEqual([
      { kind: "aborted", reason: "interrupted" },
      1,
      [true],
    ]);
  });

  it("ends a call that waits for its first byte", async () => {
    const host = clock();
    let signal: AbortSignal | undefined;
    const silent: Reply = async function* (_, s) {
      signal = s;
      await new Promise(() => {});
      yield* [];
    };
    const ran = await play([silent], {
      host,
      onEvent: (e, session) => {
        if (e.type === "model.requested") setImmediate(() => session.abort());
      },
    });
    expect([ran.outcome.kind, signal?.aborted, unpaired(ran.session.messages)]).toEqual(["aborted", true, { open: [], orphan: [] }]);
  });
});
