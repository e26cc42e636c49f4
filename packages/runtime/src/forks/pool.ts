/** The tools of a fork: what it can call, and what its model hears of. */
import { type ForkOptions, POINT_IDS, type Registry } from "@heddle/kernel";
import { changed } from "../plugins/registry.ts";
import type { Catalog } from "../session/catalog.ts";

type Pool = { readonly registry: Registry; readonly catalog: Catalog };

/** A copy of the session hears of all tools, since they are a part of the bytes that are cached. */
export function poolOf({ tools, withoutTools, from }: ForkOptions, { registry, catalog }: Pool): Pool {
  const has = (name: string): boolean => (tools?.includes(name) ?? true) && !withoutTools?.includes(name);
  if (catalog.tools.every((t) => has(t.name))) return { registry, catalog };
  const limited = changed(registry, POINT_IDS, (e) => (e.point !== "tools" || has(e.name) ? e : undefined));
  return { registry: limited, catalog: from.kind === "fork" ? catalog : catalog.of(limited) };
}
