/** Removals that nobody approves in advance: of a root, a home, the workspace itself, or of something only the shell knows. */
import { dirname, resolve } from "node:path";
import type { PathMap } from "./paths.ts";
import type { Candidates } from "./shell/candidates.ts";

/** Says what would be removed; undefined when it is nothing of that kind. `folders` are where the command may be when it removes. */
export function criticalRemoval(found: Candidates, folders: readonly string[], map: PathMap): string | undefined {
  const { home } = map;
  const kept = [...map.roots, ...(home ? [home] : [])].flatMap((r) => [r.path, r.real]);
  const isCritical = (path: string): boolean =>
    dirname(dirname(path)) === dirname(path) || kept.some((k) => k === path || k.startsWith(`${path}/`));
  const lost = found.simple.some(
    ({ words }) => words[0]?.text === "cd" && (words.length < 2 || words[1]!.unknown || words[1]!.text === "-"),
  );
  for (const [program, ...rest] of found.all) {
    const name = program!.text;
    const deletes = name === "find" && rest.some((w) => w.text === "-delete" || w.text === "rm");
    if (name !== "rm" && name !== "rmdir" && !deletes) continue;
    const isOption = (text: string): boolean => text.startsWith("-") && text !== "-";
    const deep = name !== "rm" || rest.some((w) => /^-[a-zA-Z]*[rR]/.test(w.text) || /^--r/.test(w.text));
    const cut = deletes ? rest.findIndex((w) => isOption(w.text)) : rest.length;
    const targets = rest.slice(0, cut).filter((w) => !isOption(w.text));
    if (targets.length === 0 && deep && (deletes || name === "rm"))
      return deletes ? "everything below the working folder" : "what another command names";
    for (const { text, unknown } of targets) {
      const start = text.replace(/^(~|\$HOME)(?=\/|$)/, home?.path ?? "/").replace(/^(~\+|\$PWD)(?=\/|$)/, folders[0]!);
      const all = start.replace(/(\/|^)(\.?\*|\{.*\}|\.\[.*|\?+)+\/?$/, "$1.");
      if (deep && unknown && /[$~]/.test(all)) return `"${text}", which only the shell can resolve`;
      if (deep && unknown && text === "") return "a target that only the shell can resolve";
      if (deep && lost && !all.startsWith("/")) return `"${text}" in a folder that only the shell knows`;
      for (const folder of folders) {
        const path = resolve(folder, all);
        if (isCritical(path)) return path;
      }
    }
  }
  return undefined;
}
