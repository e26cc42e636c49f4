/** Which files of a workspace are watched: those that git knows or would know, else all in its folders. */
import { posix } from "node:path";
import type { FileSystem, Processes } from "@heddle/kernel";

/** More files than this are not looked at before and after each turn. */
export const MAX_FILES = 20_000;
const MAX_BYTES = 8 * 1024 * 1024;
const GIT_MS = 2_000;
const SKIPPED: readonly string[] = [".git", ".hg", ".svn", "node_modules"];
// No program that the repository names is run.
const SWITCHES = ["--no-optional-locks", "-c", "core.fsmonitor=false", "-c", "core.untrackedCache=false"];

export type Machine = { readonly fs: Pick<FileSystem, "readdir">; readonly processes: Processes };

/** Absolute paths, each once; or why there are none. `roots` are absolute. */
export async function listFiles(
  { fs, processes }: Machine,
  roots: readonly string[],
): Promise<ReadonlySet<string> | { readonly why: string }> {
  const all = new Set<string>();
  for (const root of roots) {
    const found = (await fromGit(processes, root)) ?? (await walk(fs, root));
    for (const path of found) all.add(path);
    if (all.size > MAX_FILES) return { why: `the workspace has more than ${MAX_FILES} files` };
  }
  return all;
}

/** Undefined where git does not know the folder, or cannot tell in time. */
async function fromGit(processes: Processes, root: string): Promise<readonly string[] | undefined> {
  const args = [...SWITCHES, "ls-files", "-z", "--cached", "--others", "--exclude-standard"];
  const ran = await processes.run({ command: "git", args, cwd: root, timeoutMs: GIT_MS, maxBytes: MAX_BYTES }).catch(() => undefined);
  if (ran?.ended !== "exit" || ran.exitCode !== 0 || ran.droppedBytes > 0) return undefined;
  return ran.stdout.split("\0").flatMap((name) => (name === "" || name.endsWith("/") ? [] : [posix.join(root, name)]));
}

/** Stops behind the limit. Folders that cannot be read are empty, links are not followed. */
async function walk(fs: Machine["fs"], root: string): Promise<readonly string[]> {
  const found: string[] = [];
  const open = [root];
  for (let dir = open.pop(); dir !== undefined && found.length <= MAX_FILES; dir = open.pop()) {
    for (const { name, kind } of await fs.readdir(dir).catch(() => [])) {
      const path = posix.join(dir, name);
      if (kind === "directory" && !SKIPPED.includes(name)) open.push(path);
      else if (kind === "file" || kind === "symlink") found.push(path);
    }
  }
  return found;
}
