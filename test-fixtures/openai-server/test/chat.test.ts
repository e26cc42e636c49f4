/** What Chat Completions refuses, and in which words. */
import { describe, expect, test } from "vitest";
import { type JsonObject, type ServerOptions, validate } from "../src/index.ts";

const user = { role: "user", content: "hi" };
const callOf = (id: string, more: JsonObject = {}): JsonObject => ({
  id,
  type: "function",
  function: { name: "read", arguments: "{}", ...more },
});
const calling = (...tool_calls: JsonObject[]): JsonObject => ({ role: "assistant", content: null, tool_calls });
const answer = (tool_call_id: string): JsonObject => ({ role: "tool", tool_call_id, content: "done" });
const tool = (fn: JsonObject): JsonObject => ({
  type: "function",
  function: { name: "read", parameters: { type: "object", properties: {} }, ...fn },
});
const image = (url: string): JsonObject => ({ role: "user", content: [{ type: "image_url", image_url: { url } }] });
const png = `data:image/png;base64,${Buffer.concat([Buffer.from("\x89PNG\r\n\x1a\n", "latin1"), Buffer.alloc(25)]).toString("base64")}`;

const refusal = (body: object, options: ServerOptions = {}): unknown => {
  const it = validate("chat", body, options);
  return it && [it.status, it.error.message, it.error.param, it.error.code];
};
const messages = (...list: JsonObject[]): JsonObject => ({ model: "gpt-5", messages: list });

test("takes a conversation of every kind", () => {
  const body = {
    ...messages(
      { role: "system", content: "Be brief." },
      image(png),
      calling(callOf("a"), callOf("b")),
      answer("b"),
      answer("a"),
      { role: "assistant", content: "So." },
      user,
    ),
    tools: [tool({ description: "Reads." })],
    stream: true,
    stream_options: { include_usage: true },
  };
  expect(refusal(body)).toBeUndefined();
});

