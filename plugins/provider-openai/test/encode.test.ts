/** Each thing of a history, as the body of each API. */
import type { Message, ModelRequest } from "@heddle/kernel/plugin";
import { describe, expect, test } from "vitest";
import { createEncoder } from "../src/encode.ts";
import type { KindName } from "../src/kinds.ts";
import type { JsonObject } from "../src/text.ts";
import { assistant, attachment, call, image, NO_TOOLS, png, READ, request, result, system, user } from "./support/messages.ts";
import { providerOf, serverWith } from "./support/talk.ts";

const body = (kind: KindName, options: object, it: ModelRequest): JsonObject => createEncoder(serverWith(kind, options))(it).body;
const chat = (messages: readonly Message[], more: Partial<ModelRequest> = {}, options: object = {}): JsonObject =>
  body("vllm", options, request(messages, { model: "m", ...more }));
const responses = (messages: readonly Message[], more: Partial<ModelRequest> = {}): JsonObject =>
  body("openai", {}, request(messages, more));

const PREFIX = {
  system: [
    { plugin: "p", name: "a", text: "Be careful." },
    { plugin: "p", name: "b", text: " " },
    { plugin: "p", name: "c", text: "Be brief." },
  ],
  context: [{ plugin: "p", name: "d", text: "House rules." }],
};
const url = `data:image/png;base64,${png()}`;

describe("a whole body", () => {
  const it = { prefix: PREFIX, tools: [READ], effort: "max" as const };
  const sent = [user("hi"), attachment("today is Monday")];
  test("of Chat Completions", () => {
    expect(body("vllm", { models: { m: { reasoning: true, maxOutput: 500 } } }, request(sent, { ...it, model: "m" }))).toEqual({
      model: "m",
      messages: [
        { role: "system", content: "Be careful.\n\nBe brief." },
        {
          role: "user",
          content: "<system-reminder>\nHouse rules.\n</system-reminder>\n\nhi\n\n<system-reminder>\ntoday is Monday\n</system-reminder>",
        },
      ],
      tools: [{ type: "function", function: { name: "read", description: "Reads a file.", parameters: READ.schema } }],
      reasoning_effort: "high",
      max_tokens: 500,
      stream: true,
      stream_options: { include_usage: true },
    });
  });
  test("of Chat Completions at OpenAI", () => {
    expect(body("openai", { api: "chat", models: { "gpt-4o": { maxOutput: 9 } } }, request([user("hi")], { model: "gpt-4o" }))).toEqual({
      model: "gpt-4o",
      messages: [{ role: "user", content: "hi" }],
      max_completion_tokens: 9,
      prompt_cache_key: "s",
      stream: true,
      stream_options: { include_usage: true },
    });
  });
  test("of Responses", () => {
    expect(responses(sent, it)).toEqual({
      model: "gpt-5.6",
      instructions: "Be careful.\n\nBe brief.",
      input: [
        { type: "message", role: "user", content: [{ type: "input_text", text: "<system-reminder>\nHouse rules.\n</system-reminder>" }] },
        { type: "message", role: "user", content: [{ type: "input_text", text: "hi" }] },
        {
          type: "message",
          role: "user",
          content: [{ type: "input_text", text: "<system-reminder>\ntoday is Monday\n</system-reminder>" }],
        },
      ],
      tools: [{ type: "function", name: "read", description: "Reads a file.", parameters: READ.schema, strict: false }],
      reasoning: { effort: "max", summary: "auto" },
      include: ["reasoning.encrypted_content"],
      prompt_cache_key: "s",
      store: false,
      stream: true,
    });
  });
  test("of Responses for a model that does not reason", () => {
    expect(responses([user("hi")], { model: "gpt-4o", effort: "high", tools: NO_TOOLS })).toEqual({
      model: "gpt-4o",
      input: [{ type: "message", role: "user", content: [{ type: "input_text", text: "hi" }] }],
      prompt_cache_key: "s",
      store: false,
      stream: true,
    });
  });
});

