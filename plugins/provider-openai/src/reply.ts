/** What the readers of both APIs have in common: parts in the order of their appearance, and the end of a reply. */
import type { ModelChunk, StopReason, Usage } from "@heddle/kernel/plugin";
import type { JsonObject } from "./text.ts";
import { isObject } from "./text.ts";
import type { Tools } from "./tools.ts";

/**
 * `take` gives the chunks that one event of a stream leads to, `whole` those of a reply that came as one body. `done`: the reply
 * is complete. `end` gives what was still open and the stop chunk; undefined when
 * nothing has said that the reply is over, be it the reply itself or, with `closed`, the stream.
 */
export type Reply = {
  take(event: JsonObject): ModelChunk[];
  whole(body: JsonObject): ModelChunk[];
  end(closed: boolean): ModelChunk[] | undefined;
  readonly done: boolean;
};

export function callChunk(part: number, callId: string, name: string, args: string, tools: Tools): ModelChunk {
  return { type: "call", part, callId: callId === "" ? `call_${part}` : callId, ...tools.read(name, args) };
}

export const partEnd = (part: number): ModelChunk => ({ type: "part.end", part });
export const usageChunks = (usage: Usage | undefined): ModelChunk[] => (usage === undefined ? [] : [{ type: "usage", usage }]);
export const stopChunk = (stop: StopReason, usage: Usage | undefined): ModelChunk => ({
  type: "stop",
  stop,
  ...(usage === undefined ? {} : { usage }),
});

/** `input` of the APIs counts what came from the cache; ours does not. */
export function usageOf(value: unknown, input: string, output: string, details: string): Usage | undefined {
  if (!isObject(value)) return undefined;
  const count = (it: unknown): number => (typeof it === "number" && it >= 0 ? it : 0);
  const more: JsonObject = isObject(value[details]) ? value[details] : {};
  const cacheRead = count(more["cached_tokens"]);
  const cacheWrite = count(more["cache_write_tokens"]);
  return {
    input: Math.max(0, count(value[input]) - cacheRead - cacheWrite),
    output: count(value[output]),
    cacheRead,
    ...(cacheWrite > 0 ? { cacheWrite } : {}),
  };
}
