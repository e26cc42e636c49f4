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
