/** A reply in the form of Chat Completions: as one body, and as the events of a stream. */

import type { Flavour } from "./flavours.ts";
import { type JsonObject, parse } from "./json.ts";
import { piecesOf, type Reply, type ReplyUsage } from "./reply.ts";

const usageOf = ({ input, output, cached }: ReplyUsage): JsonObject => ({
  prompt_tokens: input,
  completion_tokens: output,
  total_tokens: input + output,
  prompt_tokens_details: { cached_tokens: cached },
});
const headOf = (reply: Reply, object: string): JsonObject => ({
  id: `chatcmpl-${String(reply.index).padStart(6, "0")}`,
  object,
  created: 1_790_000_000,
  model: reply.model,
});
const finishOf = (reply: Reply, flavour: Flavour): string => (reply.finish === "tool_calls" ? flavour.callFinish : reply.finish);
const argsOf = (args: string, flavour: Flavour): string | JsonObject =>
  flavour.args === "object" ? ((parse(args) as JsonObject | undefined) ?? args) : args;

export function chatBody(reply: Reply, flavour: Flavour): JsonObject {
  const tool_calls = reply.calls.map(({ id, name, args }) => ({
    id,
    type: "function",
    function: { name, arguments: argsOf(args, flavour) },
  }));
  const message: JsonObject = {
    role: "assistant",
    content: reply.text === "" ? null : reply.text,
    refusal: reply.refusal === "" ? null : reply.refusal,
    ...(flavour.reasoningField && reply.reasoning !== "" ? { [flavour.reasoningField]: reply.reasoning } : {}),
    ...(tool_calls.length > 0 ? { tool_calls } : {}),
  };
  const choices = [{ index: 0, message, logprobs: null, finish_reason: finishOf(reply, flavour) }];
  return { ...headOf(reply, "chat.completion"), choices, usage: usageOf(reply.usage) };
}

/** Each string is one event or comment, with its blank line. */
export function chatEvents(reply: Reply, flavour: Flavour, wantsUsage: boolean): string[] {
  const out: string[] = [];
  const head = headOf(reply, "chat.completion.chunk");
  const send = (event: JsonObject): void => {
    out.push(`data: ${JSON.stringify({ ...head, ...event })}\n\n`);
  };
  const delta = (it: JsonObject, finish_reason: string | null = null): void =>
    send({ choices: [{ index: 0, delta: it, logprobs: null, finish_reason }], ...(wantsUsage ? { usage: null } : {}) });
  if (flavour.comments) out.push(": OPENROUTER PROCESSING\n\n", ": OPENROUTER PROCESSING\n\n");
  delta({ role: "assistant", content: "" });
  if (flavour.reasoningField) for (const piece of piecesOf(reply.reasoning)) delta({ [flavour.reasoningField]: piece });
  for (const piece of piecesOf(reply.text)) delta({ content: piece });
  for (const piece of piecesOf(reply.refusal)) delta({ refusal: piece });
  for (const [n, { id, name, args }] of reply.calls.entries()) {
    const index = { own: { index: n }, zero: { index: 0 }, none: {} }[flavour.callIndex];
    const first = { ...index, id, type: "function" };
    const pieces = flavour.args === "pieces" ? piecesOf(args) : [];
    delta({ tool_calls: [{ ...first, function: { name, arguments: flavour.args === "pieces" ? "" : argsOf(args, flavour) } }] });
    for (const piece of pieces) delta({ tool_calls: [{ ...index, function: { arguments: piece } }] });
  }
  delta({}, finishOf(reply, flavour));
  if (flavour.usage === "always" || (flavour.usage === "asked" && wantsUsage)) send({ choices: [], usage: usageOf(reply.usage) });
  if (flavour.done) out.push("data: [DONE]\n\n");
  return out;
}
