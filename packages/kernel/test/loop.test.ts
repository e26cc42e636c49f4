import { describe, expect, it } from "vitest";
import {
  type AssistantMessage,
  type AttachmentMessage,
  defineTool,
  type Gate,
  type Message,
  type Tool,
  textOf,
  unpaired,
  z,
} from "../src/index.ts";
import { calls, of, run, says } from "./harness.ts";

const echo = (more: Partial<Tool> = {}): Tool =>
  defineTool({
    name: "Echo",
    description: "",
    input: z.object({ text: z.string().default("") }),
    overlap: "shared",
    effects: () => [],
    run: (input: unknown) => (input as { text: string }).text || "empty",
    ...more,
  } as Tool);
const writes = { effects: () => [{ kind: "write" as const, target: "/w/a" }] };
const gateSays = (verdict: Awaited<ReturnType<Gate["judge"]>>, name = "g"): Gate => ({ name, judge: () => verdict });
const roles = (messages: readonly Message[]): string[] => messages.map((m) => m.role);
const results = (messages: readonly Message[]): [string, string, string][] =>
  messages.flatMap((m) => (m.role === "tool" ? [[m.callId, m.outcome, textOf(m.content)]] : []));
const forever = (): Promise<never> => new Promise(() => {});

describe("a turn", () => {
  it("asks the model, runs its calls, and asks again", async () => {
    const { state, events, requests } = await run({ tools: [echo()] }, { replies: [calls(["c1", "Echo", { text: "x" }]), says("done")] });
    expect(state.outcome).toEqual({ kind: "completed" });
    expect(roles(state.added)).toEqual(["user", "assistant", "tool", "assistant"]);
    expect(requests.map((r) => r.messages.length)).toEqual([1, 3]);
    expect(requests[0]!.tools).toBe(requests[1]!.tools);
    expect(events[0]!.type).toBe("turn.started");
    expect(events.at(-1)).toMatchObject({ type: "turn.ended", steps: 1 });
    expect(of(events, "turn.phase").map((e) => e.to)).toEqual([
      "context",
      "sampling",
      "gating",
      "executing",
      "context",
      "sampling",
      "closing",
      "done",
    ]);
  });

  it("records each event before anyone sees it", async () => {
    const recorded: string[] = [];
    await run(
      { tools: [echo()] },
      {
        replies: [calls(["c1", "Echo"]), says("done")],
        env: { record: (e) => recorded.push(e.type) },
        onEvent: (e) => expect(recorded).toContain(e.type),
      },
    );
    expect(recorded.indexOf("message.added")).toBeLessThan(recorded.indexOf("tool.started"));
  });

  it("streams deltas and puts the reply together by part", async () => {
    const { state, events } = await run(
      {},
      {
        replies: [
          [
            { type: "reasoning", part: 0, text: "let me " },
            { type: "reasoning", part: 0, text: "think", opaque: { signature: "s" } },
            { type: "text", part: 1, text: "a" },
            { type: "ping" },
            { type: "text", part: 1, text: "b" },
            { type: "text", part: 2, text: "c" },
            { type: "stop", stop: "end", usage: { input: 3, output: 2 } },
          ],
        ],
      },
    );
    expect(state.added[1]).toMatchObject({
      content: [
        { type: "reasoning", text: "let me think", opaque: { signature: "s" } },
        { type: "text", text: "ab" },
        { type: "text", text: "c" },
      ],
      usage: { input: 3, output: 2 },
    });
    expect(of(events, "message.delta").map((e) => `${e.part}${e.text}`)).toEqual(["0let me ", "0think", "1a", "1b", "2c"]);
  });

  it("gives a call id that was used before a new one", async () => {
    const { state, requests } = await run(
      { tools: [echo()] },
      { replies: [calls(["c", "Echo"], ["c", "Echo"]), calls(["c", "Echo"]), says("done")] },
    );
    expect(state.outcome).toEqual({ kind: "completed" });
    expect(results(state.added).map(([id]) => id)).toEqual(["c", "c_2", "c_3"]);
    expect(requests).toHaveLength(3);
  });

  it("ends at its step limit with every call answered", async () => {
    const { state } = await run({ tools: [echo()] }, { replies: [calls(["a", "Echo"]), calls(["b", "Echo"])], limits: { steps: 2 } });
    expect(state.outcome).toEqual({ kind: "step-limit", steps: 2 });
    expect(unpaired(state.added)).toEqual({ open: [], orphan: [] });
  });

  it.each([
    [
      "at its limit",
      [
        { type: "text", part: 0, text: "half" },
        { type: "stop", stop: "length", reminder: "go on" },
      ],
      ["half"],
    ],
    [
      "empty",
      [
        { type: "reasoning", part: 0, text: "hm" },
        { type: "stop", stop: "end", reminder: "go on" },
      ],
      [],
    ],
    [
      "refused",
      [
        { type: "text", part: 0, text: "I will not" },
        { type: "stop", stop: "refusal", reminder: "go on" },
      ],
      [],
    ],
    [
      "cut off, which keeps complete parts only",
      [
        { type: "text", part: 0, text: "whole" },
        { type: "part.end", part: 0 },
        { type: "reasoning", part: 1, text: "hm" },
        { type: "part.end", part: 1 },
        { type: "text", part: 2, text: "hal" },
        { type: "stop", stop: "aborted", reminder: "go on" },
      ],
      ["whole"],
    ],
  ])("asks to go on after a reply that is %s", async (_, reply, kept) => {
    const { state, requests } = await run({}, { replies: [reply as never, says("rest")] });
    expect(state.outcome).toEqual({ kind: "completed" });
    expect(requests[1]!.messages.at(-1)).toMatchObject({ role: "user", isMeta: true, content: [{ text: "go on" }] });
    expect(state.added.slice(1, -2).map((m) => textOf((m as AssistantMessage).content))).toEqual(kept);
  });

  it("runs the complete calls of a reply that was cut off, and no other", async () => {
    const reply = [
      { type: "call", part: 0, callId: "1", tool: "Echo", input: { text: "x" } },
      { type: "call.delta", part: 1, text: "{" },
      { type: "stop", stop: "aborted", reminder: "go on" },
    ] as const;
    const { state } = await run({ tools: [echo()] }, { replies: [reply, says("done")] });
    expect(roles(state.added)).toEqual(["user", "assistant", "tool", "assistant"]);
  });

  it("tells of retries and of text that is void", async () => {
    const retry = { type: "retry", cause: "network", attempt: 1, of: 6, waitMs: 500, message: "reset" } as const;
    const reply = [{ type: "text", part: 0, text: "ha" }, { type: "void", why: "reset" }, retry, ...says("hello")] as const;
    const { state, events } = await run({}, { replies: [reply] });
    expect(textOf((state.added[1] as AssistantMessage).content)).toBe("hello");
    expect(of(events, "model.retry")).toMatchObject([{ ...retry, type: "model.retry" }]);
    expect(of(events, "message.voided")).toMatchObject([{ id: state.added[1]!.id, why: "reset" }]);
  });

  it("says which provider is missing", async () => {
    const { state } = await run({}, { env: { target: () => ({ provider: "nope", model: "m" }) } });
    expect(state.outcome).toMatchObject({ kind: "failed", fault: { message: 'there is no provider "nope" (there is: fake)' } });
  });

  it.each([
    [
      "throws",
      () => {
        throw new Error("bang");
      },
      "threw: bang",
    ],
    [
      "ends without a stop",
      async function* () {
        yield { type: "text", part: 0, text: "x" };
      },
      "a stream that ends without a stop chunk",
    ],
    [
      "yields rubbish",
      async function* () {
        yield { type: "wat" };
      },
      "returned something unusable",
    ],
  ])("fails by name when a provider %s, and works again next time", async (_, stream, why) => {
    const { state } = await run({}, { replies: [stream as never] });
    expect(state.outcome).toMatchObject({ kind: "failed", fault: { code: "model-error", who: { plugin: "acme", name: "fake" } } });
    expect((state.outcome as { fault: { message: string } }).fault.message).toContain(why);
  });
});