describe("refuses", () => {
  test.each<[string, object, unknown[]]>([
    ["no model", { messages: [user] }, [400, "you must provide a model parameter", null, null]],
    [
      "an unknown model",
      { model: "nope", messages: [user] },
      [404, "The model `nope` does not exist or you do not have access to it.", null, "model_not_found"],
    ],
    ["an unknown parameter", { ...messages(user), thinking: {} }, [400, "Unknown parameter: 'thinking'.", "thinking", "unknown_parameter"]],
    [
      "a field of other servers",
      messages({ ...user, reasoning_content: "x" }),
      [400, "Unknown parameter: 'messages[0].reasoning_content'.", "messages[0].reasoning_content", "unknown_parameter"],
    ],
    ["no messages", { model: "gpt-5" }, [400, "Missing required parameter: 'messages'.", "messages", "missing_required_parameter"]],
    ["an empty list", messages(), [400, expect.stringContaining("empty array"), "messages", "empty_array"]],
    [
      "an unknown role",
      messages({ role: "human", content: "hi" }),
      [
        400,
        "Invalid value: 'human'. Supported values are: 'system', 'assistant', 'user', 'function', 'tool', and 'developer'.",
        "messages[0].role",
        "invalid_value",
      ],
    ],
    [
      "usage without a stream",
      { ...messages(user), stream_options: {} },
      [400, "The 'stream_options' parameter is only allowed when 'stream' is enabled.", "stream_options", null],
    ],
    [
      "no content",
      messages({ role: "user", content: null }),
      [400, "Invalid value for 'content': expected a string, got null.", "messages[0].content", null],
    ],
    [
      "blank text",
      messages({ role: "user", content: " " }),
      [400, expect.stringContaining("non-empty"), "messages[0].content", "invalid_value"],
    ],
    [
      "a lone surrogate",
      messages({ role: "user", content: "a\ud800" }),
      [400, expect.stringContaining("surrogate"), "messages[0].content", "invalid_value"],
    ],
    [
      "a result without a call",
      messages(user, answer("a")),
      [
        400,
        "Invalid parameter: messages with role 'tool' must be a response to a preceeding message with 'tool_calls'.",
        "messages.[1].role",
        null,
      ],
    ],
    [
      "calls without results",
      messages(user, calling(callOf("a"), callOf("b"), callOf("c")), answer("b"), user),
      [
        400,
        "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. The following tool_call_ids did not have response messages: a, c",
        "messages.[3].role",
        null,
      ],
    ],
    [
      "a result of another call",
      messages(user, calling(callOf("a")), answer("x")),
      [400, "Invalid parameter: 'tool_call_id' of 'x' not found in 'tool_calls' of previous message.", "messages.[2].tool_call_id", null],
    ],
    [
      "two results of one call",
      messages(user, calling(callOf("a")), answer("a"), answer("a")),
      [400, expect.stringContaining("not found"), "messages.[3].tool_call_id", null],
    ],
    [
      "a name",
      messages(user, calling(callOf("a", { name: "a.b" })), answer("a")),
      [
        400,
        "Invalid 'messages[1].tool_calls[0].function.name': string does not match pattern. Expected a string that matches the pattern '^[a-zA-Z0-9_-]+$'.",
        "messages[1].tool_calls[0].function.name",
        "invalid_value",
      ],
    ],
    [
      "a long id",
      messages(user, calling(callOf("x".repeat(41))), answer("x".repeat(41))),
      [
        400,
        "Invalid 'messages[1].tool_calls[0].id': string too long. Expected a string with maximum length 40, but got a string with length 41 instead.",
        "messages[1].tool_calls[0].id",
        "string_above_max_length",
      ],
    ],
    [
      "arguments as an object",
      messages(user, calling(callOf("a", { arguments: {} })), answer("a")),
      [
        400,
        "Invalid type for 'messages[1].tool_calls[0].function.arguments': expected a string, but got an object instead.",
        "messages[1].tool_calls[0].function.arguments",
        "invalid_type",
      ],
    ],
    [
      "broken arguments",
      messages(user, calling(callOf("a", { arguments: '{"a' })), answer("a")),
      [400, expect.stringContaining("parse"), expect.anything(), "invalid_value"],
    ],
    [
      "an empty list of calls",
      messages(user, calling()),
      [400, expect.stringContaining("empty array"), "messages[1].tool_calls", "empty_array"],
    ],
    ["users in a row", messages(user, user), [400, expect.stringContaining("must alternate"), "messages.[1].role", null]],
    [
      "an answer at the end",
      messages(user, { role: "assistant", content: "a" }),
      [400, expect.stringContaining("must end"), "messages", null],
    ],
    [
      "an image of a result",
      messages(user, calling(callOf("a")), { ...image(png), role: "tool", tool_call_id: "a" }),
      [
        400,
        "Invalid 'messages[2]'. Image URLs are only allowed for messages with role 'user', but this message with role 'tool' contains an image URL.",
        "messages[2]",
        "invalid_value",
      ],
    ],
    ["bad base64", messages(image("data:image/png;base64,!")), [400, "Invalid base64 image_url.", expect.anything(), "invalid_base64"]],
    [
      "no image",
      messages(image("data:image/png;base64,AAAA")),
      [400, expect.stringContaining("unsupported image"), expect.anything(), "invalid_image_format"],
    ],
    [
      "another image",
      messages(image(png.replace("png", "jpeg"))),
      [400, expect.stringContaining("says image/jpeg"), expect.anything(), "invalid_image_format"],
    ],
    [
      "a tool of two names",
      { ...messages(user), tools: [tool({}), tool({})] },
      [400, expect.stringContaining("two tools"), "tools[1]", "invalid_value"],
    ],
  ])("%s", (_, body, expected) => {
    expect(refusal(body)).toEqual(expected);
  });

  test.each<[string, unknown, string]>([
    ["nothing", [], "[] is not of type 'object', 'boolean'."],
    ["no type", { properties: {} }, "schema must be a JSON Schema of 'type: \"object\"', got 'type: \"None\"'."],
    [
      "a union",
      { type: "object", properties: {}, anyOf: [] },
      "schema must have type 'object' and not have 'oneOf'/'anyOf'/'allOf'/'enum'/'not' at the top level.",
    ],
    ["no properties", { type: "object" }, "In context=(), object schema missing properties."],
    ["no items", { type: "object", properties: { a: { type: "array" } } }, "In context=('properties', 'a'), array schema missing items."],
    [
      "no such type",
      { type: "object", properties: { a: { type: "any" } } },
      `In context=('properties', 'a'), "any" is not valid under any of the given schemas.`,
    ],
  ])("a schema with %s", (_, parameters, fault) => {
    expect(refusal({ ...messages(user), tools: [tool({ parameters: parameters as JsonObject })] })).toEqual([
      400,
      `Invalid schema for function 'read': ${fault}`,
      "tools[0].function.parameters",
      "invalid_function_parameters",
    ]);
  });
});

test("other servers let through what they do not know", () => {
  const body = { model: "qwen3:8b", messages: [{ ...user, x: 1 }], thinking: {} };
  expect(refusal(body, { flavour: "ollama" })).toBeUndefined();
  expect(refusal({ ...messages(user), user: "a" }, { refuses: ["user"] })).toEqual([
    400,
    "Unsupported parameter: 'user'.",
    "user",
    "unsupported_parameter",
  ]);
});
