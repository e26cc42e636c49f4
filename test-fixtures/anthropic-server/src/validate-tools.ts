/** Tool definitions and tool_choice. */

import type { CheckContext } from "./context.ts";
import { type JsonObject, objects } from "./json.ts";
import { isValidSchema } from "./json-schema.ts";
import {
  expected,
  FIELD_REQUIRED,
  given,
  has,
  mustBe,
  mustBeObject,
  mustHaveTag,
  mustKnowKeys,
  TOO_SHORT,
  tooLong,
  wrongTag,
} from "./phrases.ts";
import { refuse } from "./refusal.ts";

const TOOL_KEYS = [
  "type",
  "name",
  "description",
  "input_schema",
  "cache_control",
  "strict",
  "defer_loading",
  "eager_input_streaming",
  "input_examples",
  "allowed_callers",
];

const TOOL_TAGS = [
  "advisor_20260301",
  "bash_20250124",
  "browser_toolset_20260801",
  "code_execution_20250522",
  "code_execution_20250825",
  "code_execution_20260120",
  "code_execution_20260521",
  "computer_20250124",
  "computer_20251124",
  "computer_toolset_20260801",
  "custom",
  "mcp_toolset",
  "memory_20250818",
  "text_editor_20250124",
  "text_editor_20250429",
  "text_editor_20250728",
  "tool_search_tool_bm25_20251119",
  "tool_search_tool_regex_20251119",
  "web_fetch_20250910",
  "web_fetch_20260209",
  "web_fetch_20260309",
  "web_fetch_20260318",
  "web_search_20250305",
  "web_search_20260209",
  "web_search_20260318",
];

const SERVER_TOOL =
  /^(?:advisor|bash|browser_toolset|code_execution|computer|computer_toolset|memory|text_editor|tool_search_tool_bm25|tool_search_tool_regex|web_fetch|web_search)_\d{8}$|^mcp_toolset$|^tool_search_tool_(?:bm25|regex)$/;

const NAME_PATTERN = "^[a-zA-Z0-9_-]{1,128}$";
const PROPERTY_PATTERN = "^[a-zA-Z0-9_.-]{1,64}$";
const INVALID_SCHEMA =
  "JSON schema is invalid. It must match JSON Schema draft 2020-12 (https://json-schema.org/draft/2020-12). Learn more about tool use at https://docs.claude.com/en/docs/tool-use.";

function isCustom(tool: JsonObject, path: string): boolean {
  const type = tool["type"];
  if (!given(type) || type === "custom") return true;
  if (typeof type === "string" && SERVER_TOOL.test(type)) return false;
  return refuse(`${path}: ${wrongTag(type, TOOL_TAGS)}`);
}

function checkName(tool: JsonObject, path: string): void {
  const name = tool["name"];
  mustBe(name, "string", path);
  const text = String(name);
  if (text === "") refuse(`${path}: ${TOO_SHORT}`);
  if (text.length > 128) refuse(`${path}: ${tooLong(128)}`);
  if (!new RegExp(NAME_PATTERN).test(text)) refuse(`${path}: String should match pattern '${NAME_PATTERN}'`);
}

function checkSchema(tool: JsonObject, path: string): void {
  mustBe(tool["input_schema"], "dictionary", path);
  const schema = mustBeObject(tool["input_schema"], path);
  if (!has(schema, "type")) refuse(`${path}.type: ${FIELD_REQUIRED}`);
  if (schema["type"] !== "object") refuse(`${path}.type: Input should be 'object'`);
  if (["oneOf", "allOf", "anyOf"].some((key) => has(schema, key)))
    refuse(`${path}: input_schema does not support oneOf, allOf, or anyOf at the top level`);
  const properties = schema["properties"];
  const names = typeof properties === "object" && properties !== null ? Object.keys(properties) : [];
  if (!Array.isArray(properties) && names.some((name) => !new RegExp(PROPERTY_PATTERN).test(name)))
    refuse(`${path}.properties: Property keys should match pattern '${PROPERTY_PATTERN}'`);
  if (!isValidSchema(schema)) refuse(`${path}: ${INVALID_SCHEMA}`);
}

function checkCustomTool(tool: JsonObject, path: string): void {
  mustKnowKeys(tool, TOOL_KEYS, `${path}.`);
  checkName(tool, `${path}.name`);
  if (has(tool, "description") && typeof tool["description"] !== "string") refuse(`${path}.description: ${expected("string")}`);
  checkSchema(tool, `${path}.input_schema`);
}

export function checkTools(body: JsonObject): void {
  const tools = body["tools"];
  if (!has(body, "tools")) return;
  mustBe(tools, "list", "tools");
  if (!Array.isArray(tools)) return;
  tools.forEach((item, i) => {
    const tool = mustBeObject(item, `tools.${i}`);
    if (isCustom(tool, `tools.${i}`)) checkCustomTool(tool, `tools.${i}.custom`);
  });
  const named = objects(tools);
  const names = named.filter((tool) => has(tool, "name")).map((tool) => tool["name"]);
  if (new Set(names).size < names.length) refuse("tools: Tool names must be unique.");
  named.forEach((tool, i) => {
    if (tool["defer_loading"] === true && given(tool["cache_control"]))
      refuse(`tools.${i}: Tools with defer_loading=true cannot have cache_control set`);
  });
  if (named.length > 0 && named.every((tool) => tool["defer_loading"] === true)) refuse("At least one tool must have defer_loading=false.");
}

export function checkToolChoice(body: JsonObject, { model }: CheckContext): void {
  if (!given(body["tool_choice"])) return;
  const choice = mustBeObject(body["tool_choice"], "tool_choice");
  const type = mustHaveTag(choice, ["any", "auto", "none", "tool"], "tool_choice");
  const tools = objects(body["tools"]);
  if (tools.length === 0) refuse("tool_choice: `tool_choice` may only be specified while providing `tools`.");
  if (type === "tool") {
    mustBe(choice["name"], "string", "tool_choice.tool.name");
    if (!tools.some((tool) => tool["name"] === choice["name"]))
      refuse(`tool_choice.tool.name: Tool '${choice["name"]}' not found in provided tools`);
  }
  if ((type === "any" || type === "tool") && !model.allowsForcedTools)
    refuse('tool_choice: type "tool" and "any" are not supported for this model.');
}
