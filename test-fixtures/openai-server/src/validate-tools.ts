/** The tools of a request, and the names that calls may have. */

import { isObject, isString, type Json, type JsonObject, kindOf, listOf } from "./json.ts";
import { missing, refuse, wrongType, wrongValue } from "./refusal.ts";
import { schemaFault } from "./schema.ts";

const MAX_TOOLS = 128;

export function checkName(name: Json | undefined, at: string): undefined {
  if (name === undefined) return missing(at);
  if (!isString(name)) return wrongType(at, "a string", kindOf(name));
  if (name === "")
    refuse(`Invalid '${at}': empty string. Expected a string with minimum length 1, but got an empty string instead.`, at, "empty_string");
  tooLong(name, at, 64);
  if (!/^[a-zA-Z0-9_-]+$/.test(name))
    refuse(
      `Invalid '${at}': string does not match pattern. Expected a string that matches the pattern '^[a-zA-Z0-9_-]+$'.`,
      at,
      "invalid_value",
    );
  return undefined;
}

export function tooLong(text: string, at: string, max: number): undefined {
  if (text.length > max)
    refuse(
      `Invalid '${at}': string too long. Expected a string with maximum length ${max}, but got a string with length ${text.length} instead.`,
      at,
      "string_above_max_length",
    );
}

/** `nested`: the function stands in its own object, as in Chat Completions. Two tools of one name are refused by convention. */
export function checkTools(tools: Json | undefined, nested: boolean): undefined {
  if (tools === undefined) return;
  const list = listOf(tools) ?? wrongType("tools", "an array of objects", kindOf(tools));
  if (list.length === 0 && nested) refuse("[] is too short - 'tools'", "tools");
  if (list.length > MAX_TOOLS)
    refuse(
      `Invalid 'tools': array too long. Expected an array with maximum length ${MAX_TOOLS}, but got an array with length ${list.length} instead.`,
      "tools",
      "array_above_max_length",
    );
  const seen = new Set<string>();
  for (const [i, tool] of list.entries()) {
    const at = `tools[${i}]`;
    if (!isObject(tool)) wrongType(at, "an object", kindOf(tool));
    const it = tool as JsonObject;
    if (it["type"] !== "function") wrongValue(`${at}.type`, it["type"], nested ? ["function", "custom"] : ["function"]);
    const fn = nested ? it["function"] : it;
    if (!isObject(fn)) {
      missing(`${at}.function`);
      continue;
    }
    checkFunction(fn, nested ? `${at}.function` : at);
    const name = fn["name"] as string;
    if (seen.has(name)) refuse(`Invalid '${at}': there are two tools named '${name}'.`, at, "invalid_value");
    seen.add(name);
  }
}

function checkFunction(fn: JsonObject, at: string): undefined {
  checkName(fn["name"], `${at}.name`);
  if (fn["description"] !== undefined && !isString(fn["description"]))
    wrongType(`${at}.description`, "a string", kindOf(fn["description"]));
  const fault = fn["parameters"] === undefined ? undefined : schemaFault(fn["parameters"]);
  if (fault) refuse(`Invalid schema for function '${fn["name"] as string}': ${fault}`, `${at}.parameters`, "invalid_function_parameters");
}
