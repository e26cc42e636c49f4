/** Whole conversations with each kind of server, streamed. */

import type { AssistantMessage, ModelChunk } from "@heddle/kernel/plugin";
import { FLAVOUR_NAMES, type Flavour, type OpenAIServer, type ServerOptions, startOpenAIServer } from "@heddle/openai-server";
import { afterEach, describe, expect, test } from "vitest";
import type { KindName, OpenAIProvider } from "../src/index.ts";
import { assistant, call, image, READ, request, result, user } from "./support/messages.ts";
import { chunksOf, context, failureOf, joined, messageOf, providerOf, Talk } from "./support/talk.ts";

let server: OpenAIServer;
afterEach(() => server.close());
const KEY = "key-of-the-tests";
async function start(kind: KindName, options: ServerOptions, own: object = {}): Promise<OpenAIProvider> {
  server = await startOpenAIServer(options);
  return providerOf(kind, { baseURL: server.url, apiKey: KEY, ...own });
}

const KINDS: { readonly [F in Flavour["name"]]: KindName } = {
  openai: "openai",
  ollama: "ollama",
  "llama.cpp": "llamacpp",
  lmstudio: "lmstudio",
  vllm: "vllm",
  openrouter: "openrouter",
};
const MODELS: { readonly [F in Flavour["name"]]: string } = {
  openai: "gpt-5.6",
  ollama: "qwen3:8b",
  "llama.cpp": "qwen3:8b",
  lmstudio: "qwen3:8b",
  vllm: "qwen3:8b",
  openrouter: "qwen/qwen3-coder",
};
const PREFIX = {
  system: [{ plugin: "p", name: "identity", text: "You are a careful assistant of the tests. ".repeat(120) }],
  context: [{ plugin: "p", name: "rules", text: "House rules: keep it short." }],
};
const SCRIPT = [
  {
    reasoning: "I should look.",
    text: "Reading 😀.",
    calls: [
      { name: "read", input: { path: "/a" } },
      { name: "read", input: { path: "/b" } },
    ],
  },
  { reasoning: "Once more.", calls: [{ name: "read", input: { path: "/ü" } }] },
  { text: "Finished." },
];
const pathsIn = (talk: Talk): unknown[] =>
  talk.history.flatMap((m) => (m.role === "assistant" ? m.content : [])).flatMap((p) => (p.type === "tool-call" ? [p.input] : []));
const PATHS = [{ path: "/a" }, { path: "/b" }, { path: "/ü" }];

