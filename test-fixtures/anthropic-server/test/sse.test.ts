/** The event stream, byte by byte where it matters. */

import { describe, expect, it } from "vitest";
import type { ServerOptions, Step } from "../src/index.ts";
import { pieces, splitInsideSequences } from "../src/sse.ts";
import { ask, body, parseEvents, post, readStream, type SentEvent, useServers } from "./helpers.ts";

const start = useServers();

async function stream(step: Step, more: Record<string, unknown> = {}, options: ServerOptions = {}, betas = "") {
  const server = await start({ script: [step], ...options });
  const response = await post(server, body({ stream: true, ...more }), betas ? { "anthropic-beta": betas } : {});
  const read = await readStream(response);
  return { server, response, ...read, events: parseEvents(read.text) };
}

const deltas = (events: SentEvent[], index: number) =>
  events.filter(({ data }) => data["index"] === index && data.delta).map(({ data }) => data.delta ?? {});

const FULL: Step = {
  thinking: "I think about it for a while before I speak.",
  text: "Here is what I found out, my friend: 😀😀😀😀😀😀😀😀😀😀😀😀😀😀!",
  calls: [{ name: "read", input: { path: "/tmp/a file.txt", lines: [1, 2, 3] } }, { name: "read" }],
};
const SHOWN = { thinking: { type: "adaptive", display: "summarized" } };

describe("framing", () => {
  it("has the headers of an event stream", async () => {
    const { response } = await stream(FULL);
    expect(response.status).toBe(200);
    expect(response.headers.get("content-type")).toBe("text/event-stream; charset=utf-8");
    expect(response.headers.get("cache-control")).toBe("no-cache");
    expect(response.headers.get("request-id")).toMatch(/^req_/);
  });

  it("writes event, data with the same type, and an empty line", async () => {
    const { text: whole, events } = await stream(FULL, SHOWN);
    expect(whole).toMatch(/^(?:event: [a-z_]+\ndata: \{[^\n]+\}\n\n)+$/);
    for (const { event, data } of events) expect(data["type"]).toBe(event);
  });

  it("sends the events in order", async () => {
    const { events } = await stream(FULL, SHOWN);
    const order = events.map(({ event, data }) => (data["index"] === undefined ? event : `${event} ${data["index"]}`));
    const distinct = order.filter((name, i) => name !== order[i - 1]);
    const block = (i: number) => [`content_block_start ${i}`, `content_block_delta ${i}`, `content_block_stop ${i}`];
    const [first = "", ...restOfFirst] = block(0);
    expect(distinct).toEqual([
      "message_start",
      first,
      "ping",
      ...restOfFirst,
      ...block(1),
      ...block(2),
      ...block(3),
      "message_delta",
      "message_stop",
    ]);
  });

  it("starts with an empty message and final input counters", async () => {
    const { events } = await stream(FULL, SHOWN);
    const { message } = events[0]!.data;
    expect(message).toMatchObject({
      type: "message",
      role: "assistant",
      model: "claude-opus-5-5",
      content: [],
      stop_reason: null,
      stop_sequence: null,
      usage: { output_tokens: 1, cache_read_input_tokens: 0 },
    });
    expect(message?.["id"]).toMatch(/^msg_/);
    const last = events.at(-2)!.data;
    expect(last.delta).toEqual({ stop_reason: "tool_use", stop_sequence: null });
    expect(last.usage).toEqual({
      ...(message?.["usage"] as object),
      output_tokens: (last.usage as { output_tokens: number }).output_tokens,
    });
    expect((last.usage as { output_tokens: number }).output_tokens).toBeGreaterThan(20);
  });

  it("starts each block empty", async () => {
    const { events } = await stream(FULL, SHOWN);
    const starts = events.filter(({ event }) => event === "content_block_start").map(({ data }) => data.content_block);
    expect(starts).toEqual([
      { type: "thinking", thinking: "", signature: "" },
      { type: "text", text: "" },
      { type: "tool_use", id: expect.stringMatching(/^toolu_01s0000x0/), name: "read", input: {} },
      { type: "tool_use", id: expect.stringMatching(/^toolu_01s0000x1/), name: "read", input: {} },
    ]);
  });
});

