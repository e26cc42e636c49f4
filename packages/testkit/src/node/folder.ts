/** A candidate from the folder of a package, as discovery would make it. */
import { readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import type { Candidate } from "@heddle/runtime";

export function candidateOf(folder: string): { readonly candidate: Candidate } | { readonly problem: string } {
  const dir = resolve(folder);
  const file = join(dir, "package.json");
  let json: { name?: unknown; version?: unknown; heddle?: { main?: unknown } } | null;
  try {
    json = JSON.parse(readFileSync(file, "utf8"));
  } catch (error) {
    return { problem: `${file} cannot be read: ${error instanceof Error ? error.message : String(error)}` };
  }
  if (typeof json?.name !== "string" || typeof json.version !== "string")
    return { problem: `${file} has no "name" or no "version"; add them` };
  if (json.heddle === undefined) return { problem: `${file} has no "heddle" key, so it is not a plugin; add one` };
  const { name, version, heddle } = json;
  const main = typeof heddle.main === "string" ? heddle.main : "./index.js";
  const load = async (): Promise<unknown> => ((await import(pathToFileURL(join(dir, main)).href)) as { default?: unknown }).default;
  return { candidate: { id: name, version, from: dir, dir, manifest: heddle, load } };
}