describe.each(FLAVOUR_NAMES.map((flavour) => ({ flavour })))("$flavour", ({ flavour }) => {
  const model = MODELS[flavour];
  test("a conversation with parallel calls and thinking", async () => {
    const provider = await start(KINDS[flavour], { flavour, script: SCRIPT });
    const talk = new Talk(provider, { model, tools: [READ], prefix: PREFIX });
    const last = await talk.say("go");
    expect(last.content).toEqual([{ type: "text", text: "Finished." }]);
    expect(pathsIn(talk)).toEqual(PATHS);
    expect(server.refusals()).toEqual([]);
    expect(server.requests.map((r) => r.step)).toEqual([0, 1, 2]);
    const first = talk.history[1] as AssistantMessage;
    if (flavour === "openai") expect(first.content.map((p) => p.type)).toEqual(["text", "tool-call", "tool-call"]);
    else expect(first.content[0]).toMatchObject({ type: "reasoning", text: "I should look." });
  });

  test("pieces as they come, and what they cost", async () => {
    const provider = await start(KINDS[flavour], { flavour, script: SCRIPT });
    const chunks = await chunksOf(provider, request([user("go")], { model, tools: [READ], prefix: PREFIX }));
    expect(joined(chunks, "text")).toBe("Reading 😀.");
    expect(joined(chunks, "call.delta")).toBe('{"path":"/a"}{"path":"/b"}');
    const { input } = server.requests[0]!;
    expect(chunks.at(-1)).toEqual({ type: "stop", stop: "tool-calls", usage: { input, output: expect.any(Number), cacheRead: 0 } });
  });

  test("each part ends when it is complete, and the usage comes before the end", async () => {
    const provider = await start(KINDS[flavour], { flavour, script: SCRIPT });
    const chunks = await chunksOf(provider, request([user("go")], { model, tools: [READ], prefix: PREFIX }));
    const types = chunks.map((c) => c.type).filter((t) => t !== "ping");
    const thinks = flavour !== "openai";
    expect(types.filter((t, i) => t !== types[i - 1])).toEqual([
      ...(thinks ? ["reasoning", "part.end"] : []),
      ...["text", "part.end", "call.delta", "call", "call.delta", "call", "usage", "stop"],
    ]);
  });

  test("in one piece is the same reply", async () => {
    const provider = await start(KINDS[flavour], { flavour, script: SCRIPT });
    const it = request([user("go")], { model, tools: [READ], prefix: PREFIX });
    const streamed = await chunksOf(provider, it);
    const whole = await chunksOf(provider, { ...it, streaming: false });
    const said = (chunks: ModelChunk[]) =>
      messageOf(chunks, model, KINDS[flavour]).content.map((p) => (p.type === "tool-call" ? [p.tool, p.input] : [p.type, p.text]));
    expect(said(whole)).toEqual(said(streamed));
    expect(whole.filter((c) => c.type === "part.end")).toHaveLength(flavour === "openai" ? 1 : 2);
    const { input, cached } = server.requests[1]!;
    expect(whole.at(-1)).toMatchObject({ type: "stop", stop: "tool-calls", usage: { input: input - cached, cacheRead: cached } });
    expect(server.requests[1]!.body).not.toHaveProperty("stream");
    expect(server.requests[1]!.headers["accept"]).toBe("application/json");
    expect(server.refusals()).toEqual([]);
  });

  test("the prompt cache is read from the second request on", async () => {
    const script = [...Array.from({ length: 8 }, (_, i) => ({ calls: [{ name: "read", input: { path: `/${i}` } }] })), { text: "Done." }];
    const provider = await start(KINDS[flavour], { flavour, script });
    const talk = new Talk(provider, { model, tools: [READ], prefix: PREFIX });
    talk.answer = (_, n) => `line ${n}\n`.repeat(40);
    await talk.say("go");
    expect(server.refusals()).toEqual([]);
    // A cache works in blocks of 128 tokens: all but the last block of what the request before held.
    server.requests.slice(1).forEach((r, i) => {
      expect(r.cached).toBeGreaterThan(server.requests[i]!.input - 129);
    });
  });
});

describe("habits of servers", () => {
  const quirks: [string, Partial<Flavour>][] = [
    ["call ids that start anew in each reply", { callIds: "repeat" }],
    ["no call ids", { callIds: "none" }],
    ["arguments in one piece", { args: "whole" }],
    ["arguments as an object", { args: "object" }],
    ["every call at index 0", { callIndex: "zero" }],
    ["no index, in pieces", { callIndex: "none" }],
    ["no index and no ids, whole", { callIndex: "none", callIds: "none", args: "whole" }],
    ["no [DONE]", { done: false }],
    ["no [DONE] and no usage", { done: false, usage: "never" }],
    ["usage always", { usage: "always" }],
    ["calls that end with stop", { callFinish: "stop" }],
    ["comments", { comments: true }],
    ["thinking under another name", { reasoningField: "reasoning" }],
  ];
  test.each(quirks)("%s", async (_, quirk) => {
    const provider = await start("compatible", { flavour: "vllm", quirks: quirk, script: SCRIPT });
    const talk = new Talk(provider, { model: "qwen3:8b", tools: [READ], prefix: PREFIX });
    await talk.say("go");
    expect(pathsIn(talk)).toEqual(PATHS);
    expect(server.refusals()).toEqual([]);
  });

  test("a server that does not stream", async () => {
    server = await startOpenAIServer({ flavour: "vllm", script: SCRIPT });
    const fetch = (url: string, init: { body: string }) => {
      const { stream: _, stream_options: __, ...body } = JSON.parse(init.body);
      return globalThis.fetch(url, { ...init, body: JSON.stringify(body) });
    };
    const talk = new Talk(providerOf("vllm", { baseURL: server.url }, { fetch }), { model: "qwen3:8b", tools: [READ] });
    await talk.say("go");
    expect(pathsIn(talk)).toEqual(PATHS);
    server.setScript(SCRIPT);
    const other = providerOf("vllm", { baseURL: server.url, api: "responses" }, { fetch });
    const whole = new Talk(other, { model: "qwen3:8b", tools: [READ] });
    await whole.say("go");
    expect(pathsIn(whole)).toEqual(PATHS);
  });
});

