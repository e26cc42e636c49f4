/** The file system port on Node: atomic writes, honest symlinks. */
import { randomBytes } from "node:crypto";
import * as fs from "node:fs/promises";
import path from "node:path";
import type { FileStat, FileSystem } from "@heddle/kernel";
import { makeFolders } from "./folders.ts";

const MAX_LINKS = 40;
const codeOf = (error: unknown): string | undefined => (error as { code?: string } | undefined)?.code;
const isMissing = (error: unknown): boolean => codeOf(error) === "ENOENT" || codeOf(error) === "ENOTDIR";

export function nodeFiles(): FileSystem {
  return {
    readFile: (file) => fs.readFile(file),
    writeFile: (file, bytes, options) => writeAtomically(file, bytes, options?.mode),
    async stat(file) {
      try {
        const s = await fs.stat(file);
        return { kind: kindOf(s), size: s.size, mtimeMs: s.mtimeMs, mode: s.mode & 0o7777 };
      } catch (error) {
        if (isMissing(error)) return undefined;
        throw error;
      }
    },
    realpath: (file) => realpath(path.resolve(file), 0),
    remove: (file) => fs.rm(file, { recursive: true, force: true }),
    async readdir(dir) {
      const entries = await fs.readdir(dir, { withFileTypes: true });
      return entries.map((e) => ({ name: e.name, kind: kindOf(e) })).sort((a, b) => (a.name < b.name ? -1 : a.name > b.name ? 1 : 0));
    },
  };
}

function kindOf(s: { isFile(): boolean; isDirectory(): boolean; isSymbolicLink(): boolean }): FileStat["kind"] {
  return s.isFile() ? "file" : s.isDirectory() ? "directory" : s.isSymbolicLink() ? "symlink" : "other";
}

/** Also through links whose target does not exist (yet): what would be written there is what counts. */
async function realpath(file: string, hops: number): Promise<string> {
  if (hops > MAX_LINKS) throw Object.assign(new Error(`ELOOP: too many symbolic links, "${file}"`), { code: "ELOOP" });
  try {
    return await fs.realpath(file);
  } catch (error) {
    if (!isMissing(error)) throw error;
  }
  const parent = path.dirname(file);
  if (parent === file) return file;
  const here = path.join(await realpath(parent, hops), path.basename(file));
  const link = await fs.readlink(here).catch(() => undefined);
  return link === undefined ? here : realpath(path.resolve(path.dirname(here), link), hops + 1);
}

async function writeAtomically(file: string, bytes: Uint8Array, wanted: number | undefined): Promise<void> {
  const target = await realpath(path.resolve(file), 0);
  const dir = path.dirname(target);
  const old = await fs.stat(target).catch(() => undefined);
  if (old?.isDirectory()) throw Object.assign(new Error(`EISDIR: is a directory, write "${target}"`), { code: "EISDIR" });
  if (old && !old.isFile()) return fs.writeFile(target, bytes); // a device or a pipe cannot be replaced
  makeFolders(dir);
  const mode = old ? old.mode & 0o7777 : wanted;
  const temporary = path.join(dir, `.heddle-${randomBytes(6).toString("hex")}.tmp`);
  try {
    const handle = await fs.open(temporary, "wx", mode ?? 0o666);
    try {
      await handle.writeFile(bytes);
      if (old) await handle.chown(old.uid, old.gid).catch(() => {}); // before the mode, of which it would take the set-id bits
      if (mode !== undefined) await handle.chmod(mode);
      await handle.sync();
    } finally {
      await handle.close();
    }
    await fs.rename(temporary, target);
  } catch (error) {
    await fs.rm(temporary, { force: true });
    if (codeOf(error) !== "EBUSY" || !old) throw error;
    await fs.writeFile(target, bytes); // a mount point cannot be replaced, only written
  }
  await syncFolder(dir);
}

async function syncFolder(dir: string): Promise<void> {
  const handle = await fs.open(dir, "r").catch(() => undefined);
  await handle?.sync().catch(() => {});
  await handle?.close();
}
