/** Where a path really is, whether that is in the workspace, and which rules cover it. */
import { basename, dirname, isAbsolute, relative, resolve, sep } from "node:path";
import type { Sight } from "./memo.ts";
import type { Rule } from "./rule.ts";

/** Absolute paths. `shell` is where commands start when that is not `cwd`. */
export type Place = {
  readonly cwd: string;
  readonly directories: readonly string[];
  readonly home?: string;
  readonly shell?: string;
  readonly fs: Sight;
};
/** A folder as it is named and as it really is. */
type Both = { readonly path: string; readonly real: string };
export type Located = Both & {
  /** Where the path stands relative to the workspace folder that holds it; undefined outside. */
  readonly inside: string | undefined;
  /** Why nobody can tell where this path leads. */
  readonly problem?: string;
};
/** `anchors` are what rules stand on, `roots` the folders of the workspace. */
export type PathMap = { readonly roots: readonly Both[]; anchor(rule: Rule): Both | undefined; readonly home: Both | undefined };

/** `settings`: the folders that rules with a leading `/` stand on. */
export async function mapOf(place: Place, settings: readonly string[] = []): Promise<PathMap> {
  const both = async (path: string): Promise<Both> => ({
    path: resolve(path),
    real: await place.fs.realpath(path).catch(() => resolve(path)),
  });
  const [cwd, home, roots, bases] = await Promise.all([
    both(place.cwd),
    place.home === undefined ? undefined : both(place.home),
    Promise.all(place.directories.map(both)),
    Promise.all(settings.map(both)),
  ]);
  const root = { path: resolve("/"), real: resolve("/") };
  const anchor = ({ covers, root: base }: Rule): Both | undefined => {
    if (covers.kind !== "path") return undefined;
    if (covers.anchor === "settings") return base === undefined ? cwd : bases[settings.indexOf(base)];
    return { root, cwd, home }[covers.anchor];
  };
  return { roots: [cwd, ...roots], anchor, home };
}

/** The path below `folder`, "" for the folder itself, undefined when it is not below. */
function below(folder: string, path: string): string | undefined {
  const rest = relative(folder, path);
  return rest === ".." || rest.startsWith(`..${sep}`) || isAbsolute(rest) ? undefined : rest;
}

export async function locate(target: string, map: PathMap, fs: Sight): Promise<Located> {
  const path = resolve(target);
  const nowhere = (problem: string): Located => ({ path, real: path, inside: undefined, problem });
  if (!isAbsolute(target) || target.includes("\0")) return nowhere("is not an absolute path");
  try {
    const named = await physical(target, fs);
    const [real, stat] = await Promise.all([fs.realpath(named), fs.stat(named)]);
    if (stat?.kind === "other") return { ...nowhere("is not a regular file"), real };
    if (MADE_BY_KERNEL.test(real) || MADE_BY_KERNEL.test(path)) return { ...nowhere("is made by the system, and may hold secrets"), real };
    if (!stat && (await dangles(resolve(named), fs))) return nowhere("goes through a link that leads nowhere");
    const inside = map.roots.map((root) => below(root.real, real)).find((rest) => rest !== undefined);
    return { path, real, inside };
  } catch (error) {
    return nowhere(`cannot be resolved (${error instanceof Error ? error.message : String(error)})`);
  }
}

const MADE_BY_KERNEL = /^\/(proc|sys|dev)\/.*(environ|mem|fd|root|cwd|cmdline|task|tcp|udp)/;

/** The path without `..` as the system sees it: behind a link, `..` is the folder above where the link leads. */
async function physical(target: string, fs: Sight): Promise<string> {
  if (!/(^|[/\\])\.\.([/\\]|$)/.test(target)) return target;
  let at = resolve("/");
  for (const part of target.split(sep)) {
    if (part === "..") at = dirname(await fs.realpath(at));
    else at = resolve(at, part);
  }
  return at;
}

/** The first part that does not exist may be a link: writing to it would make a file wherever it points. */
async function dangles(path: string, fs: Sight): Promise<boolean> {
  let missing = path;
  while (dirname(missing) !== missing && !(await fs.stat(dirname(missing)))) missing = dirname(missing);
  const names = await fs.readdir(dirname(missing)).catch(() => []);
  return names.some((n) => n.name === basename(missing) && n.kind === "symlink");
}

const posix = (path: string): string => path.split(sep).join("/").normalize("NFC");

/** A rule that forbids covers a path in any of its spellings. */
export function forbids(rule: Rule, at: Both, map: PathMap): boolean {
  return spellings(at).some((path) => anchorsOf(rule, map).some((anchor) => coversBelow(rule, anchor, path)));
}
/** A rule that allows must cover the spelling it is asked about. */
export function allows(rules: readonly Rule[], at: Both, map: PathMap): Rule | undefined {
  const covering = spellings(at).map((path) => rules.find((r) => anchorsOf(r, map).some((anchor) => coversBelow(r, anchor, path))));
  return covering.every((r) => r !== undefined) ? covering[0] : undefined;
}
const spellings = (at: Both): string[] => (at.path === at.real ? [at.path] : [at.path, at.real]);
function anchorsOf(rule: Rule, map: PathMap): string[] {
  if (rule.covers.kind !== "path") return [];
  const anchor = map.anchor(rule);
  return anchor ? spellings(anchor) : [];
}
function coversBelow(rule: Rule, anchor: string, path: string): boolean {
  if (rule.covers.kind !== "path") return false;
  const rest = below(anchor, path);
  if (rest === undefined) return false;
  const { files, pattern } = rule.covers;
  if (rest === "") return ["**", "/**", "*", "/*", "/"].includes(pattern);
  return files.ignores(posix(rest)) || (rule.list !== "allow" && files.ignores(`${posix(rest)}/`));
}

/** A path below `folder` that a rule forbids, "?" when there are too many files to be sure, undefined when there is none. */
export async function forbiddenBelow(
  folder: Both,
  rules: readonly Rule[],
  map: PathMap,
  fs: Sight,
  limit = 20_000,
): Promise<string | undefined> {
  const queue = [folder.real];
  let seen = 0;
  for (let next = queue.pop(); next !== undefined; next = queue.pop()) {
    for (const { name, kind } of await fs.readdir(next).catch(() => [])) {
      const path = resolve(next, name);
      if (rules.some((r) => forbids(r, { path, real: path }, map))) return path;
      if (++seen > limit) return "?";
      if (kind === "directory") queue.push(path);
    }
  }
  return undefined;
}
