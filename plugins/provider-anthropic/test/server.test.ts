/** The provider against a strict server of the API: streaming, thinking, caching. */
import { type AnthropicServer, type MarkedScript, type Script, type ServerOptions, startAnthropicServer } from "@heddle/anthropic-server";
import type { Message, ModelChunk, ToolMessage } from "@heddle/kernel/plugin";
import { afterEach, describe, expect, test } from "vitest";
import { MODEL, READ, request, result, user } from "./support/messages.ts";
import { chunksOf, context, failureOf, messageOf, providerWith, Talk } from "./support/talk.ts";

let server: AnthropicServer;
afterEach(() => server.close());
async function start(options: ServerOptions): Promise<{ provider: ReturnType<typeof providerWith>; talk: Talk }> {
  server = await startAnthropicServer(options);
  const provider = providerWith({ apiKey: "key-of-the-tests", baseURL: server.url, maxRetries: 0 });
  return { provider, talk: new Talk(provider, more) };
}

const TOOLS = [READ];
const PREFIX = {
  system: [{ plugin: "p", name: "identity", text: "You are a careful assistant of the tests. ".repeat(120) }],
  context: [{ plugin: "p", name: "rules", text: "House rules: keep it short." }],
};
const more = { model: MODEL, tools: TOOLS, prefix: PREFIX };
/** Scripts for the prompts one, two and three. */
const scripts = (...lengths: number[]): MarkedScript[] =>
  lengths.map((n, i) => ({ marker: ["one", "two", "three"][i]!, script: steps(n) }));
const steps = (n: number): Script => [
  ...Array.from({ length: n }, (_, i) => ({ thinking: `I think of ${i}.`, calls: [{ name: "read", input: { path: `/f${i}` } }] })),
  { thinking: "Enough.", text: "Finished." },
];

describe("a reply", () => {
  test("arrives in pieces, with its parts in place and the last usage", async () => {
    const { provider } = await start({
      script: [{ thinking: "Let me look at it.", text: "Reading 😀.", calls: [{ name: "read", input: { path: "/a" } }] }],
      splitUtf8: true,
    });
    const chunks = await chunksOf(provider, request([user("hi")], more));
    const joined = (type: string): string => chunks.map((c) => (c.type === type && "text" in c ? c.text : "")).join("");
    expect(joined("reasoning")).toBe("Let me look at it.");
    expect(joined("text")).toBe("Reading 😀.");
    expect(joined("call.delta")).toBe('{"path":"/a"}');
    const [record] = server.requests;
    const reply = record!.reply as { signature: string; id: string }[];
    expect(chunks.filter((c) => c.type === "reasoning" && c.opaque !== undefined)).toEqual([
      {
        type: "reasoning",
        part: 0,
        text: "",
        opaque: { type: "thinking", signature: reply[0]!.signature, prefix: expect.any(String), previous: null },
      },
    ]);
    expect(chunks.filter((c) => c.type === "call")).toEqual([
      { type: "call", part: 2, callId: reply[2]!.id, tool: "read", input: { path: "/a" } },
    ]);
    expect(chunks.at(-1)).toEqual({
      type: "stop",
      stop: "tool-calls",
      usage: {
        input: record!.usage!.input_tokens,
        output: record!.usage!.output_tokens,
        cacheRead: 0,
        cacheWrite: record!.usage!.cache_creation_input_tokens,
      },
    });
  });

  test("in one piece is the same reply", async () => {
    const script = [{ thinking: "Let me look at it.", text: "Reading 😀.", calls: [{ name: "read", input: { path: "/a" } }] }];
    const { provider } = await start({ script });
    const it = request([user("hi")], more);
    const streamed = await chunksOf(provider, it);
    const whole = await chunksOf(provider, { ...it, streaming: false });
    const bare = ({ type, ...rest }: ModelChunk) => ({
      type,
      ...("stop" in rest ? { stop: rest.stop } : {}),
      ...("part" in rest ? { part: rest.part } : {}),
    });
    expect(whole.map(bare)).toEqual([
      { type: "reasoning", part: 0 },
      { type: "reasoning", part: 0 },
      { type: "part.end", part: 0 },
      { type: "text", part: 1 },
      { type: "part.end", part: 1 },
      { type: "call", part: 2 },
      { type: "usage" },
      { type: "stop", stop: "tool-calls" },
    ]);
    const said = (chunks: ModelChunk[]) => messageOf(chunks, MODEL).content.map((p) => (p.type === "tool-call" ? p.input : p.text));
    expect(said(whole)).toEqual(said(streamed));
    expect(server.requests[1]!.body).not.toHaveProperty("stream");
    expect(server.refusals()).toEqual([]);
  });

  test("says what it costs before it says anything, and each part when it is complete", async () => {
    const { provider } = await start({ script: [{ thinking: "Hm.", text: "Yes.", calls: [{ name: "read", input: { path: "/a" } }] }] });
    const types = (await chunksOf(provider, request([user("hi")], more))).filter((c) => c.type !== "ping").map((c) => c.type);
    expect(types.filter((t, i) => t !== types[i - 1])).toEqual([
      "usage",
      "reasoning",
      "part.end",
      "text",
      "part.end",
      "call.delta",
      "call",
      "usage",
      "stop",
    ]);
  });

  test("encode says exactly what is sent", async () => {
    const { provider } = await start({});
    const it = request([user("hi")], { ...more, effort: "high" });
    await chunksOf(provider, it);
    expect(server.requests[0]!.body).toEqual(provider.encode!(it));
    expect(server.requests[0]!.headers).toMatchObject({ authorization: "Bearer key-of-the-tests" });
    expect(server.requests[0]!.headers).not.toHaveProperty("anthropic-beta");
  });
});

