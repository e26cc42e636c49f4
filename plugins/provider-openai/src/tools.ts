/** The tools of a request: names and schemas that the APIs take, and the way back from them. */
import type { Json, ToolCallPart, ToolSpec } from "@heddle/kernel/plugin";
import { type LegalSchema, legalSchema, unwrap } from "./schema.ts";
import { clean, cleanJson, digest, isBlank, isObject, type JsonObject } from "./text.ts";

export type WireFunction = { readonly name: string; readonly description?: string; readonly parameters: JsonObject };
export type Tools = {
  readonly functions: readonly WireFunction[];
  /** A tool that is no longer offered keeps a legal name, so that its calls can stay in the history. */
  nameFor(tool: string): string;
  /** JSON of an object, whatever the call held. */
  argumentsFor(call: ToolCallPart): string;
  /** From the model's words back to the tool's own name and input. */
  read(name: string, args: string): { readonly tool: string; readonly input: Json; readonly malformed?: string };
};

const LEGAL = /^[a-zA-Z0-9_-]{1,64}$/;

/** A legal name is kept; any other gets a fingerprint, so that two names that look alike once cleaned stay two. */
function legalName(name: string, attempt = 0): string {
  if (attempt === 0 && LEGAL.test(name)) return name;
  return `${name.replace(/[^a-zA-Z0-9_-]+/g, "_").slice(0, 51)}_${digest(`${name}\n${attempt}`)}`;
}

export function toolsFor(specs: readonly ToolSpec[]): Tools {
  const names = new Map<string, string>();
  const owners = new Map<string, string>();
  for (const { name } of [...specs.filter((s) => LEGAL.test(s.name)), ...specs.filter((s) => !LEGAL.test(s.name))]) {
    if (names.has(name)) continue;
    let attempt = 0;
    while (owners.has(legalName(name, attempt))) attempt++;
    names.set(name, legalName(name, attempt));
    owners.set(legalName(name, attempt), name);
  }
  const schemas = new Map<string, LegalSchema>();
  const functions = specs.flatMap((spec): WireFunction[] => {
    if (schemas.has(spec.name)) return [];
    const legal = legalSchema(spec.schema);
    schemas.set(spec.name, legal);
    const description = isBlank(spec.description) ? {} : { description: clean(spec.description) };
    return [{ name: names.get(spec.name)!, ...description, parameters: legal.schema }];
  });
  return {
    functions,
    nameFor: (tool) => names.get(tool) ?? legalName(tool),
    argumentsFor(call) {
      const input = cleanJson(call.input);
      if (call.malformed !== undefined) return JSON.stringify(isObject(input) ? input : { raw: input });
      if (schemas.get(call.tool)?.wrapped) return JSON.stringify({ input });
      return JSON.stringify(isObject(input) ? input : { value: input });
    },
    read(name, args) {
      const tool = owners.get(name) ?? name;
      if (args.trim() === "") return { tool, input: {} };
      try {
        const input = JSON.parse(args) as Json;
        return { tool, input: schemas.get(tool)?.wrapped ? unwrap(input) : input };
      } catch (error) {
        // Arguments that were cut off are never mended: what runs must be what the model wrote.
        return { tool, input: { raw: args }, malformed: error instanceof Error ? error.message : String(error) };
      }
    },
  };
}
