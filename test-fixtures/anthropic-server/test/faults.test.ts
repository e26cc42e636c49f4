/** Each fault by its name, and when faults strike. */

import { describe, expect, it } from "vitest";
import { type AnthropicServer, FAULT_NAMES, type FaultName, type FaultSpec, type JsonObject, type Step } from "../src/index.ts";
import { ask, assistant, body, parseEvents, post, readStream, result, user, useServers } from "./helpers.ts";

const start = useServers();
const TEXT = "A long answer that goes on and on, so that there is something to cut. ".repeat(20);
const SCRIPT: Step[] = [{ thinking: "hm", text: TEXT, calls: [{ name: "read", input: { path: "/a/b/c" } }] }, {}];
const SHORT: Step[] = [{ text: "short", calls: [{ name: "read", input: { path: "/a/b/c" } }] }, {}];

const faulty = (fault: FaultName | FaultSpec, script = SCRIPT): Promise<AnthropicServer> =>
  start({ script, faults: [typeof fault === "string" ? { name: fault, at: 0 } : { at: 0, ...fault }] });

const stream = (server: AnthropicServer) => post(server, body({ stream: true }));

async function streamed(fault: FaultName | FaultSpec, script = SCRIPT) {
  const server = await faulty(fault, script);
  const response = await stream(server);
  const read = await readStream(response);
  return { server, response, ...read };
}

interface ErrorRow {
  name: FaultName;
  status: number;
  type: string;
  message: string | RegExp;
  times: number;
  headers?: Record<string, string | null>;
}

const ALWAYS = 12;
const ERRORS: ErrorRow[] = [
  {
    name: "429-retry-after",
    status: 429,
    type: "rate_limit_error",
    message: /rate limit/,
    times: 2,
    headers: { "retry-after": "1", "x-should-retry": null },
  },
  {
    name: "429-spend-limit",
    status: 429,
    type: "rate_limit_error",
    message: /spend limit/,
    times: ALWAYS,
    headers: { "retry-after": null },
  },
  { name: "529", status: 529, type: "overloaded_error", message: "Overloaded", times: 2 },
  { name: "500", status: 500, type: "api_error", message: "Internal server error", times: 2 },
  { name: "504", status: 504, type: "timeout_error", message: /timed out/, times: 2 },
  {
    name: "529-should-not-retry",
    status: 529,
    type: "overloaded_error",
    message: "Overloaded",
    times: 1,
    headers: { "x-should-retry": "false" },
  },
  { name: "529-forever", status: 529, type: "overloaded_error", message: "Overloaded", times: ALWAYS },
  { name: "401", status: 401, type: "authentication_error", message: "invalid x-api-key", times: ALWAYS },
  { name: "402", status: 402, type: "billing_error", message: /credit/, times: ALWAYS },
  { name: "403", status: 403, type: "permission_error", message: /may not/, times: ALWAYS },
  { name: "404", status: 404, type: "not_found_error", message: "Not found", times: ALWAYS },
  { name: "409", status: 409, type: "conflict_error", message: /conflict/, times: 1 },
  { name: "400-other", status: 400, type: "invalid_request_error", message: /./, times: ALWAYS },
  {
    name: "400-too-long",
    status: 400,
    type: "invalid_request_error",
    message: "prompt is too long: 205123 tokens > 200000 maximum",
    times: 1,
    headers: { "x-should-retry": "false" },
  },
  {
    name: "400-input-length",
    status: 400,
    type: "invalid_request_error",
    message: /^input length and `max_tokens` exceed context limit: \d+ \+ \d+ > \d+, decrease/,
    times: 1,
  },
  {
    name: "binding-400",
    status: 400,
    type: "invalid_request_error",
    message: /^messages\.1\.content\.0: Invalid `signature` in `thinking` block\. The block is bound/,
    times: 1,
  },
  { name: "413", status: 413, type: "request_too_large", message: "Request exceeds the maximum size", times: 1 },
];

