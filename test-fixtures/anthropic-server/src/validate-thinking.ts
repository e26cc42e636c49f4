/** The `thinking` field and the fields that do not go together with it. */

import { type CheckContext, hasBeta } from "./context.ts";
import { type JsonObject, objects } from "./json.ts";
import {
  atLeast,
  expected,
  FIELD_REQUIRED,
  given,
  has,
  isKind,
  mustBeObject,
  mustHaveTag,
  mustKnowKeys,
  THINKING_DOCS,
} from "./phrases.ts";
import { refuse } from "./refusal.ts";

const KEYS: Readonly<Record<string, readonly string[]>> = {
  enabled: ["type", "budget_tokens", "display", "block_binding"],
  adaptive: ["type", "display", "block_binding"],
  disabled: ["type"],
  between_tools: ["type"],
};

function checkValues(thinking: JsonObject, path: string): void {
  const display = thinking["display"];
  if (given(display) && !["summarized", "omitted", "updates"].includes(String(display)))
    refuse(`${path}.display: Input should be 'summarized', 'omitted' or 'updates'`);
  if (!given(thinking["block_binding"])) return;
  const binding = mustBeObject(thinking["block_binding"], `${path}.block_binding`);
  mustKnowKeys(binding, ["prefix_mismatch_behavior"], `${path}.block_binding.`);
  const behavior = binding["prefix_mismatch_behavior"];
  if (given(behavior) && behavior !== "error" && behavior !== "drop_block")
    refuse(`${path}.block_binding.prefix_mismatch_behavior: Input should be 'error' or 'drop_block'`);
}

function checkBudget(thinking: JsonObject): void {
  const path = "thinking.enabled.budget_tokens";
  if (!has(thinking, "budget_tokens")) refuse(`${path}: ${FIELD_REQUIRED}`);
  if (!isKind(thinking["budget_tokens"], "integer")) refuse(`${path}: ${expected("integer")}`);
  if (Number(thinking["budget_tokens"]) < 1024) refuse(`${path}: ${atLeast(1024)}`);
}

function checkGeneration(type: string, { model }: CheckContext): void {
  if (type === "adaptive" && !model.allowsAdaptive) refuse("adaptive thinking is not supported on this model");
  if (type === "enabled" && !model.allowsEnabled) {
    refuse(
      '"thinking.type.enabled" is not supported for this model. Use "thinking.type.adaptive" and "output_config.effort" to control thinking behavior.',
    );
  }
  if (type === "disabled" && !model.allowsDisabled) {
    const instead = model.allowsBetweenToolsInstead
      ? 'Use "thinking.type.between_tools" to think only between tool calls.'
      : "Omit `thinking` instead.";
    refuse(`"thinking.type.disabled" is not supported for this model. ${instead}`);
  }
}

function checkCompanions(body: JsonObject, thinking: JsonObject, type: string, context: CheckContext): void {
  const interleaved = hasBeta(context.betas, "interleaved-thinking") && objects(body["tools"]).length > 0;
  if (
    type === "enabled" &&
    context.endpoint === "messages" &&
    !interleaved &&
    Number(thinking["budget_tokens"]) >= Number(body["max_tokens"])
  ) {
    refuse(`\`max_tokens\` must be greater than \`thinking.budget_tokens\`. ${THINKING_DOCS}#max-tokens-and-context-window-size`);
  }
  if (type === "disabled") return;
  const when = "when thinking is enabled or in adaptive mode";
  if (given(body["temperature"]) && body["temperature"] !== 1) refuse(`\`temperature\` may only be set to 1 ${when}. ${THINKING_DOCS}`);
  if (given(body["top_k"])) refuse(`\`top_k\` must be unset ${when}. ${THINKING_DOCS}`);
  const choice = body["tool_choice"];
  const forced = typeof choice === "object" && choice !== null && !Array.isArray(choice) ? choice["type"] : undefined;
  if (forced === "any" || forced === "tool") refuse("Thinking may not be enabled when tool_choice forces tool use.");
}

export function checkThinking(body: JsonObject, context: CheckContext): void {
  if (!given(body["thinking"])) return;
  const thinking = mustBeObject(body["thinking"], "thinking");
  const type = mustHaveTag(thinking, ["adaptive", "between_tools", "disabled", "enabled"], "thinking");
  mustKnowKeys(thinking, KEYS[type] ?? [], `thinking.${type}.`);
  checkValues(thinking, `thinking.${type}`);
  if (type === "enabled") checkBudget(thinking);
  checkGeneration(type, context);
  checkCompanions(body, thinking, type, context);
}
