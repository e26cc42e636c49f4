/** Servers that speak OpenAI's APIs, through the built program: which flags, variables and settings lead to them. */
import { type OpenAIServer, startOpenAIServer } from "@heddle/openai-server";
import { afterEach, describe, expect, it } from "vitest";
import { type World, world } from "./run.ts";

const NO_KEY = { ANTHROPIC_API_KEY: "", ANTHROPIC_BASE_URL: "" };
const open: OpenAIServer[] = [];
afterEach(async () => void (await Promise.all(open.splice(0).map((s) => s.close()))));

async function ollama(): Promise<OpenAIServer> {
  const server = await startOpenAIServer({ flavour: "ollama", script: [{ text: "Hello from here." }], models: { qwen3: {} } });
  open.push(server);
  return server;
}
const settings = (server: OpenAIServer): string => JSON.stringify({ provider: { options: { ollama: { baseURL: server.url } } } });
const answered = { code: 0, stdout: "Hello from here.\n", stderr: "", ms: 0 };
const asked = (server: OpenAIServer): unknown[] => server.requests.filter((r) => r.method === "POST").map((r) => r.body?.["model"]);

describe("a server of this machine", () => {
  it("answers without a key when a model names it", async () => {
    const [w, server] = [await world(), await ollama()];
    const ran = await w.run(["--model", "ollama/qwen3", "-p", "hi", "--settings", settings(server)], { env: NO_KEY });
    expect([{ ...ran, ms: 0 }, asked(server)]).toEqual([answered, ["qwen3"]]);
    const again = await w.run(["-c", "-p", "more", "--model", "ollama/qwen3", "--settings", settings(server)], { env: NO_KEY });
    expect([again.code, asked(server)]).toEqual([0, ["qwen3", "qwen3"]]);
  });

  it("is the provider of the user's settings, and never that of a project", async () => {
    const [w, server] = [await world({ script: [{ text: "Hello there." }] }), await ollama()];
    const mine = JSON.stringify({ provider: { name: "ollama", options: { baseURL: server.url } }, model: "qwen3" });
    w.write("project/.heddle/settings.json", mine);
    const project = await w.run(["-p", "hi", "--trust", "--model", "claude-haiku-5-5"]);
    expect([project.stdout, asked(server)]).toEqual(["Hello there.\n", []]);
    w.write("project/.heddle/settings.json", "{}");
    w.write("home/.heddle/settings.json", mine);
    const user = await w.run(["-p", "hi"], { env: NO_KEY });
    expect([{ ...user, ms: 0 }, asked(server)]).toEqual([answered, ["qwen3"]]);
  });

  it("is asked for a model when there is none", async () => {
    const w = await world();
    const ran = await w.run(["-p", "hi", "--settings", '{ "provider": "ollama" }'], { env: NO_KEY });
    expect([ran.code, ran.stderr]).toEqual([1, expect.stringContaining('which model of "ollama"? --model NAME')]);
  });

  it("stands in for a model that is overloaded", async () => {
    const faults = [{ name: "529-forever" as const, at: 0, headers: { "retry-after-ms": "20" } }];
    const [w, server] = [await world({ faults }), await ollama()];
    const ran = await w.run(["-p", "hi", "--fallback-model", "ollama/qwen3", "--settings", settings(server)]);
    expect([ran.code, ran.stdout, asked(server)]).toEqual([0, "Hello from here.\n", ["qwen3"]]);
    expect(ran.stderr).toMatch(/retry 3 of \d+ with ollama\/qwen3/);
  });

  it("is found by doctor, with its models", async () => {
    const [w, server] = [await world(), await ollama()];
    const ran = await w.run(["doctor", "--settings", settings(server)]);
    expect(ran.stdout).toMatch(/^ok {4}servers {3}--model .*ollama\/qwen3/m);
  });
});

describe("the variables of OpenAI", () => {
  const run = (w: World, env: Record<string, string>) => w.run(["--model", "openai/gpt-x", "-p", "hi"], { env: { ...NO_KEY, ...env } });

  it("say where it is and with which key", async () => {
    const [w, server] = [await world(), await startOpenAIServer({ script: [{ text: "Hello." }], keys: ["k-1"], models: { "gpt-x": {} } })];
    open.push(server);
    const ran = await run(w, { OPENAI_API_KEY: "k-1", OPENAI_BASE_URL: server.url });
    expect({ ...ran, ms: 0 }).toEqual({ code: 0, stdout: "Hello.\n", stderr: "", ms: 0 });
  });

  it("are named when they are missing or wrong", async () => {
    const w = await world();
    const missing = await run(w, {});
    expect([missing.code, missing.stdout, missing.stderr]).toEqual([1, "", expect.stringContaining("OPENAI_API_KEY")]);
    const wrong = await run(w, { OPENAI_BASE_URL: "nowhere" });
    expect([wrong.code, wrong.stderr]).toEqual([1, expect.stringMatching(/^heddle: OPENAI_BASE_URL is "nowhere", which is no address/)]);
  });
});

describe("--effort", () => {
  it("is sent to the model", async () => {
    const w = await world({ script: [{ text: "Hello." }] });
    await w.run(["-p", "hi", "--effort", "low", "--model", "claude-opus-5-5"]);
    expect(JSON.stringify(w.server.mainRequests()[0]?.body)).toContain('"effort":"low"');
  });
});
