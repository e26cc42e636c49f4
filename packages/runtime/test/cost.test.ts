import type { Json, ModelInfo, ModelRequest, RuntimeEvent, ToolMessage, UserMessage } from "@heddle/kernel";
import { describe, expect, it } from "vitest";
import { CostMeter, priceOf } from "../src/session/cost.ts";
import { PrefixWatch } from "../src/session/prefix-watch.ts";

const at = { at: 0, turn: "t", step: 0 };
const size = { tools: 0, system: 0, context: 0, messages: 0 };
const asked = (model: string): RuntimeEvent => ({ ...at, type: "model.requested", provider: "p", model, messages: 1, tools: [], size });
const replied = (usage: object): RuntimeEvent =>
  ({ ...at, type: "model.replied", id: "a", stop: "end", ms: 1, firstMs: 1, usage }) as RuntimeEvent;
const flat = { input: 4, output: 20, cacheRead: 0.2, cacheWrite: 5 };
const priced: ModelInfo = { id: "big", prices: { at: "2026-11-30", tiers: [flat] } };
const tiered: ModelInfo = {
  id: "small",
  prices: {
    at: "2026-11-30",
    tiers: [
      { upTo: 100_000, input: 1, output: 1, cacheRead: 1, cacheWrite: 1 },
      { input: 5, output: 5, cacheRead: 5, cacheWrite: 5 },
    ],
  },
};

describe("cost", () => {
  it.each<[string, object, ModelInfo, number | undefined]>([
    ["each kind of token has its price", { input: 1e6, output: 1e6, cacheRead: 1e6, cacheWrite: 1e6 }, priced, 29.2],
    ["a prompt at the step is in the lower tier", { input: 60_000, output: 0, cacheRead: 40_000 }, tiered, 0.1],
    ["a prompt above it is in the upper one, whole", { input: 60_001, output: 0, cacheRead: 40_000 }, tiered, 0.500005],
    ["no price is no price, not nothing", { input: 5, output: 5 }, { id: "x" }, undefined],
  ])("%s", (_, usage, info, usd) => {
    const price = priceOf(usage as never, info);
    if (usd === undefined) expect(price).toBeUndefined();
    else expect(price).toBeCloseTo(usd, 9);
  });

  it("adds up by model, through retries with another, and names what has no price", () => {
    const meter = new CostMeter((_, model) => (model === "big" ? priced : { id: model }));
    const retry: RuntimeEvent = {
      ...at,
      type: "model.retry",
      cause: "overloaded",
      attempt: 3,
      of: 6,
      waitMs: 0,
      message: "",
      model: "q/small/other",
    };
    const events = [
      asked("big"),
      replied({ input: 1e6, output: 0 }),
      asked("big"),
      replied({ input: 0, output: 1e6, cacheRead: 10 }),
      asked("big"),
      retry,
      replied({ input: 7, output: 3 }),
      asked("big"),
      { ...at, type: "model.billed", provider: "q", model: "small/other", usage: { input: 1, output: 1 } } as RuntimeEvent,
      replied({ input: 0, output: 0 }),
    ];
    for (const event of events) meter.take(event);
    expect(meter.cost).toEqual({
      usd: 4 + 20 + 0.000002,
      unpriced: ["q/small/other"],
      apiMs: 0,
      breaks: [],
      models: [
        { provider: "p", model: "big", calls: 3, usd: 24.000002, usage: { input: 1e6, output: 1e6, cacheRead: 10, cacheWrite: 0 } },
        { provider: "q", model: "small/other", calls: 2, usage: { input: 8, output: 4, cacheRead: 0, cacheWrite: 0 } },
      ],
    });
  });
});

