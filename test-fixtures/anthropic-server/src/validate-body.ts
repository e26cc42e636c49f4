/** The top level of a request body: its known keys and the plain values among them. */

import type { CheckContext } from "./context.ts";
import type { JsonObject } from "./json.ts";
import { atLeast, EXTRA_INPUTS, expected, given, has, mustBe, mustBeObject, mustKnowKeys, TOO_SHORT, tooLong } from "./phrases.ts";
import { refuse } from "./refusal.ts";

const MESSAGE_KEYS = [
  "model",
  "max_tokens",
  "messages",
  "system",
  "metadata",
  "stop_sequences",
  "stream",
  "temperature",
  "top_k",
  "top_p",
  "tools",
  "tool_choice",
  "thinking",
  "service_tier",
  "cache_control",
  "container",
  "inference_geo",
  "output_config",
  "speed",
  "diagnostics",
  "context_management",
  "compaction",
  "thread",
  "mcp_servers",
  "output_format",
  "fallbacks",
  "fallback_credit_token",
  "safeguards",
];

const COUNT_KEYS = [
  "model",
  "messages",
  "system",
  "tools",
  "tool_choice",
  "thinking",
  "context_management",
  "mcp_servers",
  "output_config",
  "output_format",
  "cache_control",
  "speed",
];

const EFFORTS = ["low", "medium", "high", "xhigh", "max"];

export function checkModel(body: JsonObject): void {
  const model = body["model"];
  mustBe(model, "string", "model");
  if (model === "") refuse(`model: ${TOO_SHORT}`);
}

function checkMaxTokens(body: JsonObject, { model }: CheckContext): void {
  const maximum = body["max_tokens"];
  mustBe(maximum, "integer", "max_tokens");
  if (Number(maximum) < 1) refuse(`max_tokens: ${atLeast(1)}`);
  if (Number(maximum) > model.maxOutput) {
    refuse(`max_tokens: ${maximum} > ${model.maxOutput}, which is the maximum allowed number of output tokens for ${body["model"]}`);
  }
}

function checkMessageList(body: JsonObject): void {
  const messages = body["messages"];
  mustBe(messages, "list", "messages");
  if (Array.isArray(messages) && messages.length === 0) refuse("messages: at least one message is required");
}

function checkMetadata(body: JsonObject): void {
  if (!given(body["metadata"])) return;
  const metadata = mustBeObject(body["metadata"], "metadata");
  mustKnowKeys(metadata, ["user_id"], "metadata.");
  const user = metadata["user_id"];
  if (!given(user)) return;
  if (typeof user !== "string") refuse(`metadata.user_id: ${expected("string")}`);
  if (user.length > 512) refuse(`metadata.user_id: ${tooLong(512)}`);
}

export function checkEffort(config: JsonObject, path: string): void {
  const effort = config["effort"];
  if (given(effort) && !(typeof effort === "string" && EFFORTS.includes(effort)))
    refuse(`${path}.effort: Input should be 'low', 'medium', 'high', 'xhigh' or 'max'`);
}

function checkOutputConfig(body: JsonObject): JsonObject | undefined {
  if (!given(body["output_config"])) return undefined;
  const config = mustBeObject(body["output_config"], "output_config");
  mustKnowKeys(config, ["effort", "format", "task_budget"], "output_config.");
  return config;
}

function checkSampling(body: JsonObject, { model }: CheckContext): void {
  for (const key of ["temperature", "top_p"]) {
    const value = body[key];
    if (!given(value)) continue;
    if (typeof value !== "number") refuse(`${key}: ${expected("number")}`);
    if (value > 1) refuse(`${key}: Input should be less than or equal to 1`);
    if (value < 0) refuse(`${key}: ${atLeast(0)}`);
  }
  if (given(body["top_k"])) mustBe(body["top_k"], "integer", "top_k");
  if (model.allowsSampling) return;
  for (const key of ["temperature", "top_p", "top_k"]) if (has(body, key)) refuse(`\`${key}\` is deprecated for this model.`);
}

export function checkTopLevel(body: JsonObject, context: CheckContext): void {
  const counting = context.endpoint === "count_tokens";
  if (!counting) checkMaxTokens(body, context);
  checkMessageList(body);
  const known = counting ? COUNT_KEYS : MESSAGE_KEYS;
  for (const key of Object.keys(body)) if (has(body, key) && !known.includes(key)) refuse(`${key}: ${EXTRA_INPUTS}`);
  checkMetadata(body);
  const config = checkOutputConfig(body);
  checkSampling(body, context);
  if (config) checkEffort(config, "output_config");
  if (given(body["stream"])) mustBe(body["stream"], "boolean", "stream");
  if (given(body["stop_sequences"])) mustBe(body["stop_sequences"], "list", "stop_sequences");
}