describe("calls that are complete before the reply is", () => {
  const cut = async (...deltas: object[]): Promise<ModelChunk[]> => {
    const text = deltas.map((delta) => `data: ${JSON.stringify({ choices: [{ delta }] })}\n\n`).join("");
    const fetch = async () => new Response(text, { headers: { "content-type": "text/event-stream" } });
    server = await startOpenAIServer();
    const seen: ModelChunk[] = [];
    const reading = (async () => {
      for await (const chunk of providerOf("vllm", {}, { fetch }).stream(request([user("a")]), context())) seen.push(chunk);
    })();
    await expect(reading).rejects.toMatchObject({ model: { kind: "network" } });
    return seen.filter((c) => c.type !== "ping");
  };
  const piece = (index: number, args: string, begins = false) => ({
    tool_calls: [{ index, ...(begins ? { id: `c${index}` } : {}), function: { ...(begins ? { name: "read" } : {}), arguments: args } }],
  });
  test("stand when the stream is cut off", async () => {
    const chunks = await cut({ content: "Reading." }, piece(0, '{"path":', true), piece(0, '"/a"}'), piece(1, '{"pa', true));
    expect(chunks).toEqual([
      { type: "text", part: 0, text: "Reading." },
      { type: "part.end", part: 0 },
      { type: "call.delta", part: 1, text: '{"path":"/a"}' },
      { type: "call", part: 1, callId: "c0", tool: "read", input: { path: "/a" } },
      { type: "call.delta", part: 2, text: '{"pa' },
    ]);
  });
  test("are not sent while their arguments may go on", async () => {
    const chunks = await cut(piece(0, '{"path":', true), piece(1, '{"path":"/b"}', true), piece(0, '"/a"}'), piece(2, "{", true));
    expect(chunks.filter((c) => c.type === "call")).toEqual([
      { type: "call", part: 0, callId: "c0", tool: "read", input: { path: "/a" } },
      { type: "call", part: 1, callId: "c1", tool: "read", input: { path: "/b" } },
    ]);
  });
});

describe("Responses", () => {
  const official = { api: "responses", models: { "gpt-5.6": { reasoning: true } } };
  test("reasoning travels encrypted, and the summary is shown", async () => {
    const provider = await start("openai", { script: SCRIPT }, official);
    const talk = new Talk(provider, { model: "gpt-5.6", tools: [READ], prefix: PREFIX });
    await talk.say("go");
    await talk.say("again");
    expect(server.refusals()).toEqual([]);
    expect(pathsIn(talk)).toEqual(PATHS);
    expect((talk.history[1] as AssistantMessage).content).toEqual([
      {
        type: "reasoning",
        text: "I should look.",
        opaque: { summary: [{ type: "summary_text", text: "I should look." }], encrypted_content: expect.stringMatching(/^gAAAA/) },
      },
      { type: "text", text: "Reading 😀." },
      { type: "tool-call", callId: expect.any(String), tool: "read", input: { path: "/a" } },
      { type: "tool-call", callId: expect.any(String), tool: "read", input: { path: "/b" } },
    ]);
    const sent = server.requests.at(-1)!.body!["input"] as { type: string }[];
    expect(sent.filter((item) => item.type === "reasoning")).toHaveLength(2);
    expect(server.requests.map((r) => r.path)).toEqual(Array(4).fill("/v1/responses"));
  });
  test("pieces as they come", async () => {
    const provider = await start("openai", { script: SCRIPT }, official);
    const chunks = await chunksOf(provider, request([user("go")], { model: "gpt-5.6", tools: [READ] }));
    const parts = chunks.flatMap((c) => ("part" in c && c.type !== "call.delta" ? [`${c.part} ${c.type}`] : []));
    expect([...new Set(parts)]).toEqual(["0 reasoning", "0 part.end", "1 text", "1 part.end", "2 call", "3 call"]);
    expect(joined(chunks, "call.delta")).toBe('{"path":"/a"}{"path":"/b"}');
    expect(chunks.at(-1)).toMatchObject({ type: "stop", stop: "tool-calls", usage: { cacheRead: 0 } });
  });
  test("reasoning that cannot be verified is left out from then on", async () => {
    const provider = await start("openai", { script: [{ text: "fine" }] }, official);
    const forged = { type: "reasoning" as const, text: "hm", opaque: { summary: [], encrypted_content: "gAAAAforged" } };
    const history = [user("a"), assistant([forged, { type: "text", text: "b" }]), user("c")];
    expect(joined(await chunksOf(provider, request(history)), "text")).toBe("ok");
    await chunksOf(provider, request(history));
    expect(server.refusals()).toEqual([expect.stringContaining("could not be verified")]);
  });
});

