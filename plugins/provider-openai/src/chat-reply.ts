/** A Chat Completions reply as model chunks, in whatever manner of writing the server has. */
import type { ModelChunk, StopReason, Usage } from "@heddle/kernel/plugin";
import { callChunk, partEnd, type Reply, stopChunk, usageChunks, usageOf } from "./reply.ts";
import { isObject, type JsonObject, parseObject, stringOf } from "./text.ts";
import type { Tools } from "./tools.ts";

const STOPS: { readonly [reason: string]: StopReason } = {
  stop: "end",
  length: "length",
  tool_calls: "tool-calls",
  function_call: "tool-calls",
  content_filter: "refusal",
};
/** Servers agree on no name for it; the first that holds something counts. */
const REASONING = ["reasoning_content", "reasoning"];

type OpenCall = { readonly part: number; readonly key: number | undefined; id: string; name: string; args: string; sent: boolean };

export function createChatReply(tools: Tools): Reply {
  const calls: OpenCall[] = [];
  let parts = 0;
  let current: { readonly type: "text" | "reasoning"; readonly part: number } | undefined;
  let reason: string | undefined;
  let refused = false;
  let usage: Usage | undefined;

  const send = (call: OpenCall): ModelChunk => {
    call.sent = true;
    return callChunk(call.part, call.id, call.name, call.args, tools);
  };
  /** Those whose arguments are complete: what could come behind them is white space, in whatever order a server sends its pieces. */
  const sendComplete = (): ModelChunk[] => calls.filter((c) => !c.sent && c.name !== "" && parseObject(c.args) !== undefined).map(send);
  /** What is complete once something else begins. */
  const settle = (): ModelChunk[] => {
    const ended = current ? [partEnd(current.part)] : [];
    current = undefined;
    return [...ended, ...sendComplete()];
  };
  const say = (type: "text" | "reasoning", text: string, field?: string): ModelChunk[] => {
    if (text === "") return [];
    if (current?.type === type) return [{ type, part: current.part, text }];
    const before = settle();
    current = { type, part: parts++ };
    return [...before, { type, part: current.part, text, ...(field === undefined ? {} : { opaque: { field } }) }];
  };
  /** Some servers give every call index 0, or none: then a new id, or a whole new call, says that another one begins. */
  const callFor = (it: JsonObject, fn: JsonObject): { readonly call: OpenCall; readonly before: ModelChunk[] } => {
    const key = typeof it["index"] === "number" ? it["index"] : undefined;
    const id = stringOf(it, "id");
    const name = stringOf(fn, "name");
    const same = key === undefined ? calls.at(-1) : calls.findLast((c) => c.key === key);
    const another =
      same !== undefined && name !== "" && ((id !== "" && id !== same.id) || (id === "" && same.args !== "" && key === undefined));
    if (same && !another) return { call: same, before: [] };
    const before = settle();
    const call = { part: parts++, key, id, name: "", args: "", sent: false };
    calls.push(call);
    return { call, before };
  };
  const takeCall = (it: unknown): ModelChunk[] => {
    if (!isObject(it)) return [];
    const fn: JsonObject = isObject(it["function"]) ? it["function"] : {};
    const { call, before } = callFor(it, fn);
    if (call.sent) return [];
    call.id ||= stringOf(it, "id");
    call.name ||= stringOf(fn, "name");
    const args = fn["arguments"];
    const text = typeof args === "string" ? args : isObject(args) ? JSON.stringify(args) : "";
    call.args += text;
    return text === "" ? before : [...before, { type: "call.delta", part: call.part, text }];
  };
  const takeDelta = (delta: JsonObject): ModelChunk[] => {
    const field = REASONING.find((name) => stringOf(delta, name) !== "");
    const refusal = stringOf(delta, "refusal");
    if (refusal !== "") refused = true;
    return [
      ...(field === undefined ? [] : say("reasoning", stringOf(delta, field), field)),
      ...say("text", contentText(delta["content"])),
      ...say("text", refusal),
      ...(Array.isArray(delta["tool_calls"]) ? delta["tool_calls"].flatMap(takeCall) : []),
    ];
  };
  const take = (event: JsonObject): ModelChunk[] => {
    const counted = usageOf(event["usage"], "prompt_tokens", "completion_tokens", "prompt_tokens_details");
    const news = JSON.stringify(counted) === JSON.stringify(usage) ? [] : usageChunks(counted);
    usage = counted ?? usage;
    const choice: unknown = Array.isArray(event["choices"]) ? event["choices"][0] : undefined;
    if (!isObject(choice)) return news;
    if (typeof choice["finish_reason"] === "string" && choice["finish_reason"] !== "") reason = choice["finish_reason"];
    const delta = choice["delta"] ?? choice["message"];
    return [...news, ...(isObject(delta) ? takeDelta(delta) : []), ...(reason === undefined ? [] : sendComplete())];
  };
  const stopOf = (): StopReason => {
    if (refused) return "refusal";
    const known = STOPS[reason ?? ""] ?? "end";
    return known === "end" && calls.length > 0 ? "tool-calls" : known;
  };
  const end = (): ModelChunk[] => [
    ...settle(),
    ...calls.filter((c) => !c.sent && (c.name !== "" || c.args !== "")).map(send),
    stopChunk(stopOf(), usage),
  ];
  return {
    take,
    get done() {
      return reason !== undefined;
    },
    whole(body) {
      const chunks = take(body);
      reason ??= "stop";
      return chunks;
    },
    end: (closed) => (reason === undefined && !closed ? undefined : end()),
  };
}

/** A string, or parts of which those of text count. */
function contentText(content: unknown): string {
  if (typeof content === "string") return content;
  if (!Array.isArray(content)) return "";
  return content.map((part) => (isObject(part) && part["type"] === "text" ? stringOf(part, "text") : "")).join("");
}
