/** Streams as servers and gateways really write them. */
import type { Json, ModelChunk } from "@heddle/kernel/plugin";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { sseDecoder } from "../src/sse.ts";
import { READ, request, user } from "./support/messages.ts";
import { chunksOf, context, failureOf, providerWith } from "./support/talk.ts";

type Event = { readonly type: string } & { readonly [key: string]: Json };
const write = (events: readonly Event[]): string => events.map((e) => `event: ${e.type}\ndata: ${JSON.stringify(e)}\n\n`).join("");
const answering = (text: string | Uint8Array[], type = "text/event-stream") =>
  providerWith({
    apiKey: "k",
    maxRetries: 0,
    fetch: async () => new Response(typeof text === "string" ? text : ReadableStream.from(text), { headers: { "content-type": type } }),
  });
const ask = request([user("hi")], { tools: [READ] });
const read = async (text: string | Uint8Array[]): Promise<ModelChunk[]> =>
  (await chunksOf(answering(text), ask)).filter((c) => c.type !== "ping");

const START: Event = { type: "message_start", message: { usage: { input_tokens: 7, cache_read_input_tokens: 5, output_tokens: 1 } } };
const block = (index: number, content_block: Json): Event => ({ type: "content_block_start", index, content_block });
const delta = (index: number, it: Json): Event => ({ type: "content_block_delta", index, delta: it });
const stopBlock = (index: number): Event => ({ type: "content_block_stop", index });
const end = (stop_reason: Json, usage: Json = { output_tokens: 9 }): Event[] => [
  { type: "message_delta", delta: { stop_reason }, usage },
  { type: "message_stop" },
];
const USAGE = { input: 7, output: 9, cacheRead: 5 };
const BEGUN: ModelChunk = { type: "usage", usage: { ...USAGE, output: 1 } };
const ENDED: ModelChunk[] = [
  { type: "usage", usage: USAGE },
  { type: "stop", stop: "end", usage: USAGE },
];
const partEnd = (part: number): ModelChunk => ({ type: "part.end", part });
const text = (index: number, it: string): Event[] => [
  block(index, { type: "text", text: "" }),
  delta(index, { type: "text_delta", text: it }),
  stopBlock(index),
];
const toolUse = (index: number, ...pieces: string[]): Event[] => [
  block(index, { type: "tool_use", id: `t${index}`, name: "read", input: {} }),
  ...pieces.map((partial_json) => delta(index, { type: "input_json_delta", partial_json })),
  stopBlock(index),
];
const calls = (chunks: ModelChunk[]): ModelChunk[] => chunks.filter((c) => c.type === "call");

describe("tool input", () => {
  test.each<[string[], object]>([
    [[], { input: {} }],
    [["", ""], { input: {} }],
    [['{"pa', 'th":"/a"}'], { input: { path: "/a" } }],
    [["null"], { input: null }],
    [["[]"], { input: [] }],
    [['"x"'], { input: "x" }],
    [['{"a":1,"a":2}'], { input: { a: 2 } }],
    [['{"a":1,}'], { input: { raw: '{"a":1,}' }, malformed: expect.stringContaining("JSON") }],
    [['{"command":"rm -rf build/tmp'], { input: { raw: '{"command":"rm -rf build/tmp' }, malformed: expect.stringContaining("JSON") }],
  ])("%j", async (pieces, expected) => {
    const chunks = await read(write([START, ...toolUse(0, ...pieces), ...end("tool_use")]));
    expect(calls(chunks)).toEqual([{ type: "call", part: 0, callId: "t0", tool: "read", ...expected }]);
  });
  test("given with the start of the block", async () => {
    const start = block(0, { type: "tool_use", id: "t", name: "read", input: { path: "/a" } });
    expect(calls(await read(write([START, start, stopBlock(0), ...end("tool_use")])))).toMatchObject([{ input: { path: "/a" } }]);
    const empty = block(0, { type: "tool_use", id: "t", name: "read", input: "" });
    expect(calls(await read(write([START, empty, stopBlock(0), ...end("tool_use")])))).toMatchObject([{ input: {} }]);
  });
  test("of a block that is never closed", async () => {
    const open = toolUse(0, '{"path":"/a"}').slice(0, -1);
    expect(calls(await read(write([START, ...open, ...end("tool_use")])))).toMatchObject([{ input: { path: "/a" } }]);
  });
});

describe("stop reasons", () => {
  test.each([
    ["end_turn", "end"],
    ["stop_sequence", "end"],
    ["tool_use", "tool-calls"],
    ["max_tokens", "length"],
    ["refusal", "refusal"],
    ["pause_turn", "pause"],
    ["something_new", "end"],
    [null, "end"],
  ])("%s is %s", async (reason, stop) => {
    expect((await read(write([START, ...text(0, "a"), ...end(reason)]))).at(-1)).toEqual({ ...ENDED[1], stop });
  });
  test("a window that is full is a failure, behind what was said", async () => {
    const seen: ModelChunk[] = [];
    const provider = answering(write([START, ...text(0, "a"), ...end("model_context_window_exceeded")]));
    const reading = (async () => {
      for await (const chunk of provider.stream(ask, context())) seen.push(chunk);
    })();
    await expect(reading).rejects.toMatchObject({
      message:
        "The conversation is too long for claude-opus-5-5 (its context window is full). Start a new one, or ask a model with a larger window.",
      model: { kind: "overflow" },
    });
    expect(seen.map((c) => c.type)).toEqual(["usage", "text", "part.end", "usage"]);
  });
  test("none, with calls", async () => {
    const chunks = await read(write([START, ...toolUse(0), { type: "message_stop" }]));
    expect(chunks.at(-1)).toMatchObject({ stop: "tool-calls" });
  });
});