describe("a long conversation", () => {
  test("30 steps: nothing refused, nothing dropped, each token paid for once", async () => {
    const { talk } = await start({ script: steps(30) });
    talk.answer = (_, n) => `line ${n}\n`.repeat(40);
    await talk.say("go");
    expect({ refusals: server.refusals(), warnings: server.warnings() }).toEqual({ refusals: [], warnings: [] });
    expect(server.requests).toHaveLength(31);
    expect(server.requests.flatMap((r) => r.dropped)).toEqual([]);
    expect(server.costRatio()).toBeLessThanOrEqual(1.01);
    const sent = server.requests.at(-1)!.body!["messages"] as { content: { type: string }[] }[];
    expect(sent.flatMap((m) => m.content).filter((b) => b.type === "thinking")).toHaveLength(30);
    const prefixes = new Set(server.requests.map((r) => JSON.stringify([r.body!["system"], r.body!["tools"]])));
    expect(prefixes.size).toBe(1);
  });

  test("steps that add more than 20 blocks still find the cache", async () => {
    const calls = (i: number) => Array.from({ length: 12 }, (_, k) => ({ name: "read", input: { path: `/${i}/${k}` } }));
    const { talk } = await start({
      script: [...Array.from({ length: 8 }, (_, i) => ({ thinking: "…", calls: calls(i) })), { text: "Finished." }],
    });
    await talk.say("go");
    expect(server.refusals()).toEqual([]);
    expect(server.costRatio()).toBeLessThanOrEqual(1.01);
    expect(Math.max(...server.requests.map((r) => r.breakpoints.length))).toBe(3);
  });

  test("another process with the messages from disk goes on with the same bytes", async () => {
    const { talk, provider } = await start({ script: steps(6) });
    await talk.say("go");
    const again = new Talk(provider, more);
    again.history = JSON.parse(JSON.stringify(talk.history));
    server.setScript([{ text: "Here." }]);
    await again.say("and now?");
    expect(server.refusals()).toEqual([]);
    const last = server.requests.at(-1)!;
    expect(last.dropped).toEqual([]);
    expect(last.usage!.cache_read_input_tokens).toBeGreaterThan(server.requests.at(-2)!.usage!.cache_read_input_tokens);
  });
});

