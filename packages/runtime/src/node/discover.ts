/** Finds plugins by reading package.json files, and nothing else of theirs: no code runs before a manifest has been checked. */
import path from "node:path";
import { pathToFileURL } from "node:url";
import type { FileSystem } from "@heddle/kernel";
import * as z from "zod";
import type { Candidate, Host, Problem } from "../types.ts";

export type DiscoverOptions = {
  readonly host: Pick<Host, "fs">;
  /** Folders of plugins: each subfolder with a package.json that has a `heddle` key is one. */
  readonly dirs?: readonly string[];
  /** Names of npm packages, as the settings list them. */
  readonly packages?: readonly string[];
  /** Where `packages` are looked up: its node_modules, then those of the folders above. */
  readonly resolveFrom?: string;
};
export type Discovered = { readonly candidates: readonly Candidate[]; readonly problems: readonly Problem[] };

const Package = z.looseObject({ name: z.string().min(1), version: z.string().default("0.0.0"), heddle: z.unknown() });
const NAME = /^(@[a-z0-9~-][a-z0-9._~-]*\/)?[a-z0-9~-][a-z0-9._~-]*$/i;

/** Never rejects: what cannot be read is a problem. Folders come first, in the order given and then by name; packages follow. */
export async function discoverPlugins(o: DiscoverOptions): Promise<Discovered> {
  const candidates: Candidate[] = [];
  const problems: Problem[] = [];
  for (const dir of o.dirs ?? []) {
    for (const name of await foldersIn(o.host.fs, dir, problems)) {
      const found = await readPackage(o.host.fs, path.join(dir, name), `folder ${path.join(dir, name)}`, name, problems);
      if (found) candidates.push(found);
    }
  }
  for (const name of o.packages ?? []) {
    const refuse = (message: string): void =>
      void problems.push({ plugin: name, stage: "discover", message: `plugin "${name}": ${message}` });
    if (!NAME.test(name)) {
      refuse("is not the name of an npm package; correct it in the settings");
      continue;
    }
    const from = o.resolveFrom ?? ".";
    const dir = await packageFolder(o.host.fs, from, name);
    const before = problems.length;
    const found = dir && (await readPackage(o.host.fs, dir, `package ${name}`, name, problems));
    if (found) candidates.push(found);
    else if (!dir) refuse(`is not installed in ${from}; run "npm install ${name}" there, or take it out of the settings`);
    else if (problems.length === before) refuse(`${dir} is no heddle plugin: its package.json has no "heddle" key`);
  }
  return { candidates, problems };
}

const reason = (error: unknown): string => (error instanceof Error ? error.message : String(error));

async function foldersIn(fs: FileSystem, dir: string, problems: Problem[]): Promise<string[]> {
  try {
    if (!(await fs.stat(dir))) return [];
    const entries = await fs.readdir(dir);
    return entries.filter((e) => (e.kind === "directory" || e.kind === "symlink") && !e.name.startsWith(".")).map((e) => e.name);
  } catch (error) {
    problems.push({ plugin: dir, stage: "discover", message: `the plugin folder ${dir} cannot be read: ${reason(error)}` });
    return [];
  }
}

async function packageFolder(fs: FileSystem, from: string, name: string): Promise<string | undefined> {
  for (let dir = path.resolve(from); ; dir = path.dirname(dir)) {
    const folder = path.join(dir, "node_modules", name);
    if (await fs.stat(path.join(folder, "package.json")).catch(() => undefined)) return folder;
    if (path.dirname(dir) === dir) return undefined;
  }
}

async function readPackage(fs: FileSystem, folder: string, from: string, id: string, problems: Problem[]): Promise<Candidate | undefined> {
  const refuse = (message: string): undefined => {
    problems.push({ plugin: id, stage: "discover", message: `plugin "${id}" (${from}): ${message}` });
    return undefined;
  };
  try {
    const file = path.join(folder, "package.json");
    if (!(await fs.stat(file))) return undefined;
    const read: unknown = JSON.parse(new TextDecoder().decode(await fs.readFile(file)));
    if (typeof read !== "object" || read === null || !("heddle" in read)) return undefined;
    const parsed = Package.safeParse(read);
    if (!parsed.success)
      return refuse(`its package.json is wrong: ${parsed.error.issues.map((i) => `${i.path.join(".")}: ${i.message}`).join("; ")}`);
    const { name, version, heddle } = parsed.data;
    const dir = await fs.realpath(folder);
    const main = (heddle as { main?: unknown } | null)?.main;
    if (typeof main === "string" && !isInside(dir, path.resolve(dir, main)))
      return refuse(`heddle.main "${main}" is outside of its folder`);
    return {
      id: name,
      version,
      from,
      dir,
      manifest: heddle,
      load: async () =>
        ((await import(/* @vite-ignore */ pathToFileURL(path.resolve(dir, String(main))).href)) as { default?: unknown }).default,
    };
  } catch (error) {
    return refuse(`its package.json cannot be read: ${reason(error)}`);
  }
}

const isInside = (dir: string, file: string): boolean => file.startsWith(dir.endsWith(path.sep) ? dir : dir + path.sep);
