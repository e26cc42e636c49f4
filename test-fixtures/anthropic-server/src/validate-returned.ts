/** Thinking blocks that come back in a request: genuine, unaltered, in place, and in their own conversation. */

import { type CheckContext, thinkingMode } from "./context.ts";
import { isThinking, type PlacedBlock, placedBlocks, type Turn, turnsOf } from "./conversation.ts";
import { isObject, type JsonObject } from "./json.ts";
import { THINKING_DOCS } from "./phrases.ts";
import { refuse } from "./refusal.ts";
import { messageDigests, type Seal, systemDigest, type ThinkingSigner, toolsDigest } from "./thinking.ts";

export interface DroppedThinking {
  type: "thinking_dropped";
  path: string;
  reason: "model_binding_mismatch" | "prefix_binding_mismatch";
}

export interface ReturnedThinking {
  dropped: DroppedThinking[];
  warnings: string[];
  /** The nonce of the last block that the model gets to see. */
  last: string | undefined;
}

export interface ReturnedOptions {
  signer: ThinkingSigner;
  binding: boolean;
  /** Whether the reply that made this call began with thinking; without it no warning is given. */
  thoughtBefore?: ((callId: string) => boolean) | undefined;
}

interface SealedBlock extends PlacedBlock {
  seal: Seal;
}

function latestAssistantTurn(turns: readonly Turn[]): Turn | undefined {
  return turns.findLast((turn) => turn.role === "assistant");
}

function readSeals(body: JsonObject, latest: Turn | undefined, signer: ThinkingSigner): SealedBlock[] {
  const sealed: SealedBlock[] = [];
  let altered: string | undefined;
  for (const placed of placedBlocks(body)) {
    if (placed.block["type"] !== "thinking") continue;
    const seal = signer.read(String(placed.block["signature"]));
    const unaltered = seal && signer.matches(seal, String(placed.block["thinking"]));
    const isLatest = latest?.blocks.some(({ path }) => path === placed.path);
    if (unaltered) sealed.push({ ...placed, seal });
    else if (seal && isLatest) altered ??= placed.path;
    else refuse(`${placed.path}: Invalid \`signature\` in \`thinking\` block`);
  }
  if (altered !== undefined) {
    refuse(
      `${altered}: \`thinking\` or \`redacted_thinking\` blocks in the latest assistant message cannot be modified. These blocks must remain as they were in the original response.`,
    );
  }
  return sealed;
}

function checkStart(mode: string, latest: Turn | undefined): void {
  const first = latest?.blocks[0];
  if (mode !== "enabled" || !first || !latest.blocks.some(({ block }) => block["type"] === "tool_use")) return;
  if (isThinking(first.block)) return;
  refuse(
    `${first.path}.type: Expected \`thinking\` or \`redacted_thinking\`, but found \`${first.block["type"]}\`. When \`thinking\` is enabled, a final \`assistant\` message must start with a thinking block (preceeding the lastmost set of \`tool_use\` and \`tool_result\` blocks). We recommend you include thinking blocks from previous turns. To avoid this requirement, disable \`thinking\`. ${THINKING_DOCS}`,
  );
}

function checkFinalBlocks(body: JsonObject): void {
  const lastOf = new Map<number, PlacedBlock>();
  for (const placed of placedBlocks(body)) if (placed.role === "assistant") lastOf.set(placed.message, placed);
  for (const { block, message } of lastOf.values())
    if (isThinking(block)) refuse(`messages.${message}: The final block in an assistant message cannot be \`thinking\`.`);
}

/** A tool loop still belongs to the assistant turn it started from, so that turn counts as the final one. */
function checkFinalPosition(mode: string, turns: readonly Turn[]): void {
  const latest = latestAssistantTurn(turns);
  if (mode !== "disabled" || !latest) return;
  const follower = turns[turns.indexOf(latest) + 1];
  if (follower && follower.blocks[0]?.block["type"] !== "tool_result") return;
  const thought = latest.blocks.find(({ block }) => isThinking(block));
  if (!thought) return;
  refuse(
    `${thought.path}: When thinking is disabled, an \`assistant\` message in the final position cannot contain \`thinking\`. To use thinking blocks, enable \`thinking\` in your request.`,
  );
}

