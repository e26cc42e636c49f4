/** Text as any server takes it: no lone surrogates, no NUL, never blank. */
import { createHash } from "node:crypto";
import type { Json } from "@heddle/kernel/plugin";

export type JsonObject = { readonly [key: string]: Json };
export const isObject = (value: unknown): value is JsonObject => typeof value === "object" && value !== null && !Array.isArray(value);

export const clean = (text: string): string => text.toWellFormed().replaceAll("\u0000", "\uFFFD");

/** Zero-width characters say nothing either. */
export const isBlank = (text: string): boolean => /^[\s\u001c-\u001f\u0085\u200b-\u200f\u2060\ufeff]*$/.test(text);

/** What the runtime tells the model. Its own text cannot end the wrapping early. */
export const reminder = (text: string): string =>
  `<system-reminder>\n${text.replaceAll("</system-reminder>", "<\\/system-reminder>")}\n</system-reminder>`;

/** The same value when all its strings are clean. */
export function cleanJson(value: Json): Json {
  if (typeof value === "string") return clean(value);
  if (Array.isArray(value)) return value.map(cleanJson);
  if (!isObject(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [clean(key), cleanJson(item)]));
}

/** A short fingerprint of letters, digits, - and _. */
export const digest = (text: string, size = 12): string => createHash("sha256").update(text).digest("base64url").slice(0, size);

export function parseObject(text: string): JsonObject | undefined {
  try {
    const it: unknown = JSON.parse(text);
    return isObject(it) ? it : undefined;
  } catch {
    return undefined;
  }
}
export const stringOf = (it: JsonObject, key: string): string => (typeof it[key] === "string" ? (it[key] as string) : "");

/** Whitespace folded, and cut. */
export function snippet(text: string, size = 80): string {
  const flat = text.replace(/\s+/g, " ").trim();
  return flat.length > size ? `${flat.slice(0, size)}…` : flat;
}
