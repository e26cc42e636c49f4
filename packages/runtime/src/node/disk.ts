/** Raw files on Node, links as they are. */
import { randomBytes } from "node:crypto";
import * as fs from "node:fs";
import path from "node:path";
import type { Disk, Look } from "../checkpoints/types.ts";
import { makeFolders } from "./folders.ts";

/** Of calls that block, so many files or bytes at a time. They are ten times as fast as those that do not. */
const FILES = 250;
const BYTES = 4 * 1024 * 1024;
const { setImmediate: nextRound } = globalThis; // a test may put fake timers in its place

export function nodeDisk(): Disk {
  return {
    look: (paths) => inTurns(paths, (file) => ({ value: look(file), size: 0 })),
    read: (paths) =>
      inTurns(paths, (file) => {
        const value = read(file);
        return { value, size: value?.length ?? 0 };
      }),
    async put(file, kind, bytes, mode) {
      makeFolders(path.dirname(file));
      const temporary = path.join(path.dirname(file), `.heddle-${randomBytes(6).toString("hex")}.tmp`);
      try {
        if (kind === "link") fs.symlinkSync(Buffer.from(bytes), temporary);
        else {
          fs.writeFileSync(temporary, bytes, { flag: "wx", mode });
          fs.chmodSync(temporary, mode);
        }
        fs.renameSync(temporary, file);
      } catch (error) {
        fs.rmSync(temporary, { force: true });
        throw error;
      }
    },
    remove: async (file) => fs.rmSync(file, { force: true }),
  };
}

async function inTurns<T>(paths: readonly string[], work: (file: string) => { value: T; size: number }): Promise<T[]> {
  const all: T[] = [];
  let bytes = 0;
  for (const [n, file] of paths.entries()) {
    if ((n > 0 && n % FILES === 0) || bytes > BYTES) {
      bytes = 0;
      await new Promise<void>((resolve) => nextRound(resolve));
    }
    const { value, size } = work(file);
    bytes += size;
    all.push(value);
  }
  return all;
}

function look(file: string): Look | undefined {
  try {
    const s = fs.lstatSync(file, { throwIfNoEntry: false });
    if (!s) return undefined;
    const kind = s.isFile() ? "file" : s.isSymbolicLink() ? "link" : s.isDirectory() ? "directory" : "other";
    const { size, mtimeMs, ctimeMs: changed, birthtimeMs: born } = s;
    return { kind, size, mode: s.mode & 0o7777, mtimeMs, changed, born, inode: `${s.dev}:${s.ino}` };
  } catch {
    return undefined; // a folder of its path cannot be entered, or is none
  }
}

function read(file: string): Uint8Array | undefined {
  try {
    const kind = look(file)?.kind;
    if (kind === "link") return fs.readlinkSync(file, { encoding: "buffer" });
    return kind === "file" ? fs.readFileSync(file) : undefined;
  } catch {
    return undefined;
  }
}
