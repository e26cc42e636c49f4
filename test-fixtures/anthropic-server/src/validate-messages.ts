/** Each message on its own, and the order in which roles may follow each other. */

import type { CheckContext } from "./context.ts";
import { isServerBlock, isServerResult, isSettingsOnly, messagesOf, placedBlocks } from "./conversation.ts";
import { type JsonObject, objects } from "./json.ts";
import { EXTRA_INPUTS, expected, FIELD_REQUIRED, given, has, mustBeObject, mustKnowKeys, TEXT_BLANK } from "./phrases.ts";
import { refuse } from "./refusal.ts";
import { checkBlock } from "./validate-blocks.ts";
import { checkEffort } from "./validate-body.ts";
import { checkTally, emptyTally, type MediaTally } from "./validate-media.ts";

const ROLES = ["user", "assistant", "system"];

function checkRole(message: JsonObject, path: string): string {
  const role = message["role"];
  if (role === undefined) refuse(`${path}.role: ${FIELD_REQUIRED}`);
  if (typeof role !== "string" || !ROLES.includes(role)) {
    const shown = typeof role === "string" ? role : JSON.stringify(role);
    refuse(`messages: Unexpected role "${shown}". Allowed roles are "user", "assistant" and "system".`);
  }
  return role;
}

function checkSettings(message: JsonObject, path: string): boolean {
  if (has(message, "clear_at") && given(message["clear_at"])) {
    if (!["never", "next_user_message"].includes(String(message["clear_at"])))
      refuse(`${path}.clear_at: Input should be 'next_user_message' or 'never'`);
  }
  if (!given(message["output_config"])) return false;
  const config = mustBeObject(message["output_config"], `${path}.output_config`);
  mustKnowKeys(config, ["effort"], `${path}.output_config.`);
  checkEffort(config, `${path}.output_config`);
  return Object.keys(config).length > 0;
}

function checkMessage(message: JsonObject, i: number, isLast: boolean, tally: MediaTally): void {
  const path = `messages.${i}`;
  const role = checkRole(message, path);
  const known = role === "system" ? ["role", "content", "output_config", "clear_at"] : ["role", "content"];
  for (const key of Object.keys(message)) if (has(message, key) && !known.includes(key)) refuse(`${path}.${key}: ${EXTRA_INPUTS}`);
  const hasSettings = role === "system" && checkSettings(message, path);
  const content = message["content"];
  if (content === undefined && !hasSettings) refuse(`${path}.content: ${FIELD_REQUIRED}`);
  if (content !== undefined && typeof content !== "string" && !Array.isArray(content)) refuse(`${path}.content: ${expected("list")}`);
  const isEmpty = content === undefined || content.length === 0;
  if (isEmpty && !hasSettings && !(role === "assistant" && isLast)) refuse(`${path}: ${role} messages must have non-empty content`);
  if (typeof content === "string" && content !== "" && content.trim() === "") refuse(`messages: ${TEXT_BLANK}`);
  if (!Array.isArray(content)) return;
  content.forEach((item, j) => {
    const at = `${path}.content.${j}`;
    checkBlock(mustBeObject(item, at), role, at, tally);
  });
}

export function checkMessages(body: JsonObject, context: CheckContext): void {
  const messages = body["messages"];
  const tally = emptyTally();
  if (!Array.isArray(messages)) return;
  messages.forEach((item, i) => {
    checkMessage(mustBeObject(item, `messages.${i}`), i, i === messages.length - 1, tally);
  });
  checkTally(tally, context.model);
}

interface Speaker {
  index: number;
  message: JsonObject;
}

function endsInServerResult(message: JsonObject): boolean {
  const last = objects(message["content"]).at(-1);
  return message["role"] === "assistant" && isServerResult(last);
}

function checkBefore(speakers: Speaker[]): void {
  speakers.forEach(({ index, message }, position) => {
    if (message["role"] === "system" && speakers[position + 1]?.message["role"] === "user")
      refuse(`messages.${index}: role 'system' must precede an 'assistant' message or end the array`);
  });
}

function checkAfter(speakers: Speaker[]): void {
  speakers.forEach(({ index, message }, position) => {
    const before = speakers[position - 1]?.message;
    if (message["role"] !== "system" || !before) return;
    if (before["role"] !== "user" && !endsInServerResult(before)) refuse(`messages.${index}: role 'system' must follow a 'user' message`);
  });
}

export function checkRoleOrder(body: JsonObject, { model }: CheckContext): void {
  const messages = messagesOf(body);
  const speakers = messages.map((message, index) => ({ index, message })).filter(({ message }) => !isSettingsOnly(message));
  const first = speakers[0];
  if (first && first.message["role"] !== "user") refuse('messages: first message must use the "user" role');
  if (!model.allowsSystemRole && messages.some((message) => message["role"] === "system"))
    refuse("role 'system' is not supported on this model");
  checkBefore(speakers);
  checkAfter(speakers);
}

export function checkEnd(body: JsonObject, { model }: CheckContext): void {
  const last = messagesOf(body)
    .filter((message) => !isSettingsOnly(message))
    .at(-1);
  if (last?.["role"] !== "assistant") return;
  const content = last["content"];
  if (!model.allowsPrefill) {
    // A paused reply goes back as it is, and the model resumes it; that is no prefill.
    if (isServerBlock(objects(content).at(-1))) return;
    refuse("This model does not support assistant message prefill. The conversation must end with a user message.");
  }
  const text = placedBlocks({ messages: [last] }).at(-1)?.block["text"];
  if (typeof text === "string" && /\s$/.test(text)) refuse("messages: final assistant content cannot end with trailing whitespace");
}
