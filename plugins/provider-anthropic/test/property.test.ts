/** What holds for every history: the API takes it, the past keeps its bytes, and remembering changes nothing. */
import { type Step, startAnthropicServer, validate } from "@heddle/anthropic-server";
import type { Message, ModelRequest } from "@heddle/kernel/plugin";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { createEncoder, encode } from "../src/encode.ts";
import { FIELDS } from "../src/refused.ts";
import { effort, history, KNOWN, MODELS, prefix, tools } from "./support/arbitrary.ts";
import { HEADERS, NO_PREFIX, NO_TOOLS, png, READ, request, user } from "./support/messages.ts";
import { providerWith, Talk } from "./support/talk.ts";

const anyRequest = fc
  .record({
    messages: history,
    tools,
    prefix,
    effort,
    model: fc.constantFrom(...MODELS),
    wish: fc.constantFrom<Partial<ModelRequest>>({}, {}, { maxOutput: 64_000 }, { maxOutput: 1, streaming: false }),
  })
  .map(
    ({ effort: level, messages, wish, ...rest }): ModelRequest =>
      request(messages, { ...rest, ...wish, ...(level ? { effort: level } : {}) }),
  );

type Flat = { readonly role: string; readonly block: object };
const flat = (it: ModelRequest): Flat[] =>
  encode(it)
    .messages.flatMap(({ role, content }) => content.map((b) => ({ role, block: b })))
    .map(({ role, block: { cache_control: _, ...block } }: { role: string; block: { cache_control?: unknown; type: string } }) => ({
      role,
      block,
    }))
    .filter(({ block }) => !block.type.includes("thinking"));

describe("every request", () => {
  test("is taken by the API", () => {
    fc.assert(
      fc.property(anyRequest, (it) => {
        expect(validate(JSON.stringify(encode(it)), HEADERS, KNOWN)).toBeUndefined();
      }),
      { numRuns: 500 },
    );
  });

  test("also without what a server has refused, and as the person describes the model", () => {
    const models = { "my-proxy-model": { reasoning: true, images: false }, "claude-opus-4-8": { maxOutput: 5000, reasoning: false } };
    fc.assert(
      fc.property(anyRequest, fc.subarray([...FIELDS]), (it, fields) => {
        const { body } = createEncoder(models)(it, { fields: new Set(fields), thoughts: new Set(["s"]) });
        expect(validate(JSON.stringify(body), HEADERS, KNOWN)).toBeUndefined();
        const sent = JSON.stringify(body);
        for (const [field, sign] of Object.entries({
          effort: "output_config",
          display: '"display"',
          cache_control: '"cache_control":{"type":"eph',
        }))
          if (fields.includes(field as never)) expect(sent).not.toContain(sign);
      }),
      { numRuns: 200 },
    );
  });

  test("even when the history breaks the kernel's own rule about calls", () => {
    fc.assert(
      fc.property(anyRequest, fc.infiniteStream(fc.nat(9)), (it, dice) => {
        const messages = it.messages.flatMap((m) => {
          const roll = dice.next().value;
          return roll === 0 ? [] : roll === 1 ? [m, m] : [m];
        });
        expect(validate(JSON.stringify(encode({ ...it, messages })), HEADERS, KNOWN)).toBeUndefined();
      }),
      { numRuns: 300 },
    );
  });

  test("is the same with and without memory of those before", () => {
    fc.assert(
      fc.property(fc.array(anyRequest, { minLength: 1, maxLength: 3 }), fc.infiniteStream(fc.nat(1000)), (requests, dice) => {
        const remembering = createEncoder();
        for (let n = 0; n < 10; n++) {
          const it = requests[dice.next().value % requests.length]!;
          const cut = { ...it, model: MODELS[dice.next().value % MODELS.length]!, messages: it.messages.slice(0, dice.next().value % 20) };
          expect(JSON.stringify(remembering(cut))).toBe(JSON.stringify(createEncoder()(cut)));
        }
      }),
      { numRuns: 100 },
    );
  });

  test("begins with all that the requests before it held", () => {
    fc.assert(
      fc.property(anyRequest, (it) => {
        const all = flat(it);
        it.messages.forEach((message, i) => {
          if (message.role !== "assistant" || message.stop === "refusal") return;
          const before = flat({ ...it, messages: it.messages.slice(0, i) });
          const without = flat({ ...it, messages: it.messages.filter((m) => m !== message && !answers(message, m)) });
          if (JSON.stringify(without) === JSON.stringify(all)) return; // nothing of this reply is ever sent
          expect(all.slice(0, before.length)).toEqual(before);
        });
      }),
      { numRuns: 200 },
    );
  });
});
const answers = (reply: Message, m: Message): boolean =>
  reply.role === "assistant" && m.role === "tool" && reply.content.some((p) => p.type === "tool-call" && p.callId === m.callId);

