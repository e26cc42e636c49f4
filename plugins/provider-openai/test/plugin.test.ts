/** The plugin as a host sees it: its manifest, its options, its lists of models, and that it looks at nothing else. */
import { FLAVOUR_NAMES, startOpenAIServer } from "@heddle/openai-server";
import { afterEach, describe, expect, test, vi } from "vitest";
import plugin from "../src/index.ts";
import { manifest, request, user } from "./support/messages.ts";
import { chunksOf, context, failureOf, providerOf, providersWith } from "./support/talk.ts";

afterEach(() => vi.unstubAllEnvs());

describe("the plugin", () => {
  test("contributes what its manifest says", () => {
    expect(manifest.heddle).toEqual({
      manifest: 1,
      api: "^1.0.0",
      main: "./dist/index.js",
      capabilities: [],
      contributes: { providers: providersWith({}).map((p) => p.name) },
    });
  });
  test.each([
    { openai: { baseURL: "api.openai.com" } },
    { openai: { baseURL: "ftp://x" } },
    { openai: { apiKey: "" } },
    { openai: { api: "completions" } },
    { ollama: { models: { m: { window: 0 } } } },
    { ollama: { models: { m: { contextWindow: 5 } } } },
    { ollama: { models: { m: { prices: { at: "2026-11-30", tiers: [] } } } } },
    { apiKey: "at the top" },
    { fetch: 1 },
  ])("refuses %j", (options) => {
    const { success } = (plugin as unknown as { options: { safeParse(it: unknown): { success: boolean } } }).options.safeParse(options);
    expect(success).toBe(false);
  });
});

describe("where requests go", () => {
  const sent = async (name: Parameters<typeof providerOf>[0], options: object = {}) => {
    let seen: { url: string; headers: object } | undefined;
    const fetch = async (url: unknown, init: { headers: Record<string, string> }): Promise<Response> => {
      seen = { url: String(url), headers: init.headers };
      return new Response("data: [DONE]\n\n", { headers: { "content-type": "text/event-stream" } });
    };
    await chunksOf(providerOf(name, options, { fetch }), request([user("hi")])).catch(() => {});
    return seen!;
  };
  test.each([
    ["openai", { apiKey: "k" }, "https://api.openai.com/v1/responses"],
    ["openai", { apiKey: "k", api: "chat" }, "https://api.openai.com/v1/chat/completions"],
    ["openai", { baseURL: "https://proxy.test/openai/" }, "https://proxy.test/openai/chat/completions"],
    ["ollama", {}, "http://localhost:11434/v1/chat/completions"],
    ["lmstudio", {}, "http://localhost:1234/v1/chat/completions"],
    ["llamacpp", {}, "http://localhost:8080/v1/chat/completions"],
    ["vllm", {}, "http://localhost:8000/v1/chat/completions"],
    ["openrouter", { apiKey: "k" }, "https://openrouter.ai/api/v1/chat/completions"],
    ["compatible", { baseURL: "http://host:9" }, "http://host:9/v1/chat/completions"],
    ["compatible", { baseURL: "http://host:9/v1", api: "responses" }, "http://host:9/v1/responses"],
  ] as const)("%s %j", async (name, options, url) => {
    expect((await sent(name, options)).url).toBe(url);
  });
  test("what they carry", async () => {
    const base = { accept: "text/event-stream", "content-type": "application/json" };
    expect((await sent("ollama")).headers).toEqual(base);
    expect((await sent("ollama", { apiKey: "k", headers: { "X-Title": "t" } })).headers).toEqual({
      ...base,
      authorization: "Bearer k",
      "x-title": "t",
    });
    expect(await sent("compatible", { baseURL: "http://me:pw@host/v1" })).toEqual({
      url: "http://host/v1/chat/completions",
      headers: { ...base, authorization: `Basic ${btoa("me:pw")}` },
    });
  });
  test("nothing comes from the environment", async () => {
    for (const name of ["OPENAI_API_KEY", "OPENROUTER_API_KEY", "OPENAI_BASE_URL", "OLLAMA_HOST"]) vi.stubEnv(name, "http://env.test");
    expect((await failureOf(providerOf("openai"), request([user("hi")]))).model).toEqual({ kind: "auth" });
    expect(JSON.stringify(await sent("ollama"))).not.toContain("env.test");
  });
});

describe("the models of a server", () => {
  test.each(FLAVOUR_NAMES.map((flavour) => ({ flavour })))("$flavour", async ({ flavour }) => {
    const server = await startOpenAIServer({ flavour });
    try {
      const models = await providerOf("compatible", { baseURL: server.url, apiKey: "k" }).models(context());
      const tells = { vllm: { window: 32_768 }, "llama.cpp": { window: 32_768 } }[flavour as string] ?? {};
      const local = ["qwen3-vl:8b", "qwen3:8b"].map((id) => ({ id, ...tells }));
      const router = [
        { id: "anthropic/claude-sonnet-5", window: 1_000_000, maxOutput: 64_000, images: true },
        { id: "qwen/qwen3-coder", window: 262_144, maxOutput: 64_000, images: false },
      ];
      const official = ["gpt-4o", "gpt-5", "gpt-5.6", "gpt-6-astra"].map((id) => ({ id }));
      expect(models).toEqual(flavour === "openai" ? official : flavour === "openrouter" ? router : local);
    } finally {
      await server.close();
    }
  });
  test("a key that is refused", async () => {
    const server = await startOpenAIServer({ keys: ["other"] });
    try {
      const provider = providerOf("openai", { baseURL: server.url, apiKey: "secret" });
      await expect(provider.models(context())).rejects.toMatchObject({ name: "ModelError", model: { kind: "auth", status: 401 } });
    } finally {
      await server.close();
    }
  });
});
