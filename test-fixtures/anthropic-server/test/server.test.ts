/** Endpoints, bodies, refusals and the record, over real HTTP. */

import { gzipSync } from "node:zlib";
import { describe, expect, it } from "vitest";
import { startAnthropicServer } from "../src/index.ts";
import { ask, body, HEADERS, post, user, useServers } from "./helpers.ts";

const start = useServers();

describe("endpoints", () => {
  it("answers count_tokens with a total", async () => {
    const server = await start();
    const response = await post(server, { ...body(), max_tokens: undefined }, {}, "/v1/messages/count_tokens");
    expect(await response.json()).toEqual({ input_tokens: expect.any(Number) });
    expect(server.requests[0]).toMatchObject({ kind: "count_tokens", status: 200, step: undefined });
  });

  it("takes any query on messages", async () => {
    expect((await post(await start(), body(), {}, "/v1/messages?beta=true")).status).toBe(200);
  });

  it("lists models", async () => {
    const server = await start({ models: { "my-model": { window: 5 } } });
    const list = (await (await fetch(`${server.url}/v1/models?limit=5`, { headers: HEADERS })).json()) as {
      data: { id: string }[];
    };
    expect(list).toMatchObject({ has_more: false, first_id: list.data[0]?.id, last_id: "my-model" });
    expect(list.data.map(({ id }) => id)).toContain("claude-opus-5-5");
  });

  it("shows one model, or says that there is none", async () => {
    const server = await start();
    const get = (id: string) => fetch(`${server.url}/v1/models/${id}`, { headers: HEADERS });
    expect(await (await get("claude-opus-5-5")).json()).toMatchObject({
      type: "model",
      id: "claude-opus-5-5",
      display_name: "Claude Opus 5.5",
      max_input_tokens: 1_000_000,
      max_tokens: 128_000,
    });
    const missing = await get("gpt-9");
    expect(missing.status).toBe(404);
    expect(await missing.json()).toMatchObject({ error: { type: "not_found_error", message: "model: gpt-9" } });
    expect((await fetch(`${server.url}/v1/models`)).status).toBe(401);
  });

  it("answers HEAD / without a key", async () => {
    expect((await fetch(`${(await start()).url}/`, { method: "HEAD" })).status).toBe(200);
  });

  it.each([
    ["GET", "/"],
    ["GET", "/v1/messages"],
    ["POST", "/v1/complete"],
    ["GET", "/__requests"],
  ])("knows no %s %s", async (method, path) => {
    const response = await fetch((await start()).url + path, { method, headers: HEADERS });
    expect(response.status).toBe(404);
    expect(await response.json()).toMatchObject({ error: { type: "not_found_error", message: "Not found" } });
  });

  it("shows its record on demand", async () => {
    const server = await start({ inspect: true });
    await ask(server, body());
    const shown = (await (await fetch(`${server.url}/__requests`)).json()) as unknown[];
    expect(shown).toEqual([expect.objectContaining({ kind: "main", status: 200 })]);
    expect(server.requests).toHaveLength(1);
  });

  it("listens on the port it is given", async () => {
    const first = await startAnthropicServer();
    await Promise.all([first.close(), first.close()]);
    const second = await start({ port: first.port });
    expect(second.url).toBe(first.url);
    await expect(startAnthropicServer({ port: first.port })).rejects.toThrow(/EADDRINUSE/);
  });
});

