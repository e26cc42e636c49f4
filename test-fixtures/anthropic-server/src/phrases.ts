/** The stock phrases of the API's validation messages, and the shape checks that use them. */

import { isObject, type Json, type JsonObject } from "./json.ts";
import { refuse } from "./refusal.ts";

export const FIELD_REQUIRED = "Field required";
export const EXTRA_INPUTS = "Extra inputs are not permitted";
export const OBJECT_EXPECTED = "Input should be a valid dictionary or object to extract fields from";
export const TEXT_EMPTY = "text content blocks must be non-empty";
export const TEXT_BLANK = "text content blocks must contain non-whitespace text";
export const TOO_SHORT = "String should have at least 1 character";
export const THINKING_DOCS = "Please consult our documentation at https://docs.claude.com/en/docs/build-with-claude/extended-thinking";

export type ValueKind = "string" | "integer" | "number" | "boolean" | "list" | "dictionary";

export function expected(kind: ValueKind): string {
  return `Input should be a valid ${kind}`;
}

export function atLeast(minimum: number): string {
  return `Input should be greater than or equal to ${minimum}`;
}

export function tooLong(maximum: number): string {
  return `String should have at most ${maximum} characters`;
}

export function quoted(values: readonly string[]): string {
  return values.map((value) => `'${value}'`).join(", ");
}

export function wrongTag(tag: Json, tags: readonly string[]): string {
  const shown = typeof tag === "string" ? tag : JSON.stringify(tag);
  return `Input tag '${shown}' found using 'type' does not match any of the expected tags: ${quoted(tags)}`;
}

export function has(object: JsonObject, key: string): boolean {
  return object[key] !== undefined;
}

/** Optional fields of the API may be sent as null, which means the same as leaving them out. */
export function given(value: Json | undefined): value is Exclude<Json, null> {
  return value !== undefined && value !== null;
}

export function isKind(value: Json | undefined, kind: ValueKind): boolean {
  if (kind === "list") return Array.isArray(value);
  if (kind === "dictionary") return isObject(value);
  if (kind === "integer") return typeof value === "number" && Number.isInteger(value);
  return typeof value === kind;
}

export function mustBe(value: Json | undefined, kind: ValueKind, path: string): void {
  if (value === undefined) refuse(`${path}: ${FIELD_REQUIRED}`);
  if (!isKind(value, kind)) refuse(`${path}: ${expected(kind)}`);
}

export function mustBeObject(value: Json | undefined, path: string): JsonObject {
  if (!isObject(value)) refuse(`${path}: ${OBJECT_EXPECTED}`);
  return value;
}

export function mustKnowKeys(object: JsonObject, known: readonly string[], prefix: string): void {
  for (const key of Object.keys(object)) {
    if (has(object, key) && !known.includes(key)) refuse(`${prefix}${key}: ${EXTRA_INPUTS}`);
  }
}

export function mustHaveTag(object: JsonObject, tags: readonly string[], path: string): string {
  const tag = object["type"];
  if (tag === undefined) refuse(`${path}.type: ${FIELD_REQUIRED}`);
  if (typeof tag !== "string" || !tags.includes(tag)) refuse(`${path}: ${wrongTag(tag, tags)}`);
  return tag;
}
