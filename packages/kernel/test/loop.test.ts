import { describe, expect, it } from "vitest";
import {
  Breaker,
  type Contributions,
  defineTool,
  type Entry,
  type PointId,
  Registry,
  type RuntimeEvent,
  runTurn,
  type TurnEnv,
  type TurnOptions,
  type TurnState,
  unpaired,
  z,
} from "../src/index.ts";

function envOf(contributions: Contributions, more: Partial<TurnEnv> = {}): TurnEnv {
  const entries = Object.entries(contributions).flatMap(([point, list]) =>
    list.map((it) => ({ plugin: "p", point: point as PointId, name: it.name, options: undefined, capabilities: [], it }) as Entry),
  );
  let n = 0;
  const state = new Map();
  return {
    registry: new Registry(entries),
    breaker: new Breaker(),
    now: () => 0,
    id: (k) => `${k}-${++n}`,
    asker: async () => ({ kind: "deny" }),
    record: () => {},
    log: () => {},
    session: { id: "s", cwd: "/w", directories: [], provider: "fake", model: "m", permissionMode: "default", headless: true },
    capabilities: new Map(),
    stateOf: () => state,
    sizes: new WeakMap(),
    ...more,
  };
}
async function run(env: TurnEnv, o: Partial<TurnOptions> = {}): Promise<{ events: RuntimeEvent[]; state: TurnState }> {
  const gen = runTurn(env, {
    turn: "t",
    input: { text: "hi", source: "sdk" },
    history: [],
    signal: new AbortController().signal,
    steering: () => [],
    ...o,
  });
  const events: RuntimeEvent[] = [];
  for (;;) {
    const r = await gen.next();
    if (r.done) return { events, state: r.value };
    events.push(r.value);
  }
}
describe("loop", () => {
  it("runs a tool step and completes", async () => {
    let n = 0;
    const env = envOf({
      providers: [
        {
          name: "fake",
          async *stream() {
            if (n++ === 0) {
              yield { type: "call", part: 0, callId: "c1", tool: "Echo", input: { a: "x" } } as const;
              yield { type: "stop", stop: "tool-calls" } as const;
            } else {
              yield { type: "text", part: 0, text: "done" } as const;
              yield { type: "stop", stop: "end" } as const;
            }
          },
        },
      ],
      tools: [
        defineTool({
          name: "Echo",
          description: "",
          input: z.object({ a: z.string() }),
          overlap: "shared",
          effects: () => [],
          run: (i) => i.a,
        }),
      ],
    });
    const { state, events } = await run(env);
    expect(state.outcome).toEqual({ kind: "completed" });
    expect(state.added.map((m) => m.role)).toEqual(["user", "assistant", "tool", "assistant"]);
    expect(unpaired(state.added)).toEqual({ open: [], orphan: [] });
    expect(events.at(-1)!.type).toBe("turn.ended");
  });
});