describe("answers in place of a reply", () => {
  it.each(ERRORS)("$name", async ({ name, status, type, message, times, headers }) => {
    const server = await faulty(name);
    for (let n = 0; n < times; n++) {
      const response = await stream(server);
      expect(response.status).toBe(status);
      const answer = (await response.json()) as { error: { type: string; message: string }; request_id: string };
      expect(answer).toMatchObject({ type: "error", error: { type } });
      expect(answer.request_id).toBe(response.headers.get("request-id"));
      expect(answer.error.message).toMatch(message);
      for (const [header, value] of Object.entries(headers ?? {})) expect(response.headers.get(header)).toBe(value);
    }
    if (times < ALWAYS) expect((await stream(server)).status).toBe(200);
    expect(server.requests[0]).toMatchObject({ status, fault: name, kind: "main", usage: undefined, refusal: undefined });
  });

  it("marks the spend limit in the details", async () => {
    const answer = await (await stream(await faulty("429-spend-limit"))).json();
    expect(answer).toMatchObject({ error: { details: { error_code: "enforced_spend_limit_reached" } } });
  });

  it("html-502", async () => {
    const response = await stream(await faulty("html-502"));
    expect(response.status).toBe(502);
    expect(response.headers.get("content-type")).toBe("text/html");
    expect(await response.text()).toMatch(/^<html>/);
  });

  it("names the first thinking block of the request in binding-400", async () => {
    const server = await start({ script: SCRIPT, faults: ["binding-400"] });
    const messages: JsonObject[] = [user("x"), user("y")];
    const first = await ask(server, body({ messages }));
    const id = String(first.content.at(-1)?.["id"]);
    messages.push(assistant(first.content), user([result(id)]));
    const answer = (await (await post(server, body({ messages }))).json()) as { error: { message: string } };
    expect(answer.error.message).toMatch(/^messages\.2\.content\.0: Invalid/);
  });
});

describe("broken connections", () => {
  it("reset closes before the headers", async () => {
    const server = await faulty("reset");
    await expect(stream(server)).rejects.toThrow();
    expect((await stream(server)).status).toBe(200);
    expect(server.requests[0]).toMatchObject({ status: undefined, fault: "reset", closedByClient: false });
  });

  it.each([
    ["cut-text", 900, 1],
    ["cut-twice", 900, 2],
    ["cut-in-tool", 1500, 1],
  ] as const)("%s breaks off at byte %i", async (name, bytes, times) => {
    const server = await faulty(name);
    for (let n = 0; n < times; n++) {
      const { text, broke } = await readStream(await stream(server));
      expect(Buffer.byteLength(text)).toBe(bytes);
      expect(broke).toBe(true);
    }
    const { text } = await readStream(await stream(server));
    expect(text).toMatch(/event: message_stop\n/);
    expect(server.requests.map(({ delivered }) => delivered)).toEqual([...Array(times).fill(false), true]);
    expect(server.requests[0]?.closedByClient).toBe(false);
  });

  it("cuts a reply shorter than the byte before its end", async () => {
    const { text, broke } = await streamed("cut-in-tool", SHORT);
    expect(broke).toBe(true);
    expect(parseEvents(text).at(-1)?.event).toBe("content_block_stop");
  });

  it("cuts at a byte of the test's choice", async () => {
    const { text } = await streamed({ name: "cut-text", cutAtByte: 1234 });
    expect(Buffer.byteLength(text)).toBe(1234);
  });

  it("sse-error comes behind whole events and ends the stream cleanly", async () => {
    const { text, broke, response } = await streamed("sse-error");
    expect(broke).toBe(false);
    const events = parseEvents(text);
    expect(events.at(-1)).toEqual({
      event: "error",
      data: {
        type: "error",
        error: { type: "overloaded_error", message: "Overloaded" },
        request_id: response.headers.get("request-id"),
      },
    });
    const before = text.slice(0, text.indexOf("event: error"));
    expect(before.length).toBeGreaterThanOrEqual(700);
    expect(events.some(({ event }) => event === "message_delta")).toBe(false);
  });

  it("sse-error may be of another type", async () => {
    const { text } = await streamed({ name: "sse-error", errorType: "api_error", message: "Oh no" });
    expect(parseEvents(text).at(-1)?.data["error"]).toEqual({ type: "api_error", message: "Oh no" });
  });

  it("sse-error-first comes right after message_start", async () => {
    const { text } = await streamed("sse-error-first");
    expect(parseEvents(text).map(({ event }) => event)).toEqual(["message_start", "error"]);
  });

  it("no-message-stop ends cleanly after the last block", async () => {
    const { text, broke, server } = await streamed("no-message-stop");
    expect(broke).toBe(false);
    expect(parseEvents(text).at(-1)?.event).toBe("content_block_stop");
    expect(server.requests[0]?.delivered).toBe(false);
  });
});

