/** Whether Chat Completions would take a request, in its words. */

import { isObject, isString, type Json, type JsonObject, kindOf, listOf, parse } from "./json.ts";
import { missing, refuse, unknown, wrongType, wrongValue } from "./refusal.ts";
import { checkContent } from "./validate-content.ts";
import { checkName, checkTools, tooLong } from "./validate-tools.ts";

const PARAMETERS = new Set(
  (
    "model messages stream stream_options tools tool_choice parallel_tool_calls max_tokens max_completion_tokens temperature top_p stop n " +
    "seed user metadata store reasoning_effort response_format frequency_penalty presence_penalty logit_bias logprobs top_logprobs " +
    "prompt_cache_key safety_identifier service_tier verbosity modalities prediction web_search_options audio functions function_call"
  ).split(" "),
);
const FIELDS = new Set(["role", "content", "name", "tool_calls", "tool_call_id", "refusal", "audio", "function_call"]);
const ROLES = ["system", "assistant", "user", "function", "tool", "developer"];

/** `strict` refuses what the API does not know. Throws Refused. */
export function checkChat(body: JsonObject, strict: boolean): undefined {
  if (strict) for (const key of Object.keys(body)) if (!PARAMETERS.has(key)) unknown(key);
  const messages = listOf(body["messages"]);
  if (body["messages"] === undefined) missing("messages");
  if (!messages) return wrongType("messages", "an array of objects", kindOf(body["messages"]));
  if (messages.length === 0)
    refuse(
      "Invalid 'messages': empty array. Expected an array with minimum length 1, but got an empty array instead.",
      "messages",
      "empty_array",
    );
  if (body["stream_options"] !== undefined && body["stream"] !== true)
    refuse("The 'stream_options' parameter is only allowed when 'stream' is enabled.", "stream_options");
  checkTools(body["tools"], true);
  for (const [i, message] of messages.entries()) checkMessage(message, i, strict);
  checkPairs(messages as readonly JsonObject[]);
  checkTurns(messages as readonly JsonObject[]);
  return undefined;
}

function checkMessage(message: Json, i: number, strict: boolean): undefined {
  const at = `messages[${i}]`;
  if (!isObject(message)) return wrongType(at, "an object", kindOf(message));
  if (strict) for (const key of Object.keys(message)) if (!FIELDS.has(key)) unknown(`${at}.${key}`);
  const role = message["role"];
  if (role === undefined) return missing(`${at}.role`);
  if (!isString(role) || !ROLES.includes(role)) return wrongValue(`${at}.role`, role, ROLES);
  const calls = message["tool_calls"];
  if (role === "assistant" && calls !== undefined) checkCalls(calls, at);
  if (role === "tool" && !isString(message["tool_call_id"])) missing(`${at}.tool_call_id`);
  const content = message["content"];
  if (role === "assistant" && calls !== undefined && (content === null || content === undefined)) return undefined;
  const text = role === "assistant" ? ["text", "refusal"] : ["text"];
  return checkContent(content, `${at}.content`, { text, image: "image_url", images: role === "user", role });
}

/** That arguments must be a JSON object is a convention: several servers parse them for their templates, and fail. */
function checkCalls(calls: Json, at: string): undefined {
  const list = listOf(calls);
  if (!list) return wrongType(`${at}.tool_calls`, "an array of objects", kindOf(calls));
  if (list.length === 0)
    refuse(
      `Invalid '${at}.tool_calls': empty array. Expected an array with minimum length 1, but got an empty array instead.`,
      `${at}.tool_calls`,
      "empty_array",
    );
  for (const [i, call] of list.entries()) {
    const here = `${at}.tool_calls[${i}]`;
    if (!isObject(call)) return wrongType(here, "an object", kindOf(call));
    if (!isString(call["id"]) || call["id"] === "") missing(`${here}.id`);
    tooLong(call["id"] as string, `${here}.id`, 40);
    if (call["type"] !== "function") wrongValue(`${here}.type`, call["type"], ["function", "custom"]);
    const fn = call["function"];
    if (!isObject(fn)) return missing(`${here}.function`);
    checkName(fn["name"], `${here}.function.name`);
    const args = fn["arguments"];
    if (!isString(args)) return wrongType(`${here}.function.arguments`, "a string", kindOf(args));
    if (!isObject(parse(args)))
      refuse(`Failed to parse tool call arguments as JSON: '${here}.function.arguments'.`, `${here}.function.arguments`, "invalid_value");
  }
  return undefined;
}

const idsOf = (message: JsonObject): string[] => (listOf(message["tool_calls"]) ?? []).map((c) => (c as { id: string }).id);

function checkPairs(messages: readonly JsonObject[]): undefined {
  for (let i = 0; i < messages.length; i++) {
    const message = messages[i]!;
    if (message["role"] === "tool")
      refuse(
        "Invalid parameter: messages with role 'tool' must be a response to a preceeding message with 'tool_calls'.",
        `messages.[${i}].role`,
      );
    const due = new Set(idsOf(message));
    if (due.size === 0) continue;
    if (due.size < idsOf(message).length) refuse(`Duplicate value for 'tool_call_id' in messages[${i}].`, `messages.[${i}].tool_calls`);
    for (; messages[i + 1]?.["role"] === "tool"; i++) {
      const id = messages[i + 1]!["tool_call_id"] as string;
      if (!due.delete(id))
        refuse(
          `Invalid parameter: 'tool_call_id' of '${id}' not found in 'tool_calls' of previous message.`,
          `messages.[${i + 1}].tool_call_id`,
        );
    }
    if (due.size > 0)
      refuse(
        `An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. The following tool_call_ids did not have response messages: ${[...due].join(", ")}`,
        `messages.[${i + 1}].role`,
      );
  }
}

/** A convention taken from chat templates: the system message first, then turns that alternate and end with the user or a result. */
function checkTurns(messages: readonly JsonObject[]): undefined {
  let before = "";
  for (const [i, { role }] of messages.entries()) {
    if (role === "system" || role === "developer") {
      if (i > 0) refuse("System message must be at the beginning.", `messages.[${i}].role`);
      continue;
    }
    if (role === before && role !== "tool")
      refuse(
        "After the optional system message, conversation roles must alternate user and assistant roles except for tool calls and results.",
        `messages.[${i}].role`,
      );
    if (role === "assistant" && before === "") refuse("Conversations must start with a user prompt.", `messages.[${i}].role`);
    before = role as string;
  }
  if (before !== "user" && before !== "tool") refuse("The conversation must end with a user or tool message.", "messages");
}
