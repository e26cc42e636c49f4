/** Runs one turn over contributions given inline, with a provider that plays replies and refuses a request that breaks the invariant. */
import {
  type Contributions,
  type Entry,
  type ModelChunk,
  type ModelRequest,
  type PointId,
  type Provider,
  type Registry,
  type RuntimeEvent,
  runTurn,
  type TurnEnv,
  type TurnOptions,
  type TurnState,
  typed,
  unpaired,
  userMessage,
} from "../src/index.ts";

export type Reply = readonly ModelChunk[] | ((request: ModelRequest, signal: AbortSignal) => AsyncIterable<ModelChunk>);
export const says = (text: string): ModelChunk[] => [
  { type: "text", part: 0, text },
  { type: "stop", stop: "end" },
];
export const calls = (...list: readonly [callId: string, tool: string, input?: object][]): ModelChunk[] => [
  ...list.map(([callId, tool, input = {}], part): ModelChunk => ({ type: "call", part, callId, tool, input: input as never })),
  { type: "stop", stop: "tool-calls" },
];

export function scripted(replies: readonly Reply[]): { provider: Provider; requests: ModelRequest[] } {
  const requests: ModelRequest[] = [];
  const provider: Provider = {
    name: "fake",
    async *stream(request, ctx) {
      const { open, orphan } = unpaired(request.messages);
      if (open.length + orphan.length > 0) throw new Error(`invalid request: ${[...open, ...orphan].join(", ")}`);
      const reply = replies[requests.push(request) - 1];
      if (!reply) throw new Error(`the script has no reply number ${requests.length}`);
      yield* typeof reply === "function" ? reply(request, ctx.signal) : reply;
    },
  };
  return { provider, requests };
}

function registryOf(entries: readonly Entry[]): Registry {
  const all = (point: PointId): Entry[] => entries.filter((e) => e.point === point);
  const named = (e: Entry, name: string): boolean => [e.name, ...((e.it as { aliases?: string[] }).aliases ?? [])].includes(name);
  return {
    all: (point) => all(point) as never,
    find: (point, name) => all(point).find((e) => named(e, name)) as never,
    use: (token) => {
      throw new Error(`nobody provides ${token.id}`);
    },
  };
}

function breakerOf(limit = 3): TurnEnv["breaker"] {
  const failures = new Map<string, number>();
  return {
    limit,
    isOpen: (who) => (failures.get(JSON.stringify(who)) ?? 0) >= limit,
    record(who, ok) {
      const key = JSON.stringify(who);
      failures.set(key, ok ? 0 : (failures.get(key) ?? 0) + 1);
      return failures.get(key) === limit;
    },
  };
}

export function envOf(contributions: Contributions, more: Partial<TurnEnv> = {}): TurnEnv {
  const entries = Object.entries(contributions).flatMap(([point, list]) =>
    list.map((it): Entry => ({ plugin: "acme", point: point as PointId, name: it.name, options: undefined, capabilities: ["fs"], it })),
  );
  let n = 0;
  const states = new Map<string, Map<string, unknown>>();
  return {
    registry: registryOf(entries),
    breaker: breakerOf(),
    now: () => 0,
    id: (kind) => `${kind}-${++n}`,
    asker: async () => ({ kind: "deny" }),
    record: () => {},
    log: () => {},
    session: {
      id: "s",
      cwd: "/w",
      directories: [],
      provider: "fake",
      model: "m",
      permissionMode: "default",
      headless: true,
      list: () => [],
    },
    capabilities: new Map(),
    stateOf: (plugin) => {
      const state = states.get(plugin) ?? new Map<string, unknown>();
      states.set(plugin, state);
      return state;
    },
    sizes: new WeakMap(),
    read: async (env, input) => ({ type: "input.ready", messages: [userMessage(env, typed(input), input.isMeta)] }),
    pack: async (_, log) => log,
    tools: (contributions.tools ?? []).map((t) => ({ name: t.name, description: t.description, schema: t.jsonSchema ?? {} })),
    target: (model = "m") => ({ provider: "fake", model: model.replace(/^fake\//, "") }),
    ...more,
  };
}

export type Ran = { events: RuntimeEvent[]; state: TurnState; requests: ModelRequest[] };
export type RunOptions = {
  replies?: readonly Reply[];
  env?: Partial<TurnEnv>;
  onEvent?: (event: RuntimeEvent) => void;
} & Partial<TurnOptions>;

export async function run(contributions: Contributions, o: RunOptions = {}): Promise<Ran> {
  const { replies = [says("hello")], env, onEvent, ...options } = o;
  const script = scripted(replies);
  const gen = runTurn(envOf({ providers: [script.provider], ...contributions }, env), {
    turn: "t",
    input: { text: "hi", source: "sdk" },
    history: [],
    signal: new AbortController().signal,
    steering: () => [],
    ...options,
  });
  const events: RuntimeEvent[] = [];
  for (;;) {
    const r = await gen.next();
    if (r.done) return { events, state: r.value, requests: script.requests };
    events.push(r.value);
    onEvent?.(r.value);
  }
}

export const of = <T extends RuntimeEvent["type"]>(events: readonly RuntimeEvent[], type: T): Extract<RuntimeEvent, { type: T }>[] =>
  events.filter((e): e is Extract<RuntimeEvent, { type: T }> => e.type === type);
