/** Where the program's key comes from, what it says when there is none that is taken, and that no key is ever shown or kept. */
import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import type { Script, ServerOptions } from "@heddle/anthropic-server";
import { describe, expect, it } from "vitest";
import { terminal } from "./pty.ts";
import { lines, type World, world } from "./run.ts";

const script: Script = [{ calls: [{ name: "Read", input: { file_path: "a.txt" } }] }, { text: "It says alpha." }];
const NO_KEY = { env: { ANTHROPIC_API_KEY: "" } };

/** A world whose user has a helper: `body` is what its script does after it has counted its runs into the file `runs`. */
async function helped(body: string, server: ServerOptions = {}): Promise<World & { runs(): number }> {
  const w = await world({ script, ...server }, true);
  w.write("project/a.txt", "alpha\n");
  w.write("home/print-key.sh", `echo run >> "$HOME/runs"\nn=$(wc -l < "$HOME/runs" | tr -d ' ')\n${body}\n`);
  w.write("home/.heddle/settings.json", JSON.stringify({ apiKeyHelper: "sh ./print-key.sh" }));
  const runs = (): number => (existsSync(join(w.home, "runs")) ? readFileSync(join(w.home, "runs"), "utf8").trim().split("\n").length : 0);
  return { ...w, runs };
}
/** All that the program has written below a folder. */
function written(dir: string): string {
  const texts = readdirSync(dir, { recursive: true, encoding: "utf8" }).map((name) => {
    const path = join(dir, name);
    return statSync(path).isFile() && !name.endsWith("print-key.sh") ? readFileSync(path, "utf8") : "";
  });
  return texts.join("\n");
}

describe("apiKeyHelper", () => {
  it("runs once, when the first request needs its key, and not before", async () => {
    const w = await helped('echo "key-hidden-$n"', { keys: ["key-hidden-1"] });
    for (const args of [["--version"], ["plugins", "list"], ["doctor"]]) await w.run(args, NO_KEY);
    expect(w.runs()).toBe(0);
    const ran = await w.run(["-p", "what does a.txt say?", "--output-format", "stream-json"], NO_KEY);
    expect([ran.code, ran.stderr, lines(ran.stdout)[0]?.["apiKeySource"], w.runs()]).toEqual([0, "", "apiKeyHelper", 1]);
    expect(written(w.home) + ran.stdout).not.toContain("key-hidden");
  });

  it("runs again when its key is refused, once", async () => {
    const w = await helped('echo "key-hidden-$n"', { keys: ["key-hidden-2"] });
    const ran = await w.run(["-p", "what does a.txt say?"], NO_KEY);
    expect([ran.code, ran.stdout, ran.stderr, w.runs()]).toEqual([0, "It says alpha.\n", "", 2]);
    const other = await helped('echo "key-hidden-$n"', { keys: ["none"] });
    const failed = await other.run(["-p", "hi"], NO_KEY);
    expect([failed.code, failed.stdout, failed.stderr, other.runs()]).toEqual([
      1,
      "",
      `heddle: The API key of apiKeyHelper was refused by ${other.server.url} (401: invalid x-api-key). It was asked for a new one before: check what apiKeyHelper gives.\n`,
      2,
    ]);
    expect(written(w.home) + written(other.home)).not.toContain("key-hidden");
  });

  it("that fails ends the turn with its own words, and nothing is sent", async () => {
    const w = await helped("echo key-hidden; echo 'token key-hidden has expired: log in' >&2; exit 3");
    const ran = await w.run(["-p", "hi"], NO_KEY);
    expect([ran.code, ran.stdout, ran.stderr, w.server.requests.length]).toEqual([
      1,
      "",
      'heddle: apiKeyHelper gave no API key: its command ended with exit code 3 (token *** has expired: log in). Run it by itself, or correct "apiKeyHelper" in your settings.\n',
      0,
    ]);
    expect(written(w.home)).not.toContain("key-hidden");
  });

  it("of a project is never run, and a key of the environment comes first", async () => {
    const w = await helped("echo wrong", { keys: ["test-key"] });
    w.write("project/.heddle/settings.json", JSON.stringify({ apiKeyHelper: `touch ${join(w.cwd, "owned")}; echo test-key` }));
    const ran = await w.run(["-p", "what does a.txt say?", "--trust"]);
    expect([ran.code, ran.stdout, w.runs()]).toEqual([0, "It says alpha.\n", 0]);
    expect(ran.stderr).toMatch(/^heddle: not used: apiKeyHelper of \S+: a project may never choose the key\n$/);
    expect(existsSync(join(w.cwd, "owned"))).toBe(false);
  });
});

describe("a server that echoes the key", () => {
  const KEY = "sk-very-hidden-key";
  const message = `bad request with Bearer ${KEY}`;
  const retried = { status: 500, message, headers: { "retry-after-ms": "10" }, at: 0, times: 1 };
  const final = { status: 400, message, at: 1, times: 1 };

  it.each([[[]], [["--output-format", "json"]], [["--output-format", "stream-json", "--verbose"]]])("with %j", async (flags) => {
    const w = await world({ script, faults: [retried, final] });
    const ran = await w.run(["-p", "hi", ...flags], { env: { ANTHROPIC_API_KEY: KEY } });
    expect(ran.code).toBe(1);
    expect(ran.stdout + ran.stderr).toContain("Bearer ***");
    expect(ran.stdout + ran.stderr + written(w.home)).not.toContain(KEY);
    const explained = await w.run(["explain", "-1"]);
    expect(explained.stdout).toContain("Bearer ***");
    expect(explained.stdout).not.toContain(KEY);
  });

  it("in a terminal", async () => {
    const w = await world({ script, faults: [retried, final] });
    w.env["ANTHROPIC_API_KEY"] = KEY;
    const t = terminal(w, [], 200);
    await t.shows(/^>$/m);
    t.type("hi\r");
    await t.shows(/retry 1 of 10 .*Bearer \*\*\*[\s\S]*refused the request.*Bearer \*\*\*/);
    t.type("/exit\r");
    expect([await t.ended, t.raw().includes(KEY), written(w.home).includes(KEY)]).toEqual([0, false, false]);
  });
});

describe("a server of this machine", () => {
  it.each([
    [
      "ollama/qwen3",
      "Ollama",
      /^heddle: Cannot reach \S+: is Ollama running\? Start it with `ollama serve`, or set option "ollama\.baseURL"\.\n$/,
    ],
    [
      "claude-x",
      "anthropic",
      /^heddle: Nothing listens at \S+ \(connection refused\)\. Start the server, or check the base URL \(ANTHROPIC_BASE_URL\)\.\n$/,
    ],
  ])("that does not run is said at once: %s", async (model, _, said) => {
    const w = await world();
    const closed = createServer();
    await new Promise<void>((resolve) => closed.listen(0, "127.0.0.1", resolve));
    const baseURL = `http://127.0.0.1:${(closed.address() as AddressInfo).port}`;
    await new Promise((resolve) => closed.close(resolve));
    const settings = JSON.stringify({ provider: { options: { ollama: { baseURL } } } });
    const ran = await w.run(["-p", "hi", "--model", model, "--settings", settings], { env: { ANTHROPIC_BASE_URL: baseURL } });
    expect([ran.code, ran.stdout, ran.stderr]).toEqual([1, "", expect.stringMatching(said)]);
  });
});
