/** The tools of a request: names and schemas that the API takes, and the way back from them. */
import type { Json, ToolCallPart, ToolSpec } from "@heddle/kernel/plugin";
import { type LegalSchema, legalSchema, unwrap } from "./schema.ts";
import { clean, cleanJson, isBlank, isObject, type JsonObject } from "./text.ts";
import { digest, type WireTool } from "./wire.ts";

export type Tools = {
  readonly wire: readonly WireTool[];
  /** Of those that are not deferred: thinking is bound to no others. */
  readonly digest: string;
  isDeferred(tool: string): boolean;
  /** A tool that is no longer offered keeps a legal name, so that its calls can stay in the history. */
  nameFor(tool: string): string;
  inputFor(call: ToolCallPart): JsonObject;
  /** From the API back to the tool's own name and input. */
  read(name: string, input: Json): { readonly tool: string; readonly input: Json };
};

const LEGAL = /^[a-zA-Z0-9_-]{1,64}$/;

/** A legal name is kept; any other gets a fingerprint, so that two names that look alike once cleaned stay two. */
function legalName(name: string, attempt = 0): string {
  if (attempt === 0 && LEGAL.test(name)) return name;
  return `${name.replace(/[^a-zA-Z0-9_-]+/g, "_").slice(0, 51)}_${digest(name, String(attempt)).slice(0, 12)}`;
}

export function toolsFor(specs: readonly ToolSpec[]): Tools {
  const names = new Map<string, string>();
  const taken = new Map<string, string>();
  const byLegality = [...specs.filter((s) => LEGAL.test(s.name)), ...specs.filter((s) => !LEGAL.test(s.name))];
  for (const { name } of byLegality) {
    if (names.has(name)) continue;
    let attempt = 0;
    while (taken.has(legalName(name, attempt))) attempt++;
    names.set(name, legalName(name, attempt));
    taken.set(legalName(name, attempt), name);
  }
  const schemas = new Map<string, LegalSchema>();
  const deferred = new Set(specs.every((s) => s.deferred) ? [] : specs.flatMap((s) => (s.deferred ? [s.name] : []))); // never all of them
  const wire = specs.flatMap((spec): WireTool[] => {
    if (schemas.has(spec.name)) return [];
    const legal = legalSchema(spec.schema);
    schemas.set(spec.name, legal);
    const description = isBlank(spec.description) ? {} : { description: clean(spec.description) };
    return [
      {
        name: names.get(spec.name)!,
        ...description,
        input_schema: legal.schema,
        ...(deferred.has(spec.name) ? { defer_loading: true } : {}),
      },
    ];
  });
  return {
    wire,
    digest: digest(JSON.stringify(wire.filter((tool) => !tool.defer_loading))),
    isDeferred: (tool) => deferred.has(tool),
    nameFor: (tool) => names.get(tool) ?? legalName(tool),
    inputFor(call) {
      const input = cleanJson(call.input);
      if (call.malformed !== undefined) return isObject(input) ? input : { raw: input };
      if (schemas.get(call.tool)?.wrapped) return { input };
      return isObject(input) ? input : { value: input };
    },
    read(name, input) {
      const tool = taken.get(name) ?? name;
      return { tool, input: schemas.get(tool)?.wrapped ? unwrap(input) : input };
    },
  };
}
