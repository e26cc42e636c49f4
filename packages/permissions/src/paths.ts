/** Where a path really is, whether that is in the workspace, which rules cover it, and which files are never changed unasked. */
import { basename, dirname, isAbsolute, relative, resolve, sep } from "node:path";
import type { FileSystem } from "@heddle/kernel/plugin";
import type { Anchor, Rule } from "./rule.ts";

/** Absolute paths. `settingsRoot` is what `/p` in a rule stands on, `shell` where commands start when that is not `cwd`. */
export type Place = {
  readonly cwd: string;
  readonly directories: readonly string[];
  readonly home?: string;
  readonly settingsRoot?: string;
  readonly shell?: string;
  readonly fs: FileSystem;
};
/** A folder as it is named and as it really is. */
type Both = { readonly path: string; readonly real: string };
export type Located = Both & {
  /** Where the path stands relative to the workspace folder that holds it; undefined outside. */
  readonly inside: string | undefined;
  /** Why nobody can tell where this path leads. */
  readonly problem?: string;
};
export type PathMap = { readonly roots: readonly Both[]; readonly anchors: { readonly [A in Anchor]: Both | undefined } };

export async function mapOf(place: Place): Promise<PathMap> {
  const both = async (path: string): Promise<Both> => ({
    path: resolve(path),
    real: await place.fs.realpath(path).catch(() => resolve(path)),
  });
  const [cwd, settings, home, ...roots] = await Promise.all([
    both(place.cwd),
    both(place.settingsRoot ?? place.cwd),
    place.home === undefined ? undefined : both(place.home),
    ...place.directories.map(both),
  ]);
  const root = { path: resolve("/"), real: resolve("/") };
  return { roots: [cwd!, ...(roots as Both[])], anchors: { root, cwd, settings, home } };
}

/** The path below `folder`, "" for the folder itself, undefined when it is not below. */
function below(folder: string, path: string): string | undefined {
  const rest = relative(folder, path);
  return rest === ".." || rest.startsWith(`..${sep}`) || isAbsolute(rest) ? undefined : rest;
}

export async function locate(target: string, map: PathMap, fs: FileSystem): Promise<Located> {
  const path = resolve(target);
  const nowhere = (problem: string): Located => ({ path, real: path, inside: undefined, problem });
  if (!isAbsolute(target) || target.includes("\0")) return nowhere("is not an absolute path");
  try {
    const real = await fs.realpath(target);
    const stat = await fs.stat(target);
    if (stat?.kind === "other") return { ...nowhere("is not a regular file"), real };
    if (!stat && (await dangles(path, fs))) return nowhere("goes through a link that leads nowhere");
    const inside = map.roots.map((root) => below(root.real, real)).find((rest) => rest !== undefined);
    return { path, real, inside };
  } catch (error) {
    return nowhere(`cannot be resolved (${error instanceof Error ? error.message : String(error)})`);
  }
}

/** The first part that does not exist may be a link: writing to it would make a file wherever it points. */
async function dangles(path: string, fs: FileSystem): Promise<boolean> {
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
  const anchor = map.anchors[rule.covers.anchor];
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
  fs: FileSystem,
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

const FOLDERS: readonly string[] =
  ".git .heddle .claude .vscode .idea .husky .cargo .devcontainer .yarn .mvn .ssh .gnupg .config/git .config/heddle .config/fish .github/workflows".split(
    " ",
  );
const FILES: readonly string[] = (
  ".gitconfig .gitmodules .bashrc .bash_profile .bash_login .bash_logout .bash_aliases .profile .zshrc .zshenv .zprofile .zlogin .zlogout .kshrc .cshrc .tcshrc .login .inputrc .xprofile .xinitrc .xsessionrc " +
  ".envrc .npmrc .yarnrc .yarnrc.yml .pnpmfile.cjs .pnpmfile.mjs bunfig.toml .bazelrc .bazelversion .pre-commit-config.yaml gradle-wrapper.properties maven-wrapper.properties .devcontainer.json .ripgreprc pyrightconfig.json .mcp.json .claude.json .heddle.json .netrc .vimrc .exrc .gdbinit"
).split(" ");
const STARTS = [".pnp.", "lefthook.", ".lefthook."];

/** The part that is protected: what runs later without a question, or says what may run. Case and Windows spellings do not matter. */
export function protectedPart(at: Located): string | undefined {
  const seen = [at.inside ?? at.path, at.inside === undefined ? at.real : ""];
  if (at.inside !== undefined) seen.push(at.path.endsWith(at.inside) ? at.inside : at.path);
  for (const path of seen) {
    const parts = path.split(/[/\\]/).map((p) =>
      p
        .toLowerCase()
        .normalize("NFC")
        .replace(/:.*$/, "")
        .replace(/[. ]+$/, ""),
    );
    const name = parts.at(-1) ?? "";
    if (FILES.includes(name) || name.endsWith(".code-workspace") || STARTS.some((s) => name.startsWith(s))) return name;
    const found = parts.findIndex(
      (p, i) => (FOLDERS.includes(p) && !(p === ".claude" && parts[i + 1] === "worktrees")) || FOLDERS.includes(`${p}/${parts[i + 1]}`),
    );
    if (found >= 0) return `${parts[found]}/`;
  }
  return undefined;
}
