/** Token estimates, cache accounting and the cost ratio, as a client sees them. */

import { describe, expect, it } from "vitest";
import type { JsonObject } from "../src/index.ts";
import { ask, assistant, body, OLD, post, result, TOOL, text, user, useServers } from "./helpers.ts";
import { png } from "./media.ts";

const start = useServers();
const MARK = { cache_control: { type: "ephemeral" } };
const LONG_MARK = { cache_control: { type: "ephemeral", ttl: "1h" } };

/** Text of exactly so many tokens. */
const words = (tokens: number, seed = "x") => seed.repeat(Math.floor(tokens * 3.6));
const TOOL_TOKENS = Math.ceil(JSON.stringify(TOOL).length / 3.6);

function usage(answer: { usage: unknown }) {
  const { input_tokens, cache_creation_input_tokens, cache_read_input_tokens, cache_creation } = answer.usage as {
    input_tokens: number;
    cache_creation_input_tokens: number;
    cache_read_input_tokens: number;
    cache_creation: Record<string, number>;
  };
  return {
    plain: input_tokens,
    written: cache_creation_input_tokens,
    read: cache_read_input_tokens,
    short: cache_creation["ephemeral_5m_input_tokens"],
    long: cache_creation["ephemeral_1h_input_tokens"],
  };
}

async function count(more: Record<string, unknown>): Promise<number> {
  const server = await start();
  const response = await post(server, { ...body(more), max_tokens: undefined }, {}, "/v1/messages/count_tokens");
  return ((await response.json()) as { input_tokens: number }).input_tokens;
}

describe("token estimate", () => {
  const only = (...blocks: unknown[]) => count({ tools: undefined, messages: [user(blocks)] });

  it("counts UTF-8 bytes at 3.6 to the token, per block, and 4 for a change of role", async () => {
    expect(await only(text("x".repeat(36)))).toBe(14);
    expect(await only(text("x".repeat(37)))).toBe(15);
    expect(await only(text("é".repeat(18)))).toBe(14);
    expect(await only(text("x"), text("x"))).toBe(6);
    expect(await count({ tools: undefined, messages: [user("x"), assistant("x"), user("x")] })).toBe(15);
    expect(await count({ tools: undefined, messages: [user("x"), user("x")] })).toBe(6);
  });

  it("counts tools without cache_control, and system blocks", async () => {
    expect(await count({ messages: [user("x")] })).toBe(5 + TOOL_TOKENS);
    expect(await count({ messages: [user("x")], tools: [{ ...TOOL, ...MARK }] })).toBe(5 + TOOL_TOKENS);
    expect(await count({ tools: undefined, messages: [user("x")], system: "x".repeat(36) })).toBe(15);
  });

  it("counts calls and results with 12 each", async () => {
    const messages = [
      user("x"),
      assistant([{ type: "tool_use", id: "a", name: "read", input: { a: 1 } }]),
      user([result("a", { content: "x".repeat(36) })]),
    ];
    expect(await count({ tools: undefined, messages })).toBe(5 + (4 + 12 + 4) + (4 + 12 + 10));
    messages[2] = user([result("a", { content: [text("x".repeat(36)), text("x")] })]);
    expect(await count({ tools: undefined, messages })).toBe(5 + (4 + 12 + 4) + (4 + 12 + 11));
  });

  it("counts images by their scaled size", async () => {
    const image = (data: string) => ({ type: "image", source: { type: "base64", media_type: "image/png", data } });
    expect(await only(image(png(300, 250)))).toBe(104);
    expect(await only(image(png(3136, 1568)))).toBe(1604);
    expect(await only(image(png(3136, 784)))).toBe(4 + Math.ceil((1568 * 392) / 750));
    expect(await only({ type: "image", source: { type: "url", url: "https://example.com" } })).toBe(1604);
  });

  it("counts documents by their base64", async () => {
    const source = { type: "base64", media_type: "application/pdf", data: "A".repeat(800) };
    expect(await only({ type: "document", source })).toBe(104);
  });

  it("counts a deferred tool only where it is loaded, and once", async () => {
    const late = { ...TOOL, name: "late", defer_loading: true };
    const lateTokens = Math.ceil(JSON.stringify(late).length / 3.6);
    const tools = [TOOL, late];
    const rounds = (n: number) => [
      user("x"),
      ...Array.from({ length: n }, (_, i) => [
        assistant([{ type: "tool_use", id: `c${i}`, name: "read", input: {} }]),
        user([result(`c${i}`, { content: [{ type: "tool_reference", tool_name: "late" }] })]),
      ]).flat(),
    ];
    const round = 4 + 12 + 2 + 4 + 12;
    expect(await count({ tools, messages: rounds(0) })).toBe(TOOL_TOKENS + 5);
    expect(await count({ tools, messages: rounds(1) })).toBe(TOOL_TOKENS + 5 + round + lateTokens);
    expect(await count({ tools, messages: rounds(2) })).toBe(TOOL_TOKENS + 5 + 2 * round + lateTokens);
  });

  it("is what the request is billed, all counters added", async () => {
    const more = { system: [text(words(1500), MARK)], messages: [user("hello")] };
    const server = await start();
    const { plain, written, read } = usage(await ask(server, body(more)));
    expect(plain + written + read).toBe(await count(more));
  });
});

