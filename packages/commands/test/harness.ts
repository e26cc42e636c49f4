/** Runs one real turn with the plugin under test and a model that says "done". */
import {
  Breaker,
  type Contributions,
  type Entry,
  type Input,
  type ModelRequest,
  type PluginDefinition,
  type PointId,
  Registry,
  type RuntimeEvent,
  runTurn,
  type SetupContext,
  type TurnState,
} from "@heddle/kernel";

export type Run = {
  readonly plugin: PluginDefinition;
  readonly capabilities?: Readonly<Record<string, unknown>>;
  readonly input: string | Input;
  readonly others?: Contributions;
};
export type Ran = { readonly state: TurnState; readonly events: readonly RuntimeEvent[]; readonly requests: readonly ModelRequest[] };

export async function run({ plugin, capabilities = {}, input, others = {} }: Run): Promise<Ran> {
  const requests: ModelRequest[] = [];
  const fake: Contributions = {
    providers: [
      {
        name: "fake",
        async *stream(request) {
          requests.push(request);
          yield { type: "text", part: 0, text: "done" } as const;
          yield { type: "stop", stop: "end" } as const;
        },
      },
    ],
  };
  const own = await plugin.setup({ plugin: "own", options: {} } as unknown as SetupContext);
  const entriesOf = (name: string, from: Contributions): Entry[] =>
    Object.entries(from).flatMap(([point, list]) =>
      (list as readonly { name: string }[]).map(
        (it) =>
          ({
            plugin: name,
            point: point as PointId,
            name: it.name,
            options: {},
            capabilities: Object.keys(capabilities),
            it,
          }) as unknown as Entry,
      ),
    );
  const events: RuntimeEvent[] = [];
  let n = 0;
  const turn = runTurn(
    {
      registry: new Registry([...entriesOf("own", own), ...entriesOf("other", others), ...entriesOf("fake", fake)]),
      breaker: new Breaker(),
      now: () => 0,
      id: (kind) => `${kind}-${++n}`,
      asker: async () => ({ kind: "deny" }),
      record: (e) => void events.push(e),
      log: () => {},
      session: { id: "s", cwd: "/proj", directories: [], provider: "fake", model: "m-1", permissionMode: "default", headless: true },
      capabilities: new Map(Object.entries(capabilities)),
      stateOf: () => new Map(),
      sizes: new WeakMap(),
    },
    {
      turn: "t",
      input: typeof input === "string" ? { text: input, source: "repl" } : input,
      history: [],
      signal: new AbortController().signal,
      steering: () => [],
    },
  );
  for (;;) {
    const step = await turn.next();
    if (step.done) return { state: step.value, events, requests };
  }
}

/** What the person was shown. */
export const shown = ({ state }: Ran): readonly string[] => state.added.flatMap((m) => (m.role === "system" ? [m.text] : []));
