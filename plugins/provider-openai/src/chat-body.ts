/** The body of a Chat Completions request. */
import type { AssistantPiece, Piece } from "./history.ts";
import type { Shown } from "./images.ts";
import { effortFor, outputFor } from "./models.ts";
import type { Parts } from "./parts.ts";
import { isBlank, type JsonObject, stringOf } from "./text.ts";

export function chatBody({ request, server, facts, tools, system, pieces, without }: Parts): JsonObject {
  const effort = effortFor(request.effort, facts);
  const limit = server.official ? "max_completion_tokens" : "max_tokens";
  const output = without.has(limit) ? undefined : outputFor(request.maxOutput, facts);
  const functions = tools.functions.map((fn) => ({ type: "function", function: fn }));
  return {
    model: request.model,
    messages: [
      ...(system === "" ? [] : [{ role: "system", content: system }]),
      ...messagesOf(pieces, server.official || without.has("thoughts")),
    ],
    ...(functions.length > 0 ? { tools: functions } : {}),
    ...(effort && !without.has("reasoning_effort") ? { reasoning_effort: effort } : {}),
    ...(output === undefined ? {} : { [limit]: output }),
    ...(server.official && !without.has("prompt_cache_key") ? { prompt_cache_key: request.sessionId.slice(0, 64) } : {}),
    ...(request.streaming === false ? {} : { stream: true }),
    ...(request.streaming === false || without.has("stream_options") ? {} : { stream_options: { include_usage: true } }),
  };
}

/** Chat templates want roles to alternate, so what the user says in a row is one message. */
function messagesOf(pieces: readonly Piece[], thoughtless: boolean): JsonObject[] {
  const out: JsonObject[] = [];
  let said: Shown[] = [];
  const flush = (): void => {
    if (said.length > 0) out.push({ role: "user", content: contentOf(said) });
    said = [];
  };
  for (const piece of pieces) {
    if (piece.role === "user") {
      said.push(...piece.parts);
      continue;
    }
    flush();
    if (piece.role === "tool") out.push({ role: "tool", tool_call_id: piece.id, content: piece.text });
    else out.push(assistantMessage(piece, thoughtless));
  }
  flush();
  return out;
}

/** A string where it can be one: older servers take nothing else. */
function contentOf(parts: readonly Shown[]): string | JsonObject[] {
  if (parts.every((part) => part.type === "text")) return parts.map((part) => part.text).join("\n\n");
  return parts.map((part) =>
    part.type === "text" ? { type: "text", text: part.text } : { type: "image_url", image_url: { url: part.url } },
  );
}

function assistantMessage({ parts }: AssistantPiece, thoughtless: boolean): JsonObject {
  const text = parts.flatMap((part) => (part.type === "text" ? [part.text] : [])).join("\n\n");
  const tool_calls = parts.flatMap((part) =>
    part.type === "call" ? [{ id: part.id, type: "function", function: { name: part.name, arguments: part.args } }] : [],
  );
  const message = { role: "assistant", content: text === "" ? null : text };
  if (tool_calls.length === 0) return message;
  return { ...message, ...(thoughtless ? {} : thoughtOf(parts)), tool_calls };
}

/**
 * What led to calls goes back under the name that it came with: some models refuse or lose the thread without it. What led to a
 * finished answer does not: templates drop it anyway.
 */
function thoughtOf(parts: AssistantPiece["parts"]): JsonObject {
  const thoughts = parts.flatMap((part) => (part.type === "thought" && !isBlank(part.text) ? [part] : []));
  const field = thoughts[0] ? stringOf(thoughts[0].opaque, "field") : "";
  return field === "" ? {} : { [field]: thoughts.map((part) => part.text).join("\n\n") };
}
