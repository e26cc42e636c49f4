/** From the bytes of a request to its JSON body, or the refusal of bytes that are too many or no JSON. */

import { isObject, type Json, type JsonObject } from "./json.ts";
import { OBJECT_EXPECTED } from "./phrases.ts";
import { refuse } from "./refusal.ts";

export const MAX_BODY_BYTES = 33_554_432;

export function checkSize(bytes: number): void {
  if (bytes > MAX_BODY_BYTES) refuse("Request exceeds the maximum size", "request_too_large");
}

const INVALID = "The request body is not valid JSON: ";

/** A lone surrogate is legal for JSON.parse, yet it cannot be encoded as UTF-8, so the API rejects it. */
function hasLoneSurrogate(value: Json): boolean {
  if (typeof value === "string") return /\p{Surrogate}/u.test(value);
  if (Array.isArray(value)) return value.some(hasLoneSurrogate);
  if (!isObject(value)) return false;
  return Object.entries(value).some(([key, item]) => hasLoneSurrogate(key) || (item !== undefined && hasLoneSurrogate(item)));
}

function parse(text: string): Json {
  try {
    return JSON.parse(text) as Json;
  } catch (error) {
    return refuse(INVALID + (error instanceof Error ? error.message : String(error)));
  }
}

function decode(bytes: Uint8Array): string {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    return refuse(`${INVALID}invalid utf-8`);
  }
}

export function parseBody(source: Uint8Array | string): JsonObject {
  const text = typeof source === "string" ? source : decode(source);
  const value = parse(text);
  if (/\\ud[89a-f]/i.test(text) && hasLoneSurrogate(value)) refuse(`${INVALID}no low surrogate in string`);
  if (!isObject(value)) refuse(OBJECT_EXPECTED);
  return value;
}
