import { type CallContext, type Contributions, definePlugin, defineTool, FS, service, z } from "@heddle/kernel/plugin";
import { describe, expect, it } from "vitest";
import { ownPlugin, plugin, pluginOf, type Reply, runTurnWith, scriptedModel, startWith, testHost } from "../src/index.ts";

const echo = defineTool({
  name: "Echo",
  description: "Says it again",
  input: z.object({ text: z.string() }),
  overlap: "shared",
  effects: () => [{ kind: "other", target: "echo" }],
  run: ({ text }) => text,
});
const echoing = plugin("echo", { tools: ["Echo"] }, () => ({ tools: [echo] }));
const callEcho: Reply = { text: "One moment.", calls: [{ tool: "Echo", input: { text: "abc" } }] };

describe("runTurnWith", () => {
  it("runs a turn with a tool through the runtime and collects all of it", async () => {
    const ran = await runTurnWith({ plugins: [echoing], replies: [callEcho, "Done."], input: "go", answers: [{ kind: "allow" }] });
    expect({ outcome: ran.outcome, text: ran.text, refused: ran.refused, problems: ran.problems }).toEqual({
      outcome: { kind: "completed" },
      text: "Done.",
      refused: [],
      problems: [],
    });
    expect(ran.messages.map((m) => m.role)).toEqual(["user", "assistant", "tool", "assistant"]);
    expect(ran.messages[2]).toMatchObject({ callId: "call-1", outcome: "ok", content: [{ type: "text", text: "abc" }] });
    expect(ran.requests.map((r) => r.messages.length)).toEqual([1, 3]);
    expect(ran.events.at(-1)).toMatchObject({ type: "turn.ended", outcome: { kind: "completed" } });
    expect(ran.explain).toMatch(/Echo/);
  });

  it("gives the same explanation each time", async () => {
    const once = (): Promise<string> =>
      runTurnWith({ plugins: [echoing], replies: [callEcho, "Done."], answers: [{ kind: "allow" }] }).then((r) => r.explain);
    expect(await once()).toBe(await once());
  });

  it("denies every ask when nobody can answer, and says which ask a test forgot", async () => {
    const denied = await runTurnWith({ plugins: [echoing], replies: [callEcho, "Well."] });
    expect(denied.messages[2]).toMatchObject({ role: "tool", outcome: "denied" });
    await expect(runTurnWith({ plugins: [echoing], replies: [callEcho, "Well."], answers: [] })).rejects.toThrow(
      "there is no answer left for this ask: Echo: no rule covers this call",
    );
  });

  it("submits several inputs in one session", async () => {
    const ran = await runTurnWith({ replies: ["One.", "Two."], input: ["a", "b"] });
    expect(ran.requests.map((r) => r.messages.length)).toEqual([1, 3]);
    expect(ran.explain.match(/ended: completed/g)).toHaveLength(2);
  });

  it("lets a test abort and steer on an event", async () => {
    const hanging = await runTurnWith({
      replies: [{ text: "I am still", hangs: true }],
      onEvent: (e, session) => e.type === "message.delta" && session.abort("enough"),
    });
    expect(hanging.outcome).toEqual({ kind: "aborted", reason: "enough" });
    expect(hanging.messages.at(-1)).toMatchObject({ role: "assistant", stop: "aborted", content: [{ type: "text", text: "I am still" }] });

    const steered = await runTurnWith({
      plugins: [echoing],
      replies: [callEcho, "Done."],
      answers: [{ kind: "allow" }],
      onEvent: (e, session) => e.type === "tool.started" && session.steer("and hurry"),
    });
    expect(steered.requests[1]?.messages.map((m) => m.role)).toEqual(["user", "assistant", "tool", "user"]);
  });

  it("gives plugins files in memory, and names a plugin that does not start", async () => {
    const build = async (ctx: CallContext): Promise<string> =>
      new TextDecoder().decode(await ctx.capability(FS).readFile("/project/a.txt"));
    const part = { name: "files", placement: "system" as const, build };
    const setup = (): Contributions => ({ systemPrompt: [part] });
    const good = plugin("good", { systemPrompt: ["files"] }, setup, { capabilities: ["fs"] });
    const bad = plugin("bad", { systemPrompt: ["files"], tools: ["Gone"] }, setup);
    const ran = await runTurnWith({ plugins: [good, bad], replies: ["Hi."], files: { "a.txt": "from the file" } });
    expect(ran.requests[0]?.prefix.system).toEqual([{ plugin: "good", name: "files", text: "from the file" }]);
    expect(ran.problems.map((p) => [p.plugin, p.stage])).toEqual([["bad", "contributes"]]);
  });
});

