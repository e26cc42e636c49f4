/** What a turn of a session runs in: the session's own parts under the names that the kernel knows them by. */
import { CHARS_PER_TOKEN, type Forks, type Processes, type RuntimeEvent, type SessionPort, type TurnEnv, type Watch } from "@heddle/kernel";
import type { Pool } from "../tools/pool.ts";
import type { Host } from "../types.ts";
import type { Asks } from "./asks.ts";
import type { Cost } from "./cost.ts";
import type { DebugLog } from "./debug-log.ts";
import { pack } from "./pack.ts";
import type { PluginStates } from "./plugin-states.ts";
import { readInput } from "./read-input.ts";
import type { SessionState } from "./state.ts";
import { windowOf } from "./window.ts";

export type Surroundings = {
  readonly deps: { readonly host: Host; readonly watch: Watch | undefined; readonly debug: DebugLog };
  readonly provider: string;
  readonly session: TurnEnv["session"];
  readonly pool: Pool;
  readonly state: SessionState;
  readonly states: PluginStates;
  readonly breaker: TurnEnv["breaker"];
  readonly sizes: TurnEnv["sizes"];
  readonly asks: Asks;
  readonly forks: Forks;
  readonly processes: Processes;
  readonly folder: string | null;
  readonly cost: () => Cost;
  readonly tell: SessionPort["tell"];
  readonly record: (event: RuntimeEvent) => void;
};

/** `fallback`: who answers in place of the model that was asked for. */
export function environmentOf(o: Surroundings, fallback: () => string | undefined): TurnEnv {
  const { deps, session, state, asks } = o;
  const { host, watch, debug } = deps;
  const { registry, catalog } = o.pool.for(session);
  const target = (model = state.model) => catalog.target(o.provider, fallback() ?? model);
  const port: SessionPort = {
    folder: o.folder,
    tell: o.tell,
    window: () => windowOf(catalog, target(), state.prefix, state.messages),
    cost: o.cost,
  };
  return {
    registry,
    breaker: o.breaker,
    now: host.now,
    id: (kind) => host.id(kind),
    asker: (ask, signal) => asks.ask(ask, signal),
    record: o.record,
    log: (plugin, text) => debug.write(plugin, text),
    session,
    capabilities: new Map<string, unknown>([
      ["fs", host.fs],
      ["process", o.processes],
      ["session", port],
      ["forks", o.forks],
      ...(host.images ? [["images", host.images] as const] : []),
      ...(host.network ? [["network", host.network] as const] : []),
    ]),
    stateOf: (plugin) => o.states.of(plugin),
    sizes: o.sizes,
    target,
    read: readInput,
    pack: (env, log, overflowed) => pack(env, log, catalog.window(target()) * CHARS_PER_TOKEN, overflowed),
    tools: catalog.tools,
    ...(watch ? { watch } : {}),
  };
}
