/** Gives contributions other names, as the settings say, and finds two plugins that want one name. */
import { type PluginId, POINT_IDS, POINTS, type PointId } from "@heddle/kernel";
import type { Contribution } from "./shapes.ts";

/** Points where a name must lead to one contribution only. */
const KEYED: readonly PointId[] = POINT_IDS.filter((point) => POINTS[point].mode === "keyed");

/** `unused`: keys that name nothing. A key is `point/name`; at keyed points an alias can be renamed too. */
export function renameAll(
  list: readonly Contribution[],
  rename: Readonly<Record<string, string>> = {},
): { readonly list: readonly Contribution[]; readonly unused: readonly string[] } {
  const used = new Set<string>();
  const renamed = list.map((c): Contribution => {
    const newName = (name: string): string => {
      const key = `${c.point}/${name}`;
      if (!Object.hasOwn(rename, key)) return name;
      used.add(key);
      return rename[key]!;
    };
    const name = newName(c.name);
    const aliases = c.aliases.map(newName);
    const same = aliases.every((alias, i) => alias === c.aliases[i]);
    return { ...c, name, aliases, it: same ? c.it : withAliases(c.it, aliases) };
  });
  return { list: renamed, unused: Object.keys(rename).filter((key) => !used.has(key)) };
}

/**
 * The object itself stays as it is and keeps its `this`; only who asks for its aliases gets the new ones. A registry has the name of
 * an entry beside it, but reads aliases from the contribution. The target is another object, since a frozen one would forbid the answer.
 */
function withAliases(it: object, aliases: readonly string[]): object {
  return new Proxy(
    {},
    {
      get(_, key) {
        if (key === "aliases") return aliases;
        const value: unknown = Reflect.get(it, key, it);
        return typeof value === "function" ? value.bind(it) : value;
      },
      has: (_, key) => key in it,
    },
  );
}

export type Owned = { readonly plugin: PluginId; readonly list: readonly Contribution[] };

/** Says who has the name, and the line of the settings that gives the newcomer another one; undefined when nothing clashes. `entry` is how they name it. */
export function clashOf(newcomer: Owned, settled: readonly Owned[], entry: object): string | undefined {
  const taken = new Map<string, string>();
  for (const { plugin, list } of settled) for (const c of list) for (const key of keysOf(c)) taken.set(key, plugin);
  for (const c of newcomer.list) {
    for (const key of keysOf(c)) {
      const owner = taken.get(key);
      if (!owner) {
        taken.set(key, newcomer.plugin);
        continue;
      }
      const name = key.slice(c.point.length + 1);
      const line = JSON.stringify({ plugins: [{ ...entry, rename: { [key]: otherName(newcomer.plugin, name) } }] });
      return `${c.point} "${name}" is already the name of one of plugin "${owner}"; rename one of them in the settings, for example ${line}`;
    }
  }
  return undefined;
}

const keysOf = (c: Contribution): string[] => (KEYED.includes(c.point) ? [c.name, ...c.aliases].map((name) => `${c.point}/${name}`) : []);

/** `@acme/echo` and `Echo` give `AcmeEcho`; `@acme/echo` and `deploy` give `acme-deploy`. */
function otherName(plugin: PluginId, name: string): string {
  const word = /[A-Za-z][A-Za-z0-9]*/.exec(plugin)?.[0] ?? "other";
  return /^[A-Z]/.test(name) ? `${word[0]!.toUpperCase()}${word.slice(1)}${name}` : `${word}-${name}`;
}
