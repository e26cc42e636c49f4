/** A checksum over a file or all that is in a folder, which changes when any of it does. */
import { createHash, type Hash } from "node:crypto";
import { readdirSync, readFileSync, realpathSync, statSync } from "node:fs";
import { join } from "node:path";

/** Of what is more, size and time of change stand for the content. */
const MAX_FILES = 5_000;
const MAX_BYTES = 50_000_000;

/** Links are followed. What cannot be read counts as such, and what stands beside it all the same. */
export function sealOf(path: string): string {
  const hash = createHash("sha256");
  add(hash, path, "", { files: 0, bytes: 0, above: [] });
  return hash.digest("hex");
}

type Sum = { files: number; bytes: number; readonly above: string[] };

function add(hash: Hash, path: string, name: string, sum: Sum): void {
  try {
    const stat = statSync(path, { throwIfNoEntry: false });
    hash.update(JSON.stringify([name, stat?.isDirectory() ? "folder" : stat?.isFile() ? "file" : "other"]));
    if (stat?.isDirectory()) addFolder(hash, path, name, sum);
    else if (stat?.isFile()) {
      sum.files++;
      sum.bytes += stat.size;
      const whole = sum.files <= MAX_FILES && sum.bytes <= MAX_BYTES;
      hash.update(whole ? createHash("sha256").update(readFileSync(path)).digest() : JSON.stringify([stat.size, stat.mtimeMs]));
    }
  } catch (error) {
    hash.update(JSON.stringify([name, String((error as NodeJS.ErrnoException).code)]));
  }
}

function addFolder(hash: Hash, path: string, name: string, sum: Sum): void {
  const real = realpathSync(path);
  if (sum.above.includes(real)) return;
  const within = { ...sum, above: [...sum.above, real] };
  for (const entry of readdirSync(path).sort()) add(hash, join(path, entry), `${name}/${entry}`, within);
  Object.assign(sum, { files: within.files, bytes: within.bytes });
}
