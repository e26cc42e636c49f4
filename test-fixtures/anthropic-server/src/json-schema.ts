/** Whether a tool's input schema is a valid JSON Schema of draft 2020-12, in the keywords that matter. */

import { isObject, type Json, type JsonObject } from "./json.ts";

type Check = (value: Json) => boolean;

const TYPES = ["array", "boolean", "integer", "null", "number", "object", "string"];

const isString: Check = (value) => typeof value === "string";
const isBoolean: Check = (value) => typeof value === "boolean";
const isNumber: Check = (value) => typeof value === "number";
const isCount: Check = (value) => typeof value === "number" && Number.isInteger(value) && value >= 0;
const isList: Check = (value) => Array.isArray(value);
const isSchema: Check = (value) => isBoolean(value) || (isObject(value) && isValidSchema(value));
const isSchemas: Check = (value) => Array.isArray(value) && value.length > 0 && value.every(isSchema);
const isNames: Check = (value) => Array.isArray(value) && value.every(isString) && new Set(value as string[]).size === value.length;
const isType: Check = (value) => {
  if (typeof value === "string") return TYPES.includes(value);
  return Array.isArray(value) && value.length > 0 && isNames(value) && value.every((type) => TYPES.includes(String(type)));
};
const mapOf =
  (check: Check): Check =>
  (value) =>
    isObject(value) && Object.values(value).every((item) => item !== undefined && check(item));

const KEYWORDS: ReadonlyMap<string, Check> = new Map<string, Check>([
  ["type", isType],
  ["enum", isList],
  ["required", isNames],
  ["dependentRequired", mapOf(isNames)],
  ...["properties", "patternProperties", "$defs", "definitions", "dependentSchemas"].map((key): [string, Check] => [key, mapOf(isSchema)]),
  ...[
    "items",
    "additionalProperties",
    "not",
    "if",
    "then",
    "else",
    "contains",
    "propertyNames",
    "unevaluatedItems",
    "unevaluatedProperties",
    "contentSchema",
  ].map((key): [string, Check] => [key, isSchema]),
  ...["prefixItems", "allOf", "anyOf", "oneOf"].map((key): [string, Check] => [key, isSchemas]),
  ...["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"].map((key): [string, Check] => [key, isNumber]),
  ...["minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties", "minContains", "maxContains"].map(
    (key): [string, Check] => [key, isCount],
  ),
  ["multipleOf", (value) => typeof value === "number" && value > 0],
  ...["pattern", "format", "title", "description", "$id", "$ref", "$schema", "$anchor", "$comment", "$dynamicRef"].map(
    (key): [string, Check] => [key, isString],
  ),
  ...["uniqueItems", "deprecated", "readOnly", "writeOnly"].map((key): [string, Check] => [key, isBoolean]),
  ["examples", isList],
]);

export function isValidSchema(schema: JsonObject): boolean {
  return Object.entries(schema).every(([key, value]) => {
    const check = KEYWORDS.get(key);
    return check === undefined || (value !== undefined && check(value));
  });
}
