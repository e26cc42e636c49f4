/** Runs one real turn in which the model makes the given calls, with the gate of this package and tools that record what they did. */
import {
  type Answer,
  Breaker,
  type Contributions,
  type Controls,
  type Decision,
  defineTool,
  type Effect,
  type Entry,
  type FileSystem,
  type Json,
  type PluginDefinition,
  type PointId,
  Registry,
  type RuntimeEvent,
  runTurn,
  type SetupContext,
  textOf,
  z,
} from "@heddle/kernel";
import plugin from "../src/index.ts";
import { memoryFs } from "./memory-fs.ts";

export type Run = {
  readonly call: { readonly tool: string; readonly input: Json };
  /** Calls that stand before it in the same reply. */
  readonly before?: readonly { readonly tool: string; readonly input: Json }[];
  readonly options?: Readonly<Record<string, unknown>>;
  readonly mode?: string;
  readonly fs?: FileSystem;
  readonly answer?: Answer;
  readonly controls?: Controls;
  readonly cwd?: string;
  readonly directories?: readonly string[];
  readonly shell?: string;
};
export type Ran = {
  /** Without the id of the call. */
  readonly decision: Omit<Decision, "callId">;
  readonly outcome: string;
  readonly result: string;
  readonly asked: readonly string[];
  /** The calls that really ran. */
  readonly did: readonly string[];
  readonly logged: readonly string[];
};

const FILE = z.object({ file_path: z.string() });
const text = (v: unknown): string => String(v);

export async function run(o: Run): Promise<Ran> {
  const did: string[] = [];
  const tool = (name: string, input: z.ZodType, effects: (i: never) => readonly Effect[]) =>
    defineTool({
      name,
      description: "",
      input,
      overlap: "shared",
      effects: effects as (i: unknown) => readonly Effect[],
      run: (i) => {
        did.push(`${name} ${JSON.stringify(i)}`);
        return "did it";
      },
    });
  const file = (name: string, kind: "read" | "write") => tool(name, FILE, (i: z.output<typeof FILE>) => [{ kind, target: i.file_path }]);
  const turns = [[...(o.before ?? []), o.call]];
  const contributions: Contributions = {
    providers: [
      {
        name: "fake",
        async *stream() {
          const calls = turns.shift() ?? [];
          for (const [part, { tool, input }] of calls.entries())
            yield { type: "call", part, callId: part === calls.length - 1 ? "c1" : `before${part}`, tool, input } as const;
          if (calls.length === 0) yield { type: "text", part: 0, text: "done" } as const;
          yield { type: "stop", stop: calls.length > 0 ? "tool-calls" : "end" } as const;
        },
      },
    ],
    classifiers: [
      {
        name: "c",
        classify: (i) => ({ as: "prompt", content: [{ type: "text", text: i.text }], ...(o.controls ? { controls: o.controls } : {}) }),
      },
    ],
    tools: [
      file("Read", "read"),
      file("Write", "write"),
      file("Edit", "write"),
      tool("Grep", z.object({ path: z.string() }), (i: { path: string }) => [{ kind: "read", target: i.path }]),
      tool("Bash", z.object({ command: z.string() }), (i: { command: string }) => [{ kind: "execute", target: i.command }]),
      tool("WebFetch", z.object({ url: z.string() }), (i: { url: string }) => [{ kind: "network", target: i.url }]),
      tool("mcp__git__push", z.object({}), () => [{ kind: "other", target: "git" }]),
      tool("Deploy", z.object({ where: z.string() }), (i: { where: string }) => [{ kind: "execute", target: i.where }]),
      tool("Think", z.object({}), () => []),
    ],
  };
  const definition = plugin as PluginDefinition;
  const options = definition.options!.parse(o.options ?? {});
  const own = await definition.setup({ plugin: "permissions", options } as unknown as SetupContext);
  const entriesOf = (plugin: string, from: Contributions, capabilities: readonly string[]): Entry[] =>
    Object.entries(from).flatMap(([point, list]) =>
      (list as readonly { name: string }[]).map(
        (it) => ({ plugin, point: point as PointId, name: it.name, options, capabilities, it }) as unknown as Entry,
      ),
    );
  const services = new Map<string, unknown>(o.shell ? [["heddle.shell-folder", { get: () => o.shell }]] : []);
  const states = new Map<string, Map<string, unknown>>();
  const logged: string[] = [];
  const asked: string[] = [];
  const events: RuntimeEvent[] = [];
  let n = 0;
  const turn = runTurn(
    {
      registry: new Registry([...entriesOf("fake", contributions, []), ...entriesOf("permissions", own, ["fs"])], services),
      breaker: new Breaker(),
      now: () => 0,
      id: (kind) => `${kind}-${++n}`,
      asker: async (ask) => {
        asked.push(ask.kind === "permission" ? ask.why : ask.text);
        return o.answer ?? { kind: "deny" };
      },
      record: (e) => void events.push(e),
      log: (_, line) => void logged.push(line),
      session: {
        id: "s",
        cwd: o.cwd ?? "/proj",
        directories: o.directories ?? [],
        provider: "fake",
        model: "m",
        permissionMode: o.mode ?? "default",
        headless: false,
      },
      capabilities: new Map([["fs", o.fs ?? PROJECT()]]),
      stateOf: (p) => states.get(p) ?? states.set(p, new Map()).get(p)!,
      sizes: new WeakMap(),
    },
    { turn: "t", input: { text: "go", source: "sdk" }, history: [], signal: new AbortController().signal, steering: () => [] },
  );
  for (let step = await turn.next(); !step.done; step = await turn.next());
  const decided = events.find((e) => e.type === "tool.decided" && e.decision.callId === "c1");
  if (decided?.type !== "tool.decided")
    throw new Error(`nothing was decided: ${text(JSON.stringify(events.filter((e) => e.type === "fault")))}`);
  const { callId: _, ...decision } = decided.decision;
  const added = events.find((e) => e.type === "message.added" && e.message.role === "tool" && e.message.callId === "c1");
  const message = added?.type === "message.added" && added.message.role === "tool" ? added.message : undefined;
  return { decision, outcome: message?.outcome ?? "", result: textOf(message?.content ?? []), asked, did, logged };
}

export const PROJECT = (more: Parameters<typeof memoryFs>[0] = {}): FileSystem =>
  memoryFs({
    "/proj/README.md": "hello",
    "/proj/.env": "KEY=1",
    "/proj/src/app.ts": "",
    "/proj/package.json": "{}",
    "/proj/.git/config": "",
    "/proj/packages/a/index.ts": "",
    "/home/dev/.ssh/id_rsa": "key",
    "/home/dev/.bashrc": "",
    "/etc/hosts": "",
    "/data/x": "",
    "/tmp/": "",
    ...more,
  });

/** Options with rules from the project's settings. */
export const rules = (o: { allow?: string[]; ask?: string[]; deny?: string[] }, more: object = {}): Record<string, unknown> => {
  const texts = (list: string[] = []) => list.map((rule) => ({ rule, source: "project settings" }));
  return { allow: texts(o.allow), ask: texts(o.ask), deny: texts(o.deny), home: "/home/dev", ...more };
};
