/** Where a request carries cache_control: every mark with its path and the prompt block it stands on. */

import { contentBlocks, isThinking, messagesOf } from "./conversation.ts";
import { type Json, type JsonObject, objects } from "./json.ts";
import { given } from "./phrases.ts";

export interface CacheMark {
  /** Path in the words of error messages, up to but without `.cache_control`. */
  path: string;
  control: Json;
  /** The block of the prompt that the breakpoint closes; a mark inside a tool result closes the whole result. */
  unit: string;
}

export function cacheControlPath(mark: CacheMark): string {
  return mark.path === "" ? "cache_control" : `${mark.path}.cache_control`;
}

function nestedMarks(block: JsonObject, at: string, unit: string): CacheMark[] {
  if (block["type"] !== "tool_result") return [];
  return objects(block["content"]).flatMap((item, k) => {
    const control = item["cache_control"];
    return given(control) ? [{ path: `${at}.tool_result.content.${k}.${item["type"]}`, control, unit }] : [];
  });
}

/** In the order the API processes them: tools, system, messages. */
export function explicitMarks(body: JsonObject): CacheMark[] {
  const marks: CacheMark[] = [];
  const add = (block: JsonObject, path: string, unit: string) => {
    const control = block["cache_control"];
    if (given(control)) marks.push({ path, control, unit });
  };
  objects(body["tools"]).forEach((tool, i) => {
    add(tool, `tools.${i}`, `tools.${i}`);
  });
  objects(body["system"]).forEach((block, i) => {
    add(block, `system.${i}`, `system.${i}`);
  });
  messagesOf(body).forEach((message, i) => {
    objects(message["content"]).forEach((block, j) => {
      const at = `messages.${i}.content.${j}`;
      marks.push(...nestedMarks(block, at, at));
      add(block, `${at}.${block["type"]}`, at);
    });
  });
  return marks;
}

function lastCacheableUnit(body: JsonObject): string | undefined {
  const messages = messagesOf(body);
  for (let i = messages.length - 1; i >= 0; i--) {
    const blocks = contentBlocks(messages[i]?.["content"]);
    for (let j = blocks.length - 1; j >= 0; j--) {
      const block = blocks[j];
      if (block && !isThinking(block) && block["text"] !== "") return `messages.${i}.content.${j}`;
    }
  }
  return undefined;
}

/** A top-level cache_control stands for a mark on the last block that can bear one. */
export function automaticMark(body: JsonObject): CacheMark | undefined {
  const control = body["cache_control"];
  const unit = lastCacheableUnit(body);
  return given(control) && unit !== undefined ? { path: "", control, unit } : undefined;
}
