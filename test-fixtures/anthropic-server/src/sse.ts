/** Server-sent events of a streamed reply, framed exactly as the API frames them. */

import type { Json, JsonObject } from "./json.ts";
import { emptyMessage, inputJson, type Reply, type ReplyBlock, stopDetails } from "./reply.ts";

export interface PieceSizes {
  text: number;
  json: number;
}

export const DEFAULT_PIECES: PieceSizes = { text: 24, json: 12 };

export interface StreamEvent {
  type: string;
  data: JsonObject;
}

export function frame({ type, data }: StreamEvent): string {
  return `event: ${type}\ndata: ${JSON.stringify({ type, ...data })}\n\n`;
}

/** Never parts a surrogate pair, since half of one cannot be encoded. */
export function pieces(text: string, size: number): string[] {
  const parts: string[] = [];
  let part = "";
  for (const character of text) {
    part += character;
    if (part.length >= size) {
      parts.push(part);
      part = "";
    }
  }
  if (part !== "") parts.push(part);
  return parts;
}

function startOf(block: ReplyBlock): JsonObject {
  switch (block.type) {
    case "thinking":
      return { type: "thinking", thinking: "", signature: "" };
    case "text":
      return { type: "text", text: "" };
    case "tool_use":
      return { type: "tool_use", id: block.id, name: block.name, input: {} };
    case "server":
      return block.block;
  }
}

function deltasOf(block: ReplyBlock, sizes: PieceSizes): JsonObject[] {
  switch (block.type) {
    case "thinking":
      return [
        ...pieces(block.thinking, sizes.text).map((thinking) => ({ type: "thinking_delta", thinking })),
        { type: "signature_delta", signature: block.signature },
      ];
    case "text":
      return pieces(block.text, sizes.text).map((text) => ({ type: "text_delta", text }));
    case "tool_use":
      return ["", ...pieces(inputJson(block), sizes.json)].map((partial_json) => ({
        type: "input_json_delta",
        partial_json,
      }));
    case "server":
      return [];
  }
}

function blockEvents(block: ReplyBlock, index: number, sizes: PieceSizes): StreamEvent[] {
  const event = (type: string, rest: Record<string, Json>): StreamEvent => ({ type, data: { index, ...rest } });
  return [
    event("content_block_start", { content_block: startOf(block) }),
    ...(index === 0 ? [PING] : []),
    ...deltasOf(block, sizes).map((delta) => event("content_block_delta", { delta })),
    event("content_block_stop", {}),
  ];
}

export const PING: StreamEvent = { type: "ping", data: {} };

export function errorEvent(type: string, message: string, requestId: string): StreamEvent {
  return { type: "error", data: { error: { type, message }, request_id: requestId } };
}

export function streamEvents(reply: Reply, sizes: PieceSizes = DEFAULT_PIECES): StreamEvent[] {
  return [
    { type: "message_start", data: { message: emptyMessage(reply) } },
    ...reply.content.flatMap((block, index) => blockEvents(block, index, sizes)),
    {
      type: "message_delta",
      data: {
        delta: { stop_reason: reply.stopReason, stop_sequence: null, ...stopDetails(reply) },
        usage: { ...reply.usage },
        ...(reply.reportsEdits ? { context_management: { applied_edits: [] } } : {}),
      },
    },
    { type: "message_stop", data: {} },
  ];
}

function isContinuation(byte: number | undefined): boolean {
  return byte !== undefined && (byte & 0xc0) === 0x80;
}

/** Cuts behind the first byte of every sequence of several bytes, the worst place for a careless decoder. */
export function splitInsideSequences(bytes: Buffer): Buffer[] {
  const parts: Buffer[] = [];
  let from = 0;
  for (let at = 1; at < bytes.length; at++) {
    if (isContinuation(bytes[at]) && !isContinuation(bytes[at - 1])) {
      parts.push(bytes.subarray(from, at));
      from = at;
    }
  }
  parts.push(bytes.subarray(from));
  return parts;
}
