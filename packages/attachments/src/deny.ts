/** Whether a Read deny rule covers a path. */
import { sep } from "node:path";
import ignore from "ignore";

export type Bases = { readonly cwds: readonly string[]; readonly home?: string | undefined };

/**
 * Patterns are those of gitignore files: `//p` from the file-system root, `~/p` from home, `/p` and `./p` from the working
 * directory, a bare name at any depth. `cwds` are the working directory as named and as its links resolve.
 */
export function denier(patterns: readonly string[], { cwds, home }: Bases): (path: string, isFolder: boolean) => boolean {
  const rules = ignore({ allowRelativePaths: true }).add(patterns.flatMap((p) => anchored(p, cwds, home)));
  return (path, isFolder) => {
    const name = slashed(path).slice(1);
    return name !== "" && rules.ignores(isFolder ? `${name}/` : name);
  };
}

/** As patterns from the file-system root. */
function anchored(pattern: string, cwds: readonly string[], home: string | undefined): string[] {
  const not = pattern.startsWith("!") ? "!" : "";
  const p = pattern.slice(not.length);
  const under = (bases: readonly string[], rest: string): string[] =>
    bases.map((b) => `${not}${literal(slashed(b)).replace(/\/$/, "")}/${rest}`);
  if (p.startsWith("//")) return [not + p.slice(1)];
  if (p.startsWith("~/")) return home === undefined ? [] : under([home], p.slice(2));
  if (p.startsWith("/")) return under(cwds, p.slice(1));
  if (p.startsWith("./")) return under(cwds, p.slice(2));
  if (/^[^/]+\/\*\*$/.test(p)) return under(cwds, `**/${p}`); // a folder of that name, wherever it is
  return /\/./.test(p) ? under(cwds, p) : [not + p];
}

const literal = (path: string): string => path.replace(/[\\*?[\]!# ]/g, "\\$&");

/** Windows paths as `/c/Users/…`. */
function slashed(path: string): string {
  if (sep === "/") return path;
  return path.replaceAll("\\", "/").replace(/^([A-Za-z]):/, (_, drive: string) => `/${drive.toLowerCase()}`);
}
