/** Finds the file that a typed name means, where the disk spells it with other characters that look the same. */
import { basename, dirname, isAbsolute, join, relative, sep } from "node:path";
import type { FileSystem } from "@heddle/kernel/plugin";

/** One form for composed and decomposed letters, for any kind of space, for curly and straight quotes. */
export function fold(name: string): string {
  return name
    .normalize("NFC")
    .replace(/[\p{Zs}\t]/gu, " ")
    .replace(/[‘’‛ʼ]/g, "'")
    .replace(/[“”‟]/g, '"');
}

/** The path itself when it is there; else the one whose names look the same; undefined when there is none, or more than one. */
export async function locate(fs: FileSystem, path: string): Promise<string | undefined> {
  if (await fs.stat(path).catch(() => undefined)) return path;
  const parent = dirname(path);
  const folder = parent === path ? undefined : await locate(fs, parent);
  if (folder === undefined) return undefined;
  const wanted = fold(basename(path));
  const alike = (await fs.readdir(folder).catch(() => [])).filter((e) => fold(e.name) === wanted);
  return alike.length === 1 ? join(folder, alike[0]!.name) : undefined;
}

export function within(root: string, path: string): boolean {
  const rest = relative(root, path);
  return rest === "" || (rest !== ".." && !rest.startsWith(`..${sep}`) && !isAbsolute(rest));
}
