/** Failures as a person reads them: what happened, where, and what to do; never a credential. */

import type { AddressInfo } from "node:net";
import { createServer } from "node:net";
import { type FaultSpec, FLAVOUR_NAMES, type ServerOptions, startOpenAIServer } from "@heddle/openai-server";
import { describe, expect, test } from "vitest";
import type { KindName } from "../src/index.ts";
import { READ, request, user } from "./support/messages.ts";
import { chunksOf, type Failure, failureIn, failureOf, joined, providerOf } from "./support/talk.ts";

const KEY = "sk-secret-of-the-tests";
const ask = request([user("hi")], { tools: [READ] });
type Setting = { kind?: KindName; options?: object; server?: ServerOptions; model?: string };

/** What the provider says; the address is written as SERVER. */
async function failure({ kind = "openai", options = {}, server: it = {}, model = "gpt-5.6" }: Setting): Promise<Failure> {
  const server = await startOpenAIServer({ keys: [KEY], ...it });
  try {
    const {
      name,
      message,
      model: fault,
    } = await failureOf(providerOf(kind, { baseURL: server.url, apiKey: KEY, ...options }), { ...ask, model });
    expect(name).toBe("ModelError");
    expect(message).not.toContain("secret");
    expect(message).not.toContain("\n");
    return { name, message: message.replaceAll(server.url, "SERVER"), model: fault };
  } finally {
    await server.close();
  }
}
const fault = (spec: FaultSpec, more: Setting = {}): Promise<Failure> => failure({ ...more, server: { ...more.server, faults: [spec] } });

