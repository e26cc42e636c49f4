/** Finds schemas that lead back to themselves without going into the value: checking any value against them would never end. */
import type { Json } from "@heddle/kernel/plugin";

type Schema = { readonly [key: string]: Json };

/** Keywords that hold for the same value as the schema they stand in: a schema, or a list of them; `dependentSchemas` has some by name. */
const SAME_VALUE = ["not", "if", "then", "else", "allOf", "anyOf", "oneOf"] as const;
/** Keywords that hold data, where nothing is a schema. */
const DATA: readonly string[] = ["const", "enum", "default", "examples"];

const isObject = (it: unknown): it is Schema => typeof it === "object" && it !== null && !Array.isArray(it);
const valuesOf = (it: Json | undefined): readonly Json[] => (typeof it === "object" && it !== null ? Object.values(it) : []);

/** Where it begins, as a JSON pointer from `#`; undefined for a schema that comes to an end. References to elsewhere are not followed. */
export function endlessPart(root: Schema): string | undefined {
  const anchors = new Map<string, Schema>();
  const places = new Map<Schema, string>();
  const open: [Json | undefined, string][] = [[root, "#"]];
  for (let next = open.pop(); next; next = open.pop()) {
    const [it, at] = next;
    if (isObject(it)) {
      places.set(it, at);
      if (typeof it["$anchor"] === "string") anchors.set(`#${it["$anchor"]}`, it);
    }
    if (typeof it === "object" && it !== null)
      for (const [key, inner] of Object.entries(it)) if (!DATA.includes(key)) open.push([inner, `${at}/${key}`]);
  }
  const leadsTo = (it: Schema): Schema[] => {
    const refs = [it["$ref"], it["$dynamicRef"]].map((ref) => (typeof ref === "string" ? (anchors.get(ref) ?? at(root, ref)) : undefined));
    const same = SAME_VALUE.map((key) => it[key]);
    const lists = [...same.filter((inner) => Array.isArray(inner)), it["dependentSchemas"]];
    return [...refs, ...same, ...lists.flatMap(valuesOf)].filter(isObject);
  };
  const ends = new Set<Schema>();
  const path = new Set<Schema>();
  const circle = (it: Schema): Schema | undefined => {
    if (ends.has(it)) return undefined;
    if (path.has(it)) return it;
    path.add(it);
    for (const next of leadsTo(it)) {
      const found = circle(next);
      if (found) return found;
    }
    path.delete(it);
    ends.add(it);
    return undefined;
  };
  for (const start of places.keys()) {
    const found = circle(start);
    if (found) return places.get(found) ?? "#";
  }
  return undefined;
}

/** What a reference of the form `#/a/b` names. */
function at(root: Schema, ref: string): Json | undefined {
  if (ref !== "#" && !ref.startsWith("#/")) return undefined;
  let it: Json | undefined = root;
  for (const step of ref.slice(2).split("/").filter(Boolean)) {
    const key = decoded(step).replaceAll("~1", "/").replaceAll("~0", "~");
    it = typeof it === "object" && it !== null ? (it as Record<string, Json>)[key] : undefined;
  }
  return it;
}
function decoded(step: string): string {
  try {
    return decodeURIComponent(step);
  } catch {
    return step;
  }
}
