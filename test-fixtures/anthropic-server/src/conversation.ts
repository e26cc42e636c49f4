/** The messages of a request seen as placed blocks and as turns, the way the API itself reads them. */

import { isObject, type Json, type JsonObject, objects } from "./json.ts";

export interface PlacedBlock {
  block: JsonObject;
  /** `messages.<i>.content.<j>`, as error messages name it. */
  path: string;
  role: string;
  message: number;
}

export interface Turn {
  role: string;
  blocks: PlacedBlock[];
  firstMessage: number;
  lastMessage: number;
}

export function messagesOf(body: JsonObject): JsonObject[] {
  return objects(body["messages"]);
}

/** A string is one text block: both spellings must hash, count and bind alike. */
export function contentBlocks(content: Json | undefined): JsonObject[] {
  if (typeof content === "string") return content === "" ? [] : [{ type: "text", text: content }];
  return objects(content);
}

function placed(message: JsonObject, index: number): PlacedBlock[] {
  return contentBlocks(message["content"]).map((block, j) => ({
    block,
    path: `messages.${index}.content.${j}`,
    role: String(message["role"]),
    message: index,
  }));
}

export function placedBlocks(body: JsonObject): PlacedBlock[] {
  return messagesOf(body).flatMap(placed);
}

/** Consecutive messages of one role make one turn; system messages are transparent to that. */
export function turnsOf(body: JsonObject): Turn[] {
  const turns: Turn[] = [];
  messagesOf(body).forEach((message, i) => {
    const role = String(message["role"]);
    if (role === "system") return;
    const last = turns.at(-1);
    if (last?.role === role) {
      last.blocks.push(...placed(message, i));
      last.lastMessage = i;
    } else turns.push({ role, blocks: placed(message, i), firstMessage: i, lastMessage: i });
  });
  return turns;
}

/** Such a message only changes the effort from here on, so it may stand anywhere and says nothing. */
export function isSettingsOnly(message: JsonObject): boolean {
  const settings = message["output_config"];
  return (
    message["role"] === "system" && contentBlocks(message["content"]).length === 0 && isObject(settings) && Object.keys(settings).length > 0
  );
}

export function isServerBlock(block: JsonObject | undefined): boolean {
  const type = block?.["type"];
  if (typeof type !== "string") return false;
  if (type === "server_tool_use" || type === "compaction" || type === "container_upload" || type === "fallback") return true;
  return type.startsWith("mcp_tool_") || (type.endsWith("_tool_result") && type !== "tool_result");
}

export function isServerResult(block: JsonObject | undefined): boolean {
  return isServerBlock(block) && String(block?.["type"]).endsWith("_tool_result");
}

export function isThinking(block: JsonObject): boolean {
  return block["type"] === "thinking" || block["type"] === "redacted_thinking";
}

export function systemBlocks(body: JsonObject): JsonObject[] {
  return contentBlocks(body["system"]);
}

export function textOf(content: Json | undefined): string {
  return contentBlocks(content)
    .map((block) => (typeof block["text"] === "string" ? block["text"] : ""))
    .filter((text) => text !== "")
    .join("\n");
}

export function activeTools(body: JsonObject): JsonObject[] {
  return objects(body["tools"]).filter((tool) => tool["defer_loading"] !== true);
}
