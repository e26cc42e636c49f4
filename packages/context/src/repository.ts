/** Finds the git repository around a folder by reading files; no program is run. */
import { dirname, join, resolve } from "node:path";
import type { FileSystem } from "@heddle/kernel/plugin";

/** `root` is the work tree's folder. `main` is the main work tree's folder, present only in a linked worktree. */
export type Repository = { readonly root: string; readonly gitDir: string; readonly commonDir: string; readonly main?: string };

/** From the file-system root down to `path` itself. */
export function ancestors(path: string): string[] {
  const parent = dirname(path);
  return parent === path ? [path] : [...ancestors(parent), path];
}

/** The nearest repository at `cwd` or above it. A `.git` that is none is passed over. */
export async function findRepository(fs: FileSystem, cwd: string): Promise<Repository | undefined> {
  for (const root of ancestors(cwd).reverse()) {
    const at = join(root, ".git");
    const kind = (await fs.stat(at).catch(() => undefined))?.kind;
    if (kind === "directory" && (await fs.stat(join(at, "HEAD")).catch(() => undefined))) return { root, gitDir: at, commonDir: at };
    const pointer = kind === "file" ? /^gitdir:\s*(.+)/.exec(await readText(fs, at))?.[1]?.trim() : undefined;
    if (!pointer) continue;
    const gitDir = resolve(root, pointer);
    const common = (await readText(fs, join(gitDir, "commondir"))).trim();
    if (common === "") return { root, gitDir, commonDir: gitDir }; // a submodule
    const commonDir = resolve(gitDir, common);
    return { root, gitDir, commonDir, ...(commonDir.endsWith(".git") ? { main: dirname(commonDir) } : {}) };
  }
  return undefined;
}

/** Empty when it cannot be read. */
export async function readText(fs: FileSystem, path: string): Promise<string> {
  try {
    return new TextDecoder().decode(await fs.readFile(path));
  } catch {
    return "";
  }
}

/** The branch that is checked out; "" when HEAD is detached; undefined where only git itself can tell (another store for refs). */
export async function headOf(fs: FileSystem, { gitDir }: Repository): Promise<string | undefined> {
  const head = (await readText(fs, join(gitDir, "HEAD"))).trim();
  const name = /^ref: refs\/heads\/(.+)$/.exec(head)?.[1];
  if (name === ".invalid") return undefined;
  return name ?? (/^[0-9a-f]{40,64}$/.test(head) ? "" : undefined);
}

/** The branch that the remote calls its own, else `main` or `master` where there is one. */
export async function mainOf(fs: FileSystem, { commonDir }: Repository): Promise<string | undefined> {
  const remote = /^ref: refs\/remotes\/origin\/(.+)$/.exec((await readText(fs, join(commonDir, "refs/remotes/origin/HEAD"))).trim());
  if (remote) return remote[1];
  const packed = await readText(fs, join(commonDir, "packed-refs"));
  for (const name of ["main", "master"]) {
    const loose = await fs.stat(join(commonDir, "refs/heads", name)).catch(() => undefined);
    if (loose?.kind === "file" || packed.includes(` refs/heads/${name}\n`)) return name;
  }
  return undefined;
}
