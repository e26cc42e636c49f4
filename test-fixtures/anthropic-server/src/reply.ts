/** A reply of the model: its content blocks, signed and counted, before it is put on the wire. */

import type { InputUsage } from "./cache.ts";
import { type ThinkingMode, thinkingMode } from "./context.ts";
import { turnsOf } from "./conversation.ts";
import { isObject, type Json, type JsonObject } from "./json.ts";
import type { ModelRules } from "./models.ts";
import type { Random } from "./random.ts";
import type { ResolvedStep } from "./script.ts";
import { prefixDigests, type ThinkingSigner } from "./thinking.ts";
import { textTokens } from "./tokens.ts";
import type { DroppedThinking } from "./validate-returned.ts";

export interface ReplyCall {
  type: "tool_use";
  id: string;
  name: string;
  input: Json;
  /** Sent in place of the input's JSON: how a broken input reaches the client. */
  rawInput?: string;
}

export type ReplyBlock =
  | { type: "thinking"; thinking: string; signature: string; tokens: number }
  | { type: "text"; text: string }
  | ReplyCall
  | { type: "server"; block: JsonObject };

export interface Reply {
  id: string;
  model: string;
  content: ReplyBlock[];
  stopReason: string;
  usage: InputUsage & { output_tokens: number };
  inputTransformations: DroppedThinking[] | undefined;
  /** Whether the client asked for context management, whose outcome must then be reported. */
  reportsEdits: boolean;
}

export interface ReplyContext {
  id: string;
  body: JsonObject;
  model: ModelRules;
  usage: InputUsage;
  signer: ThinkingSigner;
  random: Random;
  lastThought: string | undefined;
  inputTransformations: DroppedThinking[] | undefined;
}

function thinksNow(mode: ThinkingMode, body: JsonObject): boolean {
  if (mode === "disabled") return false;
  const choice = body["tool_choice"];
  if (isObject(choice) && (choice["type"] === "any" || choice["type"] === "tool")) return false;
  if (mode !== "between_tools") return true;
  return (
    turnsOf(body)
      .at(-1)
      ?.blocks.some(({ block }) => block["type"] === "tool_result") ?? false
  );
}

function isOmitted(body: JsonObject, model: ModelRules): boolean {
  const thinking = body["thinking"];
  const display = isObject(thinking) ? thinking["display"] : undefined;
  return display === undefined || display === null ? model.omitsThinkingByDefault : display === "omitted";
}

function thinkingBlocks(step: ResolvedStep, context: ReplyContext): ReplyBlock[] {
  const { body, model, signer, random } = context;
  if (step.thinking === undefined || !thinksNow(thinkingMode(body, model), body)) return [];
  const shown = isOmitted(body, model) ? "" : step.thinking;
  const origin = { model: String(body["model"]), prefix: prefixDigests(body), previous: context.lastThought };
  const signature = signer.sign(shown, origin, random);
  // What was thought is billed, whether or not it is shown.
  return [{ type: "thinking", thinking: shown, signature, tokens: textTokens(step.thinking) }];
}

export function outputTokens(content: readonly ReplyBlock[]): number {
  let tokens = 0;
  for (const block of content) {
    if (block.type === "thinking") tokens += block.tokens;
    if (block.type === "text") tokens += textTokens(block.text);
    if (block.type === "tool_use") tokens += textTokens(block.name + inputJson(block));
    if (block.type === "server") tokens += textTokens(JSON.stringify(block.block));
  }
  return Math.max(1, tokens);
}

/** The API sends no piece at all for an empty input, and clients read that as an empty object. */
export function inputJson(call: ReplyCall): string {
  if (call.rawInput !== undefined) return call.rawInput;
  const json = JSON.stringify(call.input);
  return json === "{}" ? "" : json;
}

export function buildReply(step: ResolvedStep, context: ReplyContext): Reply {
  const content = thinkingBlocks(step, context);
  if (step.text) content.push({ type: "text", text: step.text });
  for (const { id, name, input } of step.calls) content.push({ type: "tool_use", id, name, input });
  for (const block of step.serverBlocks) content.push({ type: "server", block });
  return {
    id: context.id,
    model: String(context.body["model"]),
    content,
    stopReason: step.stopReason ?? (step.calls.length > 0 ? "tool_use" : "end_turn"),
    usage: { ...context.usage, output_tokens: outputTokens(content) },
    inputTransformations: context.inputTransformations,
    reportsEdits: isObject(context.body["context_management"]),
  };
}

export function stopDetails(reply: Reply): JsonObject {
  if (reply.stopReason !== "refusal") return {};
  return { stop_details: { type: "refusal", category: "general_harms", explanation: "This request was declined." } };
}

export function finalBlock(block: ReplyBlock): JsonObject {
  if (block.type === "server") return block.block;
  if (block.type === "tool_use") {
    const { type, id, name, input, rawInput } = block;
    return { type, id, name, input: rawInput === undefined ? input : {} };
  }
  if (block.type === "thinking") return { type: "thinking", thinking: block.thinking, signature: block.signature };
  return { ...block };
}

/** The message of a reply that is not streamed. */
export function wholeMessage(reply: Reply): JsonObject {
  return {
    ...emptyMessage(reply),
    content: reply.content.map(finalBlock),
    stop_reason: reply.stopReason,
    ...stopDetails(reply),
    usage: { ...reply.usage },
    ...(reply.reportsEdits ? { context_management: { applied_edits: [] } } : {}),
  };
}

/** The message as it stands when the stream begins. */
export function emptyMessage(reply: Reply): JsonObject {
  return {
    id: reply.id,
    type: "message",
    role: "assistant",
    model: reply.model,
    content: [],
    stop_reason: null,
    stop_sequence: null,
    usage: { ...reply.usage, output_tokens: 1 },
    ...(reply.inputTransformations ? { input_transformations: reply.inputTransformations.map((item) => ({ ...item })) } : {}),
  };
}