describe("context", () => {
  const attachment = (name: string, collect: () => unknown, when: "turn" | "step" = "turn") => ({
    name,
    when,
    schema: z.object({ n: z.number() }),
    collect: collect as never,
    render: (d: unknown) => `${name} ${(d as { n: number }).n}`,
  });
  it("collects in registry order, and loses only the part of one that fails", async () => {
    const { requests, events } = await run({
      attachments: [
        attachment("slow", async () => {
          await new Promise((r) => setTimeout(r, 5));
          return [{ n: 1 }];
        }),
        attachment("bad", () => {
          throw new Error("x");
        }),
        attachment("wrong", () => [{ n: "one" }]),
        attachment("fast", () => [{ n: 2 }, { n: 3 }]),
      ],
      memory: [{ name: "mem", recall: () => ["remember"] }],
    });
    const texts = requests[0]!.messages.map((m) => textOf((m as AttachmentMessage).content));
    expect(texts).toEqual(["hi", "remember", "slow 1", "fast 2", "fast 3"]);
    expect(of(events, "fault").map((e) => e.fault.who!.name)).toEqual(["bad", "wrong"]);
    expect(of(events, "stage.ran").find((e) => e.record.name === "fast")!.record.changes).toHaveLength(2);
  });
  it("collects per turn once and per step each time", async () => {
    const { requests } = await run(
      { tools: [echo()], attachments: [attachment("turn", () => [{ n: 0 }]), attachment("step", () => [{ n: 0 }], "step")] },
      { replies: [calls(["c", "Echo"]), says("done")] },
    );
    expect(requests[1]!.messages.flatMap((m) => (m.role === "attachment" ? [m.kind] : []))).toEqual(["turn", "step", "step"]);
  });
  it("builds the prefix once and keeps the one it is given", async () => {
    const parts = [
      { name: "sys", placement: "system" as const, build: () => "rules" },
      { name: "ctx", placement: "context" as const, build: () => "files" },
      { name: "none", placement: "system" as const, build: () => undefined },
    ];
    const prefix = { system: [{ plugin: "acme", name: "sys", text: "rules" }], context: [{ plugin: "acme", name: "ctx", text: "files" }] };
    const built = await run({ systemPrompt: parts });
    expect(built.requests[0]!.prefix).toEqual(prefix);
    const kept = await run({ systemPrompt: parts }, { prefix });
    expect(kept.requests[0]!.prefix).toBe(prefix);
    expect(of(kept.events, "prefix.built")).toHaveLength(0);
  });
  it("hands over at the next step what was said meanwhile", async () => {
    let said = [{ text: "also this", source: "repl" as const }];
    const steering = () => {
      const now = said;
      said = [];
      return now;
    };
    const first = await run(
      {
        tools: [
          echo({
            run: () => {
              said = [{ text: "and that", source: "repl" }];
              return "x";
            },
          }),
        ],
      },
      { replies: [calls(["c", "Echo"]), says("done")], steering },
    );
    expect(roles(first.requests[1]!.messages)).toEqual(["user", "user", "assistant", "tool", "user"]);
  });
});