describe("thinking and a changed history", () => {
  const blocksOf = (i: number): { type: string; signature?: string }[] =>
    (server.requests.at(i)!.body!["messages"] as { content: { type: string }[] }[]).flatMap((m) => m.content);
  const thoughts = (i: number): number => blocksOf(i).filter((b) => b.type === "thinking").length;

  test("a shortened result strips what was thought behind it, and nothing else", async () => {
    const { talk } = await start({ scripts: scripts(6, 3) });
    await talk.say("one");
    const at = talk.history.findIndex((m) => m.role === "tool") + 4;
    talk.history[at] = { ...(talk.history[at] as ToolMessage), content: [{ type: "text", text: "[shortened]" }] };
    await talk.say("two");
    expect(server.refusals()).toEqual([]);
    expect(server.requests.flatMap((r) => r.dropped)).toEqual([]);
    expect(thoughts(6)).toBe(6);
    expect([7, 8, 9, 10].map(thoughts)).toEqual([3, 4, 5, 6]);
  });

  test("dropping the oldest messages strips all thinking that rests on them", async () => {
    const { talk } = await start({ scripts: scripts(4, 2) });
    await talk.say("one");
    talk.history = talk.history.slice(3);
    await talk.say("two");
    expect(server.refusals()).toEqual([]);
    expect([5, 6, 7].map(thoughts)).toEqual([0, 1, 2]);
  });

  test("a change of model and back", async () => {
    const { talk } = await start({ scripts: scripts(1, 1, 1) });
    await talk.say("one");
    talk.model = "claude-sonnet-5-5";
    await talk.say("two");
    talk.model = MODEL;
    await talk.say("three");
    expect(server.refusals()).toEqual([]);
    expect(server.requests.flatMap((r) => r.dropped)).toEqual([]);
    expect(server.requests.map((_, i) => thoughts(i))).toEqual([0, 1, 0, 1, 2, 3]);
  });

  test("a change of tools", async () => {
    const { talk, provider } = await start({ scripts: scripts(2, 2) });
    await talk.say("one");
    const wider = new Talk(provider, { ...more, tools: [READ, { ...READ, name: "write" }] });
    wider.history = talk.history;
    await wider.say("two");
    expect(server.refusals()).toEqual([]);
    expect(server.requests.map((_, i) => thoughts(i))).toEqual([0, 1, 2, 0, 1, 2]);
  });

  test.each(["max-tokens-text", "pause-turn", "empty-end-turn", "refusal", "malformed-json", "max-tokens-tool", "unknown-tool"] as const)(
    "goes on after %s",
    async (fault) => {
      const { talk } = await start({ script: steps(4), faults: [fault] });
      await talk.say("go");
      await talk.say("go on");
      expect(server.refusals()).toEqual([]);
      expect(server.requests.flatMap((r) => r.dropped)).toEqual([]);
    },
  );

  test.each(["claude-haiku-4-5-20251001", "claude-opus-4-6", "claude-opus-4-7", "claude-sonnet-5", "claude-fable-5-2", "claude-haiku-5-5"])(
    "%s takes it",
    async (model) => {
      const { talk } = await start({ script: steps(3) });
      talk.model = model;
      await talk.say("go");
      expect({ refusals: server.refusals(), warnings: server.warnings() }).toEqual({ refusals: [], warnings: [] });
    },
  );
});