describe("a session with a server that checks every signature", () => {
  const op = fc.oneof(
    { weight: 4, arbitrary: fc.constant({ do: "say" as const }) },
    fc.record({ do: fc.constantFrom("shorten" as const, "drop" as const, "attach" as const, "cut" as const), at: fc.nat() }),
    fc.record({ do: fc.constant("model" as const), at: fc.nat() }),
    fc.record({ do: fc.constant("tools" as const), at: fc.nat() }),
  );
  const scripted = (dice: fc.Stream<number>) => (): Step => {
    const roll = (): number => dice.next().value;
    const calls = Array.from({ length: roll() % 3 }, () => ({ name: "read", input: { path: "/a" } }));
    const said = roll() % 2 === 0 ? { text: "Some text." } : {};
    const stop = roll() % 9 === 0 && calls.length === 0 ? { stop_reason: ["refusal", "max_tokens", "pause_turn"][roll() % 3]! } : {};
    return { ...(roll() % 4 > 0 ? { thinking: `thought ${roll()}` } : {}), ...said, calls, ...stop };
  };
  test("is never refused and loses no thinking on the way", { timeout: 60_000 }, async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(op, { minLength: 3, maxLength: 10 }), fc.infiniteStream(fc.nat(1000)), async (ops, dice) => {
        const server = await startAnthropicServer({ script: scripted(dice) });
        try {
          const provider = providerWith({ apiKey: "key-of-the-tests", baseURL: server.url, maxRetries: 0 });
          let talk = new Talk(provider, { model: MODELS[0]!, tools: [READ], prefix: NO_PREFIX });
          for (const it of ops) {
            const { history: h } = talk;
            const at = "at" in it && h.length > 0 ? it.at % h.length : 0;
            const message = h[at];
            if (it.do === "say") await talk.say("go on");
            if (it.do === "shorten" && message?.role === "tool") h[at] = { ...message, content: [{ type: "text", text: "[short]" }] };
            if (it.do === "cut" && message?.role === "user") talk.history = h.slice(at);
            if (it.do === "drop" && message?.role === "assistant" && !message.content.some((p) => p.type === "tool-call")) h.splice(at, 1);
            if (it.do === "attach" && message?.role === "user") h.splice(at + 1, 0, user("<late/>", true));
            if (it.do === "model") talk.model = ["claude-opus-5-5", "claude-sonnet-5-5", "claude-opus-4-8"][it.at % 3]!;
            if (it.do === "tools") {
              const next = new Talk(provider, {
                model: talk.model,
                tools: it.at % 2 ? [READ] : [READ, { ...READ, name: "w" }],
                prefix: NO_PREFIX,
              });
              next.history = talk.history;
              talk = next;
            }
          }
          expect(server.refusals().map((r) => r.refusal)).toEqual([]);
          expect(server.requests.flatMap((r) => r.dropped)).toEqual([]);
        } finally {
          await server.close();
        }
      }),
      { numRuns: 30 },
    );
  });
});

describe("images", () => {
  const images = (n: number, side: number): Message[] =>
    Array.from({ length: n }, () => user([{ type: "image", mimeType: "image/png", data: png(side) }]));
  const accepted = (messages: Message[], model: string): void => {
    expect(validate(JSON.stringify(encode(request(messages, { model, tools: NO_TOOLS }))), HEADERS, KNOWN)).toBeUndefined();
  };
  test("many, large, and more than fit", () => {
    accepted(images(20, 7000), "claude-opus-5-5");
    accepted([...images(10, 7000), ...images(15, 100)], "claude-opus-5-5");
    accepted(images(130, 100), "claude-haiku-4-5-20251001");
    accepted(images(601, 100), "claude-opus-5-5");
  });
});
