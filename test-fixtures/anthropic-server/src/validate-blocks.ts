/** Content blocks of messages: their keys, where each type may stand, and what it may hold. */

import { isObject, type JsonObject } from "./json.ts";
import {
  EXTRA_INPUTS,
  expected,
  FIELD_REQUIRED,
  given,
  has,
  isKind,
  mustBe,
  mustBeObject,
  mustHaveTag,
  TEXT_BLANK,
  TEXT_EMPTY,
  TOO_SHORT,
  tooLong,
} from "./phrases.ts";
import { refuse } from "./refusal.ts";
import { checkDocument, checkImage, type MediaTally } from "./validate-media.ts";

interface BlockKeys {
  required: readonly string[];
  optional: readonly string[];
}

const keys = (required: string[], optional: string[] = []): BlockKeys => ({ required, optional });

const BLOCKS: Readonly<Record<string, BlockKeys>> = {
  text: keys(["text"], ["citations", "cache_control"]),
  image: keys(["source"], ["transformations", "cache_control"]),
  document: keys(["source"], ["title", "context", "citations", "cache_control"]),
  search_result: keys(["source", "title", "content"], ["citations", "cache_control"]),
  thinking: keys(["thinking", "signature"]),
  redacted_thinking: keys(["data"]),
  tool_use: keys(["id", "name", "input"], ["caller", "toolset_name", "cache_control"]),
  tool_result: keys(["tool_use_id"], ["content", "is_error", "toolset_name", "cache_control"]),
  tool_reference: keys(["tool_name"], ["cache_control"]),
  tool_addition: keys(["tool"], ["cache_control"]),
  tool_removal: keys(["tool"], ["cache_control"]),
};

/** These come from the server's own tools and go back verbatim, so nothing in them is checked. */
const SERVER_BLOCKS = [
  "advisor_tool_result",
  "bash_code_execution_tool_result",
  "code_execution_tool_result",
  "compaction",
  "container_upload",
  "fallback",
  "mcp_tool_listing",
  "mcp_tool_result",
  "mcp_tool_use",
  "server_tool_use",
  "text_editor_code_execution_tool_result",
  "tool_search_tool_result",
  "web_fetch_tool_result",
  "web_search_tool_result",
];

const MESSAGE_TAGS = [...Object.keys(BLOCKS).filter((type) => type !== "tool_reference"), ...SERVER_BLOCKS].sort();
const RESULT_TAGS = ["document", "image", "search_result", "text", "tool_reference"];
const ASSISTANT_ONLY = ["tool_use", "thinking", "redacted_thinking"];
const USER_ONLY = ["tool_result", "image", "document", "search_result"];
const SYSTEM_ALLOWS = ["text", "tool_addition", "tool_removal"];

function checkKeys(block: JsonObject, type: string, path: string): void {
  const { required, optional } = BLOCKS[type] ?? keys([]);
  for (const key of Object.keys(block)) {
    const known = key === "type" || required.includes(key) || optional.includes(key);
    if (has(block, key) && !known) refuse(`${path}.${key}: ${EXTRA_INPUTS}`);
  }
  for (const key of required) if (!has(block, key)) refuse(`${path}.${key}: ${FIELD_REQUIRED}`);
}

function checkPlace(type: string, role: string, at: string): void {
  if (role === "system") {
    if (!SYSTEM_ALLOWS.includes(type)) refuse(`${at}: \`${type}\` blocks are not permitted in \`system\` messages`);
    return;
  }
  const home = ASSISTANT_ONLY.includes(type)
    ? "assistant"
    : USER_ONLY.includes(type)
      ? "user"
      : type === "tool_addition" || type === "tool_removal"
        ? "system"
        : role;
  if (home !== role) refuse(`${at}: \`${type}\` blocks can only be in \`${home}\` messages`);
}

function checkText(block: JsonObject, at: string, insideResult: boolean): void {
  mustBe(block["text"], "string", `${at}.text.text`);
  const text = String(block["text"]);
  if (text === "" && given(block["cache_control"])) refuse(`${at}.text: cache_control cannot be set for empty text blocks`);
  if (text === "") refuse(`messages: ${TEXT_EMPTY}`);
  if (text.trim() === "" && !insideResult) refuse(`messages: ${TEXT_BLANK}`);
}

function checkToolUse(block: JsonObject, at: string): void {
  const path = `${at}.tool_use`;
  mustBe(block["id"], "string", `${path}.id`);
  if (!/^[a-zA-Z0-9_-]+$/.test(String(block["id"]))) refuse(`${path}.id: String should match pattern '^[a-zA-Z0-9_-]+$'`);
  mustBe(block["name"], "string", `${path}.name`);
  const name = String(block["name"]);
  if (name === "") refuse(`${path}.name: ${TOO_SHORT}`);
  if (name.length > 200) refuse(`${path}.name: ${tooLong(200)}`);
  mustBe(block["input"], "dictionary", `${path}.input`);
}

function checkToolResult(block: JsonObject, at: string, tally: MediaTally): void {
  const path = `${at}.tool_result`;
  mustBe(block["tool_use_id"], "string", `${path}.tool_use_id`);
  if (given(block["is_error"]) && !isKind(block["is_error"], "boolean")) refuse(`${path}.is_error: ${expected("boolean")}`);
  const content = block["content"];
  if (given(content) && typeof content !== "string" && !Array.isArray(content)) refuse(`${path}.content: ${expected("list")}`);
  const items = Array.isArray(content) ? content : [];
  items.forEach((item, k) => {
    checkResultItem(mustBeObject(item, `${path}.content.${k}`), `${path}.content.${k}`, tally);
  });
  if (block["is_error"] !== true) return;
  if (!given(content) || content === "" || (Array.isArray(content) && content.length === 0))
    refuse(`${path}: content cannot be empty if \`is_error\` is true`);
  if (items.some((item) => isObject(item) && item["type"] !== "text"))
    refuse(`${path}: all content must be type \`text\` if \`is_error\` is true`);
}

function checkResultItem(item: JsonObject, at: string, tally: MediaTally): void {
  const type = mustHaveTag(item, RESULT_TAGS, at);
  checkKeys(item, type, `${at}.${type}`);
  checkContent(item, type, at, tally, true);
}

function checkContent(block: JsonObject, type: string, at: string, tally: MediaTally, insideResult: boolean): void {
  if (type === "text") checkText(block, at, insideResult);
  if (type === "image") checkImage(block, at, tally);
  if (type === "document") checkDocument(block, at, tally);
  if (type === "tool_use") checkToolUse(block, at);
  if (type === "tool_result") checkToolResult(block, at, tally);
  if (type === "thinking") {
    mustBe(block["thinking"], "string", `${at}.thinking.thinking`);
    mustBe(block["signature"], "string", `${at}.thinking.signature`);
  }
}

export function checkBlock(block: JsonObject, role: string, at: string, tally: MediaTally): void {
  const type = mustHaveTag(block, MESSAGE_TAGS, at);
  if (SERVER_BLOCKS.includes(type)) {
    if (role === "system") checkPlace(type, role, at);
    return;
  }
  checkKeys(block, type, `${at}.${type}`);
  checkPlace(type, role, at);
  checkContent(block, type, at, tally, false);
}
