/** One row for each rule about tools, tool_choice and the system prompt. */

import { describe, expect, it } from "vitest";
import { OLD, type Row, refusalOf, TOOL } from "./helpers.ts";

const XI = "Extra inputs are not permitted";
const OBJ = "Input should be a valid dictionary or object to extract fields from";
const INVALID =
  "tools.0.custom.input_schema: JSON schema is invalid. It must match JSON Schema draft 2020-12 (https://json-schema.org/draft/2020-12). Learn more about tool use at https://docs.claude.com/en/docs/tool-use.";

const tool = (more: object) => ({ tools: [{ ...TOOL, ...more }] });
const schema = (more: object) => tool({ input_schema: { type: "object", ...more } });
const property = (more: object) => schema({ properties: { a: more } });

const rows: Row[] = [
  { rule: "tools no list", body: { tools: {} }, message: "tools: Input should be a valid list" },
  { rule: "tool no object", body: { tools: ["x"] }, message: `tools.0: ${OBJ}` },
  { rule: "unknown key", body: tool({ parameters: {} }), message: `tools.0.custom.parameters: ${XI}` },
  { rule: "name missing", body: tool({ name: undefined }), message: "tools.0.custom.name: Field required" },
  {
    rule: "name empty",
    body: tool({ name: "" }),
    message: "tools.0.custom.name: String should have at least 1 character",
  },
  {
    rule: "name long",
    body: tool({ name: "x".repeat(129) }),
    message: "tools.0.custom.name: String should have at most 128 characters",
  },
  {
    rule: "name characters",
    body: tool({ name: "read file" }),
    message: "tools.0.custom.name: String should match pattern '^[a-zA-Z0-9_-]{1,128}$'",
  },
  {
    rule: "description",
    body: tool({ description: 5 }),
    message: "tools.0.custom.description: Input should be a valid string",
  },
  {
    rule: "schema missing",
    body: tool({ input_schema: undefined }),
    message: "tools.0.custom.input_schema: Field required",
  },
  {
    rule: "schema no object",
    body: tool({ input_schema: [] }),
    message: "tools.0.custom.input_schema: Input should be a valid dictionary",
  },
  {
    rule: "schema type missing",
    body: tool({ input_schema: {} }),
    message: "tools.0.custom.input_schema.type: Field required",
  },
  {
    rule: "schema type",
    body: schema({ type: "array" }),
    message: "tools.0.custom.input_schema.type: Input should be 'object'",
  },
  ...["oneOf", "allOf", "anyOf"].map((key) => ({
    rule: `${key} at the top`,
    body: schema({ [key]: [{}] }),
    message: "tools.0.custom.input_schema: input_schema does not support oneOf, allOf, or anyOf at the top level",
  })),
  {
    rule: "property key",
    body: schema({ properties: { $key: {} } }),
    message: "tools.0.custom.input_schema.properties: Property keys should match pattern '^[a-zA-Z0-9_.-]{1,64}$'",
  },
  { rule: "unknown type", body: property({ type: "text" }), message: INVALID },
  { rule: "required no list", body: schema({ required: true }), message: INVALID },
  { rule: "required twice", body: schema({ required: ["a", "a"] }), message: INVALID },
  { rule: "enum no list", body: property({ enum: "a" }), message: INVALID },
  { rule: "items as a list", body: property({ type: "array", items: [{}] }), message: INVALID },
  { rule: "boolean exclusiveMinimum", body: property({ minimum: 0, exclusiveMinimum: true }), message: INVALID },
  { rule: "anyOf empty", body: property({ anyOf: [] }), message: INVALID },
  { rule: "a rule deep down", body: property({ properties: { b: { items: { type: "int" } } } }), message: INVALID },
  { rule: "same name", body: { tools: [TOOL, TOOL] }, message: "tools: Tool names must be unique." },
  {
    rule: "deferred with cache_control",
    body: { tools: [TOOL, { ...TOOL, name: "b", defer_loading: true, cache_control: { type: "ephemeral" } }] },
    message: "tools.1: Tools with defer_loading=true cannot have cache_control set",
  },
  {
    rule: "all deferred",
    body: tool({ defer_loading: true }),
    message: "At least one tool must have defer_loading=false.",
  },
  {
    rule: "tool type",
    body: tool({ type: "function" }),
    message: /^tools\.0: Input tag 'function' found using 'type' does not match any of the expected tags: .*'custom'/,
  },
  {
    rule: "tool_choice type",
    body: { tool_choice: { type: "required" } },
    message: "tool_choice: Input tag 'required' found using 'type' does not match any of the expected tags: 'any', 'auto', 'none', 'tool'",
  },
  {
    rule: "tool_choice without tools",
    body: { tools: undefined, tool_choice: { type: "auto" } },
    message: "tool_choice: `tool_choice` may only be specified while providing `tools`.",
  },
  {
    rule: "tool_choice unknown tool",
    body: { model: OLD, tool_choice: { type: "tool", name: "write" } },
    message: "tool_choice.tool.name: Tool 'write' not found in provided tools",
  },
  {
    rule: "system no list",
    body: { system: 5 },
    message: "system: Input should be a valid list",
  },
  {
    rule: "system block type",
    body: { system: [{ type: "image" }] },
    message: "system.0.type: Input should be 'text'",
  },
  { rule: "system block key", body: { system: [{ type: "text", text: "x", id: 1 }] }, message: `system.0.id: ${XI}` },
  { rule: "system text missing", body: { system: [{ type: "text" }] }, message: "system.0.text: Field required" },
  {
    rule: "system text empty",
    body: { system: [{ type: "text", text: "" }] },
    message: "system: text content blocks must be non-empty",
  },
  {
    rule: "system text blank",
    body: { system: [{ type: "text", text: " \n" }] },
    message: "system: text content blocks must contain non-whitespace text",
  },
];

describe("tools, tool_choice and system", () => {
  it.each(rows)("$rule", (row) => {
    const refusal = refusalOf(row);
    expect(refusal).toMatchObject({ status: 400, type: "invalid_request_error" });
    if (typeof row.message === "string") expect(refusal?.message).toBe(row.message);
    else expect(refusal?.message).toMatch(row.message);
  });

  it.each([
    tool({ type: "custom", description: "x", strict: true, eager_input_streaming: true, input_examples: [] }),
    tool({ name: "x".repeat(128) }),
    { tools: [{ type: "web_search_20260318", name: "web_search" }] },
    { tools: [{ type: "bash_20250124", name: "bash" }, TOOL] },
    { tools: [TOOL, { ...TOOL, name: "b", defer_loading: true }] },
    { tool_choice: { type: "none" } },
    { model: OLD, tool_choice: { type: "tool", name: "read" } },
    property({ type: ["string", "null"], enum: ["a", null] }),
    property({ anyOf: [{ type: "string" }, { $ref: "#/$defs/x" }], default: 5 }),
    schema({ $schema: "https://json-schema.org/draft/2020-12/schema", additionalProperties: false, required: [] }),
    { system: "x" },
    { system: [{ type: "text", text: "x", cache_control: { type: "ephemeral" } }] },
    { system: [] },
  ])("takes %o", (more) => {
    expect(refusalOf({ body: more })).toBeUndefined();
  });
});