describe("an answer that is an error", () => {
  test("a wrong key", async () => {
    expect(await failure({ options: { apiKey: "sk-another-secret" } })).toMatchObject({
      message:
        'SERVER refused the API key (401: Incorrect API key provided: sk-an***. You can find your API key at https://platform.openai.com/account/api-keys.). Set a valid one in OPENAI_API_KEY or as option "openai.apiKey".',
      model: { kind: "auth", status: 401 },
    });
  });
  test("no key at all, said before anything is sent", async () => {
    expect(await failureOf(providerOf("openai", {}), ask)).toMatchObject({
      message: 'There is no API key for OpenAI: set OPENAI_API_KEY, or option "openai.apiKey".',
      model: { kind: "auth" },
    });
    expect(await failureOf(providerOf("compatible", {}), ask)).toMatchObject({
      message: 'Provider compatible has no server: set its option "compatible.baseURL", for example to http://localhost:8000/v1.',
      model: { kind: "invalid" },
    });
  });
  test.each([
    ["openai", "openai", /^SERVER knows no model "nope" \(404: The model `nope` does not exist.*\)\. Check the model's name\.$/],
    ["ollama", "ollama", /^SERVER knows no model "nope" .*Fetch it with `ollama pull nope`\.$/],
    ["lmstudio", "lmstudio", /Load it in LM Studio, or with `lms load nope`\.$/],
    ["vllm", "vllm", /knows no model "nope"/],
    ["openrouter", "openrouter", /knows no model "nope" \(400: nope is not a valid model ID\)/],
    ["llamacpp", "llama.cpp", /knows no model "nope"/],
  ] as const)("a model that %s does not have", async (kind, flavour, message) => {
    expect(await failure({ kind, server: { flavour }, model: "nope" })).toMatchObject({
      message: expect.stringMatching(message),
      model: { kind: "not-found" },
    });
  });
  test.each([
    ["429", "rate-limit", 429, /rate limit of SERVER is reached \(429: Rate limit reached/],
    ["429-quota", "billing", 429, /no credit.*Check its billing page/],
    ["402", "billing", 402, /Insufficient credits/],
    ["403", "auth", 403, /forbids this/],
    ["413", "too-large", 413, /Send smaller/],
    ["500", "server", 500, /SERVER failed \(500: The server had an error/],
    ["502-html", "server", 502, /^SERVER failed \(502: "<html> <head><title>502 Bad Gateway.*Try again/],
    ["503", "overloaded", 503, /is overloaded/],
    [
      "404-page",
      "protocol",
      404,
      /^SERVER does not speak the OpenAI API: it answered 404 "404 page not found"\. Check option "openai\.baseURL"/,
    ],
  ] as const)("%s", async (name, kind, status, message) => {
    expect(await fault({ name })).toMatchObject({ message: expect.stringMatching(message), model: { kind, status } });
  });
  test("how long to wait", async () => {
    expect(await fault({ name: "429" })).toMatchObject({ model: { retryAfterMs: 2000 } });
    const date = { status: 429, headers: { "retry-after": "Mon, 30 Nov 2026 12:00:30 GMT" }, body: {} };
    expect(await fault(date)).toMatchObject({ model: { kind: "rate-limit", retryAfterMs: 30_000 } });
    const ms = { status: 503, headers: { "retry-after-ms": "250", "retry-after": "9" }, body: {} };
    expect(await fault(ms)).toMatchObject({ model: { kind: "overloaded", retryAfterMs: 250 } });
  });
  test("whether to try again, where the server says it", async () => {
    const never = { status: 503, headers: { "x-should-retry": "false", "retry-after": "9" }, body: { error: { message: "Closed." } } };
    expect(await fault(never)).toMatchObject({
      message: "SERVER failed and says that trying again will not help (503: Closed.).",
      model: { kind: "invalid", status: 503 },
    });
    expect((await fault(never)).model).not.toHaveProperty("retryAfterMs");
    const again = { status: 400, headers: { "x-should-retry": "true" }, body: { error: { message: "Not yet." } } };
    expect(await fault(again)).toMatchObject({ model: { kind: "server", status: 400 } });
    expect(await fault({ status: 409, body: { error: { message: "Busy." } } })).toMatchObject({ model: { kind: "server", status: 409 } });
  });
  test.each([
    ["text/html", 400],
    ["text/html", 200],
    ["text/event-stream", 200],
  ])("a server that echoes secrets at the edge of what is shown: %s %i", async (type, status) => {
    const basic = btoa("me:sesame-open");
    const fetch = async () => new Response(`data: ${"x".repeat(60)} ${KEY} and more`, { status, headers: { "content-type": type } });
    const echo = async () => new Response(`data: ${"x".repeat(60)} ${basic} and more`, { status, headers: { "content-type": type } });
    const said = await Promise.all([
      failureOf(providerOf("openai", { apiKey: KEY }, { fetch }), ask),
      failureOf(providerOf("compatible", { baseURL: "https://me:sesame-open@example.com" }, { fetch: echo }), ask),
    ]);
    for (const [i, secret] of [KEY, basic].entries()) expect(said[i]!.message).not.toContain(secret.slice(0, 4));
  });
  test("a server that echoes the key", async () => {
    const body = { error: { message: `bad header: Bearer ${KEY}` } };
    expect((await fault({ status: 400, body })).message).toContain("bad header: Bearer ***");
  });
  test.each<[string, object]>([
    ["FastAPI", { detail: "no such thing" }],
    ["a bare string", { error: "no such thing" }],
    ["a bare message", { message: "no such thing" }],
    ["a router", { error: { message: "Provider returned error", code: 400, metadata: { raw: '{"error":{"message":"no such thing"}}' } } }],
  ])("the envelope of %s", async (_, body) => {
    expect(await fault({ status: 400, body: body as never })).toMatchObject({
      message: expect.stringMatching(/^SERVER refused the request \(400: .*no such thing\)\.$/),
      model: { kind: "invalid" },
    });
  });
});

describe("a conversation that is too long", () => {
  test.each(FLAVOUR_NAMES.map((flavour) => ({ flavour })))("as $flavour says it", async ({ flavour }) => {
    const model = flavour === "openai" ? "gpt-5.6" : flavour === "openrouter" ? "qwen/qwen3-coder" : "qwen3:8b";
    expect(await fault({ name: "overflow" }, { kind: "compatible", server: { flavour }, model })).toMatchObject({
      message: expect.stringMatching(
        /^The conversation is too long for .*Start a new one.*option "compatible\.models" holds the window\.$/,
      ),
      model: { kind: "overflow", status: 400 },
    });
  });
  test.each([
    "Input length (265330) exceeds model's maximum context length (262144).",
    "Your input exceeds the context window of this model. Please adjust your input and try again.",
    "Context size has been exceeded.",
    "prompt is too long: 210000 tokens > 200000 maximum",
    "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).",
    "Invalid request: Your request exceeded model token limit: 262144",
    "This model's maximum prompt length is 131072 but the request contains 537812 tokens.",
  ])("%s", async (message) => {
    expect(await fault({ status: 400, body: { error: { message } } })).toMatchObject({ model: { kind: "overflow" } });
    const said = await fault({ errorAt: 1, error: { message } });
    expect(said).toMatchObject({ model: { kind: "overflow" } });
  });
  test("is not what a token rate limit means", async () => {
    const body = { error: { message: "Request too large: too many tokens per minute", code: "rate_limit_exceeded" } };
    expect(await fault({ status: 429, body })).toMatchObject({ model: { kind: "rate-limit" } });
  });
});

describe.each(["chat", "responses"] as const)("a stream over %s that fails", (api) => {
  const options = { api };
  const server = { script: [{ text: "A text that is long enough to be cut somewhere." }] };
  test("cut off", async () => {
    expect(await fault({ name: "cut" }, { options, server })).toMatchObject({
      message: expect.stringMatching(/^The connection to SERVER ended before the reply was complete \(.+\)\.$/),
      model: { kind: "network" },
    });
  });
  test("without its end", async () => {
    expect(await fault({ name: "no-end" }, { options, server })).toMatchObject({
      message: "The connection to SERVER ended before the reply was complete (no end of the reply).",
      model: { kind: "network" },
    });
  });
  test("an error in the midst of it", async () => {
    expect(await fault({ name: "error-chunk" }, { options, server })).toMatchObject({
      message: expect.stringMatching(/^SERVER failed \(.*Provider returned error\)\. Try again/),
      model: { kind: "server" },
    });
    const error = { message: "Rate limit exceeded", code: 429 };
    expect(await fault({ errorAt: 2, error }, { options, server })).toMatchObject({ model: { kind: "rate-limit" } });
  });
  test("before its head", async () => {
    expect(await fault({ name: "reset" }, { options, server })).toMatchObject({
      message: expect.stringMatching(/^The connection to SERVER failed \(.+\)\. Check the network/),
      model: { kind: "network" },
    });
  });
});

describe.each(["chat", "responses"] as const)("a reply over %s", (api) => {
  const read = { calls: [{ name: "read", input: { path: "/a" } }] };
  const reply = async (spec: FaultSpec) => {
    const server = await startOpenAIServer({ script: [read], faults: [spec] });
    try {
      return await chunksOf(providerOf("openai", { baseURL: server.url, apiKey: KEY, api }), ask);
    } finally {
      await server.close();
    }
  };
  test.each([
    ["empty", "end", ""],
    ["length", "length", "A long text that"],
    ["content-filter", "refusal", "I would"],
    ["refusal", "refusal", "I cannot help with that."],
  ] as const)("%s", async (name, stop, text) => {
    const chunks = await reply({ name });
    expect(joined(chunks, "text")).toBe(text);
    expect(chunks.at(-1)).toMatchObject({ type: "stop", stop });
  });
  test.each([
    ["malformed-json", "tool-calls"],
    ["cut-json", "length"],
  ] as const)("%s is never mended", async (name, stop) => {
    const chunks = await reply({ name });
    expect(chunks.filter((c) => c.type === "call")).toEqual([
      {
        type: "call",
        part: 0,
        callId: expect.any(String),
        tool: "read",
        input: { raw: expect.any(String) },
        malformed: expect.any(String),
      },
    ]);
    expect(chunks.at(-1)).toMatchObject({ type: "stop", stop });
  });
  test("a call of a tool that nobody knows keeps its name", async () => {
    expect((await reply({ name: "unknown-tool" })).filter((c) => c.type === "call")).toMatchObject([{ tool: "no_such_tool", input: {} }]);
  });
});

describe("no server", () => {
  test.each([
    ["ollama", 'is Ollama running? Start it with `ollama serve`, or set option "ollama.baseURL".'],
    ["lmstudio", 'is LM Studio running? Start it with `lms server start`, or set option "lmstudio.baseURL".'],
    ["compatible", 'does it run? Check option "compatible.baseURL".'],
  ] as const)("%s", async (kind, hint) => {
    const baseURL = `http://127.0.0.1:${await closedPort()}/v1`;
    const expected = { message: `Cannot reach ${baseURL}: ${hint}`, model: { kind: "not-found" } };
    const provider = providerOf(kind, { baseURL });
    expect(await failureOf(provider, ask)).toMatchObject(expected);
    expect(await failureIn(() => provider.models({ signal: new AbortController().signal, now: () => 0 }))).toMatchObject(expected);
  });
  test("a page in place of a reply", async () => {
    const fetch = async () => new Response("<html>hello</html>", { headers: { "content-type": "text/html" } });
    expect(await failureOf(providerOf("vllm", {}, { fetch }), ask)).toMatchObject({
      message:
        'http://localhost:8000/v1 does not speak the OpenAI API: it answered text/html "<html>hello</html>". Check option "vllm.baseURL".',
      model: { kind: "protocol", status: 200 },
    });
  });
  test("an error in disguise, as a whole body or as an event", async () => {
    const body = { error: { message: "Model is loading model weights, context size exceeded" } };
    const fetch = async () => new Response(JSON.stringify(body), { headers: { "content-type": "application/json" } });
    expect(await failureOf(providerOf("lmstudio", {}, { fetch }), ask)).toMatchObject({ model: { kind: "overflow" } });
    const event = async () =>
      new Response(`event: error\ndata: ${JSON.stringify(body)}\n\n`, { headers: { "content-type": "text/event-stream" } });
    expect(await failureOf(providerOf("lmstudio", {}, { fetch: event }), ask)).toMatchObject({ model: { kind: "overflow" } });
  });
  test("a key that no header can hold", async () => {
    expect(await failureOf(providerOf("openai", { apiKey: "sk-sec\nret" }), ask)).toMatchObject({ model: { kind: "auth" } });
    expect((await failureOf(providerOf("openai", { apiKey: "sk-secret☃" }), ask)).message).not.toContain("secret");
  });
});

async function closedPort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}
