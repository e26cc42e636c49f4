/** From a list of candidates to a frozen registry, and back down again. */
import type { Entry, PluginId, Registry } from "@heddle/kernel";
import type { Candidate, Host, PluginInfo, Problem } from "../types.ts";
import { type ActivateOptions, type Active, activate, disposeOne } from "./activate.ts";
import { checkManifests, orderByNeed, type Ready } from "./order.ts";
import { problemOf, type Report } from "./problem.ts";
import { PluginRegistry } from "./registry.ts";
import { clashOf, type Owned, renameAll } from "./rename.ts";
import type { Contribution } from "./shapes.ts";

export type StartOptions = {
  readonly host: Pick<Host, "now" | "fs" | "processes" | "watchdog">;
  /** For loading and setup of one plugin. Default 5,000. */
  readonly setupMs?: number;
  /** For each function given to `onDispose`. Default 2,000. */
  readonly disposeMs?: number;
  /** Tools that are left out, by name or alias. */
  readonly withoutTools?: readonly string[];
};

/** Immutable. A reload starts a second one and swaps it between turns. */
export type Started = {
  readonly registry: Registry;
  readonly plugins: readonly PluginInfo[];
  readonly problems: readonly Problem[];
  /** The plugins whose code is not ours, with the folder it is in. */
  readonly roots: ReadonlyMap<PluginId, string>;
  /** In reverse order. Says what went wrong; never rejects. */
  dispose(): Promise<readonly Problem[]>;
};

/** Rejects only when an essential plugin does not start. */
export async function startPlugins(candidates: readonly Candidate[], o: StartOptions): Promise<Started> {
  const problems: Problem[] = [];
  const lost = new Set<PluginId>();
  const report: Report = (c, stage, message) => {
    if (stage !== "discover") lost.add(c.id);
    problems.push(problemOf(c, stage, message));
  };
  const ordered = orderByNeed(checkManifests(candidates, report), report);
  const roots = new Map(ordered.flatMap((p) => (p.dir === undefined || !p.parsed.main ? [] : [[p.id, p.dir] as const])));
  const { watchdog } = o.host;
  if (watchdog && roots.size > 0) watchdog.start(roots);
  const activation: ActivateOptions = {
    now: o.host.now,
    setupMs: o.setupMs ?? 5_000,
    disposeMs: o.disposeMs ?? 2_000,
    watch: roots.size > 0 ? watchdog?.watch : undefined,
    capabilities: new Map<"fs" | "process" | "session", unknown>([
      ["fs", o.host.fs],
      ["process", o.host.processes],
    ]),
  };
  const stage = new Stage(activation, lost, report, (c, message) => problems.push(problemOf(c, "contributes", message)));
  for (const plugin of ordered) await stage.add(plugin);

  const stopped = (): void => {
    if (roots.size > 0) watchdog?.stop();
  };
  const missing = candidates.filter((c) => c.essential && lost.has(c.id)).map((c) => c.id);
  if (missing.length > 0) {
    await stage.dispose();
    stopped();
    const lines = problems.filter((p) => missing.includes(p.plugin)).map((p) => p.message);
    throw new Error(`heddle cannot start:\n${lines.join("\n")}`);
  }
  let disposed: Promise<readonly Problem[]> | undefined;
  return {
    registry: stage.registry(o.withoutTools ?? []),
    plugins: stage.active.map(infoOf),
    problems,
    roots,
    dispose() {
      disposed ??= stage.dispose().finally(stopped);
      return disposed;
    },
  };
}

class Stage {
  readonly active: Active[] = [];
  readonly #services = new Map<string, { readonly owner: PluginId; readonly value: unknown }>();
  readonly #o: ActivateOptions;
  readonly #lost: ReadonlySet<PluginId>;
  readonly #report: Report;
  readonly #warn: (c: Candidate, message: string) => void;

  constructor(o: ActivateOptions, lost: ReadonlySet<PluginId>, report: Report, warn: (c: Candidate, message: string) => void) {
    this.#o = o;
    this.#lost = lost;
    this.#report = report;
    this.#warn = warn;
  }
  async add(plugin: Ready): Promise<void> {
    const without = Object.keys(plugin.parsed.requires).find((id) => this.#lost.has(id));
    if (without) {
      this.#report(plugin, "requires", `not started, because it requires "${without}", which did not start`);
      return;
    }
    const one = await activate(plugin, this.#services, this.#o);
    if (!("plugin" in one)) {
      this.#report(plugin, one.stage, one.message);
      await disposeOne(plugin, one.disposers, this.#o);
      return;
    }
    const { list, unused } = renameAll(one.contributions, plugin.rename);
    for (const key of unused) this.#warn(plugin, `the settings rename "${key}", but it has nothing of that name`);
    const owned = (a: Active): Owned => ({ plugin: a.plugin.id, list: a.contributions });
    const clash = clashOf({ plugin: plugin.id, list }, this.active.map(owned), entryOf(plugin));
    if (clash) {
      this.#report(plugin, "contributes", clash);
      await disposeOne(plugin, one.disposers, this.#o);
      return;
    }
    for (const [id, value] of one.provided) this.#services.set(id, { owner: plugin.id, value });
    this.active.push({ ...one, contributions: list });
  }
  registry(withoutTools: readonly string[]): Registry {
    const entries = this.active.flatMap((a) =>
      a.contributions
        .filter((c) => c.point !== "tools" || ![c.name, ...c.aliases].some((name) => withoutTools.includes(name)))
        .map((c) => {
          const { id: plugin, parsed } = a.plugin;
          return Object.freeze({
            plugin,
            point: c.point,
            name: c.name,
            options: a.options,
            capabilities: parsed.capabilities,
            it: c.it,
          } as Entry);
        }),
    );
    return new PluginRegistry(Object.freeze(entries), new Map([...this.#services].map(([id, { value }]) => [id, value])));
  }
  async dispose(): Promise<readonly Problem[]> {
    const left: Problem[] = [];
    for (const { plugin, disposers } of [...this.active].reverse())
      for (const message of await disposeOne(plugin, disposers, this.#o)) left.push(problemOf(plugin, "dispose", message));
    return left;
  }
}

/** How the settings name it: what npm has installed by its name, all else by its folder. */
const entryOf = ({ id, dir }: Candidate): { package: string } | { path: string } =>
  dir === undefined || /[\\/]node_modules[\\/]/.test(dir) ? { package: id } : { path: dir };

function infoOf({ plugin, contributions }: Active): PluginInfo {
  const { id, version, from, dir, parsed } = plugin;
  const folders = dir === undefined ? {} : { dir, skills: parsed.skills, commands: parsed.commands };
  return { id, version, from, ...folders, contributes: contributions.map(listed) };
}

const listed = ({ point, name, it }: Contribution): PluginInfo["contributes"][number] => {
  const { hidden, summary, hint } = it as { hidden?: boolean; summary?: string; hint?: string };
  return { point, name, ...(hidden ? { hidden: true } : {}), ...(summary ? { summary } : {}), ...(hint ? { hint } : {}) };
};
