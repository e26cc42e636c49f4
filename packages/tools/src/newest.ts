/** The order of search results: what was changed last comes first. */
import { join } from "node:path";
import type { FileSystem } from "@heddle/kernel/plugin";

/** More files than this are sorted by name alone, since looking at each would take longer than the search. */
const MAX_SORTED = 10_000;
const STATS_AT_ONCE = 256;

/** `paths` are in `folder`. Equal times stay in the order of names, so that the same files always give the same. */
export async function newestFirst(fs: FileSystem, folder: string, paths: readonly string[]): Promise<{ sorted: string[]; order: string }> {
  const sorted = [...paths].sort();
  if (sorted.length > MAX_SORTED) return { sorted, order: "by name" };
  const times = new Map<string, number>();
  for (let i = 0; i < sorted.length; i += STATS_AT_ONCE) {
    const some = sorted.slice(i, i + STATS_AT_ONCE);
    const stats = await Promise.all(some.map((path) => fs.stat(join(folder, path)).catch(() => undefined)));
    some.forEach((path, n) => {
      times.set(path, stats[n]?.mtimeMs ?? 0);
    });
  }
  sorted.sort((a, b) => times.get(b)! - times.get(a)!);
  return { sorted, order: "newest first" };
}
