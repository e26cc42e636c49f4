/** What a request is for: the main conversation, a compaction of it, or some small side question. */

import { messagesOf, textOf } from "./conversation.ts";
import { isObject, type JsonObject, objects } from "./json.ts";
import { given } from "./phrases.ts";

export type RequestKind = "main" | "compaction" | "side" | "count_tokens" | "models" | "head" | "other";

const SHORTEST_COMPACTION = 300;
const SMALLEST_MAIN = 64;

export function lastUserText(body: JsonObject): string {
  const user = messagesOf(body).findLast((message) => message["role"] === "user");
  const content = user?.["content"];
  if (typeof content === "string") return content;
  return textOf(
    objects(content)
      .filter((block) => block["type"] === "text")
      .at(-1)?.["text"],
  );
}

function asksForSummary(text: string): boolean {
  if (text.length < SHORTEST_COMPACTION || /continued from a previous conversation/i.test(text)) return false;
  return /summar(?:y|i[sz]e)/i.test(text) && /conversation/i.test(text);
}

function isSide(body: JsonObject): boolean {
  const choice = body["tool_choice"];
  const config = body["output_config"];
  return (
    objects(body["tools"]).length === 0 ||
    (isObject(choice) && (choice["type"] === "any" || choice["type"] === "tool")) ||
    (isObject(config) && given(config["format"])) ||
    given(body["output_format"]) ||
    Number(body["max_tokens"]) <= SMALLEST_MAIN
  );
}

/** A marker names a sentence of the client's own compaction prompt, which is surer than the usual words. */
export function kindOf(body: JsonObject, compactionMarker?: string): "main" | "compaction" | "side" {
  const text = lastUserText(body);
  const compaction = compactionMarker === undefined ? asksForSummary(text) : text.includes(compactionMarker);
  if (compaction) return "compaction";
  return isSide(body) ? "side" : "main";
}