describe("what comes back", () => {
  it("holds asks, decisions, log lines, and what the person was shown", async () => {
    const asking = pluginOf("asking", {
      attachments: [
        {
          name: "mood",
          when: "turn",
          schema: z.object({}),
          render: () => "good",
          async collect(ctx) {
            ctx.log(`${ctx.session.permissionMode} in ${ctx.session.directories}`);
            await ctx.ask("How are you?");
            return [{}];
          },
        },
      ],
      admission: [
        {
          name: "polite",
          admit: ([part]) => (part?.type === "text" && part.text === "now" ? { say: "block", why: "Say please." } : { say: "pass" }),
        },
      ],
    });
    const ran = await runTurnWith({
      plugins: [asking, echoing],
      replies: [callEcho, "Done."],
      input: ["go", "now"],
      answers: (ask) => (ask.kind === "question" ? { kind: "text", text: "fine" } : { kind: "allow" }),
      permissionMode: "plan",
      directories: ["/data"],
    });
    expect(ran.asks.map((ask) => (ask.kind === "question" ? ask.text : ask.call.tool))).toEqual(["How are you?", "Echo"]);
    expect(ran.decisions).toEqual([{ callId: "call-1", tool: "Echo", say: "allow", by: "user" }]);
    expect(ran.logs).toEqual([{ plugin: "asking", text: "plan in /data" }]);
    expect([ran.outcome, ran.added.map((m) => m.role), ran.shown]).toEqual([
      { kind: "blocked", why: "Say please." },
      ["system"],
      ["Say please."],
    ]);
    expect(ran.messages.map((m) => m.role)).toEqual(["user", "attachment", "assistant", "tool", "assistant", "system"]);
  });

  it("is of the one run where a session has several", async () => {
    const runtime = await startWith({ replies: ["One.", "Two.", "Three."] });
    const session = await runtime.open();
    const first = await session.run();
    const second = await session.run();
    const other = await (await runtime.open()).run();
    expect(
      [first, second, other].map((r) => [r.text, r.added.length, r.messages.length, r.requests.map((q) => q.messages.length)]),
    ).toEqual([
      ["One.", 2, 2, [1]],
      ["Two.", 2, 4, [3]],
      ["Three.", 2, 2, [1]],
    ]);
    expect(await runtime.dispose()).toEqual([]);
  });
});

describe("a session that goes on", () => {
  it("is resumed from the state folder of the host, or has a history that is given", async () => {
    const o = { host: testHost(), stateDir: "/state", replies: ["Yes."] };
    const first = await runTurnWith(o);
    const resumed = await runTurnWith({ ...o, resume: "latest" });
    expect(resumed.messages.slice(0, 2)).toEqual(first.messages);
    const given = await runTurnWith({ host: o.host, replies: ["Yes."], history: first.messages });
    expect([given.messages.length, given.requests[0]?.messages.length, given.refused]).toEqual([4, 3, []]);
    await expect(runTurnWith({ stateDir: null, history: first.messages })).rejects.toThrow("leave stateDir out");
  });
});

