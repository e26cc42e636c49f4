/** From a glob to the folder that must be listed and the test that each name in it must pass. */
import { isAbsolute, parse, resolve } from "node:path";
import picomatch from "picomatch";

/** `base` is absolute; `matches` takes paths relative to it, with slashes. */
export type Plan = { readonly base: string; readonly matches: (path: string) => boolean };

const MAGIC = /[*?[\]{}()\\]|^!/;

/** Leading parts without magic become part of `base`. Brackets and the like also stand for themselves, since folders are named so. */
export function plan(root: string, pattern: string): Plan {
  const parts = pattern.split("/");
  let base = isAbsolute(pattern) ? parse(pattern).root : root;
  while (parts.length > 1 && !MAGIC.test(parts[0]!)) base = resolve(base, parts.shift() || ".");
  const rest = parts.join("/").replace(/^\.\//, "") || "**";
  const literal = rest.replace(/[\\[\]{}()!+@|]/g, "\\$&");
  const forms = [rest, literal, ...(MAGIC.test(rest) ? [] : [`${literal}/**`]), ...(rest.endsWith("/") ? [`${literal}**`] : [])];
  const tests = [...new Set(forms)].map((form) => picomatch(form, { dot: true }));
  return { base, matches: (path) => tests.some((test) => test(path)) };
}
