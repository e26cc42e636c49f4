/** The top level of the body, output limits, the window, and what count_tokens knows. */

import { describe, expect, it } from "vitest";
import { validate } from "../src/index.ts";
import { body, HEADERS, OLD, type Row, refusalOf } from "./helpers.ts";

const rows: Row[] = [
  { rule: "model missing", body: { model: undefined }, message: "model: Field required" },
  { rule: "model no string", body: { model: 5 }, message: "model: Input should be a valid string" },
  { rule: "model empty", body: { model: "" }, message: "model: String should have at least 1 character" },
  { rule: "max_tokens missing", body: { max_tokens: undefined }, message: "max_tokens: Field required" },
  { rule: "max_tokens text", body: { max_tokens: "9" }, message: "max_tokens: Input should be a valid integer" },
  { rule: "max_tokens broken", body: { max_tokens: 1.5 }, message: "max_tokens: Input should be a valid integer" },
  { rule: "max_tokens 0", body: { max_tokens: 0 }, message: "max_tokens: Input should be greater than or equal to 1" },
  {
    rule: "max_tokens over the limit",
    body: { model: OLD, max_tokens: 64_001 },
    message: "max_tokens: 64001 > 64000, which is the maximum allowed number of output tokens for claude-sonnet-4-5",
  },
  { rule: "messages missing", body: { messages: undefined }, message: "messages: Field required" },
  { rule: "messages no list", body: { messages: "x" }, message: "messages: Input should be a valid list" },
  { rule: "messages empty", body: { messages: [] }, message: "messages: at least one message is required" },
  { rule: "unknown key", body: { betas: ["x"] }, message: "betas: Extra inputs are not permitted" },
  {
    rule: "metadata key",
    body: { metadata: { user_id: "x", session: "y" } },
    message: "metadata.session: Extra inputs are not permitted",
  },
  {
    rule: "metadata no object",
    body: { metadata: "x" },
    message: "metadata: Input should be a valid dictionary or object to extract fields from",
  },
  {
    rule: "user_id too long",
    body: { metadata: { user_id: "x".repeat(513) } },
    message: "metadata.user_id: String should have at most 512 characters",
  },
  {
    rule: "output_config key",
    body: { output_config: { verbosity: "low" } },
    message: "output_config.verbosity: Extra inputs are not permitted",
  },
  {
    rule: "temperature over 1",
    body: { model: OLD, temperature: 1.1 },
    message: "temperature: Input should be less than or equal to 1",
  },
  {
    rule: "temperature below 0",
    body: { model: OLD, temperature: -1 },
    message: "temperature: Input should be greater than or equal to 0",
  },
  {
    rule: "temperature no number",
    body: { model: OLD, temperature: "1" },
    message: "temperature: Input should be a valid number",
  },
  { rule: "top_p over 1", body: { model: OLD, top_p: 2 }, message: "top_p: Input should be less than or equal to 1" },
  {
    rule: "effort",
    body: { output_config: { effort: "extreme" } },
    message: "output_config.effort: Input should be 'low', 'medium', 'high', 'xhigh' or 'max'",
  },
  { rule: "stream", body: { stream: "yes" }, message: "stream: Input should be a valid boolean" },
  {
    rule: "stop_sequences",
    body: { stop_sequences: "END" },
    message: "stop_sequences: Input should be a valid list",
  },
  { rule: "temperature on new models", body: { temperature: 1 }, message: "`temperature` is deprecated for this model." },
  { rule: "top_p on new models", body: { top_p: 0.5 }, message: "`top_p` is deprecated for this model." },
  { rule: "top_k on new models", body: { top_k: 5 }, message: "`top_k` is deprecated for this model." },
];

