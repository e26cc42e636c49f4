/** Finds the agents that a project and a person have defined. Reads through the port, and never fails: what cannot be read is not there. */
import { dirname, join } from "node:path";
import type { FileSystem } from "@heddle/kernel/plugin";
import { type AgentDefinition, BUILT_IN, readDefinition } from "./definition.ts";

const FOLDERS = [".heddle/agents", ".claude/agents"];
const MAX_FILES = 200;
const MAX_BYTES = 256 * 1024;
const MAX_DEPTH = 5;

export type FindOptions = {
  readonly fs: FileSystem;
  readonly cwd: string;
  readonly home?: string | undefined;
  /** Is told which file is left out, and why. */
  readonly log: (text: string) => void;
};

/** Of one name the first counts: from the working folder up to the repository's root, then the person's, then what is built in. */
export async function findAgents({ fs, cwd, home, log }: FindOptions): Promise<readonly AgentDefinition[]> {
  const roots = [...(await rootsOf(fs, cwd, home)), ...(home === undefined ? [] : [home])];
  const found = new Map<string, AgentDefinition>();
  for (const folder of roots.flatMap((root) => FOLDERS.map((name) => join(root, name)))) {
    for (const path of await filesIn(fs, folder, 0)) {
      const made = await definitionAt(fs, path);
      if (typeof made === "string") log(`${path} defines no agent: ${made}`);
      else if (!found.has(made.name)) found.set(made.name, made);
    }
  }
  for (const it of BUILT_IN) if (!found.has(it.name) || it.prompt === null) found.set(it.name, it);
  return [...found.values()];
}

/** Without a repository the working folder alone. */
async function rootsOf(fs: FileSystem, cwd: string, home: string | undefined): Promise<string[]> {
  const roots: string[] = [];
  for (let at = cwd; at !== home; at = dirname(at)) {
    roots.push(at);
    if (await fs.stat(join(at, ".git")).catch(() => undefined)) return roots;
    if (dirname(at) === at) break;
  }
  return cwd === home ? [] : [cwd];
}

async function filesIn(fs: FileSystem, folder: string, depth: number): Promise<string[]> {
  const entries = await fs.readdir(folder).catch(() => []);
  const files: string[] = [];
  for (const { name } of entries) {
    const path = join(folder, name);
    const kind = (await fs.stat(path).catch(() => undefined))?.kind; // where a link leads
    if (kind === "directory" && depth < MAX_DEPTH) files.push(...(await filesIn(fs, path, depth + 1)));
    else if (kind === "file" && name.endsWith(".md")) files.push(path);
    if (files.length >= MAX_FILES) return files.slice(0, MAX_FILES);
  }
  return files;
}

async function definitionAt(fs: FileSystem, path: string): Promise<AgentDefinition | string> {
  const size = (await fs.stat(path).catch(() => undefined))?.size ?? 0;
  if (size > MAX_BYTES) return `it has ${size} bytes, and ${MAX_BYTES} are read`;
  const bytes = await fs.readFile(path).catch(() => undefined);
  return bytes ? readDefinition(new TextDecoder().decode(bytes)) : "it cannot be read";
}
