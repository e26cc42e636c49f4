/** Makes any tool schema one that the API takes: one bad schema would make it refuse every request of the session. */
import type { Json } from "@heddle/kernel/plugin";
import { cleanJson, isObject, type JsonObject } from "./text.ts";

/** `wrapped`: the tool's input travels as the one property `input` of an object. */
export type LegalSchema = { readonly schema: JsonObject; readonly wrapped: boolean };

const COMBINATORS = ["anyOf", "oneOf", "allOf"];
const KEY = /^[a-zA-Z0-9_.-]{1,64}$/;
const MAX_DESCRIBED = 8000;

export function legalSchema(given: Json): LegalSchema {
  const { $schema: _, ...bare } = isObject(given) ? (cleanJson(given) as JsonObject) : {};
  const sound = isSound(bare);
  if (sound && isPlainObject(bare)) return { schema: { ...bare, type: "object" }, wrapped: false };
  const input = sound ? (rebase(bare) as JsonObject) : described(bare);
  return { schema: { type: "object", properties: { input }, required: ["input"] }, wrapped: true };
}

/** An input the model gave for a wrapped schema; one that it gave unwrapped is taken as it is. */
export function unwrap(input: Json): Json {
  return isObject(input) && Object.keys(input).length === 1 && Object.hasOwn(input, "input") ? input["input"]! : input;
}

function isPlainObject(schema: JsonObject): boolean {
  const type = schema["type"];
  if (COMBINATORS.some((key) => Object.hasOwn(schema, key))) return false;
  if (type === undefined) return !["$ref", "const", "enum"].some((key) => Object.hasOwn(schema, key));
  return type === "object" || (Array.isArray(type) && type.includes("object"));
}

/** The schema in words, where its own form would be refused. */
function described(schema: JsonObject): JsonObject {
  const words = JSON.stringify(schema).slice(0, MAX_DESCRIBED);
  const type = schema["type"] === "object" || isObject(schema["properties"]) ? { type: "object" } : {};
  return { ...type, description: `A value that fits this JSON Schema: ${words}` };
}

/** The schema has moved down two levels, and so has what its references point at. */
function rebase(value: Json): Json {
  if (Array.isArray(value)) return value.map(rebase);
  if (!isObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => {
      const isLocal = key === "$ref" && typeof item === "string" && (item === "#" || item.startsWith("#/"));
      return [key, isLocal ? `#/properties/input${item.slice(1)}` : rebase(item)];
    }),
  );
}

type Check = (value: Json) => boolean;
const TYPES = ["array", "boolean", "integer", "null", "number", "object", "string"];
const isNumber: Check = (v) => typeof v === "number";
const isCount: Check = (v) => Number.isInteger(v) && Number(v) >= 0;
const isString: Check = (v) => typeof v === "string";
const isBoolean: Check = (v) => typeof v === "boolean";
const isNames: Check = (v) => Array.isArray(v) && v.every(isString) && new Set(v).size === v.length;
const isSchema: Check = (v) => typeof v === "boolean" || (isObject(v) && isSound(v));
const isSchemas: Check = (v) => Array.isArray(v) && v.length > 0 && v.every(isSchema);
const isSchemaMap: Check = (v) => isObject(v) && Object.values(v).every(isSchema);
const isType: Check = (v) =>
  (Array.isArray(v) ? v.length > 0 && isNames(v) : isString(v)) && [v].flat().every((t) => TYPES.includes(String(t)));

const KEYWORDS: { readonly [keyword: string]: Check } = {
  type: isType,
  enum: (v) => Array.isArray(v),
  required: isNames,
  properties: (v) => isSchemaMap(v) && Object.keys(v as JsonObject).every((key) => KEY.test(key)),
  dependentRequired: (v) => isObject(v) && Object.values(v).every(isNames),
  ...of(["patternProperties", "$defs", "definitions", "dependentSchemas"], isSchemaMap),
  ...of(["items", "additionalProperties", "not", "if", "then", "else", "contains", "propertyNames"], isSchema),
  ...of(["unevaluatedItems", "unevaluatedProperties", "contentSchema"], isSchema),
  ...of(["prefixItems", ...COMBINATORS], isSchemas),
  ...of(["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"], isNumber),
  ...of(["minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties", "minContains", "maxContains"], isCount),
  multipleOf: (v) => isNumber(v) && Number(v) > 0,
  ...of(["pattern", "format", "title", "description", "$id", "$ref", "$schema", "$anchor", "$comment", "$dynamicRef"], isString),
  ...of(["uniqueItems", "deprecated", "readOnly", "writeOnly"], isBoolean),
  examples: (v) => Array.isArray(v),
};
function of(keywords: readonly string[], check: Check): { [keyword: string]: Check } {
  return Object.fromEntries(keywords.map((keyword) => [keyword, check]));
}

/** Whether it is JSON Schema of draft 2020-12, in the keywords that the API looks at, with property names it takes. */
function isSound(schema: JsonObject): boolean {
  return Object.entries(schema).every(([keyword, value]) => !Object.hasOwn(KEYWORDS, keyword) || KEYWORDS[keyword]!(value));
}
