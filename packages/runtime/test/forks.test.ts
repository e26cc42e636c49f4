import {
  type Call,
  type CallContext,
  defineTool,
  type ModelChunk,
  type RuntimeEvent,
  SESSION,
  type SessionPort,
  type StopReason,
  unpaired,
  type Verdict,
  z,
} from "@heddle/kernel";
import { describe, expect, it } from "vitest";
import { memoryHost } from "../src/memory.ts";
import { allowAll, gateway, pluginOf, seenBy, start } from "./support.ts";
import { type Brain, brain, lastText, type Reply, spawner } from "./support-forks.ts";

let made = 0;
const usage = { input: 1, output: 0 };
const spawn = (...inputs: object[]): ModelChunk[] => [
  ...inputs.map((input, part): ModelChunk => ({ type: "call", part, callId: `s${++made}`, tool: "Spawn", input: input as never })),
  { type: "stop", stop: "tool-calls", usage },
];
const text = (said: string, stop: StopReason = "end"): ModelChunk[] => [
  { type: "text", part: 0, text: said },
  { type: "part.end", part: 0 },
  { type: "stop", stop, usage },
];
const hang: Reply = async function* (signal) {
  yield { type: "text", part: 0, text: "so far" };
  yield { type: "part.end", part: 0 };
  await new Promise((resolve) => signal.addEventListener("abort", resolve, { once: true }));
};
/** What a session hears of its forks, in a line each. */
const story = (events: readonly RuntimeEvent[]): string[] =>
  events.flatMap((e) => {
    if (e.type === "fork.started") return [`started ${e.title}`];
    if (e.type === "fork.ended") return [`ended ${e.outcome.kind}`];
    return e.type === "fork.event" && e.event.type === "message.added" ? [`  ${e.event.message.role}`] : [];
  });
const wellFormed = ({ requests }: Brain): void => {
  for (const { messages } of requests) expect(unpaired(messages)).toEqual({ open: [], orphan: [] });
};

