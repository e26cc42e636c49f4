/** Token estimates: a fixed rate per byte, good only for comparison with each other. */

import { imageFacts } from "./image-facts.ts";
import { isObject, type Json, type JsonObject, objects, withoutCacheControl } from "./json.ts";

const BYTES_PER_TOKEN = 3.6;
const CALL_OVERHEAD = 12;
const MAX_IMAGE = 1600;
const SCALED_SIDE = 1568;
export const ROLE_CHANGE = 4;

export function textTokens(text: string): number {
  return Math.ceil(Buffer.byteLength(text) / BYTES_PER_TOKEN);
}

export function jsonTokens(value: Json): number {
  return textTokens(JSON.stringify(withoutCacheControl(value)));
}

/** Tokens of the deferred tool that a reference brings into the prompt. */
export type LoadTool = (name: string) => number;

function imageTokens(block: JsonObject): number {
  const source = block["source"];
  const data = isObject(source) && source["type"] === "base64" ? source["data"] : undefined;
  const facts = typeof data === "string" ? imageFacts(data) : undefined;
  if (!facts?.width || !facts.height) return MAX_IMAGE;
  const scale = Math.min(1, SCALED_SIDE / Math.max(facts.width, facts.height));
  return Math.min(MAX_IMAGE, Math.ceil((facts.width * scale * facts.height * scale) / 750));
}

function documentTokens(block: JsonObject): number {
  const source = block["source"];
  const data = isObject(source) ? source["data"] : undefined;
  if (!isObject(source) || typeof data !== "string") return jsonTokens(block);
  return source["type"] === "base64" ? Math.ceil(data.length / 8) : textTokens(data);
}

function text(value: Json | undefined): string {
  return typeof value === "string" ? value : "";
}

export function blockTokens(block: JsonObject, load: LoadTool): number {
  switch (block["type"]) {
    case "text":
      return textTokens(text(block["text"]));
    case "thinking":
      return textTokens(text(block["thinking"]));
    case "tool_use":
      return textTokens(text(block["name"]) + JSON.stringify(block["input"] ?? {})) + CALL_OVERHEAD;
    case "tool_result": {
      const content = block["content"];
      if (typeof content === "string") return textTokens(content) + CALL_OVERHEAD;
      return objects(content).reduce((sum, part) => sum + blockTokens(part, load), CALL_OVERHEAD);
    }
    case "tool_reference":
      return load(text(block["tool_name"]));
    case "tool_addition": {
      const tool = block["tool"];
      return jsonTokens(block) + (isObject(tool) ? load(text(tool["name"])) : 0);
    }
    case "image":
      return imageTokens(block);
    case "document":
      return documentTokens(block);
    default:
      return jsonTokens(block);
  }
}
