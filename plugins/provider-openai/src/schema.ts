/** Makes any tool schema one that the APIs take: one bad schema would make them refuse every request of the session. */
import type { Json } from "@heddle/kernel/plugin";
import { cleanJson, isObject, type JsonObject } from "./text.ts";

/** `wrapped`: the tool's input travels as the one property `input` of an object. */
export type LegalSchema = { readonly schema: JsonObject; readonly wrapped: boolean };

const TOP = ["anyOf", "oneOf", "allOf", "enum", "not", "const", "$ref"];
const TYPES = ["array", "boolean", "integer", "null", "number", "object", "string"];
const MAX_DESCRIBED = 8000;

export function legalSchema(given: Json): LegalSchema {
  const { $schema: _, ...bare } = isObject(given) ? (cleanJson(given) as JsonObject) : {};
  const mended = isSound(bare) ? (mend(bare) as JsonObject) : undefined;
  if (mended && isPlainObject(mended))
    return { schema: { ...mended, type: "object", properties: mended["properties"] ?? {} }, wrapped: false };
  const input = mended ? (rebase(mended) as JsonObject) : described(bare);
  return { schema: { type: "object", properties: { input }, required: ["input"] }, wrapped: true };
}

/** An input the model gave for a wrapped schema; one that it gave unwrapped is taken as it is. */
export function unwrap(input: Json): Json {
  return isObject(input) && Object.keys(input).length === 1 && Object.hasOwn(input, "input") ? input["input"]! : input;
}

function isPlainObject(schema: JsonObject): boolean {
  const type = schema["type"];
  if (TOP.some((key) => Object.hasOwn(schema, key))) return false;
  return type === undefined || type === "object" || (Array.isArray(type) && type.includes("object"));
}

/** The schema in words, where its own form would be refused. */
function described(schema: JsonObject): JsonObject {
  const type = schema["type"] === "object" || isObject(schema["properties"]) ? { type: "object", properties: {} } : {};
  return { ...type, description: `A value that fits this JSON Schema: ${JSON.stringify(schema).slice(0, MAX_DESCRIBED)}` };
}

const isMap = (key: string): boolean => ["properties", "patternProperties", "$defs", "definitions", "dependentSchemas"].includes(key);

/** An array without `items` is refused, and means the same with them. Calls itself for schemas only, never for data. */
function mend(schema: Json): Json {
  if (!isObject(schema)) return schema;
  const type = schema["type"];
  const isArray = type === "array" || (Array.isArray(type) && type.includes("array"));
  const entries = Object.entries(schema).map(([key, value]): [string, Json] => {
    if (isMap(key) && isObject(value)) return [key, Object.fromEntries(Object.entries(value).map(([k, v]) => [k, mend(v)]))];
    if (Object.hasOwn(SUBSCHEMAS, key)) return [key, Array.isArray(value) ? value.map(mend) : mend(value)];
    return [key, value];
  });
  return { ...Object.fromEntries(entries), ...(isArray && !Object.hasOwn(schema, "items") ? { items: {} } : {}) };
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
const isNumber: Check = (v) => typeof v === "number";
const isString: Check = (v) => typeof v === "string";
const isBoolean: Check = (v) => typeof v === "boolean";
const isCount: Check = (v) => Number.isInteger(v) && Number(v) >= 0;
const isNames: Check = (v) => Array.isArray(v) && v.every(isString) && new Set(v).size === v.length;
const isSchema: Check = (v) => typeof v === "boolean" || (isObject(v) && isSound(v));
const isSchemas: Check = (v) => Array.isArray(v) && v.length > 0 && v.every(isSchema);
const isSchemaMap: Check = (v) => isObject(v) && Object.values(v).every(isSchema);
const isType: Check = (v) =>
  (Array.isArray(v) ? v.length > 0 && isNames(v) : isString(v)) && [v].flat().every((t) => TYPES.includes(String(t)));

const each = (keywords: string, check: Check): { [keyword: string]: Check } =>
  Object.fromEntries(keywords.split(" ").map((keyword) => [keyword, check]));
const SUBSCHEMAS: { readonly [keyword: string]: Check } = {
  ...each("items additionalProperties not if then else contains propertyNames unevaluatedItems unevaluatedProperties", isSchema),
  ...each("prefixItems anyOf oneOf allOf", isSchemas),
};
const KEYWORDS: { readonly [keyword: string]: Check } = {
  ...SUBSCHEMAS,
  ...each("properties patternProperties $defs definitions dependentSchemas", isSchemaMap),
  ...each("minimum maximum exclusiveMinimum exclusiveMaximum", isNumber),
  ...each("minLength maxLength minItems maxItems minProperties maxProperties minContains maxContains", isCount),
  ...each("pattern format title description $id $ref $schema $anchor $comment $dynamicRef", isString),
  ...each("uniqueItems deprecated readOnly writeOnly", isBoolean),
  ...each("enum examples", (v) => Array.isArray(v)),
  type: isType,
  required: isNames,
  multipleOf: (v) => isNumber(v) && Number(v) > 0,
  dependentRequired: (v) => isObject(v) && Object.values(v).every(isNames),
};

/** Whether it is JSON Schema of draft 2020-12, in the keywords that servers look at. */
function isSound(schema: JsonObject): boolean {
  return Object.entries(schema).every(([keyword, value]) => !Object.hasOwn(KEYWORDS, keyword) || KEYWORDS[keyword]!(value));
}