describe("calls", () => {
  it.each<[string, [string, string, object?], Partial<Tool>, string, RegExp]>([
    ["an unknown tool", ["c", "Nope"], {}, "error", /There is no tool "Nope"\. The tools are: Echo/],
    ["wrong arguments", ["c", "Echo", { text: 5 }], {}, "error", /arguments are wrong\. text: /],
    [
      "a tool that throws",
      ["c", "Echo"],
      {
        run: () => {
          throw new Error("bang");
        },
      },
      "error",
      /threw: bang/,
    ],
    ["a tool that hangs", ["c", "Echo"], { run: forever, deadlineMs: 5 }, "timeout", /gave no answer within 5 ms/],
    ["a tool that returns rubbish", ["c", "Echo"], { run: () => 12 as never }, "error", /something unusable/],
    [
      "effects that throw",
      ["c", "Echo"],
      {
        effects: () => {
          throw new Error("oops");
        },
      },
      "error",
      /threw: oops/,
    ],
    ["a tool that reports an error", ["c", "Echo"], { run: () => ({ content: "failed", isError: true }) }, "error", /^failed$/],
  ])("answers %s", async (_, call, more, outcome, text) => {
    const { state } = await run({ tools: [echo(more)] }, { replies: [calls(call), says("done")] });
    expect(state.outcome).toEqual({ kind: "completed" });
    expect(results(state.added)).toEqual([["c", outcome, expect.stringMatching(text)]]);
  });

  it("never runs a call whose arguments could not be read", async () => {
    let ran = false;
    const reply = [
      { type: "call", part: 0, callId: "c", tool: "Echo", input: { raw: "{" }, malformed: "unexpected end" },
      { type: "stop", stop: "tool-calls" },
    ] as const;
    const { state } = await run(
      {
        tools: [
          echo({
            run: () => {
              ran = true;
              return "";
            },
          }),
        ],
      },
      { replies: [reply, says("done")] },
    );
    expect([ran, results(state.added)[0]![2]]).toEqual([false, expect.stringContaining("unexpected end")]);
  });

  it("finds a tool by an older name", async () => {
    const { state } = await run({ tools: [echo({ aliases: ["Say"] })] }, { replies: [calls(["c", "Say", { text: "x" }]), says("done")] });
    expect(results(state.added)).toEqual([["c", "ok", "x"]]);
  });

  it("runs shared calls together, exclusive ones alone, and answers in call order", async () => {
    const log: string[] = [];
    const timed = (name: string, overlap: "shared" | "exclusive", ms: number) =>
      echo({
        name,
        overlap,
        run: async () => {
          log.push(`+${name}`);
          await new Promise((r) => setTimeout(r, ms));
          log.push(`-${name}`);
          return name;
        },
      });
    const { state } = await run(
      { tools: [timed("S1", "shared", 20), timed("S2", "shared", 5), timed("X", "exclusive", 5), timed("S3", "shared", 1)] },
      { replies: [calls(["1", "S1"], ["2", "S2"], ["3", "X"], ["4", "S3"]), says("done")] },
    );
    expect(log).toEqual(["+S1", "+S2", "-S2", "-S1", "+X", "-X", "+S3", "-S3"]);
    expect(results(state.added).map(([id]) => id)).toEqual(["1", "2", "3", "4"]);
  });

  it("runs twenty calls at one time without a warning", async () => {
    const warnings: string[] = [];
    const onWarning = (w: Error): void => void warnings.push(w.name);
    process.on("warning", onWarning);
    const many = Array.from({ length: 20 }, (_, i) => [`c${i}`, "Echo"] as [string, string]);
    const collectors = Array.from({ length: 20 }, (_, i) => ({ name: `m${i}`, recall: async () => [] }));
    await run({ tools: [echo()], memory: collectors }, { replies: [calls(...many), says("done")] });
    await new Promise((r) => setImmediate(r));
    process.off("warning", onWarning);
    expect(warnings).toEqual([]);
  });

  it("adds what afterTool says behind the last result", async () => {
    const { requests } = await run(
      { tools: [echo()], afterTool: [{ name: "lint", after: (call) => `checked ${call.callId}` }] },
      { replies: [calls(["a", "Echo"], ["b", "Echo"]), says("done")] },
    );
    expect(roles(requests[1]!.messages)).toEqual(["user", "assistant", "tool", "tool", "attachment", "attachment"]);
  });

  it("keeps what is finished when it is interrupted", async () => {
    const stop = new AbortController();
    const { state } = await run(
      {
        tools: [
          echo(),
          echo({ name: "Hang", run: forever }),
          echo({
            name: "Slow",
            graceMs: 1_000,
            run: (_, ctx) => new Promise((r) => ctx.signal.addEventListener("abort", () => r("half"))),
          }),
        ],
      },
      {
        replies: [calls(["1", "Hang"], ["2", "Echo", { text: "x" }], ["3", "Slow"])],
        signal: stop.signal,
        onEvent: (e) => {
          if (e.type === "tool.finished" && e.callId === "2") stop.abort("Esc");
        },
      },
    );
    expect(state.outcome).toEqual({ kind: "aborted", reason: "Esc" });
    expect(unpaired(state.added)).toEqual({ open: [], orphan: [] });
    expect(results(state.added)).toEqual(
      expect.arrayContaining([
        ["2", "ok", "x"],
        ["3", "aborted", "half"],
      ]),
    );
    expect(results(state.added).find(([id]) => id === "1")![1]).toBe("aborted");
  });

  it("keeps the text of a reply that is interrupted", async () => {
    const stop = new AbortController();
    const { state } = await run(
      {},
      {
        replies: [
          async function* () {
            yield { type: "text", part: 0, text: "half a sen" };
            await forever();
          },
        ],
        signal: stop.signal,
        onEvent: (e) => {
          if (e.type === "message.delta") stop.abort("Esc");
        },
      },
    );
    expect(state.added.at(-1)).toMatchObject({ role: "assistant", stop: "aborted", content: [{ text: "half a sen" }] });
  });

  it("ends at once when it was aborted before it began", async () => {
    const { state, requests } = await run({}, { signal: AbortSignal.abort("no") });
    expect([state.outcome, requests.length]).toEqual([{ kind: "aborted", reason: "no" }, 0]);
  });
});

