/** Sessions that change between Anthropic and OpenAI: each takes over what the other has left, and gets its own back unharmed. */
import { type AnthropicServer, startAnthropicServer, validate as validateAnthropic } from "@heddle/anthropic-server";
import type { AssistantMessage, Message, ModelRequest, Provider } from "@heddle/kernel/plugin";
import { encryptedFor, type OpenAIServer, startOpenAIServer, validate as validateOpenAI } from "@heddle/openai-server";
import anthropicPlugin, { encode as encodeForAnthropic } from "@heddle/provider-anthropic";
import fc from "fast-check";
import { afterEach, describe, expect, test } from "vitest";
import { createEncoder } from "../src/encode.ts";
import { anthropic, effort, historyOf, type Maker, prefix, tools } from "./support/arbitrary.ts";
import { image, READ, request, result, user } from "./support/messages.ts";
import { chunksOf, messageOf, providerOf, serverWith } from "./support/talk.ts";

const CLAUDE = "claude-opus-5-5";
const GPT = "gpt-5.6";
const openai: Maker = {
  provider: "openai",
  model: GPT,
  opaque: fc.constantFrom(
    { summary: [{ type: "summary_text", text: "hm" }], encrypted_content: encryptedFor(GPT, "rs_1") },
    { summary: [], encrypted_content: encryptedFor(GPT, "rs_2") },
  ),
};
const local: Maker = {
  provider: "ollama",
  model: "qwen3:8b",
  opaque: fc.constantFrom({ field: "reasoning" }, { field: "reasoning_content" }),
};
const HEADERS = { authorization: "Bearer k", "anthropic-version": "2026-10-21" };

const anyRequest = fc
  .record({ messages: historyOf(anthropic, openai, local), tools, prefix, effort })
  .map(({ effort: level, messages, ...rest }): ModelRequest => request(messages, { ...rest, ...(level ? { effort: level } : {}) }));

describe("a history of both", () => {
  test("is taken by every server", () => {
    fc.assert(
      fc.property(anyRequest, (it) => {
        const body = encodeForAnthropic({ ...it, model: CLAUDE });
        expect(validateAnthropic(JSON.stringify(body), HEADERS)).toBeUndefined();
        expect(JSON.stringify(body)).not.toContain("encrypted_content");
        for (const api of ["chat", "responses"] as const) {
          const { body: sent } = createEncoder(serverWith("openai", { api }))({ ...it, model: GPT });
          expect(validateOpenAI(api, sent, { flavour: "openai" })).toBeUndefined();
          expect(JSON.stringify(sent)).not.toContain('"signature"');
        }
        const chat = createEncoder(serverWith("ollama"))({ ...it, model: "qwen3-vl:8b" }).body;
        expect(validateOpenAI("chat", chat, { flavour: "ollama" })).toBeUndefined();
      }),
      { numRuns: 300 },
    );
  });
});

describe("a session that goes to and fro", () => {
  let there: AnthropicServer;
  let here: OpenAIServer;
  afterEach(() => Promise.all([there.close(), here.close()]));
  const anthropicAt = (baseURL: string): Provider => {
    const definition = anthropicPlugin as unknown as {
      options: { parse(it: unknown): unknown };
      setup(ctx: { options: unknown }): { providers: readonly Provider[] };
    };
    return definition.setup({ options: definition.options.parse({ apiKey: "k", baseURL }) }).providers[0]!;
  };
  const PREFIX = { system: [{ plugin: "p", name: "s", text: "Be careful." }], context: [{ plugin: "p", name: "c", text: "House rules." }] };
  const TOOLS = [READ];
  const step = (name: string) => [
    { thinking: `${name} thinks.`, reasoning: `${name} thinks.`, text: "Reading.", calls: [{ name: "read", input: { path: `/${name}` } }] },
    { thinking: "Enough.", reasoning: "Enough.", text: `${name} is done.` },
  ];

  test.each(["chat", "responses"] as const)("Anthropic, OpenAI over %s, Anthropic, OpenAI", async (api) => {
    const turns = ["one", "three"].map((marker) => ({ marker, script: step(marker) }));
    there = await startAnthropicServer({ scripts: turns });
    // The script of this server goes by the number of replies in the history, whoever made them.
    here = await startOpenAIServer({ script: [{}, {}, ...step("two"), {}, {}, ...step("four")] });
    const own = { baseURL: here.url, apiKey: "k", api, models: { [GPT]: { reasoning: true } } };
    const claude = { provider: anthropicAt(there.url), model: CLAUDE };
    const gpt = { provider: providerOf("openai", own), model: GPT };
    const history: Message[] = [];
    const taken = new Set<string>();
    const say = async ({ provider, model }: typeof claude, text: string): Promise<string> => {
      history.push(user([{ type: "text", text }, image()]));
      for (;;) {
        const it = request([...history], { model, tools: TOOLS, prefix: PREFIX });
        const reply: AssistantMessage = messageOf(await chunksOf(provider, it), model, provider.name, taken);
        history.push(reply);
        const calls = reply.content.filter((p) => p.type === "tool-call");
        if (calls.length === 0) return reply.content.map((p) => (p.type === "text" ? p.text : "")).join("");
        for (const { callId } of calls) history.push(result(callId, [{ type: "text", text: "it shows" }, image()]));
      }
    };
    expect(await say(claude, "one")).toBe("one is done.");
    expect(await say(gpt, "two")).toBe("two is done.");
    expect(await say(claude, "three")).toBe("three is done.");
    expect(await say(gpt, "four")).toBe("four is done.");
    expect({ there: there.refusals(), here: here.refusals() }).toEqual({ there: [], here: [] });
    expect(there.requests.flatMap((r) => r.dropped)).toEqual([]);
    // What each had thought of its own goes back to it, before as after the other's turn.
    const thoughts = (body: unknown, sign: RegExp): number => JSON.stringify(body).match(sign)?.length ?? 0;
    expect(there.requests.map((r) => thoughts(r.body, /"type":"thinking"/g))).toEqual([0, 1, 2, 3]);
    const sealed = here.requests.map((r) => thoughts(r.body, /"encrypted_content"/g));
    expect(sealed).toEqual(api === "responses" ? [0, 1, 2, 3] : [0, 0, 0, 0]);
  });
});
