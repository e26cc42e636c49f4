/** What the API takes as the parameters of a function that is not strict. The words of the deeper errors are a convention. */

import { isObject, isString, type Json, type JsonObject, kindOf } from "./json.ts";

const TYPES = ["array", "boolean", "integer", "null", "number", "object", "string"];
const MAPS = ["properties", "patternProperties", "$defs", "definitions", "dependentSchemas"];
const SCHEMAS = ["items", "additionalProperties", "not", "if", "then", "else", "contains", "propertyNames"];
const LISTS = ["anyOf", "oneOf", "allOf", "prefixItems"];
const TOP = ["oneOf", "anyOf", "allOf", "enum", "not"];

/** What is wrong with the schema; undefined for a good one. */
export function schemaFault(schema: Json | undefined): string | undefined {
  if (!isObject(schema)) return `${JSON.stringify(schema) ?? "None"} is not of type 'object', 'boolean'.`;
  const type = schema["type"];
  if (type !== "object") return `schema must be a JSON Schema of 'type: "object"', got 'type: "${isString(type) ? type : "None"}"'.`;
  if (TOP.some((key) => Object.hasOwn(schema, key)))
    return "schema must have type 'object' and not have 'oneOf'/'anyOf'/'allOf'/'enum'/'not' at the top level.";
  if (!Object.hasOwn(schema, "properties")) return "In context=(), object schema missing properties.";
  return inside(schema, []);
}

function inside(schema: JsonObject, path: readonly string[]): string | undefined {
  const at = `In context=(${path.map((p) => `'${p}'`).join(", ")}), `;
  const type = schema["type"];
  const types = Array.isArray(type) ? (type as Json[]) : type === undefined ? [] : [type];
  if (types.some((t) => !isString(t) || !TYPES.includes(t)) || (Array.isArray(type) && types.length === 0))
    return `${at}${JSON.stringify(type)} is not valid under any of the given schemas.`;
  if (types.includes("array") && !Object.hasOwn(schema, "items")) return `${at}array schema missing items.`;
  const required = schema["required"];
  if (required !== undefined && !(Array.isArray(required) && required.every(isString) && new Set(required).size === required.length))
    return `${at}${required === null ? "None" : JSON.stringify(required)} is not of type 'array'.`;
  if (schema["enum"] !== undefined && !Array.isArray(schema["enum"])) return `${at}'enum' is ${kindOf(schema["enum"])}, not an array.`;
  for (const key of ["description", "title", "$ref", "pattern", "format"])
    if (schema[key] !== undefined && !isString(schema[key])) return `${at}'${key}' is ${kindOf(schema[key])}, not a string.`;
  for (const key of ["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "minLength", "maxLength", "minItems", "maxItems"])
    if (schema[key] !== undefined && typeof schema[key] !== "number") return `${at}'${key}' is ${kindOf(schema[key])}, not a number.`;
  return children(schema, path);
}

function children(schema: JsonObject, path: readonly string[]): string | undefined {
  const below = (value: Json, ...more: string[]): string | undefined => {
    if (typeof value === "boolean") return undefined;
    if (isObject(value)) return inside(value, [...path, ...more]);
    return `In context=(${[...path, ...more].map((p) => `'${p}'`).join(", ")}), ${JSON.stringify(value)} is not of type 'object', 'boolean'.`;
  };
  for (const key of MAPS) {
    const map = schema[key];
    if (map === undefined) continue;
    if (!isObject(map)) return `In context=('${key}'), ${JSON.stringify(map)} is not of type 'object'.`;
    for (const [name, value] of Object.entries(map)) {
      const fault = below(value, key, name);
      if (fault) return fault;
    }
  }
  for (const key of SCHEMAS) {
    const fault = schema[key] === undefined ? undefined : below(schema[key]!, key);
    if (fault) return fault;
  }
  for (const key of LISTS) {
    const list = schema[key];
    if (list === undefined) continue;
    if (!Array.isArray(list) || list.length === 0) return `In context=('${key}'), ${JSON.stringify(list)} is not a list of schemas.`;
    for (const [i, value] of (list as Json[]).entries()) {
      const fault = below(value, key, String(i));
      if (fault) return fault;
    }
  }
  return undefined;
}