describe("a fork", () => {
  it("begins anew with its own system text, and what the project says where that is wanted", async () => {
    const context = pluginOf("context", {
      systemPrompt: [
        { name: "identity", placement: "system", build: () => "The session." },
        { name: "instructions", placement: "context", build: () => "The project." },
      ],
    });
    const model = brain((said) =>
      said === "go" ? spawn({ prompt: "one", from: { kind: "new", system: "S", context: true } }, { prompt: "two" }) : text(`ok ${said}`),
    );
    const { runtime } = await start([model.candidate, spawner, context, allowAll]);
    const session = await runtime.open();
    const events = seenBy(session);
    const result = await session.submit("go");
    expect(result.text).toBe("ok completed: ok two");
    expect(model.requests.slice(1, 3).map((r) => ({ prefix: r.prefix, said: lastText(r), n: r.messages.length }))).toEqual([
      {
        prefix: {
          system: [{ plugin: "@heddle/runtime", name: "agent", text: "S" }],
          context: [{ plugin: "context", name: "instructions", text: "The project." }],
        },
        said: "one",
        n: 1,
      },
      { prefix: { system: [{ plugin: "@heddle/runtime", name: "agent", text: "You help." }], context: [] }, said: "two", n: 1 },
    ]);
    expect(story(events)).toEqual(
      expect.arrayContaining(["started one", "started two", "  user", "  assistant", "ended completed", "ended completed"]),
    );
    wellFormed(model);
  });

  it("with the history of its session sends the same bytes first, and leaves no trace in the next request of the session", async () => {
    const model = brain((said) => (said === "go" ? spawn({ prompt: "aside", from: { kind: "fork" } }) : text(said)));
    const { runtime } = await start([model.candidate, spawner, allowAll]);
    const session = await runtime.open();
    const events = seenBy(session);
    await session.submit("before");
    await session.submit("go");
    const [, asked, fork, next] = model.requests;
    expect(fork!.messages.slice(0, -1)).toEqual(asked!.messages);
    expect([fork!.prefix, fork!.tools, fork!.model]).toEqual([asked!.prefix, asked!.tools, asked!.model]);
    expect(next!.messages.slice(0, asked!.messages.length)).toEqual(asked!.messages);
    expect(next!.messages.some((m) => "content" in m && JSON.stringify(m.content).includes('"aside"') && m.role === "user")).toBe(false);
    expect(events.filter((e) => e.type === "prefix.broken")).toEqual([]);
  });

  it("hears of no tool that it cannot call; with the history of its session it hears of all, and a call of others fails", async () => {
    const nothing = pluginOf("nothing", {
      tools: [
        defineTool({ name: "Nothing", description: "", input: z.object({}), overlap: "shared", effects: () => [], run: () => "nothing" }),
      ],
    });
    const model = brain((said, r) => {
      if (said === "go") return spawn({ prompt: "a", tools: ["Nothing"] }, { prompt: "b", tools: ["Nothing"], from: { kind: "fork" } });
      if (said === "b") return spawn({ prompt: "c" });
      return text(`${r.tools.map((t) => t.name).join()} ${said}`);
    });
    const { runtime } = await start([model.candidate, spawner, nothing, allowAll]);
    const session = await runtime.open();
    await session.submit("go");
    const results = session.messages.flatMap((m) => (m.role === "tool" ? [JSON.stringify(m.content)] : []));
    expect(results[0]).toContain("completed: Nothing a");
    expect(results[1]).toContain('completed: Spawn,Nothing There is no tool \\"Spawn\\". The tools are: Nothing.');
  });

  it("has state of its own, also beside another one", async () => {
    const counter = pluginOf("counter", {
      tools: [
        defineTool({
          name: "Count",
          description: "",
          input: z.object({}),
          overlap: "shared",
          effects: () => [],
          run(_, ctx) {
            const count = Number(ctx.state.get("n") ?? 0) + 1;
            ctx.state.set("n", count);
            return `${count} of ${ctx.session.id}`;
          },
        }),
      ],
    });
    const count = (): Reply => [
      { type: "call", part: 0, callId: `n${++made}`, tool: "Count", input: {} },
      { type: "stop", stop: "tool-calls", usage },
    ];
    const model = brain((said, r) => {
      if (said === "go") return spawn({ prompt: "x" }, { prompt: "y" });
      if (["count", "x", "y"].includes(said) || r.messages.length === 3) return count();
      return text(said);
    });
    const { runtime } = await start([model.candidate, spawner, counter, allowAll]);
    const session = await runtime.open();
    const first = await session.submit("count");
    await session.submit("go");
    const results = session.messages.flatMap((m) => (m.role === "tool" && m.tool === "Spawn" ? [JSON.stringify(m.content)] : []));
    expect(first.text).toBe(`2 of ${session.id}`);
    expect(results.map((r) => /completed: 2 of fork-\d+/.test(r))).toEqual([true, true]);
    expect(new Set(results).size).toBe(2);
  });

  it("is held as tight as its session at least, also when that is tightened meanwhile", async () => {
    const modes: string[] = [];
    const door = gateway();
    const judge = (ctx: CallContext): Verdict => {
      modes.push(ctx.session.permissionMode);
      return { say: "allow" };
    };
    const look = pluginOf("look", { gates: [{ name: "look", judge: (_, __, ctx) => judge(ctx) }] });
    const model = brain((said) => {
      if (said === "go")
        return spawn({ prompt: "loose", permissionMode: "bypassPermissions" }, { prompt: "tight", permissionMode: "plan" });
      if (said === "loose" || said === "tight") return spawn({ prompt: "inner" });
      return text(said);
    });
    const { runtime } = await start([model.candidate, spawner, look], { permissionMode: "acceptEdits" });
    const session = await runtime.open();
    session.subscribe((e) => {
      if (e.type === "fork.started") door.open();
    });
    const turn = session.submit("go");
    await door.promise;
    await turn;
    expect(modes.slice(2).sort()).toEqual(["acceptEdits", "plan"]);
    modes.length = 0;
    session.setPermissionMode("default");
    await session.submit("loose");
    expect(modes).toEqual(["default"]);
  });

  it("asks the person of its session, and says who asks", async () => {
    const allowed: unknown[] = [];
    const judge = (call: Call, ctx: CallContext): Verdict => {
      if (call.tool !== "Echo") return { say: "allow" };
      allowed.push(ctx.session.allowedTools);
      return { say: "ask", why: "because" };
    };
    const ask = pluginOf("ask", {
      gates: [{ name: "ask", judge: (call, _, ctx) => judge(call, ctx) }],
      tools: [
        defineTool({
          name: "Echo",
          description: "",
          input: z.object({}),
          overlap: "shared",
          effects: () => [{ kind: "other", target: "x" }],
          run: () => "echoed",
        }),
      ],
    });
    const model = brain((said) => {
      if (said === "go") return spawn({ prompt: "outer" });
      if (said === "outer") return spawn({ prompt: "inner" });
      if (said === "inner")
        return [
          { type: "call", part: 0, callId: "e1", tool: "Echo", input: {} },
          { type: "stop", stop: "tool-calls" },
        ];
      return text(said);
    });
    const { runtime } = await start([model.candidate, spawner, ask]);
    const session = await runtime.open();
    const seen: unknown[] = [];
    session.subscribe((e) => {
      if (e.type === "ask.closed") seen.push(e.answer);
      if (e.type !== "ask.opened") return;
      seen.push({ agent: e.ask.agent, why: e.ask.kind === "permission" ? e.ask.why : "" });
      session.answer(e.ask.id, { kind: "allow", rules: ["Echo"] });
    });
    expect((await session.submit("go")).text).toBe("completed: completed: echoed");
    expect(seen).toEqual([
      { agent: "inner", why: "because" },
      { kind: "allow", rules: ["Echo"] },
    ]);
    await session.submit("go");
    await session.submit("inner");
    expect(allowed).toEqual([[], ["Echo"], ["Echo"]]);
  });
});

