/** The plugin as a host sees it: its manifest, its options, and that it looks at nothing else. */
import { afterEach, describe, expect, test, vi } from "vitest";
import plugin, { encode } from "../src/index.ts";
import { NEWEST } from "../src/newest.ts";
import { TABLE } from "../src/table.ts";
import { MODEL, manifest, NO_TOOLS, READ, request, user } from "./support/messages.ts";
import { chunksOf, failureOf, providerWith } from "./support/talk.ts";

afterEach(() => vi.unstubAllEnvs());

describe("the plugin", () => {
  test("contributes what its manifest says", () => {
    expect(manifest.heddle).toEqual({
      manifest: 1,
      api: "^1.0.0",
      main: "./dist/index.js",
      capabilities: [],
      contributes: { providers: [providerWith({}).name] },
    });
  });
  const tier = { input: 1, output: 1, cacheRead: 1, cacheWrite: 1 };
  test.each([
    { baseURL: "api.anthropic.com" },
    { baseURL: "ftp://x" },
    { maxRetries: -1 },
    { apiKey: "" },
    { headers: [] },
    { fetch: 1 },
    { models: { m: { window: 0 } } },
    { models: { m: { contextWindow: 5 } } },
    { models: { m: { prices: { at: "2026-11-30", tiers: [] } } } },
    { models: { m: { prices: { at: "2026-11-30", tiers: [{ ...tier, upTo: 9 }] } } } },
    { models: { m: { prices: { at: "2026-11-30", tiers: [tier, tier] } } } },
  ])("refuses %j", (options) => {
    const { success } = (plugin as unknown as { options: { safeParse(it: unknown): { success: boolean } } }).options.safeParse(options);
    expect(success).toBe(false);
  });
  test("knows the window of each model, and a careful one of any other", () => {
    const { window } = providerWith({});
    expect(["claude-opus-5-5", "claude-haiku-4-5-20251001", "claude-sonnet-4-5-20250929", "llama"].map((m) => window!(m))).toEqual([
      1_000_000, 200_000, 200_000, 200_000,
    ]);
  });
  const tiers = (...all: [number, number, number, number][]) =>
    all.map(([input, output, cacheRead, cacheWrite]) => ({ input, output, cacheRead, cacheWrite }));
  const WIDE = { window: 1_000_000, maxOutput: 128_000, images: true };
  test.each<[string, object]>([
    ["claude-opus-5-5", { ...WIDE, reasoning: true, prices: { at: "2026-11-30", tiers: tiers([4, 20, 0.2, 5]) } }],
    ["claude-fable-5-2", { ...WIDE, reasoning: true, prices: { at: "2026-11-30", tiers: tiers([8, 40, 0.2, 10]) } }],
    [
      "claude-haiku-5-5",
      {
        ...WIDE,
        reasoning: true,
        prices: {
          at: "2026-11-30",
          tiers: [{ upTo: 100_000, ...tiers([0.1, 0.5, 0.01, 0.125])[0] }, ...tiers([0.5, 2.5, 0.05, 0.625])],
        },
      },
    ],
    [
      "claude-haiku-4-5-20251001",
      { window: 200_000, maxOutput: 64_000, images: true, reasoning: false, prices: { at: "2026-11-30", tiers: tiers([1, 5, 0.1, 1.25]) } },
    ],
    ["claude-opus-4-1", { window: 200_000, maxOutput: 32_000, images: true, reasoning: false }],
    ["claude-opus-6", { window: 200_000, reasoning: true }],
    ["some-model-of-a-gateway", { window: 200_000 }],
  ])("knows of %s", (id, expected) => {
    expect(providerWith({}).info!(id)).toEqual({ id, ...expected });
  });
  test("lets the person overrule what it knows", () => {
    const prices = { at: "2027-01-01", tiers: [{ upTo: 5, input: 1, output: 2, cacheRead: 3, cacheWrite: 4 }, ...tiers([5, 6, 7, 8])] };
    const models = { "claude-opus-5-5": { window: 5, prices }, m: { maxOutput: 6, images: false, reasoning: true } };
    const { info, window } = providerWith({ models });
    expect(info!("claude-opus-5-5")).toEqual({ id: "claude-opus-5-5", ...WIDE, window: 5, reasoning: true, prices });
    expect(info!("m")).toEqual({ id: "m", window: 200_000, maxOutput: 6, images: false, reasoning: true });
    expect(window!("claude-opus-5-5")).toBe(5);
  });
  test("encodes without a key and without a network", () => {
    const it = request([user("hi")], { tools: NO_TOOLS });
    expect(providerWith({}).encode!(it)).toEqual(encode(it));
  });
});

test("the newest of each family is in the table, and nothing there is newer", () => {
  const versionOf = (id: string): number => {
    const [major = 0, minor = 0] = (/-([\d-]+)$/.exec(id)?.[1] ?? "").split("-").map(Number);
    return major * 100 + minor;
  };
  const newest = Object.keys(NEWEST).map((family) => {
    const all = Object.keys(TABLE).filter((id) => id.startsWith(`claude-${family}-`));
    return [family, all.sort((a, b) => versionOf(b) - versionOf(a))[0]];
  });
  expect(NEWEST).toEqual(Object.fromEntries(newest));
});

test("nothing comes from the environment", async () => {
  for (const [name, value] of Object.entries({
    ANTHROPIC_API_KEY: "env-key",
    ANTHROPIC_AUTH_TOKEN: "env-token",
    ANTHROPIC_BASE_URL: "http://env.test",
    ANTHROPIC_CUSTOM_HEADERS: "x-env: 1\nauthorization: Bearer env-header",
    ANTHROPIC_PROFILE: "env-profile",
    ANTHROPIC_LOG: "debug",
    ANTHROPIC_OPEN_TELEMETRY: "true",
  }))
    vi.stubEnv(name, value);
  const printed = vi.spyOn(console, "debug");
  let seen: { url: string; headers: string } | undefined;
  const fetch = async (url: unknown, init: { headers: Headers }): Promise<Response> => {
    seen = { url: String(url), headers: JSON.stringify([...new Headers(init.headers)]) };
    return new Response('event: message_stop\ndata: {"type":"message_stop"}\n\n', { headers: { "content-type": "text/event-stream" } });
  };
  await chunksOf(providerWith({ authToken: "given", fetch }), request([user("hi")], { model: MODEL, tools: [READ] }));
  expect(seen!.url).toBe("https://api.anthropic.com/v1/messages");
  expect(seen!.headers).toContain('["authorization","Bearer given"]');
  expect(seen!.headers).not.toContain("env");
  expect((await failureOf(providerWith({ fetch }), request([user("hi")]))).model).toEqual({ kind: "auth" });
  await chunksOf(providerWith({ headers: { "x-api-key": "given" }, fetch }), request([user("hi")]));
  expect(seen!.headers).not.toContain("env");
  expect(seen!.headers).not.toContain("authorization");
  expect(printed).not.toHaveBeenCalled();
});