describe("messages of Chat Completions", () => {
  const table: [string, Message[], object[]][] = [
    ["nothing at all", [], [{ role: "user", content: "Continue." }]],
    [
      "system messages and blank text are left out",
      [user("a"), system("told the person"), user(" \u200b"), user("b")],
      [{ role: "user", content: "a\n\nb" }],
    ],
    ["broken characters are replaced", [user("a\ud800b\u0000")], [{ role: "user", content: "a\ufffdb\ufffd" }]],
    [
      "an image, by what it really is",
      [user([{ type: "text", text: "look" }, image(png(), "image/jpeg")])],
      [
        {
          role: "user",
          content: [
            { type: "text", text: "look" },
            { type: "image_url", image_url: { url } },
          ],
        },
      ],
    ],
    [
      "an image that is none",
      [user([image("AAAA")])],
      [{ role: "user", content: "[image left out: it is no readable PNG, JPEG, GIF or WebP image]" }],
    ],
    [
      "parallel calls, and the images of their results behind the last of them",
      [
        user("go"),
        assistant([{ type: "text", text: "Reading." }, call("a", "read", { path: "x" }), call("b")]),
        result("a", [{ type: "text", text: "it shows" }, image()]),
        result("b", ""),
        attachment("note"),
      ],
      [
        { role: "user", content: "go" },
        {
          role: "assistant",
          content: "Reading.",
          tool_calls: [
            { id: "a", type: "function", function: { name: "read", arguments: '{"path":"x"}' } },
            { id: "b", type: "function", function: { name: "read", arguments: "{}" } },
          ],
        },
        { role: "tool", tool_call_id: "a", content: "it shows" },
        { role: "tool", tool_call_id: "b", content: "(no output)" },
        {
          role: "user",
          content: [
            { type: "text", text: "<system-reminder>\nImage of the result of call a:\n</system-reminder>" },
            { type: "image_url", image_url: { url } },
            { type: "text", text: "<system-reminder>\nnote\n</system-reminder>" },
          ],
        },
      ],
    ],
    [
      "results that are none, in words",
      [
        user("go"),
        assistant([call("a"), call("b"), call("c"), call("d")]),
        result("a", "No such file.", "error"),
        result("b", "Denied by the user.", "denied"),
        result("c", "", "aborted"),
        result("d", "half", "timeout"),
      ],
      [
        { role: "user", content: "go" },
        {
          role: "assistant",
          content: null,
          tool_calls: ["a", "b", "c", "d"].map((id) => ({ id, type: "function", function: { name: "read", arguments: "{}" } })),
        },
        { role: "tool", tool_call_id: "a", content: "[error] No such file." },
        { role: "tool", tool_call_id: "b", content: "[denied] Denied by the user." },
        { role: "tool", tool_call_id: "c", content: "The call was stopped by the user." },
        { role: "tool", tool_call_id: "d", content: "[timed out] half" },
      ],
    ],
    [
      "malformed arguments, inputs that are no object, tools that are gone, long ids",
      [
        user("go"),
        assistant([call("x".repeat(41), "gone.tool", "text"), call("b", "read", { raw: '{"a' }, "cut off")]),
        result("x".repeat(41)),
        result("b"),
      ],
      [
        { role: "user", content: "go" },
        {
          role: "assistant",
          content: null,
          tool_calls: [
            {
              id: expect.stringMatching(/^call_[\w-]{22}$/),
              type: "function",
              function: { name: expect.stringMatching(/^gone_tool_[\w-]{12}$/), arguments: '{"value":"text"}' },
            },
            { id: "b", type: "function", function: { name: "read", arguments: '{"raw":"{\\"a"}' } },
          ],
        },
        { role: "tool", tool_call_id: expect.stringMatching(/^call_/), content: "done" },
        { role: "tool", tool_call_id: "b", content: "done" },
      ],
    ],
    [
      "two replies in a row, a refused one, and one that ends the history",
      [user("a"), assistant("b", { stop: "length" }), assistant("c", { stop: "refusal" }), assistant("d")],
      [
        { role: "user", content: "a" },
        { role: "assistant", content: "b" },
        { role: "user", content: "Continue." },
        { role: "assistant", content: "d" },
        { role: "user", content: "Continue." },
      ],
    ],
    [
      "a call without a result, and a result without a call",
      [assistant([call("a")]), user("b"), result("c")],
      [
        { role: "user", content: "Continue." },
        { role: "assistant", content: null, tool_calls: [{ id: "a", type: "function", function: { name: "read", arguments: "{}" } }] },
        { role: "tool", tool_call_id: "a", content: "There is no record of a result of this call." },
        { role: "user", content: "b" },
      ],
    ],
  ];
  test.each(table)("%s", (_, messages, expected) => {
    expect(chat(messages)["messages"]).toEqual(expected);
  });

  test("an image for a model that takes none", () => {
    expect(chat([user([image()])], {}, { models: { m: { images: false } } })["messages"]).toEqual([
      { role: "user", content: "[image left out: this model takes no images]" },
    ]);
  });
  test("too many images: the oldest become notes, twenty at a time", () => {
    const many = Array.from({ length: 101 }, () => user([image()]));
    const [{ content }] = chat(many)["messages"] as unknown as [{ content: { type: string }[] }];
    expect(content.map((part) => part.type)).toEqual([...Array(20).fill("text"), ...Array(81).fill("image_url")]);
  });
});