describe("deltas", () => {
  it("sends thinking in pieces and the signature last", async () => {
    const { events } = await stream(FULL, SHOWN);
    const sent = deltas(events, 0);
    expect(sent.at(-1)).toEqual({ type: "signature_delta", signature: expect.any(String) });
    expect(
      sent
        .slice(0, -1)
        .map((delta) => delta["thinking"])
        .join(""),
    ).toBe(FULL.thinking);
    expect(sent.length).toBeGreaterThan(2);
  });

  it("sends only the signature when thinking is not shown", async () => {
    const { events } = await stream(FULL);
    expect(deltas(events, 0)).toEqual([{ type: "signature_delta", signature: expect.any(String) }]);
  });

  it("sends text in pieces of about 24 characters", async () => {
    const { events } = await stream(FULL, SHOWN);
    const sent = deltas(events, 1).map((delta) => String(delta["text"]));
    expect(sent.join("")).toBe(FULL.text);
    for (const piece of sent) expect(piece.length).toBeLessThanOrEqual(25);
    expect(sent[0]).toHaveLength(24);
  });

  it("sends an empty piece of JSON first and the rest in pieces of 12", async () => {
    const { events } = await stream(FULL, SHOWN);
    const sent = deltas(events, 2).map((delta) => String(delta["partial_json"]));
    expect(sent[0]).toBe("");
    expect(sent[1]).toHaveLength(12);
    expect(JSON.parse(sent.join(""))).toEqual(FULL.calls?.[0]?.input);
  });

  it("sends nothing but the empty piece for an empty input", async () => {
    const { events } = await stream(FULL, SHOWN);
    expect(deltas(events, 3)).toEqual([{ type: "input_json_delta", partial_json: "" }]);
  });

  it("takes other sizes of pieces", async () => {
    const { events } = await stream({ text: "abcdef" }, {}, { pieces: { text: 2 } });
    expect(deltas(events, 0).map((delta) => delta["text"])).toEqual(["ab", "cd", "ef"]);
  });

  it("never parts a surrogate pair", () => {
    expect(pieces("a😀b😀c", 2)).toEqual(["a😀", "b😀", "c"]);
    for (const piece of pieces("😀".repeat(50), 3)) expect(/\p{Surrogate}/u.test(piece)).toBe(false);
  });
});

it("bills thinking that is not shown", async () => {
  const tokens = async (more: Record<string, unknown>) => (await stream(FULL, more)).server.requests[0]?.usage?.output_tokens;
  expect(await tokens({})).toBe(await tokens(SHOWN));
});

describe("options of the stream", () => {
  it("splits chunks inside UTF-8 sequences", async () => {
    const { chunks, events } = await stream({ text: "héllo wörld 😀 日本" }, {}, { splitUtf8: true });
    const fatal = (chunk: Uint8Array) => {
      try {
        new TextDecoder("utf-8", { fatal: true }).decode(chunk);
        return false;
      } catch {
        return true;
      }
    };
    expect(chunks.some(fatal)).toBe(true);
    expect(
      deltas(events, 0)
        .map((delta) => delta["text"])
        .join(""),
    ).toBe("héllo wörld 😀 日本");
    expect(splitInsideSequences(Buffer.from("aéb")).map((part) => part.length)).toEqual([2, 2]);
  });

  it("reports context management when it was asked for", async () => {
    const more = { context_management: { edits: [] } };
    const { events } = await stream({ text: "x" }, more, {}, "context-management-2025-06-27");
    expect(events.at(-2)?.data["context_management"]).toEqual({ applied_edits: [] });
    const plain = await stream({ text: "x" });
    expect(plain.events.at(-2)?.data).not.toHaveProperty("context_management");
  });

  it("reports input transformations with the beta only", async () => {
    const { events } = await stream({ text: "x" }, {}, {}, "thinking-binding-controls-2026-08-01");
    expect(events[0]?.data.message?.["input_transformations"]).toEqual([]);
    const plain = await stream({ text: "x" });
    expect(plain.events[0]?.data.message).not.toHaveProperty("input_transformations");
  });

  it("gives the stop details of a refusal", async () => {
    const { events } = await stream({ stop_reason: "refusal" });
    expect(events.at(-2)?.data.delta).toMatchObject({ stop_reason: "refusal", stop_details: { type: "refusal" } });
    expect(events.map(({ event }) => event)).toEqual(["message_start", "message_delta", "message_stop"]);
  });

  it("sends blocks of server tools whole", async () => {
    const block = { type: "server_tool_use", id: "srvtoolu_1", name: "web_search", input: { query: "x" } };
    const { events } = await stream({ text: "x", serverBlocks: [block], stop_reason: "pause_turn" });
    expect(events.find(({ data }) => data["index"] === 1)?.data.content_block).toEqual(block);
    expect(events.at(-2)?.data.delta?.["stop_reason"]).toBe("pause_turn");
  });

  it("waits before the headers and before each event", async () => {
    const began = performance.now();
    const { events } = await stream({ text: "x" }, {}, { latency: { headers: 30, event: 5 } });
    expect(performance.now() - began).toBeGreaterThanOrEqual(30 + 5 * (events.length - 1));
  });
});

it("answers with one JSON message without stream", async () => {
  const server = await start({ script: [FULL] });
  const message = await ask(server, body(SHOWN));
  expect(message.stop_reason).toBe("tool_use");
  expect(message.content).toEqual([
    { type: "thinking", thinking: FULL.thinking, signature: expect.any(String) },
    { type: "text", text: FULL.text },
    expect.objectContaining({ type: "tool_use", name: "read", input: FULL.calls?.[0]?.input }),
    expect.objectContaining({ type: "tool_use", name: "read", input: {} }),
  ]);
  expect(message.usage.output_tokens).toBeGreaterThan(20);
});