describe("what a request can do without", () => {
  test.each([
    ["output_config: Extra inputs are not permitted", { output_config: undefined }],
    ["output_config.effort: Extra inputs are not permitted", { output_config: undefined }],
    ["thinking: Extra inputs are not permitted", { thinking: undefined }],
    ["thinking.adaptive.display: Extra inputs are not permitted", { thinking: { type: "adaptive" } }],
    ["system.0.cache_control: Extra inputs are not permitted", undefined],
  ])("%s: it is left out at once, and from then on", async (message, changed) => {
    const { provider } = await start({ faults: [{ status: 400, message, at: 0 }], script: [{ text: "a" }, { text: "b" }] });
    const it = request([user("hi")], { ...more, effort: "high" });
    const full = provider.encode!(it) as object;
    const logged: string[] = [];
    await chunksOf(provider, it, undefined, logged);
    await chunksOf(provider, it, undefined, logged);
    expect(logged).toEqual([expect.stringContaining(message)]);
    const bodies = server.requests.map((r) => r.body!);
    expect(bodies).toEqual([full, provider.encode!(it), provider.encode!(it)]);
    if (changed) expect(bodies[1]).toEqual(JSON.parse(JSON.stringify({ ...full, ...changed })));
    else expect(JSON.stringify(bodies[1])).toBe(JSON.stringify(full).replaceAll(',"cache_control":{"type":"ephemeral"}', ""));
    expect(provider.encode!({ ...it, model: "claude-sonnet-5-5" })).toMatchObject({ output_config: { effort: "high" } });
  });
  test.each([
    "output_config: Extra inputs are not permitted",
    "messages.0.content: Extra inputs are not permitted",
    "This request has a property that the service will not accept.",
  ])("%s: an error, where it helps nothing", async (message) => {
    const { provider } = await start({ faults: [{ status: 400, message, at: 0, times: 9 }] });
    expect(await failureOf(provider, request([user("hi")], { ...more, effort: "high" }))).toMatchObject({ model: { kind: "invalid" } });
    expect(server.requests.length).toBe(message.startsWith("output_config") ? 2 : 1);
  });
  test("tokens of output that no longer fit beside the prompt", async () => {
    const { provider } = await start({ faults: [{ name: "400-input-length", at: 0 }] });
    const logged: string[] = [];
    const chunks = await chunksOf(provider, request([user("hi")], more), undefined, logged);
    expect(chunks.at(-1)).toMatchObject({ type: "stop", stop: "end" });
    expect(server.requests.map((r) => r.body!["max_tokens"])).toEqual([32_000, 10_000]);
    expect(logged).toHaveLength(1);
  });
  test("no more than once", async () => {
    const { provider } = await start({ faults: [{ name: "400-input-length", at: 0, times: 9 }] });
    expect(await failureOf(provider, request([user("hi")], more))).toMatchObject({ model: { kind: "overflow" } });
    expect(server.requests).toHaveLength(2);
  });
  test("thinking that is bound to another conversation", async () => {
    const { talk, provider } = await start({ scripts: scripts(3, 2), faults: [{ name: "binding-400", at: 4 }] });
    await talk.say("one");
    await talk.say("two");
    expect(server.refusals()).toEqual([]);
    const thoughts = server.requests.map((r) => JSON.stringify(r.body).match(/"type":"thinking"/g)?.length ?? 0);
    expect(thoughts).toEqual([0, 1, 2, 3, 4, 0, 1, 2]);
    expect(server.requests.flatMap((r) => r.dropped)).toEqual([]);
    expect(server.requests.at(-1)!.body).toEqual(provider.encode!(request(talk.history.slice(0, -1), more)));
  });
  test("such a refusal never loops", async () => {
    const message = "messages.1.content.0: Invalid `signature` in `thinking` block. The block is bound to a different conversation.";
    const { talk } = await start({ script: steps(2), faults: [{ status: 400, message, at: 1, times: 9 }] });
    await expect(talk.say("go")).rejects.toMatchObject({ model: { kind: "invalid", status: 400 } });
    expect(server.requests).toHaveLength(3);
  });
  test("a reply without thinking brings the refused thinking not back", async () => {
    const script = [{ thinking: "Hm.", calls: [{ name: "read", input: {} }] }, { calls: [{ name: "read", input: {} }] }, { text: "Done." }];
    const { talk } = await start({ script, faults: [{ name: "binding-400", at: 1 }] });
    await talk.say("go");
    expect(server.requests.map((r) => JSON.stringify(r.body).includes('"signature"'))).toEqual([false, true, false, false]);
  });
});

describe("an abort", () => {
  test("ends the stream without an error and hangs up", async () => {
    const { provider } = await start({ faults: [{ name: "ping-only", at: 0 }] });
    const stop = new AbortController();
    const seen: ModelChunk["type"][] = [];
    const signal = stop.signal;
    for await (const chunk of provider.stream(request([user("hi")], more), context(signal))) {
      seen.push(chunk.type);
      if (seen.length === 3) stop.abort();
    }
    expect(seen).toEqual(["usage", "ping", "ping"]);
    await expect.poll(() => server.requests[0]!.closedByClient).toBe(true);
  });
  test("of a request that waits for its answer", async () => {
    const { provider } = await start({ faults: [{ name: "stall-no-headers", at: 0 }] });
    const stop = new AbortController();
    const chunks = chunksOf(provider, request([user("hi")], more), stop.signal);
    await expect.poll(() => server.requests.length).toBe(1);
    stop.abort();
    expect(await chunks).toEqual([]);
  });
});

