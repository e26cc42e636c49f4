/** The events of one streamed reply as model chunks. Unknown events, blocks and deltas are ignored. */
import type { Json, ModelChunk, StopReason, Usage } from "@heddle/kernel/plugin";
import { isObject, type JsonObject } from "./text.ts";
import { type Opaque, thoughtId } from "./thinking.ts";
import type { Tools } from "./tools.ts";

/**
 * `take` gives the chunks that one event of a stream leads to, `whole` those of a message that came as one body. `done` turns true
 * at message_stop, before which no reply is whole.
 */
export type Reply = { take(event: JsonObject): ModelChunk[]; whole(message: JsonObject): ModelChunk[]; readonly done: boolean };

type Open =
  | { readonly type: "text" | "redacted_thinking" }
  | { readonly type: "thinking"; signature: string }
  | { readonly type: "tool_use"; readonly id: string; readonly name: string; readonly start: Json; json: string };

const STOPS: { readonly [reason: string]: StopReason } = {
  end_turn: "end",
  stop_sequence: "end",
  tool_use: "tool-calls",
  max_tokens: "length",
  refusal: "refusal",
  pause_turn: "pause",
  compaction: "pause",
  model_context_window_exceeded: "overflow",
};
const COUNTS = {
  input: "input_tokens",
  output: "output_tokens",
  cacheRead: "cache_read_input_tokens",
  cacheWrite: "cache_creation_input_tokens",
} as const;

/** `prefix` and `previous` as the encoder gave them: they bind the thinking of this reply to its request. */
export function createReply(tools: Tools, prefix: string, previous: string | null): Reply {
  const open = new Map<number, Open>();
  let before = previous;
  let reason: string | undefined;
  let called = false;
  let done = false;
  const usage: Partial<Record<keyof typeof COUNTS, number>> = {};

  const counted = (): Usage | undefined => {
    const { input, output, ...cache } = usage;
    return input === undefined && output === undefined ? undefined : { input: input ?? 0, output: output ?? 0, ...cache };
  };
  const count = (it: Json | undefined): ModelChunk[] => {
    if (!isObject(it)) return [];
    const before = JSON.stringify(usage);
    for (const key of Object.keys(COUNTS) as (keyof typeof COUNTS)[]) {
      const value = it[COUNTS[key]];
      if (typeof value === "number" && value >= 0) usage[key] = value; // cumulative: the last one counts
    }
    const now = counted();
    return now && JSON.stringify(usage) !== before ? [{ type: "usage", usage: now }] : [];
  };
  const seal = (part: number, text: string, opaque: Opaque): ModelChunk => {
    const sealed = { ...opaque, prefix, previous: before };
    before = thoughtId(opaque);
    return { type: "reasoning", part, text, opaque: sealed };
  };
  const begin = (part: number, block: JsonObject): ModelChunk[] => {
    const text = (key: string): string => (typeof block[key] === "string" ? (block[key] as string) : "");
    switch (block["type"]) {
      case "text":
        open.set(part, { type: "text" });
        return text("text") === "" ? [] : [{ type: "text", part, text: text("text") }];
      case "thinking":
        open.set(part, { type: "thinking", signature: text("signature") });
        return text("thinking") === "" ? [] : [{ type: "reasoning", part, text: text("thinking") }];
      case "redacted_thinking":
        open.set(part, { type: "redacted_thinking" });
        return [seal(part, "", { type: "redacted_thinking", data: text("data") })];
      case "tool_use":
        open.set(part, { type: "tool_use", id: text("id") || `call_${part}`, name: text("name"), start: block["input"] ?? {}, json: "" });
        return [];
      default:
        return [];
    }
  };
  const grow = (part: number, delta: JsonObject): ModelChunk[] => {
    const it = open.get(part);
    const text = (key: string): string => (typeof delta[key] === "string" ? (delta[key] as string) : "");
    if (it?.type === "text" && delta["type"] === "text_delta") return [{ type: "text", part, text: text("text") }];
    if (it?.type === "thinking" && delta["type"] === "thinking_delta") return [{ type: "reasoning", part, text: text("thinking") }];
    if (it?.type === "thinking" && delta["type"] === "signature_delta") it.signature = text("signature");
    if (it?.type !== "tool_use" || delta["type"] !== "input_json_delta" || text("partial_json") === "") return [];
    it.json += text("partial_json");
    return [{ type: "call.delta", part, text: text("partial_json") }];
  };
  const finish = (part: number): ModelChunk[] => {
    const it = open.get(part);
    open.delete(part);
    if (it === undefined) return [];
    const end: ModelChunk = { type: "part.end", part };
    if (it.type === "thinking" && it.signature !== "") return [seal(part, "", { type: "thinking", signature: it.signature }), end];
    if (it.type !== "tool_use") return [end];
    called = true;
    const { input, malformed } = parseInput(it.json, it.start);
    const read = malformed === undefined ? tools.read(it.name, input) : { tool: tools.read(it.name, null).tool, input };
    return [{ type: "call", part, callId: it.id, ...read, ...(malformed === undefined ? {} : { malformed }) }];
  };
  const stop = (): ModelChunk[] => {
    const rest = [...open.keys()].flatMap(finish);
    const known = reason !== undefined && Object.hasOwn(STOPS, reason) ? STOPS[reason]! : called ? "tool-calls" : "end";
    const last = counted();
    done = true;
    return [...rest, { type: "stop", stop: known, ...(last ? { usage: last } : {}) }];
  };
  const reply: Reply = {
    get done() {
      return done;
    },
    take(event) {
      const part = Number(event["index"] ?? 0);
      if (!Number.isInteger(part) || part < 0) return [];
      switch (event["type"]) {
        case "message_start":
          return count(isObject(event["message"]) ? event["message"]["usage"] : undefined);
        case "content_block_start":
          return isObject(event["content_block"]) ? begin(part, event["content_block"]) : [];
        case "content_block_delta":
          return isObject(event["delta"]) ? grow(part, event["delta"]) : [];
        case "content_block_stop":
          return finish(part);
        case "message_delta":
          if (isObject(event["delta"]) && typeof event["delta"]["stop_reason"] === "string") reason = event["delta"]["stop_reason"];
          return count(event["usage"]);
        case "message_stop":
          return stop();
        default:
          return [];
      }
    },
    whole(message) {
      const { content, stop_reason, usage: all } = message;
      const blocks = Array.isArray(content) ? content.filter(isObject) : [];
      return [
        ...blocks.flatMap((block, part) => [...begin(part, block), ...finish(part)]),
        ...reply.take({ type: "message_delta", delta: { stop_reason: stop_reason ?? null }, usage: all ?? null }),
        ...stop(),
      ];
    },
  };
  return reply;
}

/** Strict: arguments that were cut off are never mended, since what runs must be what the model wrote. */
function parseInput(json: string, start: Json): { readonly input: Json; readonly malformed?: string } {
  if (json.trim() === "") return { input: typeof start === "string" && start.trim() === "" ? {} : start };
  try {
    return { input: JSON.parse(json) as Json };
  } catch (error) {
    return { input: { raw: json }, malformed: error instanceof Error ? error.message : String(error) };
  }
}
