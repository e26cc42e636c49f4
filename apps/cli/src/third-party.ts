/** Finds the plugins of others: in the user's and the project's plugin folders, and what the settings name. */
import { existsSync, realpathSync } from "node:fs";
import { dirname, isAbsolute, join, resolve } from "node:path";
import type { Candidate, Problem } from "@heddle/runtime";
import type { DiscoverOptions } from "@heddle/runtime/node";
import { type Config, UNTRUSTED } from "./config/read.ts";
import type { PluginEntry } from "./config/settings.ts";

export type Found = { candidates: Candidate[]; problems: Problem[] };
type Named = { package?: string; path?: string; options?: unknown; rename?: Record<string, string> };

/** A text that begins like a path is one. */
export function entryOf(entry: PluginEntry): Named {
  if (typeof entry !== "string") return entry as Named;
  return /^(\.{1,2}\/|~\/)/.test(entry) || isAbsolute(entry) ? { path: entry } : { package: entry };
}

/** Reads manifests and runs no code. A project's own folder counts only when it is trusted; else it is noted as withheld. */
export async function thirdParty(config: Config, cwd: string, userDir: string): Promise<Found> {
  const found: Found = { candidates: [], problems: [] };
  const project = join(cwd, ".heddle", "plugins");
  const mine = join(config.home, "plugins");
  if (!config.trusted && project !== mine && existsSync(project)) config.withheld.push({ from: project, why: UNTRUSTED });
  const dirs = [...new Set([mine, ...(config.trusted ? [project] : [])])].filter(existsSync);
  if (config.plugins.length === 0 && dirs.length === 0) return found;
  // Settings may say more of a plugin in a plugin folder, which is then there once.
  const add = (more: { candidates: readonly Candidate[]; problems: readonly Problem[] }): void => {
    found.candidates.push(...more.candidates.filter((c) => !found.candidates.some((f) => f.dir === c.dir)));
    found.problems.push(...more.problems);
  };
  for (const { entry, dir } of config.plugins) {
    const named = entryOf(entry);
    const more = await (named.path === undefined
      ? discover({ packages: [named.package!], resolveFrom: dir })
      : atPath(resolve(dir, named.path.replace(/^~(?=\/)/, userDir))));
    const { options, rename } = named;
    add({
      problems: more.problems,
      candidates: more.candidates.map((c) => ({ ...c, ...(options === undefined ? {} : { options }), ...(rename ? { rename } : {}) })),
    });
  }
  if (dirs.length > 0) add(await discover({ dirs }));
  return found;
}

async function discover(o: Omit<DiscoverOptions, "host">): Promise<{ candidates: readonly Candidate[]; problems: readonly Problem[] }> {
  const { discoverPlugins, nodeFiles } = await import("@heddle/runtime/node");
  return discoverPlugins({ ...o, host: { fs: nodeFiles() } });
}

/** The plugin in this very folder. */
async function atPath(path: string): Promise<{ candidates: readonly Candidate[]; problems: readonly Problem[] }> {
  const folder = existsSync(path) ? realpathSync(path) : path;
  const near = await discover({ dirs: [dirname(folder)] });
  const candidates = near.candidates.filter((c) => c.dir === folder);
  const problems = near.problems.filter((p) => p.message.includes(folder));
  if (candidates.length > 0 || problems.length > 0) return { candidates, problems };
  const message = `plugin "${path}": there is no package.json with a "heddle" key; correct the path in the settings`;
  return { candidates, problems: [{ plugin: path, stage: "discover", message }] };
}
