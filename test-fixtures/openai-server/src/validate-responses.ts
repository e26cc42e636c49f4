/** Whether the Responses API would take a request, in its words. */

import { isObject, isString, type Json, type JsonObject, kindOf, listOf, parse } from "./json.ts";
import type { ModelRules } from "./models.ts";
import { missing, refuse, unknown, wrongType, wrongValue } from "./refusal.ts";
import { checkContent } from "./validate-content.ts";
import { checkName, checkTools, tooLong } from "./validate-tools.ts";

const PARAMETERS = new Set(
  (
    "model input instructions stream stream_options store include tools tool_choice parallel_tool_calls max_output_tokens max_tool_calls " +
    "temperature top_p reasoning text truncation metadata user safety_identifier prompt_cache_key prompt_cache_retention service_tier " +
    "previous_response_id conversation background prompt top_logprobs"
  ).split(" "),
);
const INCLUDES = [
  "reasoning.encrypted_content",
  "message.output_text.logprobs",
  "message.input_image.image_url",
  "file_search_call.results",
];
const FIELDS: Readonly<Record<string, readonly string[]>> = {
  message: ["type", "id", "role", "content", "status", "phase"],
  function_call: ["type", "id", "call_id", "name", "arguments", "status"],
  function_call_output: ["type", "id", "call_id", "output", "status"],
  reasoning: ["type", "id", "summary", "content", "encrypted_content", "status"],
};

/** What the server remembers of its own items: which item followed a reasoning item, and which model thought it. */
export interface Remembered {
  /** By the id of the reasoning item. */
  following: ReadonlyMap<string, string>;
  /** The model that `encrypted_content` belongs to. */
  modelOf(encrypted: string): string | undefined;
}

export function checkResponses(body: JsonObject, rules: ModelRules, strict: boolean, remembered: Remembered): undefined {
  if (strict) for (const key of Object.keys(body)) if (!PARAMETERS.has(key)) unknown(key);
  if (body["previous_response_id"] !== undefined)
    refuse("Previous response with id not found.", "previous_response_id", "previous_response_not_found");
  for (const value of listOf(body["include"]) ?? []) if (!INCLUDES.includes(String(value))) wrongValue("include[0]", value, INCLUDES);
  if (rules.reasoning === false) {
    if ((listOf(body["include"]) ?? []).includes("reasoning.encrypted_content"))
      refuse("Encrypted content is not supported with this model.", "include");
    for (const key of Object.keys(isObject(body["reasoning"]) ? body["reasoning"] : {}))
      refuse(`Unsupported parameter: 'reasoning.${key}' is not supported with this model.`, `reasoning.${key}`, "unsupported_parameter");
  }
  checkTools(body["tools"], false);
  const input = body["input"];
  if (input === undefined) return missing("input");
  if (isString(input)) return checkContent(input, "input", { text: [], image: "input_image", images: false, role: "user" });
  const items = listOf(input);
  if (!items) return wrongType("input", "one of an array of objects or string", kindOf(input));
  if (items.length === 0)
    refuse(
      "Invalid 'input': empty array. Expected an array with minimum length 1, but got an empty array instead.",
      "input",
      "empty_array",
    );
  for (const [i, item] of items.entries()) checkItem(item, `input[${i}]`, strict);
  checkPairs(items as readonly JsonObject[]);
  return checkReasoning(items as readonly JsonObject[], body, remembered);
}

const typeOf = (item: JsonObject): string => String(item["type"] ?? "message");

