/** Settings made into a policy, by what is on the disk now. */
import { lstatSync, readdirSync, readFileSync, readlinkSync, realpathSync, statSync } from "node:fs";
import { basename, dirname, join, relative, resolve, sep } from "node:path";
import {
  isBelow,
  isSecretVariable,
  OBEYED,
  OBEYED_FOLDERS,
  RESPECTED,
  type SandboxPolicy,
  type SandboxSettings,
  SECRETS,
  SYSTEM_SECRETS,
} from "./policy.ts";

/** Why no sandbox could hold with these folders; undefined where it can. */
export function unfit({ roots, home, allowWrite = [] }: SandboxSettings): string | undefined {
  const wide = [...roots, ...allowWrite].find((root) => isBelow(real(home), real(root)));
  return (
    wide && `the folder ${wide} holds the home folder, and most of what is in a home must not be changed: start in a folder of its own`
  );
}

/** `taken`: empty files that stand where nothing may come, for commands that run; they count as missing. */
export function policyOf(
  settings: SandboxSettings,
  scratch: string,
  variables: readonly string[],
  taken: ReadonlySet<string> = new Set(),
): SandboxPolicy {
  const { roots, home, state, network, allowWrite = [], denyWrite = [], denyRead = [] } = settings;
  const folders = [...roots, ...allowWrite].filter((path) => kindOf(path) !== undefined).map(real);
  const gits = roots.map((root) => gitOf(real(root)));
  const writable = [...new Set([...folders, ...gits.flatMap((g) => g.writable)])];
  const rootOf = (path: string): string | undefined => writable.find((root) => path !== root && isBelow(path, root));
  const strict = [
    ...roots.flatMap((root) => OBEYED.map((name) => join(real(root), name))),
    ...gits.flatMap((g) => g.obeyed),
    ...denyWrite,
    state,
  ];
  const respected = folders
    .flatMap((root) => [...RESPECTED, ...OBEYED, ".git/hooks", ".git/config"].map((name) => join(root, name)))
    .filter((path) => kindOf(path) !== undefined);
  const fixed = new Map<string, SandboxPolicy["fixed"][number]>();
  const mended = new Map<string, SandboxPolicy["mended"][number]>();
  for (const path of [...strict, ...respected]) {
    const link = linkIn(path, rootOf(path));
    if (link !== undefined) mended.set(link, { path: link, link: readlinkSync(link) });
    const there = firstMissing(path, taken);
    const at = there ?? real(path);
    if (rootOf(at) !== undefined) fixed.set(at, there === undefined ? { path: at } : { path: at, missing: kindWanted(at, path) });
  }
  for (const path of gits.flatMap((g) => g.free)) if (!isThere(path)) mended.set(path, { path });
  const secret = [...SYSTEM_SECRETS, ...SECRETS.map((name) => join(home, name)), join(state, "settings.json"), ...denyRead];
  const hidden = new Map<string, SandboxPolicy["hidden"][number]>();
  for (const path of secret) {
    const kind = kindOf(path);
    if (kind) hidden.set(real(path), { path: real(path), folder: kind === "folder" });
  }
  return {
    writable,
    fixed: [...fixed.values()],
    mended: [...mended.values()],
    hidden: [...hidden.values()],
    scratch,
    network,
    withoutVariables: variables.filter(isSecretVariable),
  };
}

/** What git takes for no repository, and heddle for no settings, is an empty folder rather than a file. */
const kindWanted = (missing: string, path: string): "file" | "folder" =>
  OBEYED_FOLDERS.includes(basename(path)) || basename(missing) !== basename(path) ? "folder" : "file";

/** `obeyed`: what git does as it says. `free`: the same, but their place may not be taken. */
type Git = { readonly writable: readonly string[]; readonly obeyed: readonly string[]; readonly free: readonly string[] };
function gitOf(root: string): Git {
  const git = join(root, ".git");
  if (kindOf(git) !== "file")
    return {
      writable: [],
      obeyed: [join(git, "hooks"), join(git, "config"), ...ledTo(join(git, "config"), root)],
      free: ["commondir", "config.worktree"].map((n) => join(real(git), n)),
    };
  const common = repositoryOf(git);
  if (common === undefined) return { writable: [], obeyed: [git], free: [] };
  const trees = readdirSync(join(common, "worktrees")).map((name) => join(common, "worktrees", name));
  return {
    writable: [common],
    obeyed: [
      ...[git, join(common, "hooks"), join(common, "config"), ...ledTo(join(common, "config"), root)],
      ...trees.flatMap((t) => [join(t, "commondir"), join(t, "gitdir")]),
    ],
    free: [join(common, "commondir"), ...[common, ...trees].map((dir) => join(dir, "config.worktree"))],
  };
}

/** What the configuration leads on to: another folder of hooks, and files that it includes. */
function ledTo(config: string, root: string): readonly string[] {
  try {
    const found = [...readFileSync(config, "utf8").matchAll(/^\s*(hooksPath|path)\s*=\s*"?([^"\n]+?)"?\s*$/gim)];
    return found.map(([, key = "", path = ""]) => resolve(key.toLowerCase() === "path" ? dirname(config) : root, path));
  } catch {
    return [];
  }
}

/**
 * The repository that a linked worktree belongs to. What its file `.git` says is believed only where git's own record there leads
 * back to it: a project could name any folder.
 */
function repositoryOf(link: string): string | undefined {
  try {
    const dir = real(resolve(dirname(link), /^gitdir: (.+)$/m.exec(readFileSync(link, "utf8"))![1]!.trim()));
    if (basename(dirname(dir)) !== "worktrees" || real(readFileSync(join(dir, "gitdir"), "utf8").trim()) !== link) return undefined;
    const common = dirname(dirname(dir));
    return real(resolve(dir, readFileSync(join(dir, "commondir"), "utf8").trim())) === common ? common : undefined;
  } catch {
    return undefined;
  }
}

/** The first part of the path below `root` that is a link. */
function linkIn(path: string, root: string | undefined): string | undefined {
  if (root === undefined) return undefined;
  let at = root;
  for (const part of relative(root, path).split(sep)) {
    at = join(at, part);
    try {
      if (lstatSync(at).isSymbolicLink()) return at;
    } catch {
      return undefined;
    }
  }
  return undefined;
}

/** The first part of the path that is not there. */
function firstMissing(path: string, taken: ReadonlySet<string>): string | undefined {
  let missing: string | undefined;
  for (let at = path; dirname(at) !== at; at = dirname(at)) if (!isThere(at) || taken.has(at)) missing = at;
  return missing && join(real(dirname(missing)), basename(missing));
}
function isThere(path: string): boolean {
  try {
    lstatSync(path);
    return true;
  } catch {
    return false;
  }
}
function kindOf(path: string): "file" | "folder" | undefined {
  try {
    return statSync(path).isDirectory() ? "folder" : "file";
  } catch {
    return undefined;
  }
}
function real(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    return resolve(path);
  }
}