describe("reasoning over Chat Completions", () => {
  const thought = (opaque?: object) => ({ type: "reasoning" as const, text: "hm", ...(opaque ? { opaque: opaque as never } : {}) });
  const own = { provider: "vllm", model: "m" };
  const sent = (parts: Parameters<typeof assistant>[0], by: object): unknown =>
    (chat([user("a"), assistant(parts, by), result("c")])["messages"] as object[])[1];
  const plain = { role: "assistant", content: null, tool_calls: [expect.anything()] };
  test("goes back with calls, under its own name, to the model that made it", () => {
    expect(sent([thought({ field: "reasoning_content" }), call("c")], own)).toEqual({ ...plain, reasoning_content: "hm" });
  });
  test.each([
    ["another model", { field: "reasoning" }, { ...own, model: "n" }],
    ["another provider", { field: "reasoning" }, { ...own, provider: "ollama" }],
    ["Anthropic", { type: "thinking", signature: "s" }, { provider: "anthropic", model: "claude-opus-5-5" }],
    ["nobody knows", undefined, own],
  ])("of %s does not", (_, opaque, by) => {
    expect(sent([thought(opaque), call("c")], by)).toEqual(plain);
  });
  test("does not go back with an answer", () => {
    expect(sent([thought({ field: "reasoning" }), { type: "text", text: "b" }], own)).toEqual({ role: "assistant", content: "b" });
  });
});

describe("items of Responses", () => {
  const sealed = { summary: [{ type: "summary_text", text: "hm" }], encrypted_content: "gAAAAx" };
  const thought = { type: "reasoning" as const, text: "hm", opaque: sealed };
  const input = (messages: Message[], more: Partial<ModelRequest> = {}): unknown => responses(messages, more)["input"];
  const said = (text: string) => ({ type: "message", role: "user", content: [{ type: "input_text", text }] });

  test("reasoning goes back as it came and where it stood", () => {
    const messages = [
      user("go"),
      assistant([thought, { type: "text", text: "Reading." }, thought, call("a", "read", { path: "x" }), call("b")]),
      result("a", [image()]),
      result("b", "No.", "error"),
    ];
    expect(input(messages)).toEqual([
      said("go"),
      { type: "reasoning", ...sealed },
      { type: "message", role: "assistant", content: [{ type: "output_text", text: "Reading." }] },
      { type: "reasoning", ...sealed },
      { type: "function_call", call_id: "a", name: "read", arguments: '{"path":"x"}' },
      { type: "function_call", call_id: "b", name: "read", arguments: "{}" },
      { type: "function_call_output", call_id: "a", output: "The image follows." },
      { type: "function_call_output", call_id: "b", output: "[error] No." },
      {
        type: "message",
        role: "user",
        content: [
          { type: "input_text", text: "<system-reminder>\nImage of the result of call a:\n</system-reminder>" },
          { type: "input_image", image_url: url, detail: "auto" },
        ],
      },
    ]);
  });
  const answer = { type: "message", role: "assistant", content: [{ type: "output_text", text: "b" }] };
  test.each([
    ["another model", [thought, { type: "text" as const, text: "b" }], { model: "gpt-5" }],
    ["another provider", [thought, { type: "text" as const, text: "b" }], { provider: "openrouter" }],
    ["an aborted reply", [thought, { type: "text" as const, text: "b" }], { stop: "aborted" as const }],
    ["nothing that came of it", [{ type: "text" as const, text: "b" }, thought], {}],
    [
      "a chat server",
      [
        { ...thought, opaque: { field: "reasoning" } },
        { type: "text" as const, text: "b" },
      ],
      {},
    ],
  ])("reasoning of %s is left out", (_, parts, by) => {
    expect(input([user("a"), assistant(parts, by), user("c")])).toEqual([said("a"), answer, said("c")]);
  });
});

