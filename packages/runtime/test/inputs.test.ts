import { type Answer, defineTool, textOf, unpaired, z } from "@heddle/kernel";
import { describe, expect, it } from "vitest";
import type { Session } from "../src/index.ts";
import { allowAll, calls, commands, echo, gateway, linesOf, pluginOf, says, scripted, seenBy, start, typesOf, waits } from "./support.ts";

describe("inputs while a turn runs", () => {
  it("wait in order, are in the log at once, and become turns", async () => {
    const door = gateway();
    const { candidate, requests } = scripted([waits(door.promise, "1"), says("2"), says("3")]);
    const { runtime, host } = await start([candidate]);
    const session = await runtime.open();
    const results = [session.submit("a"), session.submit("b"), session.submit("c")];
    const waiting = () => typesOf(linesOf(host)).filter((t) => t.startsWith("input."));
    expect([waiting(), session.busy]).toEqual([["input.queued", "input.queued"], true]);
    door.open();
    expect((await Promise.all(results)).map((r) => r.text)).toEqual(["so far1", "2", "3"]);
    await session.idle();
    expect([waiting(), session.busy, requests.length]).toEqual([["input.queued", "input.queued", "input.taken", "input.taken"], false, 3]);
  });

  it("are said to the running turn at its next step when they steer", async () => {
    let session: Session;
    const { candidate, requests } = scripted([calls("Echo", { text: "x" }), says("done")]);
    const { runtime, host } = await start([candidate, allowAll, echo(() => String(session.steer("rather y")))]);
    session = await runtime.open();
    const result = await session.submit("hi");
    expect(requests[1]!.messages.map((m) => m.role)).toEqual(["user", "assistant", "tool", "user"]);
    expect(result.messages.map((m) => (m.role === "user" ? textOf(m.content) : m.role))).toEqual([
      "hi",
      "assistant",
      "tool",
      "rather y",
      "assistant",
    ]);
    expect(typesOf(linesOf(host)).filter((t) => t.startsWith("input."))).toEqual(["input.queued", "input.taken"]);
  });

  it("that steer now stop a tool that may be stopped, and leave every other", async () => {
    const run = async (interrupt: "cancel" | "block") => {
      const door = gateway();
      const { candidate, requests } = scripted([calls("Wait", {}), says("done")]);
      const wait = defineTool({
        name: "Wait",
        description: "Waits.",
        input: z.object({}),
        overlap: "shared",
        interrupt,
        effects: () => [],
        run: (_, ctx) =>
          Promise.race([
            door.promise.then(() => "waited"),
            new Promise<string>((resolve) => ctx.signal.addEventListener("abort", () => resolve("stopped"))),
          ]),
      });
      const { runtime } = await start([candidate, allowAll, pluginOf("wait", { tools: [wait] })]);
      const session = await runtime.open();
      session.subscribe((e) => {
        if (e.type !== "tool.started") return;
        session.steer("rather y", { now: true });
        if (interrupt === "block") door.open();
      });
      const { outcome } = await session.submit("hi");
      return [outcome.kind, ...requests[1]!.messages.slice(2).map((m) => (m.role === "tool" ? [m.outcome, textOf(m.content)] : m.role))];
    };
    expect(await run("cancel")).toEqual(["completed", ["aborted", "Stopped, because the user has said something new."], "user"]);
    expect(await run("block")).toEqual(["completed", ["ok", "waited"], "user"]);
  });

  it("that steer become a turn of their own when no step is left, before what was queued", async () => {
    const door = gateway();
    const { candidate } = scripted([waits(door.promise, ""), says("2"), says("3")]);
    const { runtime } = await start([candidate]);
    const session = await runtime.open();
    const first = session.submit("a");
    const queued = session.submit("queued");
    session.steer("steered");
    door.open();
    await Promise.all([first, queued]);
    expect(session.messages.flatMap((m) => (m.role === "user" ? [textOf(m.content)] : []))).toEqual(["a", "steered", "queued"]);
  });

  it("that steer are not lost when the turn is aborted while it takes them", async () => {
    let session: Session;
    const slow = pluginOf("slow", {
      attachments: [
        {
          name: "s",
          when: "step",
          schema: { safeParse: (data: unknown) => ({ success: true, data }) } as never,
          collect(ctx) {
            if (ctx.turn.step === 1) session.abort();
            return [];
          },
          render: () => "",
        },
      ],
    });
    const { candidate } = scripted([calls("Echo", { text: "x" }), says("2")]);
    const { runtime } = await start([candidate, allowAll, slow, echo(() => String(session.steer("rather y")))]);
    session = await runtime.open();
    const first = await session.submit("hi");
    await session.idle();
    expect(first.outcome).toEqual({ kind: "aborted", reason: "interrupted" });
    expect(session.messages.flatMap((m) => (m.role === "user" ? [textOf(m.content)] : []))).toEqual(["hi", "rather y"]);
  });

  it("that a turn proposes are submitted by themselves only when it says so", async () => {
    const { candidate } = scripted([says("more done")]);
    const { runtime } = await start([candidate, commands]);
    const session = await runtime.open();
    const events = seenBy(session);
    await session.submit("/offer");
    await session.submit("/again");
    await session.idle();
    expect(events.flatMap((e) => (e.type === "turn.started" ? [[e.input.text, e.input.source]] : []))).toEqual([
      ["/offer", "sdk"],
      ["/again", "sdk"],
      ["more", "queue"],
    ]);
  });
});

