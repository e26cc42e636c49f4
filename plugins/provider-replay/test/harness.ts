/** Runs a plugin through the kernel's loop, with files and processes in memory. */
import { dirname, posix } from "node:path";
import {
  Breaker,
  type Entry,
  type FileSystem,
  type Input,
  type Message,
  type ModelRequest,
  type PluginDefinition,
  type PointId,
  type Prefix,
  type Processes,
  type Provider,
  Registry,
  type RuntimeEvent,
  runTurn,
  type TurnEnv,
  type TurnState,
} from "@heddle/kernel";

export type Files = Readonly<Record<string, string | Uint8Array | { readonly link: string }>>;

const missing = (path: string): Error => Object.assign(new Error(`ENOENT: ${path}`), { code: "ENOENT" });

/** Absolute posix paths; folders are made of the paths of their files. */
export function memoryFs(files: Files): FileSystem & { readonly text: (path: string) => string | undefined } {
  const all = new Map(Object.entries(files));
  const isDir = (path: string): boolean => path === "/" || [...all.keys()].some((p) => p.startsWith(`${path}/`));
  const real = (path: string, hops = 0): string => {
    if (hops > 20) throw Object.assign(new Error(`ELOOP: ${path}`), { code: "ELOOP" });
    if (path === "/") return "/";
    const at = posix.join(real(dirname(path), hops), posix.basename(path));
    const found = all.get(at);
    return found && typeof found === "object" && "link" in found ? real(posix.resolve(dirname(at), found.link), hops + 1) : at;
  };
  const bytes = (path: string): Uint8Array | undefined => {
    const found = all.get(real(path));
    if (typeof found === "string") return new TextEncoder().encode(found);
    return found instanceof Uint8Array ? found : undefined;
  };
  return {
    async readFile(path) {
      const found = bytes(path);
      if (!found) throw missing(path);
      return found;
    },
    async writeFile(path, data) {
      all.set(real(path), data);
    },
    async stat(path) {
      const found = bytes(path);
      if (found) return { kind: "file", size: found.length, mtimeMs: 0, mode: 0o644 };
      return isDir(real(path)) ? { kind: "directory", size: 0, mtimeMs: 0, mode: 0o755 } : undefined;
    },
    realpath: async (path) => real(path),
    async readdir(path) {
      const at = real(path);
      if (!isDir(at)) throw missing(path);
      const base = at === "/" ? "/" : `${at}/`;
      const names = new Set([...all.keys()].filter((p) => p.startsWith(base)).map((p) => p.slice(base.length).split("/")[0]!));
      return [...names].sort().map((name) => {
        const found = all.get(base + name);
        if (found === undefined) return { name, kind: "directory" as const };
        return { name, kind: typeof found === "object" && "link" in found ? ("symlink" as const) : ("file" as const) };
      });
    },
    text(path) {
      const found = bytes(path);
      return found && new TextDecoder().decode(found);
    },
  };
}

export const noProcesses: Processes = {
  run: async (o) => {
    throw missing(o.command);
  },
};

export type Play = {
  readonly plugin: PluginDefinition;
  readonly manifest: { readonly capabilities: readonly string[]; readonly contributes: Readonly<Record<string, readonly string[]>> };
  readonly options?: unknown;
  readonly fs?: FileSystem;
  readonly processes?: Processes;
  readonly now?: number;
  readonly input?: string | Input;
  readonly cwd?: string;
  readonly directories?: readonly string[];
  readonly sessionId?: string;
  readonly history?: readonly Message[];
  readonly prefix?: Prefix;
  readonly services?: ReadonlyMap<string, unknown>;
  /** Stands beside what the plugin contributes. */
  readonly more?: readonly Entry[];
  readonly provider?: string;
  readonly ids?: { n: number };
  readonly signal?: AbortSignal;
};
export type Played = {
  readonly events: readonly RuntimeEvent[];
  readonly state: TurnState;
  readonly logs: readonly string[];
  /** What the model was sent, when the quiet provider of the harness was used. */
  readonly requests: readonly ModelRequest[];
};

/** A registry entry of a made-up plugin. */
export const entry = <K extends PointId>(point: K, it: Entry<K>["it"]): Entry =>
  ({ plugin: "test", point, name: it.name, options: undefined, capabilities: [], it }) as unknown as Entry;

/** One plugin set up once, for any number of turns. Throws when options or names do not fit. */
export async function host(p: Play): Promise<(more?: Partial<Play>) => Promise<Played>> {
  const fs = p.fs ?? memoryFs({});
  const capabilities = new Map<string, unknown>([
    ["fs", fs],
    ["process", p.processes ?? noProcesses],
  ]);
  const options = p.plugin.options ? p.plugin.options.parse(p.options) : undefined;
  const contributions = await p.plugin.setup({
    plugin: "it",
    options,
    signal: new AbortController().signal,
    provide: () => {},
    use: () => {
      throw new Error("nothing is provided");
    },
    capability: (token) => {
      if (!p.manifest.capabilities.includes(token.id)) throw new Error(`${token.id} is not in the manifest`);
      return capabilities.get(token.id) as never;
    },
    onDispose: () => {},
  });
  const names = Object.fromEntries(Object.entries(contributions).map(([point, list]) => [point, list.map((it) => it.name)]));
  if (JSON.stringify(names) !== JSON.stringify(p.manifest.contributes)) throw new Error(`not as in the manifest: ${JSON.stringify(names)}`);
  const own = Object.entries(contributions).flatMap(([point, list]) =>
    list.map(
      (it) =>
        ({ plugin: "it", point: point as PointId, name: it.name, options, capabilities: p.manifest.capabilities, it }) as unknown as Entry,
    ),
  );
  const ids = p.ids ?? { n: 0 };
  const stateMap = new Map<string, unknown>();
  return async (more = {}) => {
    const o = { ...p, ...more };
    const logs: string[] = [];
    const requests: ModelRequest[] = [];
    const quiet: Provider = {
      name: "quiet",
      async *stream(request) {
        requests.push(request);
        yield { type: "text", part: 0, text: "ok" };
        yield { type: "stop", stop: "end" };
      },
    };
    const env: TurnEnv = {
      registry: new Registry([...own, ...(o.more ?? []), entry("providers", quiet)], o.services),
      breaker: new Breaker(),
      now: () => o.now ?? 0,
      id: (kind) => `${kind}-${++ids.n}`,
      asker: async () => ({ kind: "deny" }),
      record: () => {},
      log: (_, text) => void logs.push(text),
      session: {
        id: o.sessionId ?? "s",
        cwd: o.cwd ?? "/w",
        directories: o.directories ?? [],
        provider: o.provider ?? "quiet",
        model: "m",
        permissionMode: "default",
        headless: true,
      },
      capabilities,
      stateOf: () => stateMap,
      sizes: new WeakMap(),
    };
    const input: Input = typeof o.input === "object" ? o.input : { text: o.input ?? "hi", source: "sdk" };
    const turn = runTurn(env, {
      turn: "t",
      input,
      history: o.history ?? [],
      signal: o.signal ?? new AbortController().signal,
      steering: () => [],
      ...(o.prefix ? { prefix: o.prefix } : {}),
    });
    const events: RuntimeEvent[] = [];
    for (;;) {
      const next = await turn.next();
      if (next.done) {
        await new Promise((resolve) => setImmediate(resolve)); // observers are not awaited by the turn
        return { events, state: next.value, logs, requests };
      }
      events.push(next.value);
    }
  };
}