describe("forks have bounds", () => {
  it("of depth", async () => {
    const model = brain((said) => (/^d\d$/.test(said) ? spawn({ prompt: `d${Number(said[1]) + 1}` }) : text(said)));
    const { runtime } = await start([model.candidate, spawner, allowAll]);
    const session = await runtime.open();
    const { text: said } = await session.submit("d0");
    expect(said).toBe('completed: completed: completed: plugin "spawner" (tools "Spawn") threw: sub-agents may be 3 deep; do it here');
  });
  it("of number", async () => {
    const model = brain((said, r) => {
      if (r.messages.length > 1) return text("done");
      return said === "go" ? spawn(...Array.from({ length: 21 }, (_, i) => ({ prompt: `p${i}`, background: true }))) : hang;
    });
    const { runtime } = await start([model.candidate, spawner, allowAll]);
    const session = await runtime.open();
    await session.submit("go");
    const results = session.messages.flatMap((m) => (m.role === "tool" ? [JSON.stringify(m.content)] : []));
    expect(results.filter((r) => r.includes("started fork-")).length).toBe(20);
    expect(results.at(-1)).toContain("20 sub-agents are running; wait for one to end");
    await runtime.dispose();
  });
  it("of money: what forks cost counts for all, while they run and when they have ended", async () => {
    const model = brain((said) => (said === "go" ? spawn({ prompt: "one" }) : said === "one" ? spawn({ prompt: "two" }) : text(said)));
    const { runtime } = await start([model.candidate, spawner, allowAll]);
    const session = await runtime.open({ maxBudgetUsd: 3 });
    const events = seenBy(session);
    const { outcome } = await session.submit("go");
    expect(outcome).toMatchObject({ kind: "failed", fault: { message: expect.stringContaining("The budget of $3 is spent") } });
    expect(session.cost).toMatchObject({ usd: 3, models: [{ provider: "fake", model: "m", calls: 3, usd: 3 }] });
    expect(events.flatMap((e) => (e.type === "fork.ended" ? [e.models[0]?.usd] : []))).toEqual([2]);
    await session.dispose();
    const again = await runtime.open({ resume: session.id });
    expect(again.cost).toEqual(session.cost);
  });
  it("of money: the person is asked once for all that want to go on", async () => {
    const model = brain((said) => (said === "go" ? spawn({ prompt: "one" }, { prompt: "two" }) : text(said)));
    const { runtime } = await start([model.candidate, spawner, allowAll]);
    const session = await runtime.open({ askBudgetUsd: 1 });
    const asked: string[] = [];
    session.subscribe((e) => {
      if (e.type !== "ask.opened" || e.ask.kind !== "question") return;
      asked.push(e.ask.text);
      session.answer(e.ask.id, { kind: "allow" });
    });
    expect((await session.submit("go")).text).toBe("completed: two");
    expect(asked).toEqual(["The session has cost $1.00. Go on?", "The session has cost $3.00. Go on?"]);
  });
  it("of steps", async () => {
    const model = brain((said) =>
      said === "go"
        ? spawn({ prompt: "loop", maxSteps: 2 })
        : said.startsWith("step-limit")
          ? text(said)
          : spawn({ prompt: "x", tools: [] }),
    );
    const { runtime } = await start([model.candidate, spawner, allowAll]);
    const session = await runtime.open({ maxSteps: 5 });
    expect((await session.submit("go")).text).toMatch(/^step-limit/);
  });
});