test("every piece of the body is a sign of life, wherever it is cut", async () => {
  const text = `: comment\n\ndata: ${JSON.stringify({ choices: [{ delta: { content: "😀" } }] })}\n\ndata: [DONE]\n\n`;
  const bytes = new TextEncoder().encode(text);
  const body = new ReadableStream({
    start(controller) {
      for (const byte of bytes) controller.enqueue(Uint8Array.of(byte));
      controller.close();
    },
  });
  const fetch = async () => new Response(body, { headers: { "content-type": "text/event-stream" } });
  server = await startOpenAIServer();
  const chunks = await chunksOf(providerOf("vllm", {}, { fetch }), request([user("a")]));
  expect(chunks.filter((c) => c.type !== "ping")).toEqual([
    { type: "text", part: 0, text: "😀" },
    { type: "part.end", part: 0 },
    { type: "stop", stop: "end" },
  ]);
  expect(chunks).toHaveLength(bytes.length + 2);
});

describe("what came in one piece of the body", () => {
  const said = (delta: object): string => `data: ${JSON.stringify({ choices: [{ delta }] })}\n\n`;
  const broken = async (text: string): Promise<ModelChunk[]> => {
    const fetch = async () => new Response(text, { headers: { "content-type": "text/event-stream" } });
    server = await startOpenAIServer();
    const seen: ModelChunk[] = [];
    const reading = (async () => {
      for await (const chunk of providerOf("vllm", {}, { fetch }).stream(request([user("a")]), context())) seen.push(chunk);
    })();
    await expect(reading).rejects.toMatchObject({ model: { kind: "server" } });
    return seen;
  };
  test("is one chunk for each part, also before an error", async () => {
    const failure = 'data: {"error":{"message":"down","type":"server_error","code":500}}\n\n';
    const text = ["a", "b"].map((content) => said({ content })).join("");
    const thought = ["x", "y", "z"].map((reasoning) => said({ reasoning })).join("");
    expect(await broken(thought + text + failure)).toEqual([
      { type: "reasoning", part: 0, text: "xyz", opaque: { field: "reasoning" } },
      { type: "part.end", part: 0 },
      { type: "text", part: 1, text: "ab" },
    ]);
  });
});

