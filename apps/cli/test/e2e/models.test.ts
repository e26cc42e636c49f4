/** Names for models, and what settings say of them, through the built program. */
import { startOpenAIServer } from "@heddle/openai-server";
import { describe, expect, it } from "vitest";
import { world } from "./run.ts";

const hello = [{ text: "Hello there." }];
const asked = (requests: readonly { body?: unknown }[]): unknown[] => requests.map((r) => (r.body as { model?: string }).model);

describe("an alias", () => {
  it("stands for the newest model of its family, also in a project's settings", async () => {
    const w = await world({ script: hello });
    w.write("project/.claude/settings.json", '{ "model": "opus[1m]" }');
    const ran = await w.run(["-p", "hi", "--output-format", "json"]);
    expect(Object.keys((JSON.parse(ran.stdout) as { modelUsage: object }).modelUsage)).toEqual(["claude-opus-5-5"]);
    await w.run(["-p", "hi", "--model", "haiku"]);
    await w.run(["-c", "-p", "more", "--model", "default"]);
    await w.run(["-p", "hi"], { env: { ANTHROPIC_MODEL: "sonnet" } });
    expect(asked(w.server.mainRequests())).toEqual(["claude-opus-5-5", "claude-haiku-5-5", "claude-sonnet-5-5", "claude-sonnet-5-5"]);
  });

  it("of the user's leads to any server, and no project's does", async () => {
    const faults = [{ name: "529-forever" as const, at: 0, headers: { "retry-after-ms": "20" } }];
    const w = await world({ faults, script: hello });
    const server = await startOpenAIServer({ flavour: "ollama", script: [{ text: "Hello from here." }], models: { qwen3: {} } });
    const provider = { options: { ollama: { baseURL: server.url } } };
    w.write("home/.heddle/settings.json", JSON.stringify({ modelAliases: { fast: "ollama/qwen3" }, provider }));
    w.write("project/.heddle/settings.json", '{ "model": "fast", "modelAliases": { "sonnet": "fast" } }');
    const named = await w.run(["-p", "hi", "--model", "fast"]);
    const spare = await w.run(["-p", "hi", "--model", "sonnet", "--fallback-model", "fast"]);
    await server.close();
    expect([named.stdout, spare.stdout]).toEqual(["Hello from here.\n", "Hello from here.\n"]);
    expect(new Set(asked(w.server.mainRequests()))).toEqual(new Set(["claude-sonnet-5-5"]));
    for (const what of ["- model: ", "- modelAliases: "]) expect(named.stderr).toContain(what);
  });

  it("that leads in a circle is named, and so is a fallback that nobody serves", async () => {
    const w = await world({ script: hello });
    w.write("home/.heddle/settings.json", '{ "modelAliases": { "a": "b", "b": "a", "haiku": "haiku", "c": "a" } }');
    const ran = await w.run(["-p", "hi", "--model", "opus", "--fallback-model", "nope/x,haiku"]);
    const circle = "leads in a circle and names no model: let one of them name a model";
    expect([ran.code, ran.stderr.trimEnd().split("\n")]).toEqual([
      0,
      [
        `heddle: modelAliases: haiku → haiku ${circle}`,
        `heddle: modelAliases: a → b → a ${circle}`,
        expect.stringMatching(/^heddle: fallback model "nope\/x": there is no provider "nope"/),
      ],
    ]);
  });

  it("is listed by /model", async () => {
    const w = await world();
    w.write("home/.heddle/settings.json", '{ "modelAliases": { "fast": "haiku" }, "models": { "ollama/qwen3": { "window": 65536 } } }');
    const ran = await w.run(["-p", "/model"]);
    expect(ran.stdout.split("\n")).toEqual([
      "The model is claude-sonnet-5-5, from anthropic. /model NAME changes it.",
      "  default       claude-sonnet-5-5",
      "  fable         claude-fable-5-2",
      "  opus          claude-opus-5-5",
      "  sonnet        claude-sonnet-5-5",
      "  haiku         claude-haiku-5-5",
      "  opus[1m]      claude-opus-5-5",
      "  sonnet[1m]    claude-sonnet-5-5",
      "  fast          claude-haiku-5-5",
      "  ollama/qwen3",
      "",
    ]);
  });
});

describe("what settings say of a model", () => {
  it.each([
    ["claude-opus-5-5", "adaptive"],
    ["claude-sonnet-5-5", "between_tools"],
    ["claude-haiku-5-5", "disabled"],
  ])("is that it shall not think, as far as it can do without: %s", async (model, type) => {
    const w = await world({ script: [{ thinking: "Hm.", calls: [{ name: "Glob", input: { pattern: "*" } }] }, ...hello] });
    const ran = await w.run(["-p", "hi", "--model", model, "--settings", '{ "alwaysThinkingEnabled": false }']);
    expect([ran.code, ran.stdout]).toEqual([0, "Hello there.\n"]);
    expect(w.server.mainRequests().map((r) => (r.body as { thinking?: { type: string } }).thinking?.type)).toEqual([type, type]);
  });

  it("counts for what is sent and for what it costs", async () => {
    const w = await world({ script: [{ calls: [{ name: "Glob", input: { pattern: "*" } }] }, ...hello] });
    const tiers = [{ input: 1, output: 1, cacheRead: 1, cacheWrite: 1 }];
    const models = { "anthropic/claude-opus-9": { maxOutput: 1234, prices: { at: "2026-11-30", tiers } } };
    w.write("home/.heddle/settings.json", JSON.stringify({ models }));
    const ran = await w.run(["-p", "hi", "--model", "claude-opus-9", "--max-budget-usd", "5"]);
    expect([ran.code, ran.stdout]).toEqual([0, "Hello there.\n"]);
    expect(w.server.mainRequests().map((r) => (r.body as { max_tokens: number }).max_tokens)).toEqual([1234, 1234]);
  });
});