describe("top level", () => {
  it.each(rows)("$rule", (row) => {
    expect(refusalOf(row)).toEqual({ status: 400, type: "invalid_request_error", message: row.message });
  });

  it.each([
    { metadata: { user_id: "x".repeat(512) } },
    { metadata: null },
    { output_config: { effort: "xhigh" } },
    { output_config: { effort: null } },
    { service_tier: "auto", inference_geo: "us", speed: "standard", diagnostics: {}, container: null },
    { stream: true, stop_sequences: ["END"] },
    { max_tokens: 128_000 },
  ])("takes %o", (more) => {
    expect(refusalOf({ body: more })).toBeUndefined();
  });

  it("names the first of several broken rules", () => {
    expect(refusalOf({ body: { max_tokens: 0, messages: [], nonsense: 1 } })?.message).toMatch(/^max_tokens/);
    expect(refusalOf({ body: { tools: {}, system: 5 } })?.message).toMatch(/^tools/);
    expect(refusalOf({ body: { system: 5, thinking: 5 } })?.message).toMatch(/^system/);
    expect(refusalOf({ body: { thinking: 5, tool_choice: 5 } })?.message).toMatch(/^thinking/);
    expect(refusalOf({ body: { tool_choice: 5, messages: ["x"] } })?.message).toMatch(/^tool_choice/);
  });
});

describe("output limits", () => {
  it.each([
    ["claude-3-5-haiku-20241022", 8192],
    ["claude-opus-4-20250514", 32_000],
    ["claude-opus-4-1", 32_000],
    ["claude-sonnet-4-20250514", 64_000],
    ["claude-haiku-4-5-20251001", 64_000],
    ["claude-opus-4-5", 64_000],
    ["claude-sonnet-4-6", 128_000],
    ["claude-opus-4-6", 128_000],
    ["claude-haiku-5-5", 128_000],
  ])("%s: %i", (model, limit) => {
    const options = { window: 10_000_000 };
    expect(refusalOf({ body: { model, max_tokens: limit }, options })).toBeUndefined();
    expect(refusalOf({ body: { model, max_tokens: limit + 1 }, options })?.message).toBe(
      `max_tokens: ${limit + 1} > ${limit}, which is the maximum allowed number of output tokens for ${model}`,
    );
  });
});

describe("window", () => {
  it("refuses a prompt over the window, last of all", () => {
    const messages = [{ role: "user", content: "x".repeat(36_000) }];
    expect(refusalOf({ body: { messages, tools: undefined }, options: { window: 5000 } })).toEqual({
      status: 400,
      type: "invalid_request_error",
      message: "prompt is too long: 10004 tokens > 5000 maximum",
    });
    expect(refusalOf({ body: { messages, tool_choice: 5 }, options: { window: 5000 } })?.message).toMatch(/^tool_choice/);
  });

  it("adds max_tokens to the prompt on older models", () => {
    const messages = [{ role: "user", content: "x".repeat(3600) }];
    const request = { messages, tools: undefined, max_tokens: 4000 };
    const options = { window: 5000 };
    expect(refusalOf({ body: { ...request, model: "claude-opus-4-1" }, options })?.message).toBe(
      "input length and `max_tokens` exceed context limit: 1004 + 4000 > 5000, decrease input length or `max_tokens` and try again",
    );
    expect(refusalOf({ body: { ...request, model: OLD }, options })).toBeUndefined();
  });
});

describe("count_tokens", () => {
  const count = (more: Record<string, unknown>) =>
    validate(body({ max_tokens: undefined, ...more }), HEADERS, { endpoint: "count_tokens", window: 10 });

  it("has no window and wants no max_tokens", () => {
    expect(count({ messages: [{ role: "user", content: "x".repeat(1000) }] })).toBeUndefined();
    expect(count({ model: OLD, thinking: { type: "enabled", budget_tokens: 50_000 }, tool_choice: { type: "auto" } })).toBeUndefined();
  });

  it.each(["max_tokens", "stream", "metadata", "stop_sequences", "temperature", "container"])("does not know %s", (key) => {
    expect(count({ model: OLD, [key]: 1 })?.message).toBe(`${key}: Extra inputs are not permitted`);
  });
});