describe("what a server can do without", () => {
  test.each([
    ["chat", "stream_options", "vllm", "qwen3:8b"],
    ["chat", "reasoning_effort", "vllm", "qwen3:8b"],
    ["responses", "reasoning.summary", "openai", "gpt-5.6"],
    ["responses", "include", "openai", "gpt-5.6"],
    ["responses", "reasoning.effort", "openai", "gpt-5.6"],
    ["chat", "max_tokens", "vllm", "qwen3:8b"],
    ["responses", "max_output_tokens", "openai", "gpt-5.6"],
  ] as const)("over %s: %s is sent once and no more", async (api, parameter, flavour, model) => {
    const own = { api, models: { [model]: { reasoning: true } } };
    const provider = await start("compatible", { flavour, refuses: [parameter] }, own);
    const it = request([user("a")], { model, effort: "low", maxOutput: 500 });
    const logged: string[] = [];
    await chunksOf(provider, it, undefined, logged);
    await chunksOf(provider, it, undefined, logged);
    expect(logged).toEqual([`${model} takes no ${parameter} (Unsupported parameter: '${parameter}'.): left out from now on`]);
    expect(server.refusals()).toEqual([`Unsupported parameter: '${parameter}'.`]);
    expect(server.requests.at(-1)!.body).toEqual(provider.encode!(it));
  });
  test("images, for a model that turns out to see nothing", async () => {
    const provider = await start("ollama", { flavour: "ollama" });
    const it = request([user([{ type: "text", text: "look" }, image()])], { model: "qwen3:8b" });
    await chunksOf(provider, it);
    await chunksOf(provider, it);
    expect(server.refusals()).toEqual(["qwen3:8b does not support image input."]);
    expect(server.requests.at(-1)!.body!["messages"]).toEqual([
      { role: "user", content: "look\n\n[image left out: this model takes no images]" },
    ]);
  });
  test("what it cannot do without is told, once", async () => {
    const provider = await start("compatible", { flavour: "vllm", refuses: ["messages"] });
    expect(await failureOf(provider, request([user("a")], { model: "qwen3:8b" }))).toMatchObject({
      model: { kind: "invalid", status: 400 },
    });
    expect(server.requests).toHaveLength(1);
  });
});

describe("a session that changes its model", () => {
  test.each(["chat", "responses"] as const)("from Anthropic to %s and on to another server", async (api) => {
    const script = [{ text: "x" }, { text: "x" }, { calls: [{ name: "read", input: { path: "/c" } }] }, { text: "Done." }];
    const provider = await start("openai", { script }, { api, models: { "gpt-5.6": { reasoning: true } } });
    const by = { provider: "anthropic", model: "claude-opus-5-5" };
    const thinking = {
      type: "reasoning" as const,
      text: "Let me see.",
      opaque: { type: "thinking", signature: "s", prefix: "p", previous: null },
    };
    const talk = new Talk(provider, { model: "gpt-5.6", tools: [READ], prefix: PREFIX });
    talk.history = [
      user([{ type: "text", text: "look" }, image()]),
      assistant([thinking, { type: "text", text: "Reading." }, call("toolu_01s0001x0abcdefghij"), call("toolu_01s0001x1abcdefghij")], by),
      result("toolu_01s0001x0abcdefghij", [image()]),
      result("toolu_01s0001x1abcdefghij", "Denied by the user.", "denied"),
      assistant(
        [
          { ...thinking, opaque: { type: "redacted_thinking", data: "d" } },
          { type: "text", text: "Read." },
        ],
        by,
      ),
    ];
    await talk.say("go on");
    expect(server.refusals()).toEqual([]);
    expect(JSON.stringify(server.requests.map((r) => r.body))).not.toMatch(/Let me see|signature/);
    const local = await startOpenAIServer({ flavour: "ollama" });
    try {
      const next = new Talk(providerOf("ollama", { baseURL: local.url }), { model: "qwen3-vl:8b", tools: [READ] });
      next.history = talk.history;
      await next.say("and you?");
      expect(local.refusals()).toEqual([]);
    } finally {
      await local.close();
    }
  });
});

describe("an abort", () => {
  test.each(["stall", "hang"] as const)("ends a stream in a %s without an error and hangs up", async (fault) => {
    const provider = await start("vllm", { flavour: "vllm", script: [{ text: "A long text to stop in." }], faults: [fault] });
    const stop = new AbortController();
    const seen: ModelChunk[] = [];
    const reading = (async () => {
      for await (const chunk of provider.stream(request([user("a")], { model: "qwen3:8b" }), context(stop.signal))) seen.push(chunk);
    })();
    await expect.poll(() => (fault === "hang" ? server.requests.length : seen.length)).toBeGreaterThan(0);
    stop.abort();
    await reading;
    expect(seen.some((c) => c.type === "stop")).toBe(false);
    await expect.poll(() => server.requests[0]!.closedByClient).toBe(true);
  });
});