describe("gates", () => {
  const judged = async (gates: Gate[], more: Partial<Tool> = writes, answer: unknown = { kind: "deny" }) => {
    const asked: unknown[] = [];
    const { state, events } = await run(
      { tools: [echo(more)], gates },
      {
        replies: [calls(["c", "Echo"]), says("done")],
        env: {
          asker: async (ask) => {
            asked.push(ask);
            return answer as never;
          },
        },
      },
    );
    return { asked, decision: of(events, "tool.decided")[0]!.decision, result: results(state.added)[0]! };
  };
  it.each<[string, Gate[], object]>([
    [
      "deny beats ask and allow",
      [gateSays({ say: "allow" }, "a"), gateSays({ say: "ask", why: "?" }, "b"), gateSays({ say: "deny", why: "no", rule: "r" }, "c")],
      { say: "deny", by: "acme", rule: "r" },
    ],
    ["ask beats allow", [gateSays({ say: "allow" }, "a"), gateSays({ say: "ask", why: "?" }, "b")], { say: "deny", by: "user" }],
    [
      "allow is enough",
      [gateSays({ say: "nothing" }, "a"), gateSays({ say: "allow", rule: "r" }, "b")],
      { say: "allow", by: "acme", rule: "r" },
    ],
    ["nobody speaks: the person is asked", [gateSays({ say: "nothing" })], { say: "deny", by: "user" }],
    [
      "a gate that throws denies",
      [
        gateSays({ say: "allow" }, "a"),
        {
          name: "b",
          judge: () => {
            throw new Error("x");
          },
        },
      ],
      { say: "deny" },
    ],
    ["a gate that hangs denies", [gateSays({ say: "allow" }, "a"), { name: "b", deadlineMs: 5, judge: forever }], { say: "deny" }],
    ["a gate that returns rubbish denies", [gateSays({ say: "allow" }, "a"), gateSays("yes" as never, "b")], { say: "deny" }],
  ])("%s", async (_, gates, expected) => {
    const { decision, result } = await judged(gates);
    expect(decision).toMatchObject(expected);
    expect(result[1]).toBe((expected as { say: string }).say === "allow" ? "ok" : "denied");
  });
  it("asks about effects only", async () => {
    expect((await judged([], {})).decision).toMatchObject({ say: "allow", by: "kernel" });
    const asked = await judged([], writes, { kind: "allow" });
    expect(asked.asked).toMatchObject([
      { kind: "permission", effects: [{ kind: "write", target: "/w/a" }], why: "no rule covers this call" },
    ]);
    expect(asked.decision).toMatchObject({ say: "allow", by: "user" });
    expect((await judged([], writes, { kind: "deny", reason: "use the other file" })).result[2]).toBe("Denied: use the other file");
  });
  it("runs changed arguments only after they were judged again", async () => {
    const seen: unknown[] = [];
    const rewrite: Gate = {
      name: "rewrite",
      judge: (call) => {
        seen.push(call.input);
        return { say: "allow", input: { text: "safe" } };
      },
    };
    expect((await judged([rewrite])).result).toEqual(["c", "ok", "safe"]);
    expect(seen).toEqual([{}, { text: "safe" }]);
    const strict: Gate = {
      name: "strict",
      judge: (call) => ((call.input as { text?: string }).text === "safe" ? { say: "deny", why: "not that" } : { say: "allow" }),
    };
    expect((await judged([rewrite, strict])).result).toEqual(["c", "denied", "Denied: not that"]);
    const other: Gate = { name: "other", judge: () => ({ say: "allow", input: { text: "else" } }) };
    expect((await judged2([rewrite, other]))[1]).toBe("error");
    expect((await judged2([{ name: "bad", judge: () => ({ say: "allow", input: { text: 5 } }) }]))[2]).toContain("something unusable");
  });
  const judged2 = async (gates: Gate[]) => {
    const { state } = await run({ tools: [echo(writes)], gates }, { replies: [calls(["c", "Echo"]), says("done")] });
    return results(state.added)[0]!;
  };
  it("stays shut when its breaker has opened", async () => {
    const broken: Gate = {
      name: "b",
      judge: () => {
        throw new Error("x");
      },
    };
    const { state, events } = await run(
      { tools: [echo(writes)], gates: [broken] },
      { replies: [calls(["1", "Echo"], ["2", "Echo"], ["3", "Echo"], ["4", "Echo"]), says("done")] },
    );
    expect(results(state.added).map(([, outcome]) => outcome)).toEqual(["denied", "denied", "denied", "denied"]);
    expect(of(events, "fault").filter((e) => e.fault.code === "plugin-disabled")).toHaveLength(1);
  });
});