function checkItem(item: Json, at: string, strict: boolean): undefined {
  if (!isObject(item)) return wrongType(at, "an object", kindOf(item));
  const type = typeOf(item);
  const fields = FIELDS[type];
  if (!fields) return wrongValue(at, type, Object.keys(FIELDS));
  if (strict) for (const key of Object.keys(item)) if (!fields.includes(key)) unknown(`${at}.${key}`);
  switch (type) {
    case "message":
      return checkMessage(item, at);
    case "function_call": {
      checkCallId(item["call_id"], at);
      checkName(item["name"], `${at}.name`);
      const args = item["arguments"];
      if (!isString(args)) return args === undefined ? missing(`${at}.arguments`) : wrongType(`${at}.arguments`, "a string", kindOf(args));
      if (!isObject(parse(args))) refuse(`Invalid '${at}.arguments': no JSON object.`, `${at}.arguments`, "invalid_value");
      return undefined;
    }
    case "function_call_output":
      checkCallId(item["call_id"], at);
      if (item["output"] === undefined) return missing(`${at}.output`);
      return checkContent(item["output"], `${at}.output`, { text: ["input_text"], image: "input_image", images: true, role: "tool" });
    default:
      if (!listOf(item["summary"])) missing(`${at}.summary`);
      return undefined;
  }
}

function checkMessage(item: JsonObject, at: string): undefined {
  const roles = ["assistant", "system", "developer", "user"];
  const role = item["role"];
  if (!isString(role) || !roles.includes(role)) return wrongValue(at, role, roles);
  const text = role === "assistant" ? ["output_text", "refusal"] : ["input_text"];
  return checkContent(item["content"], `${at}.content`, { text, image: "input_image", images: role !== "assistant", role });
}

function checkCallId(id: Json | undefined, at: string): undefined {
  if (!isString(id) || id === "") return missing(`${at}.call_id`);
  return tooLong(id, `${at}.call_id`, 64);
}

function checkPairs(items: readonly JsonObject[]): undefined {
  const open = new Set<string>();
  const seen = new Set<string>();
  for (const item of items) {
    const id = item["call_id"] as string;
    if (typeOf(item) === "function_call") {
      if (seen.has(id)) refuse(`Duplicate function call with call_id ${id}.`, "input");
      seen.add(id);
      open.add(id);
    } else if (typeOf(item) === "function_call_output") {
      if (!open.delete(id)) refuse(`No tool call found for function call output with call_id ${id}.`, "input");
    }
  }
  if (open.size > 0) refuse(`No tool output found for function call ${[...open][0]}.`, "input");
}

const isOutput = (item: JsonObject | undefined): boolean =>
  item !== undefined && (typeOf(item) === "function_call" || item["role"] === "assistant" || typeOf(item) === "reasoning");

/** Reasoning goes back whole, of the same model, and right before what it led to. Without an id that is checked by kind alone. */
function checkReasoning(items: readonly JsonObject[], body: JsonObject, { following, modelOf }: Remembered): undefined {
  const ids = new Set(items.map((item) => item["id"]));
  for (const [rs, next] of following)
    if (ids.has(next) && !ids.has(rs)) {
      const type = typeOf(items.find((item) => item["id"] === next)!);
      refuse(`Item '${next}' of type '${type}' was provided without its required 'reasoning' item: '${rs}'.`, "input");
    }
  for (const [i, item] of items.entries()) {
    if (typeOf(item) !== "reasoning") continue;
    const id = item["id"];
    const encrypted = item["encrypted_content"];
    const name = isString(id) ? id : `input[${i}]`;
    if (!isString(encrypted))
      refuse(
        `Item with id '${name}' not found. Items are not persisted when \`store\` is set to false. Try again with \`store\` set to true, or remove this item from your input.`,
        "input",
        null,
        404,
      );
    else if (modelOf(encrypted) !== body["model"])
      refuse(
        `The encrypted content for item ${name} could not be verified. Reason: Encrypted content could not be decrypted or parsed.`,
        null,
        "invalid_encrypted_content",
      );
    const next = items[i + 1];
    const wanted = isString(id) ? following.get(id) : undefined;
    if (!isOutput(next) || (wanted !== undefined && next?.["id"] !== wanted))
      refuse(`Item '${name}' of type 'reasoning' was provided without its required following item.`, "input");
  }
}
