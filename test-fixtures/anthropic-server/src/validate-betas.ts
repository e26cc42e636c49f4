/** Fields that exist only with a beta header, and fields that the newest API version took away. */

import { explicitMarks } from "./cache-marks.ts";
import { type CheckContext, hasBeta } from "./context.ts";
import { messagesOf, placedBlocks } from "./conversation.ts";
import { isObject, type JsonObject, objects } from "./json.ts";
import { EXTRA_INPUTS, given, has } from "./phrases.ts";
import { refuse } from "./refusal.ts";

type BetaContext = Pick<CheckContext, "betas" | "version">;

const TOP_LEVEL: Readonly<Record<string, readonly string[]>> = {
  context_management: ["context-management", "compact"],
  safeguards: ["dangerous-tool-use"],
  mcp_servers: ["mcp-client"],
  output_format: ["structured-outputs"],
  compaction: ["compact-2026-09-04"],
  thread: ["message-threads-2026-08-12"],
  fallbacks: ["server-side-fallback"],
  fallback_credit_token: ["fallback-credit"],
};

const NEWEST_VERSION = "2026-10-21";

function need(betas: readonly string[], path: string, ...names: string[]): void {
  if (!hasBeta(betas, ...names)) refuse(`${path}: ${EXTRA_INPUTS}`);
}

function checkThinking(body: JsonObject, betas: readonly string[]): void {
  const thinking = body["thinking"];
  if (!isObject(thinking)) return;
  const path = `thinking.${thinking["type"]}`;
  if (has(thinking, "block_binding")) need(betas, `${path}.block_binding`, "thinking-binding-controls-2026-08-01");
  if (thinking["display"] === "updates") need(betas, `${path}.display`, "thinking-display-updates-2026-08-18");
}

function checkSystemMessages(body: JsonObject, betas: readonly string[]): void {
  messagesOf(body).forEach((message, i) => {
    if (message["role"] !== "system") return;
    if (has(message, "output_config")) need(betas, `messages.${i}.output_config`, "mid-conversation-output-config", "per-turn-control");
    if (has(message, "clear_at")) need(betas, `messages.${i}.clear_at`, "mid-conversation-system-clear-at", "per-turn-control");
  });
  const changes = "mid-conversation-tool-changes-2026-07-01";
  const inline = "inline-tools-2026-09-15";
  for (const { block, path } of placedBlocks(body)) {
    const type = block["type"];
    if (type !== "tool_addition" && type !== "tool_removal") continue;
    need(betas, `${path}.${type}`, changes, inline);
    const tool = block["tool"];
    if (isObject(tool) && tool["type"] !== "tool_reference") need(betas, `${path}.${type}.tool`, inline);
  }
}

export function checkBetaFields(body: JsonObject, { betas }: BetaContext): void {
  for (const [key, names] of Object.entries(TOP_LEVEL)) if (given(body[key])) need(betas, key, ...names);
  checkThinking(body, betas);
  checkSystemMessages(body, betas);
  for (const mark of explicitMarks(body)) {
    if (isObject(mark.control) && has(mark.control, "scope"))
      need(betas, `${mark.path}.cache_control.ephemeral.scope`, "prompt-caching-scope");
  }
}

export function checkVersionFields(body: JsonObject, { version }: BetaContext): void {
  if (version !== NEWEST_VERSION) return;
  for (const key of ["temperature", "top_p", "top_k"]) if (has(body, key)) refuse(`${key}: ${EXTRA_INPUTS}`);
  for (const { block, path, role } of placedBlocks(body)) {
    if (role === "assistant" && block["type"] === "document") refuse(`${path}: \`document\` blocks can only be in \`user\` messages`);
    if (role !== "user") continue;
    const nested = block["type"] === "search_result" ? objects(block["content"]) : [];
    for (const text of [block, ...nested]) {
      const citations = text["citations"];
      if (text["type"] === "text" && Array.isArray(citations) && citations.length > 0) refuse(`${path}.text.citations: ${EXTRA_INPUTS}`);
    }
  }
}