describe("the end of forks", () => {
  it("leaves what is told to one later to its session", async () => {
    let port: SessionPort | undefined;
    const late = pluginOf(
      "late",
      {
        tools: [
          defineTool({
            name: "Late",
            description: "",
            input: z.object({}),
            overlap: "shared",
            effects: () => [],
            run(_, ctx) {
              port = ctx.capability(SESSION);
              return "later";
            },
          }),
        ],
      },
      { manifest: { capabilities: ["session"] } },
    );
    const model = brain((said) => {
      if (said === "go") return spawn({ prompt: "one" });
      if (said !== "one") return text(said);
      return [
        { type: "call", part: 0, callId: "l1", tool: "Late", input: {} },
        { type: "stop", stop: "tool-calls" },
      ];
    });
    const { runtime } = await start([model.candidate, spawner, late, allowAll]);
    const session = await runtime.open();
    await session.submit("go");
    expect(session.forks.list()).toEqual([
      { id: expect.stringMatching(/^fork-/), title: "one", depth: 1, running: false, steps: 2, text: "later" },
    ]);
    port?.tell("news");
    await session.idle();
    expect(session.messages.at(-1)).toMatchObject({ content: [{ text: 'For the sub-agent "one", which has ended: news' }] });
    await runtime.dispose();
    port?.tell("too late");
  });

  it("that are waited for comes with the end of the turn, and every call has its result", async () => {
    const model = brain((said) => (said === "go" ? spawn({ prompt: "slow" }, { prompt: "slower" }) : hang));
    const { runtime } = await start([model.candidate, spawner, allowAll]);
    const session = await runtime.open();
    const events = seenBy(session);
    let running = 0;
    session.subscribe((e) => {
      if (e.type === "fork.event" && e.event.type === "message.delta" && ++running === 2) session.abort();
    });
    const { outcome } = await session.submit("go");
    expect(outcome).toEqual({ kind: "aborted", reason: "interrupted" });
    expect(unpaired(session.messages)).toEqual({ open: [], orphan: [] });
    expect(session.messages.flatMap((m) => (m.role === "tool" ? [[m.outcome, JSON.stringify(m.content)]] : []))).toEqual([
      ["aborted", expect.stringContaining("aborted (interrupted): so far")],
      ["aborted", expect.stringContaining("aborted (interrupted): so far")],
    ]);
    await new Promise((resolve) => setImmediate(resolve));
    expect(story(events).filter((l) => l.startsWith("ended"))).toEqual(["ended aborted", "ended aborted"]);
  });

  it("that run in the background outlives the turn, and is told once in a turn of its own", async () => {
    const door = gateway();
    const model = brain((said) => {
      if (said === "go") return spawn({ prompt: "later", background: true });
      if (said !== "later") return text(`heard: ${said.replace(/fork-\d+/, "F")}`);
      return async function* () {
        await door.promise;
        yield* text("done");
      };
    });
    const { runtime } = await start([model.candidate, spawner, allowAll]);
    const session = await runtime.open();
    const events = seenBy(session);
    expect((await session.submit("go")).text).toBe("heard: started F");
    const told = new Promise<void>((resolve) => session.subscribe((e) => void (e.type === "turn.ended" && resolve())));
    door.open();
    await told;
    const texts = session.messages.flatMap((m) =>
      m.role === "user" || m.role === "assistant" ? [[m.role, lastText({ messages: [m] } as never), "isMeta" in m]] : [],
    );
    expect(texts.slice(-2)[0]).toEqual(["user", "later ended: completed: done", true]);
    expect(story(events)).toEqual(["started later", "  user", "  assistant", "ended completed"]);
  });

  it("of one that has forks of its own waits for them, and it answers what they tell", async () => {
    const model = brain((said) => {
      if (said === "go") return spawn({ prompt: "outer" });
      if (said === "outer") return spawn({ prompt: "inner", background: true });
      if (said.startsWith("inner ended")) return text(`in the end: ${said}`);
      return text(said);
    });
    const { runtime } = await start([model.candidate, spawner, allowAll]);
    const session = await runtime.open();
    expect((await session.submit("go")).text).toBe("completed: in the end: inner ended: completed: inner");
  });

  it("comes with that of the session, whose next process tells the model", async () => {
    const model = brain((said) => (said === "go" ? spawn({ prompt: "long", background: true }) : said === "long" ? hang : text(said)));
    const { runtime } = await start([model.candidate, spawner, allowAll]);
    const session = await runtime.open();
    await session.submit("go");
    await session.dispose();
    const again = await runtime.open({ resume: session.id });
    expect(JSON.stringify(again.messages.at(-1))).toContain('The sub-agent \\"long\\" (fork-');
    expect(again.notices).toEqual([]);
  });

  it("comes when the conversation is cleared", async () => {
    const model = brain((said) => (said === "go" ? spawn({ prompt: "long", background: true }) : said === "long" ? hang : text(said)));
    const clear = pluginOf("clear", {
      classifiers: [{ name: "c", classify: (i) => (i.text === "/clear" ? { as: "command", command: "clear", args: "" } : undefined) }],
      commands: [{ name: "clear", kind: "local", summary: "", run: () => ({ kind: "handled", change: { clear: true } }) }],
    });
    const { runtime } = await start([model.candidate, spawner, clear, allowAll]);
    const session = await runtime.open();
    const events = seenBy(session);
    await session.submit("go");
    const ended = new Promise<void>((resolve) => session.subscribe((e) => void (e.type === "fork.ended" && resolve())));
    await session.submit("/clear");
    await ended;
    expect(story(events).at(-1)).toBe("ended aborted");
    expect(session.messages).toEqual([]);
  });
});