describe("prefix watch", () => {
  const message = (id: string, text = id): UserMessage => ({
    role: "user",
    id,
    parentId: null,
    at: 0,
    origin: { by: "user" },
    content: [{ type: "text", text }],
  });
  const [a, b, c] = ["a", "b", "c"].map((id) => message(id)) as [UserMessage, UserMessage, UserMessage];
  const tools = [{ name: "Read", description: "", schema: {} }];
  const prefix = { system: [{ plugin: "p", name: "s", text: "rules" }], context: [] };
  const request = (more: Partial<ModelRequest>): ModelRequest => ({ model: "m", prefix, messages: [a], tools, sessionId: "s", ...more });
  const second = (first: Partial<ModelRequest>, then: Partial<ModelRequest>): string | undefined => {
    const watch = new PrefixWatch();
    expect(watch.answered(request(first), "p")).toBeUndefined();
    return watch.answered(request(then), "p")?.cause;
  };
  it.each<[string, Partial<ModelRequest>, Partial<ModelRequest>, string | undefined]>([
    ["growing is no break", { messages: [a, b] }, { messages: [a, b, c] }, undefined],
    [
      "equal copies are none",
      { messages: [a, b] },
      { messages: [message("a"), b, c], prefix: { ...prefix }, tools: [...tools] },
      undefined,
    ],
    ["a new conversation is none", { messages: [a, b] }, { messages: [c] }, undefined],
    ["another model", {}, { model: "n" }, "the model changed from m to n"],
    ["a tool more", {}, { tools: [...tools, { name: "Late", description: "", schema: {} }] }, "the tools changed: added Late"],
    ["another system prompt", {}, { prefix: { system: [], context: [] } }, "the system prompt or the project's context was built anew"],
    ["an edited result", { messages: [a, b, c] }, { messages: [a, message("b", "cut"), c] }, "the history was changed at message 2 of 3"],
    ["a compaction", { messages: [a, b, c] }, { messages: [c] }, "the history was shortened at message 1 of 3"],
  ])("%s", (_, first, then, cause) => {
    expect(second(first, then)).toBe(cause);
  });
  it("tells once of a tool that was loaded, where the provider sends it only then", () => {
    const late = [...tools, { name: "Late", description: "", schema: {}, deferred: true as const }];
    const loading: ToolMessage = {
      ...{ role: "tool", id: "t", parentId: null, at: 0, origin: { by: "kernel" }, callId: "c", tool: "ToolSearch" },
      ...{ outcome: "ok", content: [], loads: ["Late"] },
    };
    const causes = (encode: (r: ModelRequest) => Json): (string | undefined)[] => {
      const watch = new PrefixWatch();
      const grown = [[a], [a, loading], [a, loading, b]];
      return grown.map((messages) => watch.answered(request({ tools: late, messages }), "p", undefined, encode)?.cause);
    };
    const whole = (r: ModelRequest): Json => ({ tools: r.tools.map((t) => t.name) });
    const offering = (r: ModelRequest): Json => ({ tools: r.messages.includes(loading) ? ["Read", "Late"] : ["Read"] });
    expect(causes(whole)).toEqual([undefined, undefined, undefined]);
    expect(causes(offering)).toEqual([undefined, "the tools changed: loaded Late", undefined]);
  });
  it("tells how much is paid for anew", () => {
    const watch = new PrefixWatch();
    watch.answered(request({ messages: [a, message("b", "x".repeat(360)), c] }), "p");
    expect(watch.answered(request({ messages: [a, message("b", "cut"), c] }), "p")!.tokens).toBeGreaterThan(100);
  });
  it("tells of no more than was really paid, also of a model that comes back", () => {
    const watch = new PrefixWatch();
    const said = (model: string, messages: readonly UserMessage[], read: number, provider = "p") =>
      watch.answered(request({ model, messages }), provider, { input: 7, output: 1, cacheRead: read, cacheWrite: 0 });
    expect([
      said("m", [a], 0),
      said("n", [a, b], 0),
      said("m", [a, b, c], 20),
      said("n", [a, b, c], 0),
      said("n", [a, b, c], 0, "q"),
      watch.answered(request({ model: "m", messages: [a, b, c] }), "p", { input: 0, output: 1, cacheRead: 9 }),
    ]).toEqual([
      undefined,
      { cause: "the model changed from m to n", tokens: 7 },
      undefined,
      { cause: "the model changed from m to n", tokens: 7 },
      { cause: "the model changed from p/n to q/n", tokens: 7 },
      undefined,
    ]);
  });
});
