/** A checksum over a file or all that is in a folder, which changes when any of it does. */
import { createHash, type Hash } from "node:crypto";
import { readdirSync, readFileSync, realpathSync, statSync } from "node:fs";
import { join } from "node:path";

/** Of what is more, size and time of change stand for the content. */
const MAX_FILES = 5_000;
const MAX_BYTES = 50_000_000;

/** "none" where nothing is there or it cannot be read. Links are followed. */
export function sealOf(path: string): string {
  const hash = createHash("sha256");
  try {
    add(hash, path, "", { files: 0, bytes: 0, above: [] });
    return hash.digest("hex");
  } catch {
    return "none";
  }
}

type Sum = { files: number; bytes: number; readonly above: string[] };

function add(hash: Hash, path: string, name: string, sum: Sum): void {
  const stat = statSync(path, { throwIfNoEntry: false });
  hash.update(JSON.stringify([name, stat?.isDirectory() ? "folder" : stat?.isFile() ? "file" : "other"]));
  if (stat?.isDirectory()) {
    const real = realpathSync(path);
    if (sum.above.includes(real)) return;
    sum.above.push(real);
    for (const entry of readdirSync(path).sort()) add(hash, join(path, entry), `${name}/${entry}`, sum);
    sum.above.pop();
  } else if (stat?.isFile()) {
    sum.files++;
    sum.bytes += stat.size;
    const whole = sum.files <= MAX_FILES && sum.bytes <= MAX_BYTES;
    hash.update(whole ? createHash("sha256").update(readFileSync(path)).digest() : JSON.stringify([stat.size, stat.mtimeMs]));
  }
}
