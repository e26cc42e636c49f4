/** A reply in the form of the Responses API: its items, as one body, and as the events of a stream. */

import type { Json, JsonObject } from "./json.ts";
import { piecesOf, type Reply } from "./reply.ts";

export interface ResponsesOptions {
  /** Gives reasoning items their `encrypted_content`. */
  encrypted: boolean;
  /** Gives them the summary that was asked for. */
  summary: boolean;
}

const idOf = (kind: string, reply: Reply, n: number): string => `${kind}_${String(reply.index).padStart(6, "0")}x${n}`;
/** Holds the model, so that another one can be told apart. */
export const encryptedFor = (model: string, id: string): string =>
  `gAAAA${Buffer.from(JSON.stringify([model, id]), "utf8").toString("base64url")}`;
export function modelOf(encrypted: string): string | undefined {
  try {
    const it: unknown = JSON.parse(Buffer.from(encrypted.replace(/^gAAAA/, ""), "base64url").toString("utf8"));
    return Array.isArray(it) ? String(it[0]) : undefined;
  } catch {
    return undefined;
  }
}

/** The output items in their order. */
export function itemsOf(reply: Reply, options: ResponsesOptions): JsonObject[] {
  const items: JsonObject[] = [];
  const status = reply.finish === "length" || reply.finish === "content_filter" ? "incomplete" : "completed";
  if (reply.reasoning !== "") {
    const id = idOf("rs", reply, 0);
    const summary = options.summary ? [{ type: "summary_text", text: reply.reasoning }] : [];
    items.push({ id, type: "reasoning", summary, ...(options.encrypted ? { encrypted_content: encryptedFor(reply.model, id) } : {}) });
  }
  const parts: Json[] = [];
  if (reply.text !== "") parts.push({ type: "output_text", text: reply.text, annotations: [], logprobs: [] });
  if (reply.refusal !== "") parts.push({ type: "refusal", refusal: reply.refusal });
  if (parts.length > 0) items.push({ id: idOf("msg", reply, 1), type: "message", status, role: "assistant", content: parts });
  reply.calls.forEach(({ id, name, args }, n) => {
    items.push({ id: idOf("fc", reply, n + 2), type: "function_call", status: "completed", call_id: id, name, arguments: args });
  });
  return items;
}

export function responsesBody(reply: Reply, items: readonly JsonObject[], status?: string): JsonObject {
  const incomplete = { length: "max_output_tokens", content_filter: "content_filter" }[reply.finish as string];
  const { input, output, cached } = reply.usage;
  return {
    id: idOf("resp", reply, 0),
    object: "response",
    created_at: 1_790_000_000,
    status: status ?? (incomplete ? "incomplete" : "completed"),
    error: null,
    incomplete_details: incomplete && status === undefined ? { reason: incomplete } : null,
    model: reply.model,
    output: status === undefined ? items : [],
    store: false,
    usage:
      status === undefined
        ? { input_tokens: input, input_tokens_details: { cached_tokens: cached }, output_tokens: output, total_tokens: input + output }
        : null,
  };
}

export function responsesEvents(reply: Reply, items: readonly JsonObject[]): string[] {
  const out: string[] = [];
  const send = (type: string, event: JsonObject): void => {
    out.push(`event: ${type}\ndata: ${JSON.stringify({ type, sequence_number: out.length, ...event })}\n\n`);
  };
  send("response.created", { response: responsesBody(reply, items, "in_progress") });
  send("response.in_progress", { response: responsesBody(reply, items, "in_progress") });
  items.forEach((item, output_index) => {
    const at = { item_id: item["id"]!, output_index };
    send("response.output_item.added", { output_index, item: emptied(item) });
    if (item["type"] === "reasoning") summaryEvents(item, at, send);
    if (item["type"] === "message") contentEvents(item, at, send);
    if (item["type"] === "function_call") {
      for (const piece of piecesOf(String(item["arguments"]))) send("response.function_call_arguments.delta", { ...at, delta: piece });
      send("response.function_call_arguments.done", { ...at, arguments: item["arguments"]! });
    }
    send("response.output_item.done", { output_index, item });
  });
  const body = responsesBody(reply, items);
  send(`response.${String(body["status"])}`, { response: body });
  return out;
}

type Send = (type: string, event: JsonObject) => void;

function emptied(item: JsonObject): JsonObject {
  if (item["type"] === "reasoning") return { ...item, summary: [] };
  if (item["type"] === "message") return { ...item, status: "in_progress", content: [] };
  return { ...item, status: "in_progress", arguments: "" };
}
function summaryEvents(item: JsonObject, at: JsonObject, send: Send): void {
  (item["summary"] as JsonObject[]).forEach((part, summary_index) => {
    send("response.reasoning_summary_part.added", { ...at, summary_index, part: { ...part, text: "" } });
    for (const delta of piecesOf(String(part["text"]))) send("response.reasoning_summary_text.delta", { ...at, summary_index, delta });
    send("response.reasoning_summary_text.done", { ...at, summary_index, text: part["text"]! });
    send("response.reasoning_summary_part.done", { ...at, summary_index, part });
  });
}
function contentEvents(item: JsonObject, at: JsonObject, send: Send): void {
  (item["content"] as JsonObject[]).forEach((part, content_index) => {
    const [kind, field] = part["type"] === "refusal" ? ["refusal", "refusal"] : ["output_text", "text"];
    const text = String(part[field]);
    send("response.content_part.added", { ...at, content_index, part: { ...part, [field]: "" } });
    for (const delta of piecesOf(text)) send(`response.${kind}.delta`, { ...at, content_index, delta });
    send(`response.${kind}.done`, { ...at, content_index, [field]: text });
    send("response.content_part.done", { ...at, content_index, part });
  });
}
