/** Short names of models. */

export type Aliases = { readonly [alias: string]: string };

/** Aliases that lead back to themselves, each circle once: `["a", "b", "a"]`. */
export function circlesOf(aliases: Aliases): string[][] {
  const known = new Set<string>();
  return Object.keys(aliases).flatMap((name) => {
    const path = [name];
    let now = aliases[name]!;
    for (; Object.hasOwn(aliases, now) && !path.includes(now); now = aliases[now]!) path.push(now);
    if (now !== name || known.has(name)) return [];
    for (const step of path) known.add(step);
    return [[...path, name]];
  });
}

/** What a name stands for, over any number of aliases; a circle of them stands for itself. */
export function meaningOf(aliases: Aliases, name: string): string {
  const seen = new Set<string>();
  let now = name;
  while (Object.hasOwn(aliases, now)) {
    if (seen.has(now)) return name;
    seen.add(now);
    now = aliases[now]!;
  }
  return now;
}
