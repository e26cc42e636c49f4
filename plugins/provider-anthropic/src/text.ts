/** Text as the API takes it: no lone surrogates, no NUL, never blank. */
import type { Json } from "@heddle/kernel/plugin";

export type JsonObject = { readonly [key: string]: Json };
export const isObject = (value: unknown): value is JsonObject => typeof value === "object" && value !== null && !Array.isArray(value);

export const clean = (text: string): string => text.toWellFormed().replaceAll("\u0000", "\uFFFD");

/** Wider than `trim`, since the API strips more kinds of space than JavaScript does; zero-width characters say nothing either. */
export const isBlank = (text: string): boolean => /^[\s\u001c-\u001f\u0085\u200b-\u200f\u2060\ufeff]*$/.test(text);

/** What the runtime tells the model. Its own text cannot end the wrapping early. */
export const reminder = (text: string): string =>
  `<system-reminder>\n${text.replaceAll("</system-reminder>", "<\\/system-reminder>")}\n</system-reminder>`;

/** The same value when all its strings are clean. */
export function cleanJson(value: Json): Json {
  // JSON.stringify escapes exactly what has to go, so most values need no walk.
  return /\\u(?:0000|d[89a-f])/i.test(JSON.stringify(value)) ? walk(value) : value;
}
function walk(value: Json): Json {
  if (typeof value === "string") return clean(value);
  if (Array.isArray(value)) return value.map(walk);
  if (!isObject(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [clean(key), walk(item)]));
}
