/** The storage port on Node: files and folders that only their owner can read, and locks that die with their process. */
import { randomBytes } from "node:crypto";
import * as fs from "node:fs";
import path from "node:path";
import type { Storage } from "@heddle/sessions";
import { makeFolders } from "./folders.ts";

const codeOf = (error: unknown): string | undefined => (error as { code?: string } | undefined)?.code;
const MAX_TRIES = 5;

export function nodeStorage(): Storage {
  return {
    openAppend(file) {
      makeFolders(path.dirname(file), 0o700);
      const fd = fs.openSync(file, "a", 0o600);
      return {
        append(text) {
          const bytes = Buffer.from(text);
          for (let at = 0; at < bytes.length; ) at += fs.writeSync(fd, bytes, at);
        },
        close: () => fs.closeSync(fd),
      };
    },
    async read(file) {
      try {
        return await fs.promises.readFile(file);
      } catch (error) {
        if (codeOf(error) === "ENOENT") return undefined;
        throw error;
      }
    },
    async list(dir) {
      const entries = await entriesOf(dir);
      const found = await Promise.all(
        entries
          .filter((e) => e.isFile())
          .map(async ({ name }) => {
            const s = await fs.promises.stat(path.join(dir, name)).catch(() => undefined);
            return s ? [{ name, mtimeMs: s.mtimeMs, size: s.size }] : [];
          }),
      );
      return found.flat().sort((a, b) => b.mtimeMs - a.mtimeMs || (a.name < b.name ? 1 : -1));
    },
    async folders(dir) {
      const entries = await entriesOf(dir);
      return entries
        .filter((e) => e.isDirectory())
        .map((e) => e.name)
        .sort();
    },
    rename: (from, to) => fs.renameSync(from, to),
    lock,
  };
}

async function entriesOf(dir: string): Promise<fs.Dirent[]> {
  try {
    return await fs.promises.readdir(dir, { withFileTypes: true });
  } catch (error) {
    if (codeOf(error) === "ENOENT") return [];
    throw error;
  }
}

/** A process is known by its number and by when it began, since numbers are used again. */
type Owner = { readonly pid: number; readonly began: string };

function lock(file: string): { readonly release: () => void } | { readonly holder: string } {
  makeFolders(path.dirname(file), 0o700);
  const mine = `${process.pid} ${beganAt(process.pid)} ${randomBytes(6).toString("hex")}\n`;
  for (let tries = 0; tries < MAX_TRIES; tries++) {
    if (create(file, mine)) return { release: () => release(file, mine) };
    const found = readOr(file, "");
    const owner = ownerOf(found);
    if (owner && isAlive(owner)) return { holder: owner.pid === process.pid ? "this process" : `process ${owner.pid}` };
    takeAway(file, found);
  }
  throw new Error(`the lock ${file} changes hands too fast`);
}

/** With its content at once: nobody ever reads a lock that does not say whose it is. */
function create(file: string, content: string): boolean {
  const temporary = `${file}.${randomBytes(6).toString("hex")}`;
  try {
    fs.writeFileSync(temporary, content, { flag: "wx", mode: 0o600 });
    fs.linkSync(temporary, file);
    return true;
  } catch (error) {
    if (codeOf(error) === "EEXIST") return false;
    if (codeOf(error) !== "EPERM" && codeOf(error) !== "ENOTSUP" && codeOf(error) !== "ENOSYS") throw error;
    return createWithoutLinks(file, content);
  } finally {
    fs.rmSync(temporary, { force: true });
  }
}
function createWithoutLinks(file: string, content: string): boolean {
  try {
    fs.writeFileSync(file, content, { flag: "wx", mode: 0o600 });
    return true;
  } catch (error) {
    if (codeOf(error) === "EEXIST") return false;
    throw error;
  }
}

/** Of several that take a dead lock away, one gets it; a lock that came in between is put back. */
function takeAway(file: string, dead: string): void {
  const aside = `${file}.${randomBytes(6).toString("hex")}`;
  try {
    fs.renameSync(file, aside);
    if (readOr(aside, "") !== dead) fs.linkSync(aside, file);
    fs.rmSync(aside, { force: true });
  } catch (error) {
    if (codeOf(error) !== "ENOENT" && codeOf(error) !== "EEXIST") throw error;
  }
}

function release(file: string, mine: string): void {
  try {
    if (readOr(file, "") === mine) fs.rmSync(file, { force: true });
  } catch {
    // a lock of a process that is gone is taken over
  }
}

function readOr(file: string, otherwise: string): string {
  try {
    return fs.readFileSync(file, "utf8");
  } catch {
    return otherwise;
  }
}

function ownerOf(content: string): Owner | undefined {
  const found = /^(\d+) (\S+) [0-9a-f]+\n$/.exec(content);
  return found ? { pid: Number(found[1]), began: found[2]! } : undefined;
}

function isAlive(owner: Owner): boolean {
  try {
    process.kill(owner.pid, 0);
  } catch (error) {
    if (codeOf(error) === "ESRCH") return false;
  }
  const began = beganAt(owner.pid);
  return began === owner.began || began === "-" || owner.began === "-";
}

/** Where the system tells: ticks since it was booted. */
function beganAt(pid: number): string {
  const stat = readOr(`/proc/${pid}/stat`, "");
  return stat.slice(stat.lastIndexOf(")") + 2).split(" ")[19] ?? "-";
}