describe("closers, observers and contexts", () => {
  it("goes round again while a closer has something to say, at most five times", async () => {
    const { state, requests } = await run(
      { closers: [{ name: "more", close: () => "not yet" }] },
      { replies: Array.from({ length: 9 }, () => says("done")) },
    );
    expect([state.outcome, requests.length]).toEqual([{ kind: "completed" }, 6]);
  });
  it("never waits for an observer, and reports one that fails", async () => {
    const seen: string[] = [];
    const { state } = await run({
      observers: [
        { name: "hang", on: ["turn.started"], observe: forever },
        {
          name: "bad",
          on: ["turn.started"],
          observe: () => {
            throw new Error("x");
          },
        },
        {
          name: "good",
          on: ["turn.ended"],
          observe: (e) => {
            seen.push(e.type);
          },
        },
      ],
    });
    await Promise.resolve();
    expect([state.outcome, seen]).toEqual([{ kind: "completed" }, ["turn.ended"]]);
  });
  it("takes a context away when its call is over, and keeps state between calls", async () => {
    let late: (() => unknown) | undefined;
    let count: unknown;
    await run({
      systemPrompt: [
        {
          name: "s",
          placement: "system",
          build: (ctx) => {
            late = () => ctx.state.get("k");
            ctx.state.set("k", 1);
            return undefined;
          },
        },
      ],
      closers: [
        {
          name: "c",
          close: (_, ctx) => {
            count = ctx.state.get("k");
            return undefined;
          },
        },
      ],
    });
    expect(count).toBe(1);
    expect(late).toThrow(/used its context after its call was over/);
  });
  it("hands out only capabilities that were declared and granted", async () => {
    const faults: string[] = [];
    const build = (id: string) => (ctx: { capability(t: never): unknown }) => {
      try {
        ctx.capability({ id } as never);
      } catch (e) {
        faults.push((e as Error).message);
      }
      return undefined;
    };
    await run({
      systemPrompt: [
        { name: "a", placement: "system", build: build("process") as never },
        { name: "b", placement: "system", build: build("fs") as never },
      ],
    });
    expect(faults).toEqual(['capability "process" is not in its heddle.capabilities', 'capability "fs" was not granted by the host']);
  });
  it("does not count the time a person thinks against a deadline", async () => {
    const ask = echo({ deadlineMs: 15, run: async (_, ctx) => (await ctx.ask("sure?", ["yes"])).kind });
    const { state } = await run(
      { tools: [ask] },
      {
        replies: [calls(["c", "Echo"]), says("done")],
        env: { asker: () => new Promise((r) => setTimeout(() => r({ kind: "text", text: "yes" }), 50)) },
      },
    );
    expect(results(state.added)).toEqual([["c", "ok", "text"]]);
  });
});