describe("writing and reading", () => {
  const first = { system: [text(words(2000), MARK)], messages: [user([text(words(100), MARK)])] };
  const TOTAL = TOOL_TOKENS + 2000 + 104;

  it("writes at the first request and reads at the second", async () => {
    const server = await start();
    expect(usage(await ask(server, body(first)))).toEqual({ plain: 0, written: TOTAL, read: 0, short: TOTAL, long: 0 });
    expect(usage(await ask(server, body(first)))).toEqual({ plain: 0, written: 0, read: TOTAL, short: 0, long: 0 });
  });

  it("bills what lies behind the last breakpoint as plain input", async () => {
    const server = await start();
    const request = body({ ...first, messages: [user([text(words(100), MARK), text(words(50))])] });
    expect(usage(await ask(server, request))).toMatchObject({ plain: 50, written: TOTAL });
  });

  it("reads the shared part and writes the rest", async () => {
    const server = await start();
    await ask(server, body(first));
    const next = body({ ...first, messages: [user([text(words(200, "y"), MARK)])] });
    expect(usage(await ask(server, next))).toMatchObject({ plain: 0, written: 204, read: TOOL_TOKENS + 2000 });
  });

  it.each([
    ["claude-opus-5-5", 1024],
    ["claude-opus-5", 512],
    ["claude-opus-4-7", 2048],
    ["claude-haiku-4-5", 4096],
  ])("writes nothing below the minimum of %s", async (model, minimum) => {
    const server = await start();
    const sized = (tokens: number) => body({ model, system: [text(words(tokens - TOOL_TOKENS), MARK)], messages: [user("x")] });
    expect(usage(await ask(server, sized(minimum - 1)))).toMatchObject({ written: 0, read: 0, plain: minimum + 4 });
    expect(usage(await ask(server, sized(minimum)))).toMatchObject({ written: minimum, plain: 5 });
  });

  it("looks back 20 positions from a breakpoint, itself included", async () => {
    const grown = (blocks: number) =>
      body({
        tools: undefined,
        tool_choice: undefined,
        max_tokens: 1000,
        system: [text(words(2000))],
        messages: [
          user([text("start", MARK), ...Array.from({ length: blocks }, (_, i) => text(`block ${i}`, i === blocks - 1 ? MARK : {}))]),
        ],
      });
    const far = await start();
    await ask(far, grown(0));
    const bare = (blocks: number) => {
      const request = grown(blocks);
      delete ((request["messages"] as JsonObject[])[0]!["content"] as JsonObject[])[0]!["cache_control"];
      return request;
    };
    expect(usage(await ask(far, bare(20))).read).toBe(0);
    const near = await start();
    await ask(near, grown(0));
    expect(usage(await ask(near, bare(19))).read).toBeGreaterThan(2000);
    const marked = await start();
    await ask(marked, grown(0));
    expect(usage(await ask(marked, grown(40))).read).toBeGreaterThan(2000);
  });

  it("sees a string and a list of one text as the same", async () => {
    const server = await start();
    await ask(server, body({ system: words(2000), messages: [user([text("hello", MARK)])] }));
    const again = body({ system: [text(words(2000))], messages: [user([text("hello", MARK)])] });
    expect(usage(await ask(server, again))).toMatchObject({ written: 0, plain: 0 });
  });

  it("counts the automatic breakpoint", async () => {
    const server = await start();
    const request = body({ system: words(2000), ...MARK });
    expect(usage(await ask(server, request))).toMatchObject({ plain: 0, read: 0 });
    expect(server.requests[0]?.breakpoints).toEqual([
      { path: "messages.0.content.0", ttl: "5m", position: 2, tokens: TOOL_TOKENS + 2000 + 6 },
    ]);
  });

  it("writes up to the last 1h breakpoint as 1h and the rest as 5m", async () => {
    const server = await start();
    const request = body({ system: [text(words(2000), LONG_MARK)], messages: [user([text(words(100), MARK)])] });
    expect(usage(await ask(server, request))).toMatchObject({
      written: TOTAL,
      long: TOOL_TOKENS + 2000,
      short: 104,
    });
  });
});