describe("slow and silent servers", () => {
  it("slow waits before each event", async () => {
    const began = performance.now();
    const { text } = await streamed({ name: "slow", eventMs: 3 });
    expect(performance.now() - began).toBeGreaterThan(3 * (parseEvents(text).length - 1));
    expect(parseEvents(text).at(-1)?.event).toBe("message_stop");
  });

  it("delay-10s waits before the headers", async () => {
    const server = await faulty({ name: "delay-10s", delayMs: 60 });
    const began = performance.now();
    expect((await stream(server)).status).toBe(200);
    expect(performance.now() - began).toBeGreaterThanOrEqual(58);
  });

  it.each([
    ["stall", 700],
    ["ping-only", 300],
  ] as const)("%s goes on until the client leaves", async (name, least) => {
    const server = await faulty(name);
    const controller = new AbortController();
    const response = await fetch(`${server.url}/v1/messages`, {
      method: "POST",
      headers: { "x-api-key": "k", "anthropic-version": "2023-06-01" },
      body: JSON.stringify(body({ stream: true })),
      signal: controller.signal,
    });
    setTimeout(() => controller.abort(), 150);
    const { text, broke } = await readStream(response);
    expect(broke).toBe(true);
    expect(text.length).toBeGreaterThanOrEqual(least);
    expect(text).not.toMatch(/message_stop/);
    if (name === "ping-only") expect(text.match(/event: ping/g)?.length).toBeGreaterThan(2);
    await expect.poll(() => server.requests[0]?.closedByClient).toBe(true);
    expect(server.requests[0]?.endedAt).toBeGreaterThan(0);
  });

  it("stall-no-headers never answers, and closing the server ends it", async () => {
    const server = await faulty("stall-no-headers");
    const pending = stream(server).then(
      () => "answered",
      () => "closed",
    );
    await expect.poll(() => server.requests.length).toBe(1);
    await server.close();
    expect(await pending).toBe("closed");
    expect(server.requests[0]).toMatchObject({ status: undefined, closedByClient: false });
    await start().then((other) => expect(other.requests).toEqual([]));
  });
});