describe("a source of keys", () => {
  /** Gives the keys in turn; `asked` tells how. */
  function source(...keys: string[]) {
    const asked: boolean[] = [];
    const get = async (fresh: boolean): Promise<string> => {
      asked.push(fresh);
      const key = keys[fresh ? Math.min(asked.filter(Boolean).length, keys.length - 1) : 0];
      if (key === undefined) throw new Error("exit code 3:\n no luck");
      return key;
    };
    return { asked, apiKey: { name: "helper", get } };
  }
  const ask = request([user("hi")], more);

  test("is asked before each request", async () => {
    server = await startAnthropicServer({ keys: ["key-one"] });
    const { asked, apiKey } = source("key-one");
    const provider = providerWith({ apiKey, baseURL: server.url });
    for (const _ of [1, 2]) expect((await chunksOf(provider, ask)).at(-1)?.type).toBe("stop");
    expect(asked).toEqual([false, false]);
    expect(server.requests.map((r) => r.headers["authorization"])).toEqual(["Bearer key-one", "Bearer key-one"]);
  });
  test("is asked for a fresh key once when the server refuses the one it gave", async () => {
    server = await startAnthropicServer({ keys: ["key-two"] });
    const { asked, apiKey } = source("key-one", "key-two");
    const logged: string[] = [];
    const provider = providerWith({ apiKey, baseURL: server.url });
    expect((await chunksOf(provider, ask, undefined, logged)).at(-1)?.type).toBe("stop");
    expect([asked, server.requests.length, logged]).toEqual([[false, true], 2, ["the key of helper was refused: asked for a new one"]]);
  });
  test("whose keys are all refused is named, and no key is", async () => {
    server = await startAnthropicServer({ keys: ["other"] });
    const { asked, apiKey } = source("key-one", "key-two");
    expect(await failureOf(providerWith({ apiKey, baseURL: server.url }), ask)).toMatchObject({
      message: `The API key of helper was refused by ${server.url} (401: invalid x-api-key). It was asked for a new one before: check what helper gives.`,
      model: { kind: "auth", status: 401 },
    });
    expect([asked, server.requests.length]).toEqual([[false, true], 2]);
  });
  test("that fails says why, and nothing is sent", async () => {
    server = await startAnthropicServer();
    const { apiKey } = source();
    expect(await failureOf(providerWith({ apiKey, baseURL: server.url }), ask)).toMatchObject({
      message: "helper gave no API key: exit code 3: no luck",
      model: { kind: "auth" },
    });
    expect(server.requests).toEqual([]);
  });
  test("has its keys taken out of what a server echoes", async () => {
    server = await startAnthropicServer({ faults: [{ status: 400, message: "bad key key-one", at: 0 }] });
    const { apiKey } = source("key-one");
    expect((await failureOf(providerWith({ apiKey, baseURL: server.url }), ask)).message).toContain("bad key ***");
  });
});

describe("deferred tools", () => {
  const late = { name: "late", description: "Comes late.", schema: { type: "object" }, deferred: true } as const;

  test("that are loaded change no byte of what was sent before, and cost what they hold once", async () => {
    const script = [
      { thinking: "I need one.", calls: [{ name: "read", input: { path: "/a" } }] },
      { thinking: "Now it is there.", calls: [{ name: "late", input: {} }] },
      { thinking: "Enough.", text: "Finished." },
    ];
    const { provider } = await start({ script });
    const history: Message[] = [user("go")];
    for (let n = 0; ; n++) {
      const reply = messageOf(await chunksOf(provider, request([...history], { ...more, tools: [READ, late] })), MODEL);
      history.push(reply);
      const calls = reply.content.filter((p) => p.type === "tool-call");
      if (calls.length === 0) break;
      for (const { callId } of calls) history.push({ ...result(callId, "Found late."), ...(n === 0 ? { loads: ["late"] } : {}) });
    }
    expect(server.refusals()).toEqual([]);
    expect(server.requests.flatMap((r) => r.warnings ?? [])).toEqual([]);
    const [first, second, third] = server.requests.map((r) => r.body as { tools: unknown; system: unknown; messages: unknown[] });
    expect(JSON.stringify(second!.tools)).toBe(JSON.stringify(first!.tools));
    const unmarked = (it: unknown) => JSON.stringify(it).replaceAll(',"cache_control":{"type":"ephemeral"}', "");
    expect(unmarked(third).includes(unmarked(second!.messages).slice(0, -2))).toBe(true);
    const usages = server.requests.map((r) => r.usage!);
    for (const [n, usage] of usages.slice(1).entries()) {
      const before = usages[n]!;
      expect(usage.cache_read_input_tokens).toBe(before.cache_read_input_tokens + before.cache_creation_input_tokens);
    }
  });

  test("are offered when they are loaded from then on, where the server knows nothing of them", async () => {
    let refused = 0;
    await start({});
    const picky = providerWith({
      apiKey: "key-of-the-tests",
      baseURL: server.url,
      fetch: async (input: string, init: RequestInit) => {
        if (!String(init.body).includes("defer_loading")) return fetch(input, init);
        refused++;
        const error = { type: "invalid_request_error", message: "tools.1.custom.defer_loading: Extra inputs are not permitted" };
        return new Response(JSON.stringify({ type: "error", error }), { status: 400, headers: { "content-type": "application/json" } });
      },
    });
    await chunksOf(picky, request([user("one")], { ...more, tools: [READ, late] }));
    await chunksOf(picky, request([user("two")], { ...more, tools: [READ, late] }));
    expect(refused).toBe(1);
    expect(server.requests.map((r) => (r.body as { tools: { name: string }[] }).tools.map((t) => t.name))).toEqual([["read"], ["read"]]);
  });
});
