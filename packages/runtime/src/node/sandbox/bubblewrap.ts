/** The policy as arguments of bubblewrap, on Linux. */
import { dirname } from "node:path";
import { PROXY_VARIABLES } from "./bridge.ts";
import { isBelow, KEPT, type SandboxPolicy } from "./policy.ts";

/**
 * All of the file system is bound read-only, then what differs; of two for one path the later counts. There is no `--new-session`:
 * a command has no terminal, and heddle finds what a command has started by its session.
 */
export function bubblewrapArgs(policy: SandboxPolicy, cwd: string): readonly string[] {
  const { writable, fixed, hidden, scratch, network, withoutVariables } = policy;
  const inside = (path: string): boolean => writable.some((root) => path !== root && isBelow(path, root));
  const hide = (all: SandboxPolicy["hidden"]): string[] => all.flatMap(({ path, folder }) => empty(path, folder ? "folder" : "file"));
  const folders = hidden.filter((h) => h.folder).map((h) => h.path);
  const closed = [...folders, ...fixed.filter((f) => f.missing === "folder").map((f) => f.path)];
  return [
    ...["--unshare-all", "--unshare-user", "--disable-userns", "--die-with-parent", "--cap-drop", "ALL"],
    ...(network === "on" ? ["--share-net"] : []),
    ...["--ro-bind", "/", "/", "--proc", "/proc", "--dev", "/dev", "--bind", scratch, "/tmp"],
    ...hide(hidden.filter((h) => !inside(h.path))),
    ...KEPT.filter((path) => folders.some((f) => isBelow(path, f))).flatMap((path) => ["--ro-bind-try", path, path]),
    ...writable.flatMap((root) => ["--bind", root, root]),
    ...heldFolders(policy).flatMap((path) => ["--bind", path, path]),
    ...fixed.flatMap(({ path, missing }) => (missing ? empty(path, missing) : ["--ro-bind", path, path])),
    ...hide(hidden.filter((h) => inside(h.path))),
    ...closed.flatMap((path) => ["--remount-ro", path]),
    ...withoutVariables.flatMap((name) => ["--unsetenv", name]),
    ...(typeof network === "object" ? Object.entries(PROXY_VARIABLES).flatMap(([name, value]) => ["--setenv", name, value]) : []),
    ...["--setenv", "TMPDIR", "/tmp", "--chdir", cwd, "--"],
  ];
}

const empty = (path: string, kind: "file" | "folder"): string[] =>
  kind === "folder" ? ["--tmpfs", path] : ["--ro-bind", "/dev/null", path];

/** A folder that something is bound on cannot be renamed; so nobody can put another folder in the place of one that holds what is fixed. */
function heldFolders({ writable, fixed, hidden, mended }: SandboxPolicy): readonly string[] {
  const held = new Set<string>();
  const gone = (folder: string): boolean => fixed.some((f) => f.missing && isBelow(folder, f.path));
  for (const { path } of [...fixed, ...hidden, ...mended]) {
    const root = writable.find((w) => path !== w && isBelow(path, w));
    if (root === undefined) continue;
    for (let folder = dirname(path); folder !== root; folder = dirname(folder)) if (!gone(folder)) held.add(folder);
  }
  return [...held].sort();
}
