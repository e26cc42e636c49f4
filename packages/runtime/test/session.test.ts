import { isDeepStrictEqual } from "node:util";
import { SESSION, type SessionPort, unpaired } from "@heddle/kernel";
import { describe, expect, it } from "vitest";
import type { Session } from "../src/index.ts";
import { allowAll, calls, commands, echo, linesOf, pluginOf, says, scripted, seenBy, start, typesOf, waits } from "./support.ts";

describe("a turn", () => {
  it("ends in a result that adds up what its events say", async () => {
    const { candidate } = scripted([calls("Echo", { text: "x" }), says("done")]);
    const { runtime } = await start([candidate, echo(), allowAll]);
    const session = await runtime.open();
    const result = await session.submit("hi");
    expect({ ...result, messages: result.messages.map((m) => m.role) }).toEqual({
      turn: result.turn,
      outcome: { kind: "completed" },
      steps: 2,
      ms: 0,
      apiMs: 0,
      messages: ["user", "assistant", "tool", "assistant"],
      text: "done",
      usage: { input: 18, output: 6, cacheRead: 5 },
      denials: [],
    });
    expect([session.busy, session.messages]).toEqual([false, result.messages]);
  });

  it("is in the log before anyone sees it, deltas left out", async () => {
    const { candidate } = scripted([says("hello")]);
    const { runtime, host } = await start([candidate]);
    const session = await runtime.open();
    const behind: string[] = [];
    const seen = seenBy(session);
    session.subscribe((e) => {
      const logged = linesOf(host).some((line) => isDeepStrictEqual(line, e));
      if (!logged && e.type !== "message.delta") behind.push(e.type);
    });
    await session.submit("hi");
    expect([behind, typesOf(seen).includes("message.delta"), typesOf(linesOf(host)).includes("message.delta")]).toEqual([[], true, false]);
    expect(linesOf(host)[0]).toMatchObject({ type: "session", v: 1, id: session.id, cwd: "/w" });
    expect(session.path).toBe(`/state/projects/-w/${session.id}.jsonl`);
  });

  it("has its input on disk when submit returns, and a call before the tool runs", async () => {
    const { candidate } = scripted([calls("Echo", { text: "x" }), says("done")]);
    const atRun: string[] = [];
    const { runtime, host } = await start([candidate, allowAll, echo(() => String(atRun.push(...typesOf(linesOf(host)))))]);
    const session = await runtime.open();
    const running = session.submit("hi");
    expect(linesOf(host).map((l) => [l.type, (l["input"] as { text?: string } | undefined)?.text])).toEqual([
      ["session", undefined],
      ["turn.started", "hi"],
    ]);
    await running;
    expect(atRun.slice(-2)).toEqual(["tool.decided", "tool.started"]);
  });

  it("never rejects for what a model or a plugin did", async () => {
    const broken = pluginOf("broken", { attachments: [] as never, closers: [{ name: "c", close: () => Promise.reject(new Error("x")) }] });
    const { candidate } = scripted([says("one")]);
    const { runtime } = await start([candidate, broken]);
    const session = await runtime.open();
    expect((await session.submit("a")).outcome).toEqual({ kind: "completed" });
    const failed = await session.submit("b");
    expect(failed.outcome).toMatchObject({ kind: "failed", fault: { code: "model-error" } });
    expect((await runtime.open()).model).toBe("m");
    const nobody = await start([]);
    expect((await (await nobody.runtime.open()).submit("x")).outcome).toMatchObject({
      kind: "failed",
      fault: { message: 'there is no provider "fake" (there is: none)' },
    });
  });

  it("stops at the steps it is given, with every call answered", async () => {
    const { candidate } = scripted([calls("Echo", { text: "x" }, "c1"), calls("Echo", { text: "x" }, "c2"), says("never")]);
    const { runtime } = await start([candidate, echo(), allowAll]);
    const session = await runtime.open({ maxSteps: 2 });
    expect((await session.submit("hi")).outcome).toEqual({ kind: "step-limit", steps: 2 });
    expect(unpaired(session.messages)).toEqual({ open: [], orphan: [] });
  });
});