describe("plugins of a test", () => {
  it("provide services, and the one under test has its options and has to start", async () => {
    const mood = service<string>("acme.mood");
    const definition = definePlugin({
      options: z.strictObject({ loud: z.boolean() }),
      setup: ({ options }) => ({
        systemPrompt: [{ name: "mood", placement: "system", build: (ctx) => `${ctx.use(mood)}${options.loud ? "!" : ""}` }],
      }),
    });
    const heddle = { manifest: 1, api: "^1.0.0", main: "./dist/index.js", contributes: { systemPrompt: ["mood"] } };
    const own = (options: unknown) => ownPlugin(definition, { name: "acme", version: "1.0.0", heddle }, options);
    const plugins = [own({ loud: true }), pluginOf("moods", {}, { provides: { "acme.mood": "happy" } })];
    const ran = await runTurnWith({ plugins, replies: ["Hi."] });
    expect(ran.requests[0]?.prefix.system).toEqual([{ plugin: "acme", name: "mood", text: "happy!" }]);
    await expect(runTurnWith({ plugins: [own({ laud: true })] })).rejects.toThrow(/heddle cannot start:\nplugin "acme".*laud/s);
  });
});

describe("scriptedModel", () => {
  it("plays every fault", async () => {
    const outcome = async (reply: Reply): Promise<string> => {
      const ran = await runTurnWith({ replies: [reply, reply], recovery: { retries: 0 } });
      return ran.outcome.kind === "failed" ? ran.outcome.fault.message : ran.outcome.kind;
    };
    expect(await outcome({ throws: "boom" })).toBe('plugin "script" (providers "script") threw: boom');
    expect(await outcome({ fails: { kind: "overloaded", status: 529, message: "busy" } })).toBe(
      'plugin "script" (providers "script") busy',
    );
    expect(await outcome({ text: "half", cut: true })).toMatch(/a stream that ends without a stop chunk/);
    expect(await outcome({ stop: "refusal", text: "No." })).toBe("refused");
    expect(
      await outcome([
        { type: "text", part: 0, text: "raw" },
        { type: "stop", stop: "end" },
      ]),
    ).toBe("completed"); // prettier-ignore
    expect(await outcome((request) => `${request.messages.length} message`)).toBe("completed");
  });

  it("says that the script is too short", async () => {
    const model = scriptedModel([callEcho]);
    const ran = await runTurnWith({ plugins: [echoing], replies: model, answers: [{ kind: "allow" }] });
    expect(ran.outcome).toMatchObject({
      kind: "failed",
      fault: { message: expect.stringContaining("the script has 1 replies, and this is request 2") },
    });
    expect(model.left).toBe(0);
  });

  it("refuses what no model API takes", async () => {
    const model = scriptedModel(["never said"]);
    const stream = (
      (await model.candidate.load()) as {
        setup(ctx: object): { providers: { stream: (r: object, c: object) => AsyncIterable<unknown> }[] };
      }
    ).setup({}).providers[0]!.stream; // prettier-ignore
    const refusal = async (messages: readonly object[], tools: readonly object[] = []): Promise<string> => {
      try {
        for await (const _ of stream({ messages, tools }, { signal: new AbortController().signal }));
        return "taken";
      } catch (error) {
        return (error as Error).message;
      }
    };
    const user = { id: "u", role: "user", content: [{ type: "text", text: "hi" }] };
    const call = { id: "a", role: "assistant", content: [{ type: "tool-call", callId: "c1", tool: "T", input: {} }] };
    const result = { id: "t", role: "tool", callId: "c1", content: [] };
    expect([
      await refusal([]),
      await refusal([user, call]),
      await refusal([user, result]),
      await refusal([call, result]),
      await refusal([user, { id: "a", role: "assistant", content: [] }]),
      await refusal([{ ...user, content: [{ type: "text", text: " " }] }]),
      await refusal([user], [{ name: "A" }, { name: "A" }]),
      await refusal([user, call, result]),
    ]).toEqual([
      "there is no message",
      "calls without a result right after them: c1",
      "results without their call right before them: c1",
      "the first message is of role assistant",
      "the last message is the model's own",
      'user message "u" is empty',
      'tool "A" is in the list twice',
      "taken",
    ]);
    expect(model.refused).toHaveLength(7);
  });
});