describe("a turn that submits the next one", () => {
  const spin = async () => {
    const { candidate } = scripted([says("at last"), says("more")]);
    const loop = pluginOf("loop", {
      classifiers: [{ name: "k", classify: ({ text }) => (text === "/spin" ? { as: "command", command: "spin", args: "" } : undefined) }],
      commands: [
        {
          name: "spin",
          kind: "local",
          summary: "",
          run: () => ({ kind: "handled", controls: { nextInput: "/spin", submitNextInput: true } }),
        },
      ],
    });
    const { runtime, host } = await start([candidate, loop]);
    const session = await runtime.open();
    const events = seenBy(session);
    const begun = (): string[] => events.flatMap((e) => (e.type === "turn.started" ? [e.input.text] : []));
    return { session, host, events, begun };
  };

  it("does so at most 25 times in a row, which is said, and the session goes on", async () => {
    const { session, events, begun } = await spin();
    await session.submit("/spin");
    await session.idle();
    expect(begun()).toEqual(Array.from({ length: 26 }, () => "/spin"));
    expect(events.flatMap((e) => (e.type === "message.added" && e.message.role === "system" ? [e.message] : []))).toMatchObject([
      {
        subtype: "submit-limit",
        level: "warning",
        text: "stopped: 25 turns in a row were submitted by the one before. Send it yourself to go on: /spin",
      },
    ]);
    await session.submit("/spin");
    await session.idle();
    expect(begun()).toHaveLength(52);
  });

  it("leaves time for others, and an abort ends it; what the person has said is kept", async () => {
    const { session, host, begun } = await spin();
    setTimeout(() => {
      session.steer("stop it");
      session.abort();
    }, 0);
    await session.submit("/spin");
    await session.idle();
    expect(begun().length).toBeLessThan(25);
    expect([begun().at(-1), session.busy]).toEqual(["stop it", false]);
    const lines = linesOf(host).filter((l) => l.type.startsWith("input."));
    const open = lines.filter((l) => l.type === "input.queued" && !lines.some((m) => m.type === "input.taken" && m["id"] === l["id"]));
    expect(open).toEqual([]);
  });
});

