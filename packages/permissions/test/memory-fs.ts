/** A file system in memory, with symlinks, for tests. */
import { dirname, resolve } from "node:path";
import type { FileSystem } from "@heddle/kernel";

const fail = (code: string, path: string): Error => Object.assign(new Error(`${code}: ${path}`), { code });

/** `tree` maps absolute paths to text, to `{ link }` or to `{ special: true }`; folders come from the paths, and `"dir/"` makes an empty one. */
export function memoryFs(tree: Readonly<Record<string, string | { link: string } | { special: true }>>): FileSystem {
  const nodes = new Map<string, string | { link: string } | { special: true } | undefined>([["/", undefined]]);
  for (const [path, node] of Object.entries(tree)) {
    const clean = resolve(path);
    for (let up = dirname(clean); !nodes.has(up); up = dirname(up)) nodes.set(up, undefined);
    nodes.set(clean, path.endsWith("/") ? undefined : node);
  }
  /** Follows links of every existing part. */
  const real = (path: string, hops = 0): string => {
    if (hops > 20) throw fail("ELOOP", path);
    let at = "/";
    const parts = path.split("/").filter((p) => p !== "" && p !== ".");
    for (const [i, part] of parts.entries()) {
      if (part === "..") {
        at = dirname(at);
        continue;
      }
      const next = at === "/" ? `/${part}` : `${at}/${part}`;
      const node = nodes.get(next);
      if (typeof node !== "object" || !("link" in node)) {
        at = next;
        continue;
      }
      const target = real(resolve(at, node.link), hops + 1);
      if (!nodes.has(target)) {
        at = next; // a link that leads nowhere stays as it is
        continue;
      }
      return real([target, ...parts.slice(i + 1)].join("/"), hops + 1);
    }
    return at;
  };
  return {
    readFile: async (path) => {
      const node = nodes.get(real(path));
      if (typeof node !== "string") throw fail("ENOENT", path);
      return new TextEncoder().encode(node);
    },
    writeFile: async (path, bytes) => void nodes.set(real(path), new TextDecoder().decode(bytes)),
    stat: async (path) => {
      const at = real(path);
      const node = nodes.get(at);
      if (!nodes.has(at) || (typeof node === "object" && "link" in node)) return undefined;
      const kind = node === undefined ? "directory" : typeof node === "string" ? "file" : "other";
      return { kind, size: typeof node === "string" ? node.length : 0, mtimeMs: 0, mode: 0o644 } as const;
    },
    realpath: async (path) => real(path),
    readdir: async (path) => {
      const folder = real(path);
      if (!nodes.has(folder)) throw fail("ENOENT", path);
      return [...nodes]
        .filter(([p]) => p !== "/" && dirname(p) === folder)
        .map(([p, node]) => {
          const kind = node === undefined ? "directory" : typeof node === "string" ? "file" : "link" in node ? "symlink" : "other";
          return { name: p.slice(folder === "/" ? 1 : folder.length + 1), kind } as const;
        })
        .sort((a, b) => (a.name < b.name ? -1 : 1));
    },
  };
}
