/** Failures as a person reads them: what happened, where, and what to do; never a credential. */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { type FaultSpec, startAnthropicServer } from "@heddle/anthropic-server";
import { describe, expect, test } from "vitest";
import { READ, request, user } from "./support/messages.ts";
import { chunksOf, failureOf, providerWith } from "./support/talk.ts";

const KEY = "sk-ant-secret-of-the-tests";
const ask = request([user("hi")], { tools: [READ] });

/** What the provider says of one fault of the server; the address is written as SERVER. */
async function failure(fault: FaultSpec | undefined, options: object = {}, it = ask): Promise<{ message: string; model: unknown }> {
  const server = await startAnthropicServer({ keys: [KEY], ...(fault ? { faults: [{ at: 0, ...fault }] } : {}) });
  try {
    const { name, message, model } = await failureOf(providerWith({ apiKey: KEY, baseURL: server.url, maxRetries: 0, ...options }), it);
    expect(name).toBe("ModelError");
    expect(message).not.toContain("secret");
    expect(message).not.toContain("\n");
    return { message: message.replaceAll(server.url, "SERVER"), model };
  } finally {
    await server.close();
  }
}
const requestId = expect.stringMatching(/^req_/);

describe("an answer that is an error", () => {
  test("401", async () => {
    expect(await failure(undefined, { apiKey: "sk-ant-other-secret" })).toEqual({
      message:
        'The API key was refused by SERVER (401: invalid x-api-key). Set a valid one in ANTHROPIC_API_KEY or as option "apiKey" of provider anthropic.',
      model: { kind: "auth", status: 401, requestId },
    });
  });
  test("401 with a token", async () => {
    const { message } = await failure(undefined, { apiKey: undefined, authToken: "another-secret" });
    expect(message).toMatch(/^The auth token was refused by SERVER \(401: invalid x-api-key\)\. Set a valid one in ANTHROPIC_AUTH_TOKEN /);
  });
  test("401 with a header", async () => {
    const { message } = await failure(undefined, { apiKey: undefined, headers: { "X-Api-Key": "another-secret" } });
    expect(message).toBe(
      'The credential in header "X-Api-Key" was refused by SERVER (401: invalid x-api-key). Correct option "headers" of provider anthropic.',
    );
  });
  test("404 names the model", async () => {
    expect(await failure(undefined, {}, { ...ask, model: "claude-nonsense-9000" })).toEqual({
      message: 'SERVER knows no model "claude-nonsense-9000" (404: model: claude-nonsense-9000). Check the model\'s name.',
      model: { kind: "not-found", status: 404, requestId },
    });
  });
  test.each([
    ["402", "billing", 402, /no credit/],
    ["403", "auth", 403, /may not do this/],
    ["429-spend-limit", "billing", 429, /spend limit/],
    ["409", "server", 409, /Try again/],
    ["500", "server", 500, /Internal server error.*Try again/],
    ["504", "server", 504, /Try again/],
    ["529", "overloaded", 529, /is overloaded/],
    ["400-other", "invalid", 400, /refused the request \(400: This request has a property/],
    ["400-too-long", "overflow", 400, /too long for claude-opus-5-5.*Start a new one/],
    ["413", "too-large", 413, /too large.*Send smaller/],
  ] as const)("%s", async (name, kind, status, message) => {
    expect(await failure({ name })).toEqual({
      message: expect.stringMatching(message),
      model: { kind, status, requestId },
    });
  });
  test("429 says how long to wait", async () => {
    expect(await failure({ name: "429-retry-after" })).toMatchObject({ model: { kind: "rate-limit", status: 429, retryAfterMs: 1000 } });
    const date = { status: 429, headers: { "retry-after": "Mon, 30 Nov 2026 12:00:30 GMT" } };
    expect(await failure(date)).toMatchObject({ model: { kind: "rate-limit", retryAfterMs: 30_000 } });
    const ms = { status: 529, headers: { "retry-after-ms": "250", "retry-after": "9" } };
    expect(await failure(ms)).toMatchObject({ model: { kind: "overloaded", retryAfterMs: 250 } });
  });
  test("a page in place of JSON", async () => {
    expect(await failure({ name: "html-502" })).toEqual({
      message: expect.stringMatching(/^SERVER failed \(502: "<html> <head><title>502 Bad Gateway.*Try again/),
      model: { kind: "server", status: 502, requestId },
    });
    expect(await failure({ status: 404, html: "<html>no such page</html>" })).toEqual({
      message: 'The server at SERVER does not speak the Messages API: it answered 404 "<html>no such page</html>". Check the base URL.',
      model: { kind: "protocol", status: 404, requestId },
    });
  });
  test("an account without credit, told as an invalid request", async () => {
    const said = { status: 400, message: "Your credit balance is too low to access the Anthropic API." };
    expect(await failure(said)).toMatchObject({ model: { kind: "billing" } });
  });
  test("a server that echoes the key", async () => {
    expect((await failure({ status: 400, message: `bad header: Bearer ${KEY}` })).message).toContain("bad header: Bearer ***");
  });
});

test("a secret that a server echoes is in no debug log either", async () => {
  const message = `output_config.effort: Extra inputs are not permitted (Bearer ${KEY})`;
  const server = await startAnthropicServer({ keys: [KEY], faults: [{ status: 400, message, at: 0 }] });
  const logged: string[] = [];
  await chunksOf(providerWith({ apiKey: KEY, baseURL: server.url }), { ...ask, effort: "low" }, undefined, logged);
  await server.close();
  expect(logged).toEqual([expect.stringContaining("takes no effort (output_config.effort: Extra inputs are not permitted (Bearer ***))")]);
});

describe("a stream that fails", () => {
  test("cut off", async () => {
    expect(await failure({ name: "cut-text" })).toEqual({
      message: expect.stringMatching(/^The connection to SERVER ended before the reply was complete \(.+\)\.$/),
      model: { kind: "network", requestId },
    });
  });
  test("without message_stop", async () => {
    expect(await failure({ name: "no-message-stop" })).toMatchObject({
      message: "The connection to SERVER ended before the reply was complete (no message_stop).",
      model: { kind: "network" },
    });
  });
  test.each(["sse-error", "sse-error-first"] as const)("%s", async (name) => {
    expect(await failure({ name })).toEqual({
      message: "SERVER is overloaded (Overloaded). Try again in a moment.",
      model: { kind: "overloaded", requestId },
    });
  });
  test("before its headers", async () => {
    expect(await failure({ name: "reset" })).toMatchObject({
      message: expect.stringMatching(/^The connection to SERVER failed \(.+\)\. Check the network/),
      model: { kind: "network" },
    });
  });
  test("no answer in time", async () => {
    expect(await failure({ name: "stall-no-headers" }, { timeoutMs: 30 })).toEqual({
      message: 'SERVER did not answer in time. Try again, or raise option "timeoutMs".',
      model: { kind: "network" },
    });
  });
});

describe("what the server says about trying again", () => {
  test("never, although it would seem so", async () => {
    expect(await failure({ name: "529-should-not-retry" })).toEqual({
      message: "SERVER failed and says that trying again will not help (529: Overloaded).",
      model: { kind: "invalid", status: 529, requestId },
    });
    const limited = { status: 429, message: "Slow down.", headers: { "x-should-retry": "false", "retry-after": "5" } };
    expect(await failure(limited)).toEqual({
      message: "SERVER failed and says that trying again will not help (429: Slow down.).",
      model: { kind: "invalid", status: 429, requestId },
    });
  });
  test.each([
    [400, {}],
    [401, {}],
    [404, { html: "<html>starting</html>" }],
  ])("yes, although it would not seem so: %i", async (status, more) => {
    expect(await failure({ status, message: "Not yet.", headers: { "x-should-retry": "true" }, ...more })).toMatchObject({
      message: expect.stringMatching(/^SERVER failed \(.+\)\. Try again in a moment\.$/),
      model: { kind: "server", status },
    });
  });
  test("what is too long stays too long", async () => {
    const said = { status: 400, message: "prompt is too long: 2 tokens > 1 maximum", headers: { "x-should-retry": "true" } };
    expect(await failure(said)).toMatchObject({ model: { kind: "overflow" } });
  });
});

test("the SDK does not try again on its own", async () => {
  const server = await startAnthropicServer({ faults: [{ status: 529, at: 0, times: 2 }] });
  expect(await failureOf(providerWith({ apiKey: KEY, baseURL: server.url }), ask)).toMatchObject({ model: { kind: "overloaded" } });
  expect(server.requests).toHaveLength(1);
  await server.close();
});

test("retries of the SDK, where they are wanted, are used up first", async () => {
  const fault = { status: 529, headers: { "retry-after-ms": "1" }, at: 0, times: 2 };
  const server = await startAnthropicServer({ faults: [fault] });
  const chunks = await chunksOf(providerWith({ apiKey: KEY, baseURL: server.url, maxRetries: 2 }), ask);
  expect({ requests: server.requests.length, last: chunks.at(-1)?.type }).toEqual({ requests: 3, last: "stop" });
  await server.close();
});

describe("no server of this API", () => {
  async function against(type: string, body: string, status = 200): Promise<{ message: string; model: unknown }> {
    const server = createServer((_, response) => response.writeHead(status, { "content-type": type }).end(body));
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const { message, model } = await failureOf(providerWith({ apiKey: KEY, baseURL: `${url}/llm`, maxRetries: 0 }), ask);
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
    return { message: message.replaceAll(url, "SERVER"), model };
  }
  test("nothing listens", async () => {
    const { url, close } = await startAnthropicServer();
    await close();
    const { message, model } = await failureOf(providerWith({ apiKey: KEY, baseURL: url, maxRetries: 0 }), ask);
    expect({ message, model }).toEqual({
      message: `Nothing listens at ${url} (connection refused). Start the server, or check the base URL (ANTHROPIC_BASE_URL).`,
      model: { kind: "not-found" },
    });
  });
  test("nothing listens any more: it may be starting anew, so it is worth another try", async () => {
    const server = await startAnthropicServer();
    const provider = providerWith({ apiKey: KEY, baseURL: server.url });
    await chunksOf(provider, ask);
    await server.close();
    expect(await failureOf(provider, ask)).toMatchObject({ model: { kind: "network" } });
  });
  test.each([
    ["text/html", 400],
    ["text/html", 200],
    ["text/event-stream", 200],
  ])("half of a key that is echoed at the edge of what is shown: %s %i", async (type, status) => {
    const { message } = await against(type, `data: ${"x".repeat(62)} ${KEY} and more`, status);
    expect(message).not.toContain(KEY.slice(0, 4));
  });
  test("a web page", async () => {
    expect(await against("text/html", "<!doctype html>\n<title>Welcome</title>")).toEqual({
      message:
        'The server at SERVER/llm does not speak the Messages API: it answered text/html "<!doctype html> <title>Welcome</title>". Check the base URL.',
      model: { kind: "protocol", status: 200 },
    });
  });
  test.each([
    ["application/json", '{"hello":"world"}'],
    ["text/plain", "hello"],
    ["text/event-stream", ""],
    ["text/event-stream", "data: hello\n\n"],
  ])("%s %s", async (type, body) => {
    expect(await against(type, body)).toMatchObject({
      message: expect.stringMatching(/^The server at SERVER\/llm does not speak the Messages API: it answered .+ Check the base URL\.$/),
      model: { kind: "protocol", status: 200 },
    });
  });
  test("an error that pretends to be a success", async () => {
    const body = JSON.stringify({ type: "error", error: { type: "overloaded_error", message: "Overloaded" }, request_id: "req_1" });
    expect(await against("application/json", body)).toEqual({
      message: "SERVER/llm is overloaded (Overloaded). Try again in a moment.",
      model: { kind: "overloaded", requestId: "req_1" },
    });
  });
});

describe("credentials", () => {
  const sent = async (options: object): Promise<Headers> => {
    let headers = new Headers();
    const fetch = async (_: unknown, init: { headers: Headers }): Promise<Response> => {
      headers = new Headers(init.headers);
      return new Response("", { status: 500 });
    };
    await failureOf(providerWith({ baseURL: "http://server.test", maxRetries: 0, ...options, fetch }), ask);
    return headers;
  };
  test("none at all: nothing is sent", async () => {
    const { message, model } = await failureOf(providerWith({}), ask);
    expect({ message, model }).toEqual({
      message: 'There is no API key for provider anthropic: set ANTHROPIC_API_KEY, or its option "apiKey" or "authToken".',
      model: { kind: "auth" },
    });
  });
  test("a key goes before a token; headers of one's own are enough", async () => {
    expect((await sent({ apiKey: "aaaa", authToken: "bbbb" })).get("authorization")).toBe("Bearer aaaa");
    expect((await sent({ authToken: "bbbb" })).get("authorization")).toBe("Bearer bbbb");
    const own = await sent({ headers: { "x-api-key": "cccc", "x-team": "blue" } });
    expect([own.get("authorization"), own.get("x-api-key"), own.get("x-team")]).toEqual([null, "cccc", "blue"]);
  });
  test("a key that no header can carry is not shown", async () => {
    const { message, model } = await failureOf(providerWith({ apiKey: "sk-secret\nrest", maxRetries: 0 }), ask);
    expect({ message, model }).toEqual({
      message: expect.stringMatching(
        /^The API key or a header for https:\/\/api\.anthropic\.com contains a character that cannot be sent\./,
      ),
      model: { kind: "auth" },
    });
    expect(message).not.toContain("secret");
  });
  test("an address with a password is not shown", async () => {
    const { message } = await failureOf(providerWith({ apiKey: KEY, baseURL: "http://me:hidden@127.0.0.1:1/x", maxRetries: 0 }), ask);
    expect(message).toMatch(/^The connection to http:\/\/127\.0\.0\.1:1\/x failed/);
    expect(message).not.toContain("hidden");
  });
  test("of the headers, only secret ones are kept out", async () => {
    const options = { apiKey: undefined, headers: { authorization: `Bearer ${KEY}`, "x-mode": "strict" } };
    const { message } = await failure({ status: 400, message: `mode strict, ${KEY}` }, options);
    expect(message).toBe("SERVER refused the request (400: mode strict, ***).");
  });
});
