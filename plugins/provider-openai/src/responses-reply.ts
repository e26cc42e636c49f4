/** A Responses reply as model chunks. Unknown events and items are ignored. */
import type { ModelChunk, StopReason, Usage } from "@heddle/kernel/plugin";
import { callChunk, partEnd, type Reply, stopChunk, usageChunks, usageOf } from "./reply.ts";
import { isObject, type JsonObject, stringOf } from "./text.ts";
import type { Tools } from "./tools.ts";

const TEXT_DELTAS = ["response.output_text.delta", "response.refusal.delta"];
const REASONING_DELTAS = ["response.reasoning_summary_text.delta", "response.reasoning_text.delta"];
const ENDS = ["response.completed", "response.incomplete"];

export function createResponsesReply(tools: Tools): Reply {
  /** What has come of an item, by its place in the output. */
  const texts = new Map<number, string>();
  const closed = new Set<number>();
  let called = false;
  let refused = false;
  let last: JsonObject | undefined;

  const say = (type: "text" | "reasoning", part: number, text: string): ModelChunk[] => {
    if (text === "") return [];
    texts.set(part, (texts.get(part) ?? "") + text);
    return [{ type, part, text }];
  };
  /** An item in full: what no delta has brought comes with it. */
  const close = (item: JsonObject, part: number): ModelChunk[] => {
    if (closed.has(part)) return [];
    closed.add(part);
    const silent = !texts.has(part);
    switch (item["type"]) {
      case "message": {
        const content = list(item["content"]);
        if (content.some((it) => it["type"] === "refusal")) refused = true;
        const text = content.map((it) => stringOf(it, "text") || stringOf(it, "refusal")).join("");
        return [...(silent ? say("text", part, text) : []), partEnd(part)];
      }
      case "reasoning":
        return [
          ...(silent ? say("reasoning", part, thoughtText(item)) : []),
          ...(typeof item["encrypted_content"] === "string" ? [sealed(item, part)] : []),
          partEnd(part),
        ];
      case "function_call":
        called = true;
        return [callChunk(part, stringOf(item, "call_id"), stringOf(item, "name"), argumentsOf(item), tools)];
      default:
        return [];
    }
  };
  const usageIn = (response: JsonObject): Usage | undefined =>
    usageOf(response["usage"], "input_tokens", "output_tokens", "input_tokens_details");
  const finish = (response: JsonObject): ModelChunk[] => {
    last = response;
    return [...list(response["output"]).flatMap(close), ...usageChunks(usageIn(response))];
  };
  const stopOf = (response: JsonObject): StopReason => {
    const why = isObject(response["incomplete_details"]) ? response["incomplete_details"]["reason"] : undefined;
    if (refused || why === "content_filter") return "refusal";
    if (response["status"] === "incomplete") return "length";
    return called ? "tool-calls" : "end";
  };
  return {
    get done() {
      return last !== undefined;
    },
    take(event) {
      const type = stringOf(event, "type");
      const part = Number(event["output_index"] ?? 0);
      if (!Number.isInteger(part) || part < 0) return [];
      const delta = stringOf(event, "delta");
      if (type === "response.refusal.delta") refused = true;
      if (TEXT_DELTAS.includes(type)) return say("text", part, delta);
      if (REASONING_DELTAS.includes(type)) return say("reasoning", part, delta);
      if (type === "response.reasoning_summary_part.added" && texts.has(part)) return say("reasoning", part, "\n\n");
      if (type === "response.function_call_arguments.delta" && delta !== "") return [{ type: "call.delta", part, text: delta }];
      if (type === "response.output_item.done" && isObject(event["item"])) return close(event["item"], part);
      if (ENDS.includes(type) && isObject(event["response"])) return finish(event["response"]);
      return [];
    },
    whole: finish,
    end() {
      if (last === undefined) return undefined;
      return [stopChunk(stopOf(last), usageIn(last))];
    },
  };
}

const list = (value: unknown): JsonObject[] => (Array.isArray(value) ? value.filter(isObject) : []);
const thoughtText = (item: JsonObject): string =>
  [...list(item["summary"]), ...list(item["content"])].map((it) => stringOf(it, "text")).join("\n\n");
const argumentsOf = (item: JsonObject): string =>
  isObject(item["arguments"]) ? JSON.stringify(item["arguments"]) : stringOf(item, "arguments");

/** What has to go back as it came. */
function sealed(item: JsonObject, part: number): ModelChunk {
  const { encrypted_content, summary } = item;
  return { type: "reasoning", part, text: "", opaque: { summary: summary ?? [], encrypted_content: encrypted_content! } };
}