describe("what plugins cannot do", () => {
  const anyContext = (seen: (ctx: never) => void) => ({
    name: "spy",
    placement: "system" as const,
    build: (ctx: unknown) => void seen(ctx as never),
  });
  it("a gate cannot hide effects from the others", async () => {
    const blind: Gate = {
      name: "blind",
      judge: (_, effects) => {
        (effects as unknown[]).length = 0;
        return { say: "nothing" };
      },
    };
    const strict: Gate = {
      name: "strict",
      judge: (_, effects) => (effects.length === 0 ? { say: "allow" } : { say: "deny", why: "writes" }),
    };
    for (const gates of [
      [blind, strict],
      [strict, blind],
    ]) {
      const { state } = await run({ tools: [echo(writes)], gates }, { replies: [calls(["c", "Echo"]), says("done")] });
      expect(results(state.added)[0]![1]).toBe("denied");
    }
  });
  it("nobody changes what was said, nor the prefix", async () => {
    const errors: string[] = [];
    const attempt = (change: () => void): void => {
      try {
        change();
      } catch (e) {
        errors.push((e as Error).name);
      }
    };
    const history: Message[] = [
      { role: "user", id: "old", parentId: null, at: 0, origin: { by: "user" }, content: [{ type: "text", text: "old" }] },
    ];
    const prefix = { system: [{ plugin: "acme", name: "s", text: "rules" }], context: [] };
    const closer = {
      name: "c",
      close: (_: unknown, ctx: { session: { messages: readonly Message[]; prefix?: { system: unknown } } }) => {
        for (const m of ctx.session.messages)
          attempt(() => {
            ((m as unknown as { content: { text: string }[] }).content[0] as { text: string }).text = "forged";
          });
        attempt(() => (ctx.session.prefix!.system as unknown[]).push("more"));
        return undefined;
      },
    };
    await run({ closers: [closer as never] }, { history, prefix });
    expect(errors).toEqual(["TypeError", "TypeError", "TypeError", "TypeError"]);
    expect(history[0]).toMatchObject({ content: [{ text: "old" }] });
  });
  it("nothing goes on that its schema does not name", async () => {
    const loop: Record<string, unknown> = { type: "text", text: "x" };
    loop["self"] = loop;
    const { state } = await run(
      { tools: [echo({ run: () => ({ content: [loop] }) as never })] },
      { replies: [calls(["c", "Echo"]), says("done")] },
    );
    expect(JSON.parse(JSON.stringify(state.added[2]))).toMatchObject({ content: [{ type: "text", text: "x" }] });
  });
  it("a question that nobody waits for, or that is none, hurts nobody", async () => {
    const unhandled: unknown[] = [];
    const listen = (e: unknown): void => void unhandled.push(e);
    process.on("unhandledRejection", listen);
    const asker = (_: unknown, signal: AbortSignal): Promise<never> =>
      new Promise((_, reject) => signal.addEventListener("abort", () => reject(new Error("over"))));
    const { events, state } = await run(
      {
        systemPrompt: [
          anyContext((ctx: { ask(t: string): void }) => ctx.ask("?")),
          {
            name: "bad",
            placement: "system",
            build: (ctx) => {
              ctx.ask(42 as never, "yes" as never);
              return "x";
            },
          },
        ],
      },
      { env: { asker } },
    );
    await new Promise((r) => setImmediate(r));
    process.off("unhandledRejection", listen);
    expect([unhandled, state.outcome]).toEqual([[], { kind: "completed" }]);
    expect(of(events, "ask.opened").map((e) => e.ask.id)).toEqual(of(events, "ask.closed").map((e) => e.id));
    expect(of(events, "fault")[0]!.fault).toMatchObject({ code: "plugin-bad-output", who: { name: "bad" } });
  });
  it.each([
    [
      "throws",
      () => {
        throw new Error("no deadline");
      },
      "error",
      /no deadline/,
    ],
    ["is no number", () => "soon", "timeout", /within 30 ms/],
    ["is not a number", () => Number.NaN, "timeout", /within 30 ms/],
  ])("a tool whose deadline %s does not run for ever", async (_, deadlineMs, outcome, text) => {
    const { state } = await run(
      { tools: [echo({ run: forever, deadlineMs: deadlineMs as never })] },
      { replies: [calls(["c", "Echo"]), says("done")], env: { deadlines: { tools: 30 } } },
    );
    expect(results(state.added)).toEqual([["c", outcome, expect.stringMatching(text)]]);
  });
  it("a tool that always throws is switched off, and a deadline of weeks is none that fires at once", async () => {
    const replies = [...["1", "2", "3", "4"].map((id) => calls([id, "Echo"])), says("done")];
    const { state, events } = await run(
      {
        tools: [
          echo({
            deadlineMs: 3e9,
            run: () => {
              throw new Error("x");
            },
          }),
        ],
      },
      { replies },
    );
    expect(results(state.added).map(([, , text]) => text.includes("is off for this session"))).toEqual([false, false, false, true]);
    expect(of(events, "fault").filter((e) => e.fault.code === "plugin-disabled")).toHaveLength(1);
    const late = await run(
      { tools: [echo({ deadlineMs: 3e9, run: () => new Promise((r) => setTimeout(() => r("in time"), 20)) })] },
      { replies: [calls(["c", "Echo"]), says("done")] },
    );
    expect(results(late.state.added)).toEqual([["c", "ok", "in time"]]);
  });
  it("an observer that is switched off leaves no line for each event", async () => {
    const words = Array.from({ length: 50 }, () => ({ type: "text", part: 0, text: "x" }) as const);
    const { events } = await run(
      {
        observers: [
          {
            name: "bad",
            on: ["message.delta"],
            observe: () => {
              throw new Error("x");
            },
          },
        ],
      },
      { replies: [[...words, { type: "stop", stop: "end" }]] },
    );
    expect(of(events, "stage.ran").filter((e) => e.record.point === "observers").length).toBeLessThanOrEqual(50);
    expect(of(events, "stage.ran").filter((e) => e.record.status === "skipped")).toEqual([]);
  });
});

