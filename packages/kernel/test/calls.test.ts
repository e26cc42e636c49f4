import { describe, expect, it } from "vitest";
import { defineTool, type Message, type ModelChunk, ModelError, type RuntimeEvent, type Tool, textOf, z } from "../src/index.ts";
import { calls, of, type Reply, run, says } from "./harness.ts";

const tool = (name: string, more: Partial<Tool> = {}): Tool =>
  defineTool({
    name,
    description: "",
    input: z.object({ text: z.string().default("") }),
    overlap: "shared",
    effects: () => [],
    run: () => `${name} ran`,
    ...more,
  } as Tool);
const results = (messages: readonly Message[]): [string, string, string][] =>
  messages.flatMap((m) => (m.role === "tool" ? [[m.callId, m.outcome, textOf(m.content)]] : []));
const call = (part: number, callId: string, name: string): ModelChunk => ({ type: "call", part, callId, tool: name, input: {} });
const text = (part: number, said: string): ModelChunk => ({ type: "text", part, text: said });
const stop = (it: Partial<Extract<ModelChunk, { type: "stop" }>> = {}): ModelChunk => ({ type: "stop", stop: "tool-calls", ...it });
/** A promise and what resolves it. */
function gateway(): { opened: Promise<void>; open: () => void } {
  let open = (): void => {};
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { opened, open };
}
const until = (signal: AbortSignal): Promise<never> =>
  new Promise((_, reject) => signal.addEventListener("abort", () => reject(new Error("stopped")), { once: true }));

describe("calls of a reply that is still coming in", () => {
  it("run as soon as they are complete, and answer behind the reply in call order", async () => {
    const ran = gateway();
    const reply: Reply = async function* () {
      yield call(0, "a", "Slow");
      yield call(1, "b", "Fast");
      await ran.opened; // the reply goes on only once a tool has run
      yield text(2, "more");
      yield stop();
    };
    const slow = gateway();
    const tools = [
      tool("Slow", {
        run: async () => {
          await slow.opened;
          return "slow";
        },
      }),
      tool("Fast", {
        run: () => {
          ran.open();
          return "fast";
        },
      }),
    ];
    const { state, events } = await run(
      { tools },
      {
        replies: [reply, says("done")],
        onEvent: (e) => e.type === "model.replied" && slow.open(),
      },
    );
    const order = events.filter((e) => e.type === "tool.finished" || e.type === "model.replied").map((e) => e.type);
    expect(order.slice(0, 3)).toEqual(["tool.finished", "model.replied", "tool.finished"]);
    expect(results(state.added)).toEqual([
      ["a", "ok", "slow"],
      ["b", "ok", "fast"],
    ]);
    expect(state.added.map((m) => m.role)).toEqual(["user", "assistant", "tool", "tool", "assistant"]);
  });

  it.each<[string, Reply]>([
    [
      "a server that fails",
      async function* () {
        yield call(0, "a", "Echo");
        yield text(1, "half a sen");
        throw new ModelError("gone", { kind: "network" });
      },
    ],
    ["a stream without an end", [call(0, "a", "Echo"), text(1, "half a sen")]],
    ["text that turns void", [call(0, "a", "Echo"), text(1, "half a sen"), { type: "void", why: "again" }, text(2, "new"), stop()]],
    ["a refusal", [call(0, "a", "Echo"), text(1, "half a sen"), stop({ stop: "refusal" })]],
    ["a refusal with a reminder", [call(0, "a", "Echo"), text(1, "half a sen"), stop({ stop: "refusal", reminder: "go on" })]],
  ])("are kept with their results over %s", async (_, reply) => {
    const { state, requests } = await run({ tools: [tool("Echo")] }, { replies: [reply, says("done")] });
    expect(state.outcome).toEqual({ kind: "completed" });
    expect(results(state.added)).toEqual([["a", "ok", "Echo ran"]]);
    expect(state.added[1]).toMatchObject({ role: "assistant", content: [{ type: "tool-call", callId: "a" }] });
    expect(requests).toHaveLength(2);
  });

  it("answer for what they did when the person stops the reply", async () => {
    const stopper = new AbortController();
    const reply: Reply = async function* (_, signal) {
      yield text(0, "Working on it.");
      yield { type: "part.end", part: 0 };
      yield call(1, "a", "Echo");
      yield call(2, "b", "Hangs");
      await until(signal);
      yield* [];
    };
    const tools = [tool("Echo"), tool("Hangs", { run: (_: unknown, ctx: { signal: AbortSignal }) => until(ctx.signal) } as never)];
    const { state } = await run(
      { tools },
      {
        replies: [reply],
        signal: stopper.signal,
        onEvent: (e) => e.type === "tool.finished" && stopper.abort("enough"),
      },
    );
    expect(state.outcome).toEqual({ kind: "aborted", reason: "enough" });
    expect(results(state.added)).toEqual([
      ["a", "ok", "Echo ran"],
      ["b", "aborted", "Stopped by the user."],
    ]);
    expect(state.added.map((m) => m.role)).toEqual(["user", "assistant", "tool", "tool"]);
    expect(state.added[1]).toMatchObject({ stop: "aborted", content: [{ text: "Working on it." }, { callId: "a" }, { callId: "b" }] });
  });

  it("wait for a person where one is asked, and hold up those behind them", async () => {
    const answered = gateway();
    const started: string[] = [];
    const reply: Reply = async function* () {
      yield call(0, "a", "Asks");
      yield call(1, "b", "Echo");
      answered.open();
      yield stop();
    };
    const { state } = await run(
      { tools: [tool("Asks", { effects: () => [{ kind: "write", target: "/w/a" }] }), tool("Echo")] },
      {
        replies: [reply, says("done")],
        env: {
          asker: async () => {
            await answered.opened;
            return { kind: "allow" };
          },
        },
        onEvent: (e) => e.type === "tool.started" && started.push(e.call.tool),
      },
    );
    expect(started).toEqual(["Asks", "Echo"]);
    expect(results(state.added).map(([id]) => id)).toEqual(["a", "b"]);
  });
});

