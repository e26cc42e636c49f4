/** The files that a pattern of the shell may stand for. */
import { resolve } from "node:path";
import type { Sight } from "./memo.ts";
import { wildcard } from "./wildcard.ts";

const MOST = 200;

/** A class or a single character as if it could be anything: too much fits rather than too little. */
export const loose = (segment: string): string => segment.replace(/\[.*\]|\[.*$|\?/g, "*");

/**
 * At least what bash makes of the pattern, and the pattern itself, which is what stays when nothing fits; undefined when there are too
 * many. Absolute, with what `..` there is in it.
 */
export async function expandGlob(folder: string, pattern: string, fs: Sight): Promise<readonly string[] | undefined> {
  const absolute = pattern.startsWith("/");
  let found = [absolute ? resolve("/") : folder];
  for (const segment of pattern.split("/").filter((s) => s !== "")) {
    if (!/[*?[]/.test(segment)) {
      found = found.map((at) => `${at}/${segment}`);
      continue;
    }
    const fits = loose(segment);
    const next: string[] = [];
    for (const at of found) {
      const names = (await fs.readdir(at).catch(() => [])).map((e) => e.name);
      for (const name of [...names, ".", ".."])
        if ((segment.startsWith(".") || !name.startsWith(".")) && wildcard(fits, name)) next.push(`${at}/${name}`);
      if (next.length > MOST) return undefined;
    }
    found = next;
  }
  return [...found, absolute ? pattern : `${folder}/${pattern}`];
}
