/** For whom tools cannot be deferred: each is offered once a result has loaded it, behind the others, in the order of loading. */
import type { Message, ToolSpec } from "@heddle/kernel/plugin";

export type Offer = (specs: readonly ToolSpec[], messages: readonly Message[]) => readonly ToolSpec[];

/** Gives the same array for the same tools. */
export function createOffer(): Offer {
  const known = new WeakMap<readonly ToolSpec[], Map<string, readonly ToolSpec[]>>();
  return (specs, messages) => {
    if (!specs.some((s) => s.deferred)) return specs;
    const byNames = known.get(specs) ?? new Map<string, readonly ToolSpec[]>();
    known.set(specs, byNames);
    const names = [...new Set(messages.flatMap((m) => (m.role === "tool" && m.outcome === "ok" ? (m.loads ?? []) : [])))];
    const key = JSON.stringify(names);
    const made = byNames.get(key) ?? offered(specs, names);
    byNames.set(key, made);
    return made;
  };
}

function offered(specs: readonly ToolSpec[], names: readonly string[]): readonly ToolSpec[] {
  const loaded = names.flatMap((name) => specs.find((s) => s.deferred && s.name === name) ?? []);
  return [...specs.filter((s) => !s.deferred), ...loaded].map(({ deferred: _, ...spec }) => spec);
}