describe("levels", () => {
  const SYSTEM = TOOL_TOKENS + 2000;
  const base = { system: [text(words(2000), MARK)], messages: [user([text(words(100), MARK)])] };
  const marked = { ...TOOL, ...MARK };

  it.each([
    ["another tool", { tools: [{ ...TOOL, description: "y" }] }, 0],
    ["another key order in a tool", { tools: [{ input_schema: TOOL["input_schema"], name: "read" }] }, 0],
    ["another model", { model: "claude-opus-5" }, 0],
    ["speed", { speed: "fast" }, 0],
    ["another system", { system: [text(words(2000, "z"), MARK)] }, 0],
    ["tool_choice", { tool_choice: { type: "none" } }, SYSTEM],
    ["effort", { output_config: { effort: "high" } }, SYSTEM],
    ["thinking type", { model: "claude-sonnet-5", thinking: { type: "disabled" } }, SYSTEM],
    ["another message", { messages: [user([text(words(100, "y"), MARK)])] }, SYSTEM],
    ["effort said to be the default", { output_config: { effort: "medium" } }, SYSTEM + 104],
    ["tool_choice said to be the default", { tool_choice: { type: "auto" } }, SYSTEM + 104],
    ["thinking said to be the default", { thinking: { type: "adaptive" } }, SYSTEM + 104],
    ["a moved breakpoint", { system: words(2000) }, SYSTEM + 104],
  ])("after a change of %s", async (name, change, read) => {
    const server = await start();
    const model = name === "thinking type" ? { model: "claude-sonnet-5" } : {};
    await ask(server, body({ ...base, ...model }));
    expect(usage(await ask(server, body({ ...base, ...change }))).read).toBe(read);
  });

  it("keeps the tools when only speed or system change", async () => {
    const server = await start();
    const tools = [{ ...marked, description: words(1500) }];
    const toolTokens = Math.ceil(JSON.stringify({ ...TOOL, description: words(1500) }).length / 3.6);
    await ask(server, body({ ...base, tools }));
    expect(usage(await ask(server, body({ ...base, tools, speed: "fast" }))).read).toBe(toolTokens);
  });

  it("loses the messages with the thinking budget", async () => {
    const server = await start();
    const thinking = { type: "enabled", budget_tokens: 2000 };
    const request = { ...base, model: OLD, max_tokens: 9000, thinking };
    await ask(server, body(request));
    expect(usage(await ask(server, body({ ...request, thinking: { ...thinking, budget_tokens: 3000 } }))).read).toBe(SYSTEM);
  });
});

