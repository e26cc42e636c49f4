/** What holds for every history: a strict server takes it, the past keeps its bytes, and remembering changes nothing. */

import type { Message, ModelRequest } from "@heddle/kernel/plugin";
import { encryptedFor, type FlavourName, validate } from "@heddle/openai-server";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { createEncoder } from "../src/encode.ts";
import type { KindName } from "../src/kinds.ts";
import type { JsonObject } from "../src/text.ts";
import { anthropic, effort, historyOf, type Maker, prefix, tools } from "./support/arbitrary.ts";
import { request } from "./support/messages.ts";
import { serverWith } from "./support/talk.ts";

type Case = { kind: KindName; flavour: FlavourName; options: object; models: string[]; api: "chat" | "responses"; makers: Maker[] };
const sealedBy = (model: string): Maker => ({
  provider: "openai",
  model,
  opaque: fc.oneof(
    fc.constant({ summary: [{ type: "summary_text", text: "hm" }], encrypted_content: encryptedFor(model, "rs_1") }),
    fc.constant({ summary: [], encrypted_content: encryptedFor(model, "rs_2") }),
    fc.constant(undefined),
    fc.constant({ field: "reasoning_content" }),
  ),
});
const thoughtBy = (provider: string, model: string): Maker => ({
  provider,
  model,
  opaque: fc.constantFrom({ field: "reasoning" }, { field: "reasoning_content" }),
});
const OFFICIAL = ["gpt-5.6", "gpt-5", "gpt-4o"];
const CASES: Case[] = [
  { kind: "openai", flavour: "openai", options: {}, models: OFFICIAL, api: "responses", makers: [anthropic, ...OFFICIAL.map(sealedBy)] },
  {
    kind: "openai",
    flavour: "openai",
    options: { api: "chat" },
    models: OFFICIAL,
    api: "chat",
    makers: [anthropic, ...OFFICIAL.map(sealedBy)].map((m) => (m.model === "gpt-4o" ? thoughtBy("vllm", "gpt-4o") : m)),
  },
  {
    kind: "ollama",
    flavour: "ollama",
    options: { models: { "qwen3:8b": { images: false } } },
    models: ["qwen3:8b", "qwen3-vl:8b"],
    api: "chat",
    makers: [anthropic, thoughtBy("ollama", "qwen3:8b")],
  },
  {
    kind: "compatible",
    flavour: "vllm",
    options: { baseURL: "http://localhost:8000", api: "responses" },
    models: ["qwen3-vl:8b"],
    api: "responses",
    makers: [anthropic, sealedBy("gpt-5")],
  },
];

const requestsOf = (it: Case): fc.Arbitrary<ModelRequest> =>
  fc
    .record({
      messages: historyOf(...it.makers),
      tools,
      prefix,
      effort,
      model: fc.constantFrom(...it.models),
      wish: fc.constantFrom<Partial<ModelRequest>>({}, {}, { maxOutput: 64_000 }, { maxOutput: 100, streaming: false }),
    })
    .map(
      ({ effort: level, messages, wish, ...rest }): ModelRequest =>
        request(messages, { ...rest, ...wish, ...(level ? { effort: level } : {}) }),
    );

/** Undefined when the server takes it. */
const refusalOf = (it: Case, one: ModelRequest): unknown =>
  validate(it.api, createEncoder(serverWith(it.kind, it.options))(one).body, { flavour: it.flavour });

describe.each(CASES)("every request to $kind over $api", (it) => {
  test("is taken by the server", () => {
    fc.assert(
      fc.property(requestsOf(it), (one) => {
        expect(refusalOf(it, one)).toBeUndefined();
      }),
      { numRuns: 300 },
    );
  });

  test("even when the history breaks the kernel's own rule about calls", () => {
    fc.assert(
      fc.property(requestsOf(it), fc.infiniteStream(fc.nat(9)), (one, dice) => {
        const messages = one.messages.flatMap((m) => {
          const roll = dice.next().value;
          return roll === 0 ? [] : roll === 1 ? [m, m] : [m];
        });
        expect(refusalOf(it, { ...one, messages })).toBeUndefined();
      }),
      { numRuns: 200 },
    );
  });

  test("is the same with and without memory of those before", () => {
    fc.assert(
      fc.property(fc.array(requestsOf(it), { minLength: 1, maxLength: 3 }), fc.infiniteStream(fc.nat(1000)), (requests, dice) => {
        const server = serverWith(it.kind, it.options);
        const remembering = createEncoder(server);
        for (let n = 0; n < 10; n++) {
          const one = requests[dice.next().value % requests.length]!;
          const model = it.models[dice.next().value % it.models.length]!;
          const cut = { ...one, model, messages: one.messages.slice(0, dice.next().value % 20) };
          expect(JSON.stringify(remembering(cut).body)).toBe(JSON.stringify(createEncoder(server)(cut).body));
        }
      }),
      { numRuns: 60 },
    );
  });

  test("begins with all that the requests before it held", () => {
    fc.assert(
      fc.property(requestsOf(it), (one) => {
        const all = flat(it, one);
        one.messages.forEach((message, i) => {
          if (message.role !== "assistant" || message.stop === "refusal") return;
          const before = flat(it, { ...one, messages: one.messages.slice(0, i) });
          const without = flat(it, { ...one, messages: one.messages.filter((m) => m !== message && !answers(message, m)) });
          if (without === all) return; // nothing of this reply is ever sent
          expect(all.slice(0, before.length)).toBe(before);
        });
      }),
      { numRuns: 150 },
    );
  });
});

const answers = (reply: Message, m: Message): boolean =>
  reply.role === "assistant" && m.role === "tool" && reply.content.some((p) => p.type === "tool-call" && p.callId === m.callId);

/** What a chat template would make of it: each message in full, one after the other. */
function flat(it: Case, one: ModelRequest): string {
  const { body } = createEncoder(serverWith(it.kind, it.options))(one);
  const items = (body["messages"] ?? body["input"]) as readonly JsonObject[];
  return items
    .map(({ role, content, type, ...rest }) => {
      const parts = typeof content === "string" ? [content] : ((content ?? []) as JsonObject[]).map((p) => p["text"] ?? JSON.stringify(p));
      return `<${String(role ?? type)}>${parts.join("\n\n")}${Object.keys(rest).length > 0 ? JSON.stringify(rest) : ""}`;
    })
    .join("");
}
