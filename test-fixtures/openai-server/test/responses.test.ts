/** What the Responses API refuses, and in which words. */
import { describe, expect, test } from "vitest";
import { encryptedFor, type JsonObject, validate } from "../src/index.ts";

const user = { type: "message", role: "user", content: [{ type: "input_text", text: "hi" }] };
const said = { type: "message", role: "assistant", content: [{ type: "output_text", text: "so" }] };
const call = (call_id: string): JsonObject => ({ type: "function_call", call_id, name: "read", arguments: "{}" });
const output = (call_id: string): JsonObject => ({ type: "function_call_output", call_id, output: "done" });
const thought = (model = "gpt-5", more: JsonObject = {}): JsonObject => ({
  type: "reasoning",
  summary: [],
  encrypted_content: encryptedFor(model, "rs_1"),
  ...more,
});
const input = (...items: JsonObject[]): JsonObject => ({ model: "gpt-5", input: items, store: false });
const refusal = (body: object): unknown => {
  const it = validate("responses", body);
  return it && [it.status, it.error.message, it.error.param, it.error.code];
};

test.each<[string, object]>([
  ["a string", { model: "gpt-4o", input: "hi" }],
  ["a conversation", input(user, thought(), said, thought(), call("a"), call("b"), output("b"), output("a"), user)],
  ["tools and reasoning", { ...input(user), include: ["reasoning.encrypted_content"], reasoning: { effort: "low" }, tools: [] }],
])("takes %s", (_, body) => {
  expect(refusal(body)).toBeUndefined();
});

describe("refuses", () => {
  test.each<[string, object, unknown[]]>([
    ["no model", { input: "hi" }, [400, "Missing required parameter: 'model'.", "model", "missing_required_parameter"]],
    ["no input", { model: "gpt-5" }, [400, "Missing required parameter: 'input'.", "input", "missing_required_parameter"]],
    [
      "a parameter of the other API",
      { ...input(user), messages: [] },
      [400, "Unknown parameter: 'messages'.", "messages", "unknown_parameter"],
    ],
    ["a call without output", input(user, call("a"), user), [400, "No tool output found for function call a.", "input", null]],
    [
      "an output without call",
      input(user, output("a")),
      [400, "No tool call found for function call output with call_id a.", "input", null],
    ],
    ["an output before its call", input(user, output("a"), call("a")), [400, expect.stringContaining("No tool call found"), "input", null]],
    [
      "the wrong part",
      input({ ...said, content: user.content }),
      [400, "Invalid value: 'input_text'. Supported values are: 'output_text' and 'refusal'.", "input[0].content[0]", "invalid_value"],
    ],
    [
      "reasoning at the end",
      input(user, thought()),
      [400, "Item 'input[1]' of type 'reasoning' was provided without its required following item.", "input", null],
    ],
    ["reasoning before a user", input(user, thought(), user), [400, expect.stringContaining("required following item"), "input", null]],
    [
      "reasoning of another model",
      input(user, thought("gpt-5.6"), said),
      [
        400,
        "The encrypted content for item input[1] could not be verified. Reason: Encrypted content could not be decrypted or parsed.",
        null,
        "invalid_encrypted_content",
      ],
    ],
    [
      "reasoning that was not stored",
      input(user, { type: "reasoning", id: "rs_1", summary: [] }, said),
      [404, expect.stringContaining("Item with id 'rs_1' not found. Items are not persisted when `store` is set to false."), "input", null],
    ],
    [
      "reasoning without a summary",
      input(user, { type: "reasoning", encrypted_content: "x" }, said),
      [400, "Missing required parameter: 'input[1].summary'.", "input[1].summary", "missing_required_parameter"],
    ],
    [
      "encrypted reasoning of a model that has none",
      { model: "gpt-4o", input: "hi", include: ["reasoning.encrypted_content"] },
      [400, "Encrypted content is not supported with this model.", "include", null],
    ],
    [
      "effort of a model that has none",
      { model: "gpt-4o", input: "hi", reasoning: { effort: "low" } },
      [400, "Unsupported parameter: 'reasoning.effort' is not supported with this model.", "reasoning.effort", "unsupported_parameter"],
    ],
  ])("%s", (_, body, expected) => {
    expect(refusal(body)).toEqual(expected);
  });
});