describe("an abort", () => {
  const abortIn = (point: string, stop: AbortController) => (e: { type: string; record?: { point: string } }) => {
    if (e.type === "stage.ran" && e.record?.point === point) stop.abort("Esc");
  };
  it("leaves no half prefix behind", async () => {
    const stop = new AbortController();
    const parts = [
      { name: "fast", placement: "system" as const, build: () => "fast" },
      { name: "slow", placement: "system" as const, build: forever },
    ];
    const { events, state } = await run({ systemPrompt: parts }, { signal: stop.signal, onEvent: abortIn("systemPrompt", stop) as never });
    expect(state.outcome).toEqual({ kind: "aborted", reason: "Esc" });
    expect(of(events, "prefix.built")).toEqual([]);
  });
  it("between two steps says nothing twice", async () => {
    const stop = new AbortController();
    let turns = 0;
    const memory = {
      name: "a",
      when: "step" as const,
      schema: z.any(),
      collect: () => {
        if (turns++ === 0) return [];
        stop.abort("Esc");
        return forever();
      },
      render: () => "",
    };
    const looking = [
      { type: "text", part: 0, text: "Let me look." },
      { type: "call", part: 1, callId: "c", tool: "Echo", input: {} },
      { type: "stop", stop: "tool-calls" },
    ] as const;
    const { state } = await run({ tools: [echo()], attachments: [memory as never] }, { replies: [looking], signal: stop.signal });
    expect(roles(state.added)).toEqual(["user", "assistant", "tool"]);
  });
  it("while a gate thinks is no denial, and one that was said before stays", async () => {
    const stop = new AbortController();
    const gate: Gate = {
      name: "g",
      judge: (call) => {
        if (call.callId === "1") return { say: "deny", why: "no" };
        queueMicrotask(() => stop.abort("Esc"));
        return forever();
      },
    };
    const { state, events } = await run(
      { tools: [echo(writes)], gates: [gate] },
      { replies: [calls(["1", "Echo"], ["2", "Echo"], ["3", "Echo"])], signal: stop.signal },
    );
    expect(results(state.added).map(([id, outcome]) => [id, outcome])).toEqual([
      ["1", "denied"],
      ["2", "aborted"],
      ["3", "aborted"],
    ]);
    expect(of(events, "tool.decided").map((e) => e.decision.callId)).toEqual(["1"]);
  });
  it("of a tool that asks ends after its grace, and closes the ask", async () => {
    const stop = new AbortController();
    const asker = (_: unknown, signal: AbortSignal): Promise<never> =>
      new Promise((_, reject) => signal.addEventListener("abort", () => reject(new Error("over"))));
    const asking = echo({
      graceMs: 20,
      deadlineMs: 60_000,
      run: async (_, ctx) => {
        await ctx.ask("?").catch(() => {});
        return forever();
      },
    });
    const { events, state } = await run(
      { tools: [asking] },
      {
        replies: [calls(["c", "Echo"])],
        signal: stop.signal,
        env: { asker },
        onEvent: (e) => {
          if (e.type === "ask.opened") stop.abort("Esc");
        },
      },
    );
    expect(results(state.added)[0]![1]).toBe("aborted");
    expect(of(events, "ask.closed")).toHaveLength(1);
  });
});

describe("changed arguments", () => {
  it("are what the trace, afterTool and the tool see", async () => {
    const seen: unknown[] = [];
    const gate: Gate = { name: "g", judge: () => ({ say: "allow", input: { text: "safe" } }) };
    const { events } = await run(
      { tools: [echo(writes)], gates: [gate], afterTool: [{ name: "a", after: (call) => void seen.push(call.input) as never }] },
      { replies: [calls(["c", "Echo", { text: "evil" }]), says("done")] },
    );
    expect(of(events, "tool.started")[0]!.call.input).toEqual({ text: "safe" });
    expect(seen).toEqual([{ text: "safe" }]);
  });
  it("an ask names only a gate that asked", async () => {
    const asks: unknown[] = [];
    await run(
      { tools: [echo(writes)], gates: [gateSays({ say: "nothing" })] },
      {
        replies: [calls(["c", "Echo"]), says("done")],
        env: {
          asker: async (ask) => {
            asks.push(ask);
            return { kind: "deny" };
          },
        },
      },
    );
    expect(asks[0]).not.toHaveProperty("by");
  });
});