describe("usage", () => {
  test("the last numbers count, never their sum", async () => {
    const more = { input_tokens: 8, cache_read_input_tokens: null, cache_creation_input_tokens: 3, output_tokens: 20 };
    const chunks = await read(write([START, { type: "message_delta", delta: {}, usage: { output_tokens: 4 } }, ...end("end_turn", more)]));
    const last = { input: 8, output: 20, cacheRead: 5, cacheWrite: 3 };
    expect(chunks).toEqual([
      BEGUN,
      { type: "usage", usage: { input: 7, output: 4, cacheRead: 5 } },
      { type: "usage", usage: last },
      { type: "stop", stop: "end", usage: last },
    ]);
  });
  test("none is none", async () => {
    expect(await read(write([{ type: "message_start", message: {} }, { type: "message_stop" }]))).toEqual([{ type: "stop", stop: "end" }]);
  });
});

describe("reasoning", () => {
  test("keeps signature and redacted data, each bound to the one before", async () => {
    const chunks = await read(
      write([
        START,
        block(0, { type: "thinking", thinking: "", signature: "" }),
        delta(0, { type: "thinking_delta", thinking: "Hm." }),
        delta(0, { type: "signature_delta", signature: "sig" }),
        stopBlock(0),
        block(1, { type: "redacted_thinking", data: "xyz" }),
        stopBlock(1),
        block(2, { type: "thinking", thinking: "cut", signature: "" }),
        ...end("end_turn"),
      ]),
    );
    const prefix = expect.any(String);
    expect(chunks).toEqual([
      BEGUN,
      { type: "reasoning", part: 0, text: "Hm." },
      { type: "reasoning", part: 0, text: "", opaque: { type: "thinking", signature: "sig", prefix, previous: null } },
      partEnd(0),
      { type: "reasoning", part: 1, text: "", opaque: { type: "redacted_thinking", data: "xyz", prefix, previous: expect.any(String) } },
      partEnd(1),
      { type: "reasoning", part: 2, text: "cut" },
      ENDED[0],
      partEnd(2),
      ENDED[1],
    ]);
  });
});

describe("a reply in one piece", () => {
  const usage = { input_tokens: 7, cache_read_input_tokens: 5, output_tokens: 9 };
  const message = (content: Json, stop_reason: Json = "tool_use"): string =>
    JSON.stringify({ type: "message", role: "assistant", content, stop_reason, usage });
  test.each([true, false])("is the same chunks, whether a stream was wanted (%s)", async (streaming) => {
    const content = [
      { type: "thinking", thinking: "Hm.", signature: "sig" },
      { type: "redacted_thinking", data: "xyz" },
      { type: "text", text: "Reading." },
      { type: "server_tool_use", id: "s", name: "web_search", input: {} },
      { type: "tool_use", id: "t", name: "read", input: { path: "/a" } },
    ];
    const seal = { prefix: expect.any(String), previous: expect.toSatisfy((it) => it === null || typeof it === "string") };
    expect(await chunksOf(answering(message(content), "application/json"), { ...ask, streaming })).toEqual([
      { type: "reasoning", part: 0, text: "Hm." },
      { type: "reasoning", part: 0, text: "", opaque: { type: "thinking", signature: "sig", ...seal } },
      partEnd(0),
      { type: "reasoning", part: 1, text: "", opaque: { type: "redacted_thinking", data: "xyz", ...seal } },
      partEnd(1),
      { type: "text", part: 2, text: "Reading." },
      partEnd(2),
      { type: "call", part: 4, callId: "t", tool: "read", input: { path: "/a" } },
      ENDED[0],
      { ...ENDED[1], stop: "tool-calls" },
    ]);
  });
  test("a full window", async () => {
    const body = message([{ type: "text", text: "a" }], "model_context_window_exceeded");
    expect(await failureOf(answering(body, "application/json"), { ...ask, streaming: false })).toMatchObject({
      model: { kind: "overflow" },
    });
  });
});

