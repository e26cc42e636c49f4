/** Short names of models. */

export type Aliases = { readonly [alias: string]: string };

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
