/** Whether the configuration of a repository makes git run programs while it only looks. */
import { dirname, resolve } from "node:path";
import type { Sight } from "./memo.ts";

const MAX_LEVELS = 40;
/** Keys that name a program which status, diff, log, show or blame start, or other files with such keys. */
const RUNS =
  /(?:^|\])\s*(external|textconv|command|clean|smudge|process|uploadpack|promisor|worktree|worktreeconfig|path)\s*(=|$)|\[\s*include/im;
const FSMONITOR = /(?:^|\])\s*fsmonitor\s*=(?!\s*(true|false|yes|no|0|1)\s*$)/im;
const HOOKS = /(?:^|\])\s*hookspath\s*=\s*"?([^"\n]*?)"?\s*$/im;

/** What is wrong, as the end of a sentence about the folder; undefined when git only looks there, or there is no repository. */
export async function gitRuns(folder: string, fs: Sight): Promise<string | undefined> {
  let at = resolve(folder);
  for (let level = 0; level < MAX_LEVELS; level++) {
    const git = `${at}/.git`;
    const kind = (await fs.stat(git))?.kind;
    if (kind !== undefined) return inConfig(kind === "directory" ? git : await leadsTo(git, at, fs), at, fs);
    if ((await fs.stat(`${at}/HEAD`)) && (await fs.stat(`${at}/objects`))) return "is a repository without a work tree";
    if (dirname(at) === at) return undefined;
    at = dirname(at);
  }
  return "lies too deep to find its repository";
}

/** A file in place of `.git` names the folder that is meant; a further work tree shares the configuration of its repository. */
async function leadsTo(file: string, at: string, fs: Sight): Promise<string | undefined> {
  const [, named] = /^gitdir:\s*(.+?)\s*$/m.exec(await text(file, fs)) ?? [];
  const folder = named && resolve(at, named);
  return folder && (/\/worktrees\/[^/]+$/.test(folder) ? dirname(dirname(folder)) : folder);
}

async function inConfig(git: string | undefined, at: string, fs: Sight): Promise<string | undefined> {
  if (git === undefined) return "has a repository that cannot be found";
  const config = await text(`${git}/config`, fs);
  if (RUNS.test(config) || FSMONITOR.test(config)) return "has a repository whose configuration may run programs";
  const [, hooks = `${git}/hooks`] = HOOKS.exec(config) ?? [];
  if (hooks.startsWith("~") || (await fs.stat(resolve(at, hooks, "post-index-change"))))
    return "has a repository with a hook that git runs";
  return undefined;
}

const text = async (path: string, fs: Sight): Promise<string> =>
  new TextDecoder().decode(await fs.readFile(path).catch(() => new Uint8Array()));