describe("calls of one reply", () => {
  const failing = (more: Partial<Tool> = {}) =>
    tool("Fails", { overlap: "exclusive", run: () => ({ content: "broken", isError: true }), ...more });

  it("are cancelled behind one whose failure says so, and only then", async () => {
    const replies = () => [calls(["a", "Fails"], ["b", "Echo"], ["c", "Echo"]), calls(["d", "Echo"]), says("done")];
    const cancelled = await run({ tools: [failing({ failureCancels: true }), tool("Echo")] }, { replies: replies() });
    expect(results(cancelled.state.added)).toEqual([
      ["a", "error", "broken"],
      ["b", "aborted", "Not run: the call of Fails before it failed."],
      ["c", "aborted", "Not run: the call of Fails before it failed."],
      ["d", "ok", "Echo ran"],
    ]);
    const alone = await run({ tools: [failing(), tool("Echo")] }, { replies: replies() });
    expect(results(alone.state.added).map(([, outcome]) => outcome)).toEqual(["error", "ok", "ok", "ok"]);
  });

  it("that run beside it are stopped", async () => {
    const started = gateway();
    const tools = [
      failing({
        failureCancels: true,
        overlap: "shared",
        run: async () => {
          await started.opened;
          throw new Error("no");
        },
      }),
      tool("Hangs", {
        run: (_: unknown, ctx: { signal: AbortSignal }) => {
          started.open();
          return until(ctx.signal);
        },
      } as never),
    ];
    const { state } = await run({ tools }, { replies: [calls(["a", "Fails"], ["b", "Hangs"]), says("done")] });
    expect(results(state.added)[1]).toEqual(["b", "aborted", "Not run: the call of Fails before it failed."]);
  });

  const interrupted = async (how: Tool["interrupt"]) => {
    let interrupt: ((why: string) => boolean) | undefined;
    let took: boolean | undefined;
    const go = gateway();
    const tools = [
      tool("Waits", {
        ...(how ? { interrupt: how } : {}),
        run: async (_: unknown, ctx: { signal: AbortSignal }) => {
          await Promise.race([go.opened, until(ctx.signal)]);
          return "waited";
        },
      } as never),
    ];
    const onEvent = (e: RuntimeEvent): void => {
      if (e.type !== "tool.started") return;
      took = interrupt!("the person said something new");
      go.open();
    };
    const interrupter = (it: (why: string) => boolean): void => {
      interrupt = it;
    };
    const { state } = await run({ tools }, { replies: [calls(["a", "Waits"]), says("done")], interrupter, onEvent });
    return { took, result: results(state.added)[0], outcome: state.outcome };
  };
  it("are stopped by new input where all that run allow it, and the turn goes on", async () => {
    const outcome = { kind: "completed" };
    expect(await interrupted("cancel")).toEqual({ took: true, result: ["a", "aborted", "the person said something new"], outcome });
    expect(await interrupted("block")).toEqual({ took: false, result: ["a", "ok", "waited"], outcome });
    expect(await interrupted(undefined)).toEqual({ took: false, result: ["a", "ok", "waited"], outcome });
  });

  it("change the session in call order, whichever ends first", async () => {
    const second = gateway();
    const tools = [
      tool("First", {
        run: async () => {
          await second.opened;
          return { content: "1", change: { permissionMode: "one" } };
        },
      }),
      tool("Second", {
        run: () => {
          second.open();
          return { content: "2", change: { permissionMode: "two" } };
        },
      }),
    ];
    const { events } = await run({ tools }, { replies: [calls(["a", "First"], ["b", "Second"]), says("done")] });
    expect(of(events, "session.changed").map((e) => e.change)).toEqual([{ permissionMode: "one" }, { permissionMode: "two" }]);
  });

  it("show gates and afterTool what the tool says of its input, and run with the input as given", async () => {
    const seen: unknown[] = [];
    let ran: unknown;
    const echo = tool("Echo", {
      observable: (input: { text: string }) => ({ ...input, path: "/w/a" }),
      run: (input: unknown) => {
        ran = input;
        return "ok";
      },
    } as never);
    const judge = (it: { input: unknown }) => {
      seen.push(it.input);
      return { say: "allow" as const };
    };
    await run(
      { tools: [echo], gates: [{ name: "g", judge }], afterTool: [{ name: "a", after: (it) => void seen.push(it.input) }] },
      { replies: [calls(["c", "Echo", { text: "x" }]), says("done")] },
    );
    expect(seen).toEqual([
      { text: "x", path: "/w/a" },
      { text: "x", path: "/w/a" },
    ]);
    expect(ran).toEqual({ text: "x" });
  });

  it("hint at the search when a tool whose schema was not sent got wrong arguments", async () => {
    const rare = tool("Rare", { deferred: true, input: z.object({ n: z.number() }) } as never);
    const finder = tool("ToolSearch", { run: () => ({ content: "found", loads: ["Rare"] }) });
    const { state } = await run({ tools: [rare, finder] }, { replies: [calls(["a", "Rare"], ["b", "ToolSearch"]), says("done")] });
    expect(results(state.added)[0]![2]).toMatch(/n: .* find it with ToolSearch first\.$/);
    expect(state.added.find((m) => m.role === "tool" && m.callId === "b")).toMatchObject({ loads: ["Rare"] });
  });
});