describe("the session", () => {
  it("begins a new history at a clear, in the same log, with a new prefix", async () => {
    let built = 0;
    const prompt = pluginOf("prompt", { systemPrompt: [{ name: "n", placement: "system", build: () => `prompt ${++built}` }] });
    const { candidate, requests } = scripted([says("1"), says("2"), says("3")]);
    const { runtime, host } = await start([candidate, commands, prompt]);
    const session = await runtime.open();
    await session.submit("a");
    await session.submit("b");
    expect([requests[1]!.prefix, built]).toEqual([requests[0]!.prefix, 1]);
    expect((await session.submit("/clear")).text).toBe("cleared");
    expect(session.messages.map((m) => m.role)).toEqual(["system"]);
    await session.submit("c");
    expect(requests[2]!.prefix.system).toEqual([{ plugin: "prompt", name: "n", text: "prompt 2" }]);
    expect(requests[2]!.messages.map((m) => m.role)).toEqual(["user"]);
    expect(typesOf(linesOf(host)).filter((t) => t === "session")).toHaveLength(1);
  });

  it("takes over model, effort and mode from commands and from its face, and logs them", async () => {
    const { candidate, requests } = scripted([says("1"), says("2")]);
    const { runtime, host } = await start([candidate, commands]);
    const session = await runtime.open();
    await session.submit("/big");
    await session.submit("a");
    expect([requests[0]!.model, requests[0]!.effort, session.permissionMode]).toEqual(["big", "high", "plan"]);
    session.setModel("small");
    session.setModel("small");
    session.setPermissionMode("default");
    await session.submit("b");
    expect([requests[1]!.model, session.model, session.permissionMode]).toEqual(["small", "small", "default"]);
    expect(linesOf(host).flatMap((l) => (l.type === "session.changed" ? [l["change"]] : []))).toEqual([
      { model: "big", effort: "high", permissionMode: "plan" },
      { model: "small" },
      { permissionMode: "default" },
    ]);
  });

  it("says once that its log cannot be written, and goes on in memory", async () => {
    const { candidate } = scripted([says("1"), says("2")]);
    const { runtime, host } = await start([candidate]);
    const session = await runtime.open();
    host.failAppends("ENOSPC");
    const events = seenBy(session);
    expect([(await session.submit("a")).text, (await session.submit("b")).text]).toEqual(["1", "2"]);
    const said = events.flatMap((e) => (e.type === "message.added" && e.message.role === "system" ? [e.message] : []));
    expect(said).toMatchObject([{ subtype: "log-failed", level: "warning", text: expect.stringContaining("is no longer saved") }]);
    expect(session.notices).toEqual([said[0]!.text]);
  });

  it("reports a subscriber that throws once, and the turn goes on", async () => {
    const { candidate } = scripted([says("1")]);
    const { runtime, host } = await start([candidate]);
    const session = await runtime.open();
    const events = seenBy(session);
    session.subscribe(() => {
      throw new Error("ui bug");
    });
    expect((await session.submit("a")).text).toBe("1");
    expect(events.flatMap((e) => (e.type === "fault" ? [e.fault.message] : []))).toEqual([
      "a subscriber of the session threw: ui bug; its events go on",
    ]);
    expect(new TextDecoder().decode(host.stored.get("/state/logs/heddle.log"))).toContain(
      "runtime: a subscriber of the session threw: ui bug",
    );
  });

  it("is not held up by a slow subscriber", async () => {
    const { candidate } = scripted([says("1")]);
    const { runtime } = await start([candidate]);
    const session = await runtime.open();
    session.subscribe(() => new Promise(() => {}));
    expect((await session.submit("a")).text).toBe("1");
  });

  it("keeps what a plugin keeps for a session to itself", async () => {
    const counts: unknown[] = [];
    const counter = pluginOf("counter", {
      closers: [
        {
          name: "c",
          close(_, ctx) {
            ctx.state.set("n", Number(ctx.state.get("n") ?? 0) + 1);
            counts.push(ctx.state.get("n"));
            ctx.log("counted");
            return undefined;
          },
        },
      ],
    });
    const { candidate } = scripted([says("1"), says("2"), says("3")]);
    const { runtime, host } = await start([candidate, counter]);
    const [a, b] = [await runtime.open(), await runtime.open()];
    for (const session of [a, a, b]) await session.submit("x");
    expect(counts).toEqual([1, 2, 1]);
    expect(new TextDecoder().decode(host.stored.get("/state/logs/heddle.log"))).toBe(
      "2026-01-01T00:00:00.000Z counter: counted\n".repeat(3),
    );
  });

  it("switches off what fails three times in a row, for this session only", async () => {
    let ran = 0;
    const flaky = pluginOf("flaky", {
      closers: [
        {
          name: "c",
          close() {
            ran++;
            throw new Error("x");
          },
        },
      ],
    });
    const { candidate } = scripted(Array.from({ length: 5 }, () => says("ok")));
    const { runtime } = await start([candidate, flaky]);
    const session = await runtime.open();
    for (let i = 0; i < 4; i++) await session.submit("x");
    expect(ran).toBe(3);
    await (await runtime.open()).submit("x");
    expect(ran).toBe(4);
  });

  it("tells a command what fills the window", async () => {
    let seen: ReturnType<SessionPort["window"]> | undefined;
    const asks = pluginOf(
      "asks",
      {
        classifiers: [
          { name: "slash", classify: ({ text }) => (text === "/context" ? { as: "command", command: "context", args: "" } : undefined) },
        ],
        commands: [
          {
            name: "context",
            kind: "local",
            summary: "",
            run(_, ctx) {
              seen = ctx.capability(SESSION).window();
              return { kind: "handled" };
            },
          },
        ],
      },
      { manifest: { capabilities: ["session"] } },
    );
    const { candidate } = scripted([says("hello")]);
    const { runtime } = await start([candidate, asks, echo()]);
    const session = await runtime.open();
    await session.submit("hi");
    await session.submit("/context");
    expect(seen!.limit).toBe(3_600);
    expect(seen!.parts.map((p) => [p.label, p.size > 0])).toEqual([
      ["tools", true],
      ["system prompt", true],
      ["context", true],
      ["your messages", true],
      ["replies", true],
      ["tool results", false],
      ["attachments", false],
    ]);
  });

  it("shows what it would send without sending, recording or changing anything", async () => {
    const counter = pluginOf("counter", {
      attachments: [
        {
          name: "n",
          when: "turn",
          schema: { safeParse: (data: unknown) => ({ success: true, data }) } as never,
          collect(ctx) {
            ctx.state.set("n", 1);
            return [{ n: 1 }] as never;
          },
          render: () => "attached",
        },
      ],
    });
    const { candidate, requests } = scripted([says("1")]);
    const { runtime, host } = await start([candidate, counter, commands]);
    const session = await runtime.open();
    const before = session.messages;
    const dry = await session.dry("what if");
    expect(dry.request).toEqual({ model: "m", messages: 2 });
    expect(typesOf(dry.events)).toContain("model.requested");
    expect([requests.length, session.messages, session.path && host.stored.has(session.path)]).toEqual([0, before, false]);
    expect((await session.dry("/clear")).request).toBeNull();
  });

  it("shows it also while a turn runs, whose calls have no results yet", async () => {
    let session: Session;
    let dry: ReturnType<Session["dry"]> | undefined;
    const { candidate } = scripted([calls("Echo", { text: "x" }), says("done")]);
    const { runtime } = await start([
      candidate,
      allowAll,
      echo((text) => {
        dry = session.dry("by the way");
        return text;
      }),
    ]);
    session = await runtime.open();
    await session.submit("hi");
    expect([(await dry!).request, session.messages.length]).toEqual([{ model: "m", messages: 2 }, 4]);
  });

  it("closes: aborts what runs, answers what waits, and takes no more", async () => {
    const { candidate } = scripted([waits(new Promise(() => {}), "")]);
    const { runtime, host } = await start([candidate]);
    const session = await runtime.open();
    const [running, waiting] = [session.submit("a"), session.submit("b")];
    await session.dispose();
    expect([(await running).outcome, (await waiting).outcome]).toEqual([
      { kind: "aborted", reason: "the session was closed" },
      { kind: "aborted", reason: "the session was closed" },
    ]);
    await expect(session.submit("c")).rejects.toThrow(`session "${session.id}" is closed; open it again to go on`);
    const lines = typesOf(linesOf(host));
    expect(lines.at(-1)).toBe("turn.ended");
    const again = await runtime.open({ resume: session.id });
    expect(again.pendingInputs).toEqual([{ text: "b", source: "sdk" }]);
    await runtime.dispose();
    await expect(runtime.open()).rejects.toThrow("the runtime is disposed");
  });
});
