/** One row for each rule about the thinking field and about generations of models. */

import { describe, expect, it } from "vitest";
import { modelRules } from "../src/index.ts";
import { versionOf } from "../src/models.ts";
import { OLD, type Row, refusalOf } from "./helpers.ts";

const DOCS = "Please consult our documentation at https://docs.claude.com/en/docs/build-with-claude/extended-thinking";
const XI = "Extra inputs are not permitted";
const enabled = (more: object = {}) => ({
  model: OLD,
  max_tokens: 5000,
  thinking: { type: "enabled", budget_tokens: 2000, ...more },
});
const MIDDLE = "claude-opus-4-6";
const adaptive = (more: object = {}) => ({ model: MIDDLE, thinking: { type: "adaptive" }, ...more });
const BINDING = "thinking-binding-controls-2026-08-01";
const BUDGET = "thinking.enabled.budget_tokens";

const rows: Row[] = [
  {
    rule: "no object",
    body: { thinking: true },
    message: "thinking: Input should be a valid dictionary or object to extract fields from",
  },
  {
    rule: "type",
    body: { thinking: { type: "auto" } },
    message:
      "thinking: Input tag 'auto' found using 'type' does not match any of the expected tags: 'adaptive', 'between_tools', 'disabled', 'enabled'",
  },
  {
    rule: "key of adaptive",
    body: { thinking: { type: "adaptive", budget_tokens: 2000 } },
    message: `thinking.adaptive.budget_tokens: ${XI}`,
  },
  {
    rule: "key of disabled",
    body: { model: OLD, thinking: { type: "disabled", display: "omitted" } },
    message: `thinking.disabled.display: ${XI}`,
  },
  {
    rule: "key of between_tools",
    body: { thinking: { type: "between_tools", display: "omitted" } },
    message: `thinking.between_tools.display: ${XI}`,
  },
  { rule: "key of enabled", body: enabled({ effort: "low" }), message: `thinking.enabled.effort: ${XI}` },
  {
    rule: "display",
    body: { thinking: { type: "adaptive", display: "full" } },
    message: "thinking.adaptive.display: Input should be 'summarized', 'omitted' or 'updates'",
  },
  {
    rule: "binding",
    body: { thinking: { type: "adaptive", block_binding: { prefix_mismatch_behavior: "ignore" } } },
    betas: BINDING,
    message: "thinking.adaptive.block_binding.prefix_mismatch_behavior: Input should be 'error' or 'drop_block'",
  },
  {
    rule: "binding key",
    body: { thinking: { type: "adaptive", block_binding: { mode: "x" } } },
    betas: BINDING,
    message: `thinking.adaptive.block_binding.mode: ${XI}`,
  },
  { rule: "budget missing", body: enabled({ budget_tokens: undefined }), message: `${BUDGET}: Field required` },
  {
    rule: "budget no number",
    body: enabled({ budget_tokens: "2000" }),
    message: `${BUDGET}: Input should be a valid integer`,
  },
  {
    rule: "budget small",
    body: enabled({ budget_tokens: 1023 }),
    message: `${BUDGET}: Input should be greater than or equal to 1024`,
  },
  {
    rule: "budget over max_tokens",
    body: enabled({ budget_tokens: 5000 }),
    message: `\`max_tokens\` must be greater than \`thinking.budget_tokens\`. ${DOCS}#max-tokens-and-context-window-size`,
  },
  {
    rule: "budget over max_tokens, interleaved without tools",
    body: { ...enabled({ budget_tokens: 6000 }), tools: undefined },
    betas: "interleaved-thinking-2025-05-14",
    message: `\`max_tokens\` must be greater than \`thinking.budget_tokens\`. ${DOCS}#max-tokens-and-context-window-size`,
  },
  {
    rule: "temperature",
    body: adaptive({ temperature: 0.5 }),
    message: `\`temperature\` may only be set to 1 when thinking is enabled or in adaptive mode. ${DOCS}`,
  },
  {
    rule: "top_k",
    body: { ...enabled(), top_k: 5 },
    message: `\`top_k\` must be unset when thinking is enabled or in adaptive mode. ${DOCS}`,
  },
  ...[{ type: "any" }, { type: "tool", name: "read" }].map((tool_choice) => ({
    rule: `tool_choice ${tool_choice.type}`,
    body: adaptive({ tool_choice }),
    message: "Thinking may not be enabled when tool_choice forces tool use.",
  })),
  {
    rule: "adaptive before 4.6",
    body: { model: OLD, thinking: { type: "adaptive" } },
    message: "adaptive thinking is not supported on this model",
  },
  ...["claude-opus-4-7", "claude-sonnet-5", "claude-haiku-5-5"].map((model) => ({
    rule: `enabled on ${model}`,
    body: { ...enabled(), model },
    message:
      '"thinking.type.enabled" is not supported for this model. Use "thinking.type.adaptive" and "output_config.effort" to control thinking behavior.',
  })),
  ...["claude-fable-5", "claude-mythos-5", "claude-fable-5-2", "claude-opus-5-5"].map((model) => ({
    rule: `disabled on ${model}`,
    body: { model, thinking: { type: "disabled" } },
    message: /^"thinking\.type\.disabled" is not supported for this model\. /,
  })),
  {
    rule: "disabled on claude-sonnet-5-5",
    body: { model: "claude-sonnet-5-5", thinking: { type: "disabled" } },
    message: /between_tools/,
  },
  ...["claude-fable-5-1", "claude-mythos-5-1", "claude-opus-5-5", "claude-sonnet-5-5"].map((model) => ({
    rule: `forced tools on ${model}`,
    body: { model, tool_choice: { type: "any" } },
    message: 'tool_choice: type "tool" and "any" are not supported for this model.',
  })),
];

