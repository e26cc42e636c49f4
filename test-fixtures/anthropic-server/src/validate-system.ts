/** The system prompt. */

import type { JsonObject } from "./json.ts";
import { expected, FIELD_REQUIRED, given, has, mustBe, mustBeObject, mustKnowKeys, TEXT_BLANK, TEXT_EMPTY } from "./phrases.ts";
import { refuse } from "./refusal.ts";

function checkText(text: string): void {
  if (text === "") refuse(`system: ${TEXT_EMPTY}`);
  if (text.trim() === "") refuse(`system: ${TEXT_BLANK}`);
}

export function checkSystem(body: JsonObject): void {
  const system = body["system"];
  if (system === undefined) return;
  if (typeof system === "string") {
    checkText(system);
    return;
  }
  if (!Array.isArray(system)) refuse(`system: ${expected("list")}`);
  system.forEach((item, i) => {
    const block = mustBeObject(item, `system.${i}`);
    if (block["type"] !== "text") refuse(`system.${i}.type: Input should be 'text'`);
    mustKnowKeys(block, ["type", "text", "cache_control", "citations"], `system.${i}.`);
    if (!has(block, "text")) refuse(`system.${i}.text: ${FIELD_REQUIRED}`);
    mustBe(block["text"], "string", `system.${i}.text`);
    if (block["text"] === "" && given(block["cache_control"])) refuse(`system.${i}: cache_control cannot be set for empty text blocks`);
    checkText(String(block["text"]));
  });
}