describe("a fork that is resumed", () => {
  const model = (): Brain =>
    brain((said, r) => {
      const id = /fork-\d+/.exec(JSON.stringify(r.messages))?.[0];
      if (said === "go") return spawn({ prompt: "first", background: true });
      if (said === "aside") return spawn({ prompt: "first", background: true, from: { kind: "fork" } });
      if (said === "more") return spawn({ prompt: "second", from: { kind: "resume", id } });
      if (said.startsWith("wrong ")) return spawn({ prompt: "second", from: { kind: "resume", id: said.slice(6) } });
      return text(`re: ${said}`);
    });

  it.each(["go", "aside"])("goes on where it was, also in another process (%s)", async (how) => {
    const host = memoryHost({ files: { "/w/a.txt": "a" } });
    const one = model();
    const first = await start([one.candidate, spawner, allowAll], { host });
    const session = await first.runtime.open();
    const told = new Promise<void>((resolve) => session.subscribe((e) => void (e.type === "turn.started" && e.input.isMeta && resolve())));
    await session.submit(how);
    await told;
    await session.idle();
    await first.runtime.dispose();
    const two = model();
    const second = await start([two.candidate, spawner, allowAll], { host });
    const again = await second.runtime.open({ resume: session.id });
    expect((await again.submit("more")).text).toBe("re: completed: re: second");
    const resumed = two.requests[1]!;
    const before = one.requests.find((r) => lastText(r) === "first")!;
    expect(resumed.prefix).toEqual(before.prefix);
    expect(resumed.messages.slice(0, before.messages.length)).toEqual(before.messages);
    expect(resumed.messages.slice(before.messages.length).map((m) => m.role)).toEqual(["assistant", "user"]);
    expect([...host.stored.keys()].filter((p) => p.includes("/forks/"))).toEqual([
      expect.stringMatching(new RegExp(`/${session.id}/forks/fork-\\d+\\.jsonl$`)),
    ]);
  });

  it.each(["../other", "nope"])("has to be one of the session (%s)", async (id) => {
    const it = model();
    const { runtime } = await start([it.candidate, spawner, allowAll]);
    const session = await runtime.open();
    expect((await session.submit(`wrong ${id}`)).text).toContain(`there is no sub-agent "${id}" in this session; start a new one`);
    await session.dispose();
    expect(unpaired(session.messages)).toEqual({ open: [], orphan: [] });
  });
});

it("a killed process leaves a log from which the session knows of its forks, and of what they cost", async () => {
  const host = memoryHost({ files: { "/w/a.txt": "a" } });
  const model = brain((said, r) => {
    if (said === "go") return spawn({ prompt: "long" });
    return r.messages.length === 1 ? spawn({ prompt: "deep", tools: [] }) : said.startsWith("completed") ? hang : text(said);
  });
  const { runtime } = await start([model.candidate, spawner, allowAll], { host });
  const session = await runtime.open();
  const hung = new Promise<void>((resolve) =>
    session.subscribe((e) => void (e.type === "fork.event" && e.event.type === "message.delta" && e.event.text === "so far" && resolve())),
  );
  void session.submit("go");
  await hung;
  const killed = memoryHost({ files: { "/w/a.txt": "a" } });
  for (const [path, bytes] of host.stored) killed.stored.set(path, bytes);
  const after = await start([brain((said) => text(said)).candidate, spawner, allowAll], { host: killed });
  for (let round = 0; round < 2; round++) {
    const again = await after.runtime.open({ resume: session.id });
    expect(again.notices.filter((n) => n.includes("sub-agent")).length).toBe(1 - round);
    expect(again.cost.usd).toBe(session.cost.usd + round);
    expect(unpaired(again.messages)).toEqual({ open: [], orphan: [] });
    if (round === 0) await again.submit("and now?");
    await again.dispose();
  }
  await runtime.dispose();
});
