/** From the path that a model wrote to the file it meant: relative paths, look-alike characters, near names. */
import { basename, dirname, isAbsolute, join, relative, resolve, sep } from "node:path";
import type { FileSystem } from "@heddle/kernel/plugin";

/** Absolute and normalised; `~` is a name like any other. */
export const absolute = (cwd: string, path: string): string => resolve(cwd, path);

/** Relative inside `cwd`, else absolute. */
export function shown(cwd: string, path: string): string {
  const short = relative(cwd, path);
  if (short === "") return ".";
  return short === ".." || short.startsWith(`..${sep}`) || isAbsolute(short) ? path : short;
}

/** Names that Windows keeps for its devices, whatever their ending and folder. */
export const reserved = (path: string, windows = sep === "\\"): boolean =>
  windows && /(^|[/\\])(con|prn|aux|nul|com[0-9\u00b9\u00b2\u00b3]|lpt[0-9\u00b9\u00b2\u00b3])[ .:]*(\.[^/\\]*)?$/i.test(path);

/** Whoever opened it might wait for ever. */
export const neither = (cwd: string, path: string): string =>
  `${shown(cwd, path)} is neither a file nor a folder (a pipe, socket or device), so it is not read.`;

/** A folder as a sentence names it. */
export const place = (cwd: string, path: string): string => (path === cwd ? "the project folder" : shown(cwd, path));

/** Names that look the same compare equal: Unicode normal form, odd spaces, curly quotes. */
const look = (name: string): string =>
  name
    .normalize("NFC")
    .replace(/[\u00a0\u1680\u2000-\u200a\u202f\u205f\u3000]/g, " ")
    .replace(/[\u2018\u2019\u02bc]/g, "'")
    .replace(/[\u201c\u201d]/g, '"');

/**
 * The path itself when something is there, else the one path on disk that looks the same. A part that does not exist is kept
 * as it was asked for. Never rejects.
 */
export async function locate(fs: FileSystem, path: string): Promise<string> {
  if (await there(fs, path)) return path;
  const parent = dirname(path);
  if (parent === path) return path;
  const folder = await locate(fs, parent);
  const exact = join(folder, basename(path));
  if (folder !== parent && (await there(fs, exact))) return exact;
  const wanted = look(basename(path));
  const names = await namesIn(fs, folder);
  if (names.includes(basename(path))) return exact;
  const alike = names.filter((name) => look(name) === wanted);
  return alike.length === 1 ? join(folder, alike[0]!) : exact;
}

const there = (fs: FileSystem, path: string): Promise<boolean> =>
  fs.stat(path).then(
    (stat) => stat !== undefined,
    () => true, // what cannot be looked at is there, and its error is told when it is used
  );

const namesIn = (fs: FileSystem, folder: string): Promise<readonly string[]> =>
  fs.readdir(folder).then(
    (entries) => entries.map((e) => e.name),
    () => [],
  );

/** Says that nothing is at `path`, and what is near. `elsewhere`: other folders in which the relative path may have been meant. */
export async function missing(
  fs: FileSystem,
  cwd: string,
  asked: string,
  path: string,
  elsewhere: readonly string[] = [],
): Promise<string> {
  const said = `${shown(cwd, path)} does not exist (the project folder is ${cwd}).`;
  for (const folder of elsewhere) {
    const other = absolute(folder, asked);
    if (other !== path && (await fs.stat(other).catch(() => undefined))) return `${said} Did you mean ${shown(cwd, other)}?`;
  }
  const folder = dirname(path);
  const stat = await fs.stat(folder).catch(() => undefined);
  if (stat?.kind !== "directory") return `${said} ${stat ? `${folder} is not a folder.` : `There is no folder ${folder} either.`}`;
  const near = nearest(basename(path), await namesIn(fs, folder)).map((name) => shown(cwd, join(folder, name)));
  return near.length > 0 ? `${said} Did you mean ${near.join(" or ")}?` : said;
}

/** At most three names that a typing error, another case or another ending could have made of `name`. */
function nearest(name: string, names: readonly string[]): string[] {
  const wanted = look(name).toLowerCase();
  const stem = wanted.replace(/\.[^.]*$/, "");
  const rated = names.slice(0, 2000).map((n) => {
    const low = look(n).toLowerCase();
    const close = stem.length > 2 && (low.replace(/\.[^.]*$/, "") === stem || low.includes(wanted));
    return { n, far: low === wanted ? 0 : close ? 1 : distance(wanted, low) };
  });
  const limit = Math.min(3, Math.floor(wanted.length / 3));
  return rated
    .filter((r) => r.far <= limit || r.far === 1)
    .sort((a, b) => a.far - b.far || (a.n < b.n ? -1 : 1))
    .slice(0, 3)
    .map((r) => r.n);
}

/** Edits from one to the other, an exchange of neighbours being one; of names no longer than 100 characters. */
function distance(a: string, b: string): number {
  if (Math.abs(a.length - b.length) > 3 || a.length > 100 || b.length > 100) return Number.POSITIVE_INFINITY;
  const rows = [Array.from({ length: b.length + 1 }, (_, j) => j)];
  for (let i = 1; i <= a.length; i++) {
    const last = rows[i - 1]!;
    const row = [i];
    for (let j = 1; j <= b.length; j++) {
      const step = Math.min(last[j]! + 1, row[j - 1]! + 1, last[j - 1]! + (a[i - 1] === b[j - 1] ? 0 : 1));
      const swapped = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1];
      row.push(swapped ? Math.min(step, rows[i - 2]![j - 2]! + 1) : step);
    }
    rows.push(row);
  }
  return rows[a.length]![b.length]!;
}
