/** Changes a small file of the user's: one process at a time, and whole or not at all. */
import { mkdirSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { readSettingsFile } from "./file.ts";

const PATIENCE_MS = 3_000;
/** Whoever locked it this long ago is gone. */
const STALE_MS = 10_000;

/** `change` gets undefined where there is no file yet, and may throw. Only the user may read what is written. */
export async function editFile(path: string, change: (text: string | undefined) => string): Promise<void> {
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  const lock = `${path}.lock`;
  const until = Date.now() + PATIENCE_MS;
  while (!taken(lock)) {
    if (Date.now() > until) throw new Error(`another process is changing it (remove ${lock} if none is)`);
    await wait(20);
  }
  const part = `${path}.${process.pid}.part`;
  try {
    writeFileSync(part, change(readSettingsFile(path)), { mode: 0o600, flag: "wx" });
    renameSync(part, path);
  } finally {
    rmSync(part, { force: true });
    rmSync(lock, { force: true });
  }
}

function taken(lock: string): boolean {
  try {
    writeFileSync(lock, "", { flag: "wx", mode: 0o600 });
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
    const made = statSync(lock, { throwIfNoEntry: false })?.mtimeMs;
    if (made !== undefined && Date.now() - made > STALE_MS) rmSync(lock, { force: true });
    return false;
  }
}