describe("limits", () => {
  const limit = (kind: KindName, options: object, model: string, maxOutput?: number): JsonObject => {
    const { max_tokens, max_completion_tokens, max_output_tokens } = body(
      kind,
      options,
      request([user("a")], { model, ...(maxOutput === undefined ? {} : { maxOutput }) }),
    );
    return JSON.parse(JSON.stringify({ max_tokens, max_completion_tokens, max_output_tokens }));
  };
  test.each<[KindName, object, string, number | undefined, object]>([
    ["openai", {}, "gpt-5.6", undefined, {}],
    ["openai", {}, "gpt-5.6", 64_000, { max_output_tokens: 64_000 }],
    ["openai", {}, "gpt-4o", 64_000, { max_output_tokens: 16_384 }],
    ["openai", { api: "chat" }, "gpt-4o", 64_000, { max_completion_tokens: 16_384 }],
    ["ollama", {}, "qwen3:8b", 64_000, { max_tokens: 8000 }],
    ["ollama", { models: { "qwen3:8b": { maxOutput: 500 } } }, "qwen3:8b", undefined, { max_tokens: 500 }],
    ["ollama", { models: { "qwen3:8b": { maxOutput: 500 } } }, "qwen3:8b", 64_000, { max_tokens: 500 }],
    ["ollama", { models: { "qwen3:8b": { window: 400_000 } } }, "qwen3:8b", 64_000, { max_tokens: 64_000 }],
  ])("%s %j %s asked for %s", (kind, options, model, maxOutput, expected) => {
    expect(limit(kind, options, model, maxOutput)).toEqual(expected);
  });
  test("no stream where none is wanted", () => {
    const { stream: _, stream_options: __, ...rest } = chat([user("a")]);
    expect(chat([user("a")], { streaming: false })).toEqual(rest);
    const { stream: ___, ...items } = responses([user("a")]);
    expect(responses([user("a")], { streaming: false })).toEqual(items);
  });
});

describe("the providers", () => {
  test("their windows: from the options, the table, or a guess", () => {
    const own = { models: { "qwen3:8b": { window: 5 }, "gpt-5": { window: 6 } } };
    const windows = (kind: KindName, options: object, ...models: string[]) => models.map((m) => providerOf(kind, options).window!(m));
    expect(windows("openai", own, "gpt-6.1-sol", "gpt-5.6-luna", "gpt-5.2-codex", "gpt-5", "gpt-4o-mini", "o3", "next")).toEqual([
      922_000, 922_000, 272_000, 6, 111_000, 100_000, 128_000,
    ]);
    expect(windows("ollama", own, "qwen3:8b", "llama4")).toEqual([5, 32_000]);
    expect(windows("openrouter", {}, "openai/gpt-5")).toEqual([128_000]);
  });
  test("what they know of a model", () => {
    const prices = { at: "2026-11-30", tiers: [{ input: 1, output: 2, cacheRead: 0, cacheWrite: 0 }] };
    const own = { models: { "gpt-5": { prices }, m: { window: 5, maxOutput: 4, images: false, reasoning: true } } };
    const info = (kind: KindName, model: string) => providerOf(kind, own).info!(model);
    expect(info("openai", "gpt-5.6")).toEqual({ id: "gpt-5.6", window: 922_000, maxOutput: 128_000, images: true, reasoning: true });
    expect(info("openai", "gpt-4o")).toEqual({ id: "gpt-4o", window: 111_000, maxOutput: 16_384, images: true, reasoning: false });
    expect(info("openai", "gpt-5")).toEqual({ id: "gpt-5", window: 272_000, maxOutput: 128_000, images: true, reasoning: true, prices });
    expect(info("ollama", "llama4")).toEqual({ id: "llama4", window: 32_000 });
    expect(info("vllm", "m")).toEqual({ id: "m", window: 5, maxOutput: 4, images: false, reasoning: true });
  });
  test.each([
    ["gpt-5", "xhigh", "high"],
    ["gpt-5.2", "max", "xhigh"],
    ["gpt-6-astra", "max", "max"],
    ["gpt-5-pro", "low", "high"],
    ["gpt-4o", "low", undefined],
  ] as const)("effort: %s asked for %s gets %s", (model, effort, expected) => {
    expect((responses([user("a")], { model, effort })["reasoning"] as { effort?: string } | undefined)?.effort).toBe(expected);
  });
});