describe("what came in one piece of the body", () => {
  const pieces = (index: number, ...texts: string[]): Event[] => texts.map((it) => delta(index, { type: "text_delta", text: it }));
  const begin = (index: number): Event => block(index, { type: "text", text: "" });
  test("is one chunk for each part", async () => {
    const input = toolUse(2, '{"pa', 'th":', '"/a"}');
    const events = [START, begin(0), ...pieces(0, "a", "b", "c"), begin(1), ...pieces(1, "d", "e"), ...input, ...end("tool_use")];
    expect(await read(write(events))).toEqual([
      BEGUN,
      { type: "text", part: 0, text: "abc" },
      { type: "text", part: 1, text: "de" },
      { type: "call.delta", part: 2, text: '{"path":"/a"}' },
      { type: "call", part: 2, callId: "t2", tool: "read", input: { path: "/a" } },
      ENDED[0],
      partEnd(0),
      partEnd(1),
      { ...ENDED[1], stop: "tool-calls" },
    ]);
  });
  test("is not lost to an error behind it", async () => {
    const failure: Event = { type: "error", error: { type: "overloaded_error", message: "busy" } };
    const seen: ModelChunk[] = [];
    const reading = (async () => {
      const events = [START, begin(0), ...pieces(0, "a", "b"), failure];
      for await (const chunk of answering(write(events)).stream(ask, context())) seen.push(chunk);
    })();
    await expect(reading).rejects.toMatchObject({ model: { kind: "overloaded" } });
    expect(seen).toEqual([BEGUN, { type: "text", part: 0, text: "ab" }]);
  });
});

describe("odd streams", () => {
  const usual = write([START, ...text(0, "Hi 😀"), ...end("end_turn")]);
  const expected = [BEGUN, { type: "text", part: 0, text: "Hi 😀" }, partEnd(0), ...ENDED];
  test.each<[string, string]>([
    ["CRLF", usual.replaceAll("\n", "\r\n")],
    ["CR", usual.replaceAll("\n", "\r")],
    ["comments and blank lines", `: hello\n\n\n${usual.replaceAll("event:", ": keep-alive\nevent:")}`],
    ["no event lines", usual.replaceAll(/event: .*\n/g, "")],
    ["types in the event line alone", usual.replaceAll(/"type":"(message_\w+|content_block_\w+)",?/g, "")],
    ["no space behind the colon", usual.replaceAll(": {", ":{").replaceAll("event: ", "event:")],
    ["data over many lines", usual.replaceAll(',"', ',\ndata: "')],
    ["pings", usual.replaceAll("event: content", 'event: ping\ndata: {"type":"ping"}\n\nevent: content')],
    ["unknown events", usual.replaceAll("event: content", 'event: news\ndata: {"type":"news","index":0}\n\nevent: content')],
    [
      "an unknown delta",
      usual.replace("event: content_block_stop", `${write([delta(0, { type: "new_delta", text: "?" })])}event: content_block_stop`),
    ],
    [
      "an unknown block",
      usual.replace(
        "event: message_delta",
        `${write([block(1, { type: "web_search_tool_result" }), delta(1, { type: "text_delta", text: "?" }), stopBlock(1)])}event: message_delta`,
      ),
    ],
    ["message_stop twice and more behind it", `${usual}${write([...text(1, "late"), { type: "message_stop" }])}`],
    ["no blank line at the end", usual.trimEnd()],
    ["a mark of byte order", `\uFEFF${usual}`],
  ])("%s", async (_, stream) => {
    expect(await read(stream)).toEqual(expected);
  });
  test("gaps in the numbers", async () => {
    expect(await read(write([START, ...text(3, "a"), ...text(7, "b"), ...end("end_turn")]))).toEqual([
      BEGUN,
      { type: "text", part: 3, text: "a" },
      partEnd(3),
      { type: "text", part: 7, text: "b" },
      partEnd(7),
      ...ENDED,
    ]);
  });
  test("a bad number", async () => {
    const chunks = await read(write([START, block(-1, { type: "text", text: "x" }), ...text(0, "a"), ...end("end_turn")]));
    expect(chunks).toEqual([BEGUN, { type: "text", part: 0, text: "a" }, partEnd(0), ...ENDED]);
  });
  test("an event that is no JSON", async () => {
    const error = await failureOf(answering(`${write([START])}data: {"type":\n\n`), ask);
    expect(error).toMatchObject({ message: 'The reply holds an event that is no JSON: "{"type":".', model: { kind: "protocol" } });
  });
  test("bytes that lead to nothing are pings", async () => {
    const bytes = (it: string): Uint8Array => new TextEncoder().encode(it);
    const chunks = await chunksOf(
      answering([bytes(": still here\n\n"), bytes('event: ping\ndata: {"type":"ping"}\n\n'), bytes(usual)]),
      ask,
    );
    expect(chunks.map((c) => c.type)).toEqual(["ping", "ping", "usage", "text", "part.end", "usage", "stop"]);
  });
  test("cut anywhere, the same comes out", () => {
    const bytes = new TextEncoder().encode(`${usual}${usual.replaceAll("\n", "\r\n")}`);
    const whole = sseDecoder();
    const expectedEvents = [...whole.push(bytes), ...whole.end()];
    fc.assert(
      fc.property(fc.array(fc.nat(bytes.length), { maxLength: 40 }), (cuts) => {
        const decoder = sseDecoder();
        const places = [0, ...cuts.sort((a, b) => a - b), bytes.length];
        const events = places.slice(1).flatMap((place, i) => decoder.push(bytes.slice(places[i], place)));
        expect([...events, ...decoder.end()]).toEqual(expectedEvents);
      }),
    );
  });
});