function missingThoughts(mode: string, latest: Turn | undefined, options: ReturnedOptions): string[] {
  if (mode !== "adaptive" || !latest || latest.blocks.some(({ block }) => isThinking(block))) return [];
  const call = latest.blocks.find(({ block }) => block["type"] === "tool_use");
  if (!call || !options.thoughtBefore?.(String(call.block["id"]))) return [];
  return [`${call.path}: the latest assistant turn came with thinking, which is missing from this request`];
}

const REASONS = {
  tools: "The `tools` differ from the ones this block was created with.",
  system: "The `system` prompt differs from the one this block was created with.",
  messages: "The `messages` before this block differ from the ones it was created with.",
  gap: "The `thinking` block that preceded this one when it was created is missing from this request.",
} as const;

export function bindingMessage(path: string, reason: keyof typeof REASONS): string {
  return `${path}: Invalid \`signature\` in \`thinking\` block. The block is bound to a different conversation. Remove the block, or set \`thinking.block_binding.prefix_mismatch_behavior\` to "drop_block". That setting requires the \`thinking-binding-controls-2026-08-01\` value in the \`anthropic-beta\` header. ${REASONS[reason]}`;
}

type MismatchCheck = (sealed: SealedBlock, before: string | undefined) => keyof typeof REASONS | undefined;

function mismatchCheck(body: JsonObject, turns: readonly Turn[]): MismatchCheck {
  const tools = toolsDigest(body);
  const system = systemDigest(body);
  const { after, countBefore } = messageDigests(body);
  const turnStart = new Map<string, number>();
  for (const turn of turns) {
    const start = countBefore.get(turn.blocks[0]?.path ?? "") ?? 0;
    for (const { path } of turn.blocks) turnStart.set(path, start);
  }
  return ({ seal, path }, before) => {
    if (seal.tools !== tools) return "tools";
    if (seal.system !== system) return "system";
    // A paused reply and its continuation are one turn, so the prompt may have ended anywhere up to the block.
    const own = after.slice(turnStart.get(path) ?? 0, (countBefore.get(path) ?? 0) + 1);
    if (!own.includes(seal.messages)) return "messages";
    return before !== undefined && seal.previous !== before ? "gap" : undefined;
  };
}

function dropsMismatches(body: JsonObject): boolean {
  const thinking = body["thinking"];
  const binding = isObject(thinking) ? thinking["block_binding"] : undefined;
  return isObject(binding) && binding["prefix_mismatch_behavior"] === "drop_block";
}

export function checkReturned(body: JsonObject, context: CheckContext, options: ReturnedOptions): ReturnedThinking {
  const turns = turnsOf(body);
  const latest = latestAssistantTurn(turns);
  const mode = thinkingMode(body, context.model);
  const sealed = readSeals(body, latest, options.signer);
  checkStart(mode, latest);
  checkFinalBlocks(body);
  checkFinalPosition(mode, turns);

  const result: ReturnedThinking = {
    dropped: [],
    warnings: missingThoughts(mode, latest, options),
    last: undefined,
  };
  const bound = options.binding && context.model.bindsThinking && mode !== "disabled";
  const mismatch = mismatchCheck(body, turns);
  for (const block of sealed) {
    if (block.seal.model !== body["model"]) {
      result.dropped.push({ type: "thinking_dropped", path: block.path, reason: "model_binding_mismatch" });
      continue;
    }
    const reason = bound ? mismatch(block, result.last) : undefined;
    if (reason === undefined) {
      result.last = block.seal.nonce;
      continue;
    }
    if (!dropsMismatches(body)) refuse(bindingMessage(block.path, reason));
    result.dropped.push({ type: "thinking_dropped", path: block.path, reason: "prefix_binding_mismatch" });
    result.warnings.push(`${block.path}: thinking dropped. ${REASONS[reason]}`);
  }
  return result;
}