describe("life of an entry", () => {
  const request = (mark: object) => body({ system: [text(words(2000), mark as JsonObject)], messages: [user("x")] });
  const read = async (server: Parameters<typeof ask>[0], mark: object) => usage(await ask(server, request(mark))).read;

  it.each([
    ["5m", MARK, 300_000],
    ["1h", LONG_MARK, 3_600_000],
  ])("%s from the start of the request, refreshed by reading", async (_ttl, mark, life) => {
    let now = 0;
    const server = await start({ clock: () => now });
    expect(await read(server, mark)).toBe(0);
    now += life - 1;
    expect(await read(server, mark)).toBeGreaterThan(0);
    now += life - 1;
    expect(await read(server, mark)).toBeGreaterThan(0);
    now += life;
    expect(await read(server, mark)).toBe(0);
  });

  it("begins only with the reply", async () => {
    const server = await start({
      faults: [
        { name: "529", at: 0, times: 1 },
        { name: "cut-text", at: 1 },
      ],
    });
    const streamed = { ...request(MARK), stream: true };
    expect((await post(server, streamed)).status).toBe(529);
    await (await post(server, streamed)).text().catch(() => "");
    expect(server.requests[1]?.usage?.cache_read_input_tokens).toBe(0);
    expect(await read(server, MARK)).toBeGreaterThan(0);
  });

  it("is not begun by a refused request", async () => {
    const server = await start();
    await post(server, { ...request(MARK), nonsense: 1 });
    expect(await read(server, MARK)).toBe(0);
  });
});

describe("cost ratio", () => {
  const rounds = 30;

  /** Plays a tool loop, changing each request on its way out by `spoil`. */
  async function play(spoil: (request: JsonObject & { messages: JsonObject[] }, n: number) => void) {
    const steps = Array.from({ length: rounds }, () => ({ thinking: "hm", calls: [{ name: "read" }] }));
    const server = await start({ script: [...steps, { text: "end" }], binding: false });
    const messages = [user([text("prompt", MARK)])];
    for (let n = 0; n < rounds; n++) {
      const request = body({ system: [text(words(3000), MARK)], messages: structuredClone(messages) });
      spoil(request as never, n);
      const reply = await ask(server, request);
      const id = String(reply.content.at(-1)?.["id"]);
      for (const message of messages) for (const block of message["content"] as JsonObject[]) delete block["cache_control"];
      messages.push(assistant(reply.content), user([result(id, { content: words(200), ...MARK })]));
    }
    expect(server.refusals()).toEqual([]);
    return server;
  }

  it("is about 1 for a history that only grows", async () => {
    const server = await play(() => {});
    expect(server.costRatio()).toBeGreaterThan(0.98);
    expect(server.costRatio()).toBeLessThan(1.01);
    expect(Math.max(...server.requests.map(({ cost }) => cost?.lostTokens ?? 0))).toBeLessThan(20);
  });

  it("shows a prefix that is lost once", async () => {
    const server = await play((request, n) => {
      if (n === 25) request["system"] = [text(`${words(3000)}!`, MARK)];
    });
    expect(server.costRatio()).toBeGreaterThan(1.1);
    expect(server.requests[25]?.cost?.lostTokens).toBeGreaterThan(4000);
  });

  it("shows a missing breakpoint", async () => {
    const server = await play((request) => {
      delete (request.messages.at(-1)!["content"] as JsonObject[]).at(-1)!["cache_control"];
    });
    expect(server.costRatio()).toBeGreaterThan(1.5);
  });

  it("is 1 before anything was billed", async () => {
    expect((await start()).costRatio()).toBe(1);
  });
});