describe("thinking and what goes with it", () => {
  it.each(rows)("$rule", (row) => {
    const refusal = refusalOf(row);
    expect(refusal).toMatchObject({ status: 400, type: "invalid_request_error" });
    if (typeof row.message === "string") expect(refusal?.message).toBe(row.message);
    else expect(refusal?.message).toMatch(row.message);
  });

  it.each([
    { rule: "enabled", body: enabled() },
    { rule: "temperature 1", body: { ...enabled(), temperature: 1 } },
    { rule: "a budget over max_tokens, interleaved", body: enabled({ budget_tokens: 9000 }), betas: "interleaved-thinking-2025-05-14" },
    { rule: "adaptive", body: { thinking: { type: "adaptive", display: "summarized" } } },
    { rule: "disabled on opus 5", body: { model: "claude-opus-5", thinking: { type: "disabled" } } },
    { rule: "between_tools", body: { model: "claude-sonnet-5-5", thinking: { type: "between_tools" } } },
    { rule: "forced tools on opus 5", body: { model: "claude-opus-5", tool_choice: { type: "any" } } },
    { rule: "forced tools on fable 5", body: { model: "claude-fable-5", tool_choice: { type: "any" } } },
    {
      rule: "drop_block",
      body: { thinking: { type: "adaptive", block_binding: { prefix_mismatch_behavior: "drop_block" } } },
      betas: BINDING,
    },
  ])("takes $rule", (row) => {
    expect(refusalOf(row)).toBeUndefined();
  });
});

describe("model ids", () => {
  it.each([
    ["claude-opus-5-5", { family: "opus", major: 5, minor: 5 }],
    ["claude-opus-5", { family: "opus", major: 5, minor: 0 }],
    ["claude-opus-4-20250514", { family: "opus", major: 4, minor: 0 }],
    ["claude-haiku-4-5-20251001", { family: "haiku", major: 4, minor: 5 }],
    ["claude-3-5-sonnet-20241022", { family: "sonnet", major: 3, minor: 5 }],
    ["claude-mythos-preview", undefined],
    ["claude-opus-5-5[1m]", undefined],
  ])("%s", (id, version) => {
    expect(versionOf(id)).toEqual(version);
  });

  it.each([
    ["claude-opus-5", 512],
    ["claude-fable-5", 512],
    ["claude-opus-4-7", 2048],
    ["claude-opus-4-5", 4096],
    ["claude-opus-4-6", 4096],
    ["claude-haiku-4-5", 4096],
    ["claude-opus-5-5", 1024],
    ["claude-sonnet-4-5", 1024],
  ])("%s caches from %i tokens", (id, minimum) => {
    expect(modelRules(id)?.cacheMinimum).toBe(minimum);
  });

  it("takes rules from the options over those of the id", () => {
    expect(modelRules("claude-opus-5", { "claude-opus-5": { window: 7 } })).toMatchObject({
      window: 7,
      cacheMinimum: 512,
    });
  });
});