describe("bodies", () => {
  it("may be gzipped", async () => {
    const server = await start();
    const response = await fetch(`${server.url}/v1/messages`, {
      method: "POST",
      headers: { ...HEADERS, "content-encoding": "gzip" },
      body: gzipSync(JSON.stringify(body())),
    });
    expect(response.status).toBe(200);
  });

  it("are refused over 32 MB, and when they are no JSON", async () => {
    const server = await start();
    const large = await post(server, "x".repeat(33_554_433));
    expect(large.status).toBe(413);
    expect((await post(server, "{")).status).toBe(400);
    expect(server.refusals().map(({ refusal }) => refusal?.type)).toEqual(["request_too_large", "invalid_request_error"]);
  });

  it("take any key by default and only the given ones otherwise", async () => {
    const server = await start({ keys: ["good"] });
    expect((await post(server, body(), { "x-api-key": "bad" })).status).toBe(401);
    expect((await post(server, body(), { "x-api-key": "good" })).status).toBe(200);
  });

  it("may be too long for the window", async () => {
    const server = await start({ window: 100 });
    const response = await post(server, body({ messages: [user("x".repeat(3600))] }));
    expect(await response.json()).toMatchObject({
      error: { message: expect.stringMatching(/^prompt is too long: \d+ tokens > 100 maximum$/) },
    });
    const counted = { ...body({ messages: [user("x".repeat(3600))] }), max_tokens: undefined };
    expect((await post(server, counted, {}, "/v1/messages/count_tokens")).status).toBe(200);
  });
});

describe("refusals", () => {
  it("have an envelope, a request id, and no wish to be retried", async () => {
    const server = await start();
    const response = await post(server, body({ nonsense: 1 }));
    expect(response.status).toBe(400);
    expect(response.headers.get("x-should-retry")).toBe("false");
    expect(await response.json()).toEqual({
      type: "error",
      error: { type: "invalid_request_error", message: "nonsense: Extra inputs are not permitted" },
      request_id: response.headers.get("request-id"),
    });
  });

  it("use no step", async () => {
    const server = await start({ script: [{ calls: [{ name: "one" }] }, { text: "end" }] });
    await post(server, body({ nonsense: 1 }));
    expect((await ask(server, body())).content[0]?.["name"]).toBe("one");
  });
});

describe("the record", () => {
  it("tells what was asked and how it was answered", async () => {
    let now = 1000;
    const server = await start({ script: [{ text: "hi" }], clock: () => now++ });
    const marked = { type: "text", text: "x".repeat(7200), cache_control: { type: "ephemeral" } };
    await ask(server, body({ system: [marked] }), { "x-test": "yes" });
    const [record] = server.requests;
    expect(record).toMatchObject({
      index: 0,
      method: "POST",
      path: "/v1/messages",
      kind: "main",
      script: 0,
      step: 0,
      status: 200,
      refusal: undefined,
      warnings: [],
      fault: undefined,
      delivered: true,
      receivedAt: 1000,
      repliedAt: 1001,
      stopReason: "end_turn",
      reply: [{ type: "text", text: "hi" }],
      breakpoints: [{ path: "system.0", ttl: "5m", position: 1 }],
      usage: { cache_read_input_tokens: 0 },
    });
    expect(record?.headers["x-test"]).toBe("yes");
    expect(record?.body?.["model"]).toBe("claude-opus-5-5");
    expect(record?.bytes).toBe(JSON.stringify(body({ system: [marked] })).length);
    expect(record?.breakpoints[0]?.tokens).toBe(record?.usage?.cache_creation_input_tokens);
    await expect.poll(() => record?.endedAt).toBe(1002);
    expect(record?.closedByClient).toBe(false);
  });

  it("keeps refused requests, among the main ones too", async () => {
    const server = await start();
    await post(server, body({ nonsense: 1 }));
    expect(server.mainRequests()).toHaveLength(1);
    expect(server.refusals()[0]?.refusal?.message).toBe("nonsense: Extra inputs are not permitted");
    expect(server.refusals()[0]?.body?.["nonsense"]).toBe(1);
  });

  it("notes a client that leaves early", async () => {
    const server = await start({ latency: { headers: 5000 } });
    const controller = new AbortController();
    const pending = fetch(`${server.url}/v1/messages`, {
      method: "POST",
      headers: HEADERS,
      body: JSON.stringify(body()),
      signal: controller.signal,
    }).catch(() => "aborted");
    await expect.poll(() => server.requests.length).toBe(1);
    controller.abort();
    expect(await pending).toBe("aborted");
    await expect.poll(() => server.requests[0]?.closedByClient).toBe(true);
    expect(server.requests[0]?.usage).toBeUndefined();
  });
});