describe("replies gone wrong", () => {
  const inputOf = (text: string) =>
    parseEvents(text)
      .map(({ data }) => data.delta?.["partial_json"])
      .filter((part) => part !== undefined)
      .join("");
  const stopOf = (text: string) => parseEvents(text).at(-2)?.data.delta?.["stop_reason"];
  const startsOf = (text: string) =>
    parseEvents(text)
      .map(({ data }) => data.content_block)
      .filter((block) => block !== undefined);
  const textOf = (text: string) =>
    parseEvents(text)
      .map(({ data }) => data.delta?.["text"] ?? "")
      .join("");

  it.each([
    ["malformed-json", "tool_use"],
    ["max-tokens-tool", "max_tokens"],
  ] as const)("%s cuts the input of the call", async (name, stop) => {
    const { text } = await streamed(name);
    expect(inputOf(text)).not.toBe("");
    expect(() => JSON.parse(inputOf(text))).toThrow();
    expect(stopOf(text)).toBe(stop);
    const invented = await streamed(name, [{ text: "no call" }]);
    expect(startsOf(invented.text).at(-1)).toMatchObject({ type: "tool_use", name: "read" });
    expect(() => JSON.parse(inputOf(invented.text))).toThrow();
  });

  it.each([
    ["max-tokens-text", "max_tokens"],
    ["context-window-exceeded", "model_context_window_exceeded"],
  ] as const)("%s gives half of the text", async (name, stop) => {
    const { text, server } = await streamed(name);
    expect(TEXT.startsWith(textOf(text))).toBe(true);
    expect(textOf(text).length).toBe(TEXT.length / 2);
    expect(stopOf(text)).toBe(stop);
    expect(startsOf(text).map((block) => block["type"])).toEqual(["thinking", "text"]);
    expect(server.requests[0]?.stopReason).toBe(stop);
    await readStream(await stream(server));
    expect(server.requests.map(({ step }) => step)).toEqual([0, 0]);
  });

  it.each([
    ["refusal", "refusal"],
    ["empty-end-turn", "end_turn"],
  ] as const)("%s has no content", async (name, stop) => {
    const { text } = await streamed(name);
    expect(startsOf(text)).toEqual([]);
    expect(stopOf(text)).toBe(stop);
  });

  it("pause-turn has text and no call", async () => {
    const { text } = await streamed("pause-turn");
    expect(textOf(text)).toBe("Let me keep working on that.");
    expect(stopOf(text)).toBe("pause_turn");
  });

  it("unknown-tool calls a tool that nobody offered", async () => {
    const { text } = await streamed("unknown-tool");
    expect(startsOf(text).at(-1)?.["name"]).toBe("no_such_tool");
    expect(JSON.parse(inputOf(text))).toEqual({ path: "/a/b/c" });
  });

  it("bad-tool-args has input that fits no schema", async () => {
    const { text } = await streamed("bad-tool-args");
    expect(startsOf(text).at(-1)?.["name"]).toBe("read");
    expect(JSON.parse(inputOf(text))).toEqual({ unexpected_argument: [1, 2] });
  });
});

describe("when faults strike", () => {
  const statuses = async (server: AnthropicServer, count: number) => {
    const seen: number[] = [];
    for (let n = 0; n < count; n++) seen.push((await post(server, body())).status);
    return seen;
  };

  it("by default at the second main request", async () => {
    expect(await statuses(await start({ faults: ["413"] }), 3)).toEqual([200, 413, 200]);
  });

  it("at a request of the test's choice, retries counted, as often as said", async () => {
    const server = await start({
      faults: [
        { name: "529", at: 2, times: 3 },
        { name: "401", at: 6 },
      ],
    });
    expect(await statuses(server, 8)).toEqual([200, 200, 529, 529, 529, 200, 401, 401]);
  });

  it("not counting side, compaction and refused requests", async () => {
    const server = await start({ faults: ["413"] });
    await post(server, body({ tools: undefined }));
    await post(server, body({ nonsense: 1 }));
    await post(server, body());
    await post(server, body({ max_tokens: 5 }));
    await post(server, body());
    expect(server.requests.map(({ status }) => status)).toEqual([200, 400, 200, 200, 413]);
  });

  it("at other kinds of requests on demand", async () => {
    const server = await start({ faults: [{ name: "500", at: 0, times: 1, kind: "side" }] });
    expect((await post(server, body())).status).toBe(200);
    expect((await post(server, body({ tools: undefined }))).status).toBe(500);
  });

  it("at a step that asks for one", async () => {
    const server = await start({ script: [{ text: "x", fault: { name: "529", times: 2 } }] });
    expect(await statuses(server, 3)).toEqual([529, 529, 200]);
    expect(server.requests[0]?.fault).toBe("529");
  });

  it("with fields of the test's own", async () => {
    const server = await faulty({ status: 418, errorType: "teapot_error", message: "short and stout" });
    const response = await post(server, body());
    expect(response.status).toBe(418);
    expect(await response.json()).toMatchObject({ error: { type: "teapot_error", message: "short and stout" } });
    expect(server.requests[0]?.fault).toBe("custom");
  });
});

it("knows every fault by its name", () => {
  expect(FAULT_NAMES).toHaveLength(39);
});
