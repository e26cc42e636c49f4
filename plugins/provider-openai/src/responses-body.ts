/** The body of a Responses request. Nothing is stored on the server; encrypted reasoning travels with the conversation. */
import type { AssistantPiece, Piece } from "./history.ts";
import { effortFor, outputFor } from "./models.ts";
import type { Parts } from "./parts.ts";
import type { JsonObject } from "./text.ts";

export function responsesBody({ request, server, facts, tools, system, pieces, without }: Parts): JsonObject {
  const effort = without.has("reasoning.effort") ? undefined : effortFor(request.effort, facts);
  const summary = facts.reasoning && !without.has("reasoning.summary") ? { summary: "auto" } : {};
  const reasoning = { ...(effort ? { effort } : {}), ...summary };
  const output = without.has("max_output_tokens") ? undefined : outputFor(request.maxOutput, facts);
  const functions = tools.functions.map((fn) => ({ type: "function", ...fn, strict: false }));
  return {
    model: request.model,
    ...(system === "" ? {} : { instructions: system }),
    input: pieces.flatMap((piece) => itemsOf(piece, without.has("thoughts"))),
    ...(functions.length > 0 ? { tools: functions } : {}),
    ...(Object.keys(reasoning).length > 0 ? { reasoning } : {}),
    ...(facts.reasoning && !without.has("include") ? { include: ["reasoning.encrypted_content"] } : {}),
    ...(output === undefined ? {} : { max_output_tokens: output }),
    ...(server.official && !without.has("prompt_cache_key") ? { prompt_cache_key: request.sessionId.slice(0, 64) } : {}),
    store: false,
    ...(request.streaming === false ? {} : { stream: true }),
  };
}

function itemsOf(piece: Piece, thoughtless: boolean): JsonObject[] {
  if (piece.role === "tool") return [{ type: "function_call_output", call_id: piece.id, output: piece.text }];
  if (piece.role === "assistant") return piece.parts.flatMap((part) => outputOf(part, thoughtless));
  const content = piece.parts.map((part) =>
    part.type === "text" ? { type: "input_text", text: part.text } : { type: "input_image", image_url: part.url, detail: "auto" },
  );
  return [{ type: "message", role: "user", content }];
}

/** Reasoning goes back without its id: with it, the server would also want the ids of the items that came after it. */
function outputOf(part: AssistantPiece["parts"][number], thoughtless: boolean): JsonObject[] {
  if (part.type === "text") return [{ type: "message", role: "assistant", content: [{ type: "output_text", text: part.text }] }];
  if (part.type === "call") return [{ type: "function_call", call_id: part.id, name: part.name, arguments: part.args }];
  const { summary, encrypted_content } = part.opaque;
  if (thoughtless || typeof encrypted_content !== "string" || !Array.isArray(summary)) return [];
  return [{ type: "reasoning", summary, encrypted_content }];
}