describe("asks", () => {
  const asking = async (more: object = {}) => {
    const { candidate } = scripted([calls("Echo", { text: "x" }), says("done")]);
    const { runtime, host } = await start([candidate, echo()]);
    const session = await runtime.open(more);
    return { session, host, events: seenBy(session) };
  };
  const answering = (session: Session, answer: Answer): void =>
    void session.subscribe((e) => {
      if (e.type === "ask.opened") session.answer(e.ask.id, answer);
    });

  it("are answered by the person", async () => {
    const { session } = await asking();
    answering(session, { kind: "allow" });
    const result = await session.submit("hi");
    expect([result.text, result.denials]).toEqual(["done", []]);
  });

  it("are denied by the person, which the result lists", async () => {
    const { session } = await asking();
    answering(session, { kind: "deny", reason: "no" });
    const result = await session.submit("hi");
    expect(result.denials).toEqual([{ tool: "Echo", callId: "c1", input: { text: "x" } }]);
    expect(result.messages[2]).toMatchObject({ role: "tool", outcome: "denied", content: [{ type: "text", text: "Denied: no" }] });
  });

  it("are denied at once where nobody is, and say how to allow", async () => {
    const { session } = await asking({ headless: true });
    const result = await session.submit("hi");
    const text = "Denied: nobody can be asked; a rule has to allow it beforehand";
    expect(result.messages[2]).toMatchObject({ outcome: "denied", content: [{ text }] });
  });

  it("are put to whoever decides in a headless session, and no question is", async () => {
    const { session } = await asking({ headless: true, decides: true });
    answering(session, { kind: "allow" });
    expect((await session.submit("hi")).denials).toEqual([]);
  });

  it("give rules that contributions see from then on, and a session that is resumed does not", async () => {
    const seen: unknown[] = [];
    const gate = pluginOf("gate", {
      gates: [
        {
          name: "g",
          judge: (_call, _effects, ctx) => {
            seen.push(ctx.session.allowedTools);
            return { say: "ask", why: "because", rule: "r", offer: ["A", "B"] };
          },
        },
      ],
    });
    const turn = [calls("Echo", { text: "x" }), says("done")];
    const { runtime } = await start([scripted([...turn, ...turn, ...turn]).candidate, gate, echo()]);
    const session = await runtime.open();
    const asked: unknown[] = [];
    session.subscribe((e) => {
      if (e.type !== "ask.opened" || e.ask.kind !== "permission") return;
      asked.push([e.ask.rule, e.ask.offer]);
      session.answer(e.ask.id, { kind: "allow", rules: ["A"] });
    });
    await session.submit("hi");
    await session.submit("hi");
    await session.dispose();
    const again = await runtime.open({ resume: session.id, headless: true });
    await again.submit("hi");
    expect(asked).toEqual([
      ["r", ["A", "B"]],
      ["r", ["A", "B"]],
    ]);
    expect(seen).toEqual([[], ["A"], []]);
  });

  it("tell a plugin that nobody can answer its question", async () => {
    const answers: Answer[] = [];
    const curious = pluginOf("curious", { closers: [{ name: "c", close: async (_, ctx) => void answers.push(await ctx.ask("Sure?")) }] });
    const { runtime } = await start([scripted([says("done")]).candidate, curious]);
    await (await runtime.open({ headless: true })).submit("hi");
    expect(answers).toEqual([{ kind: "deny", reason: "nobody can be asked; the session is headless" }]);
  });

  it("are closed for observers too when the turn is aborted", async () => {
    const seen: string[] = [];
    const watching = pluginOf("watching", {
      observers: [{ name: "o", on: ["ask.opened", "ask.closed"], observe: (e) => void seen.push(e.type) }],
    });
    const { candidate } = scripted([calls("Echo", { text: "x" })]);
    const { runtime } = await start([candidate, echo(), watching]);
    const session = await runtime.open();
    session.subscribe((e) => {
      if (e.type === "ask.opened") session.abort();
    });
    await session.submit("hi");
    await new Promise((resolve) => setImmediate(resolve));
    expect(seen).toEqual(["ask.opened", "ask.closed"]);
  });

  it("of an observer, which outlives its turn, are closed with the session", async () => {
    const asked = gateway();
    const late = pluginOf("late", {
      observers: [{ name: "o", on: ["turn.ended"], observe: async (_, ctx) => void (await ctx.ask("And now?")) }],
    });
    const { runtime } = await start([scripted([says("done")]).candidate, late]);
    const session = await runtime.open();
    const events = seenBy(session);
    session.subscribe((e) => {
      if (e.type === "ask.opened") asked.open();
    });
    await session.submit("hi");
    await asked.promise;
    await session.dispose();
    await new Promise((resolve) => setImmediate(resolve));
    expect(typesOf(events).filter((t) => t.startsWith("ask."))).toEqual(["ask.opened", "ask.closed"]);
  });

  it("are closed when the turn is aborted, and a late answer changes nothing", async () => {
    const { session, events } = await asking();
    let id = "";
    session.subscribe((e) => {
      if (e.type !== "ask.opened") return;
      id = e.ask.id;
      session.abort("enough");
    });
    const result = await session.submit("hi");
    session.answer(id, { kind: "allow" });
    expect(result.outcome).toEqual({ kind: "aborted", reason: "enough" });
    expect(events.filter((e) => e.type === "ask.closed")).toMatchObject([
      { id, answer: { kind: "deny", reason: "the turn was aborted" }, turn: result.turn },
    ]);
    expect(unpaired(session.messages)).toEqual({ open: [], orphan: [] });
  });
});

describe("an abort", () => {
  it("keeps what was said so far, and the session goes on", async () => {
    const { candidate, requests } = scripted([waits(new Promise(() => {}), "never"), says("next")]);
    const { runtime } = await start([candidate]);
    const session = await runtime.open();
    session.subscribe((e) => {
      if (e.type === "message.delta") session.abort();
    });
    const first = await session.submit("a");
    expect([first.outcome, first.text]).toEqual([{ kind: "aborted", reason: "interrupted" }, "so far"]);
    expect((await session.submit("b")).text).toBe("next");
    expect(requests[1]!.messages.map((m) => m.role)).toEqual(["user", "assistant", "user"]);
    session.abort();
  });
});
