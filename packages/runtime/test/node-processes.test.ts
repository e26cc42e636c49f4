import type { ProcessOptions } from "@heddle/kernel";
import { describe, expect, it } from "vitest";
import { environmentFor, nodeProcesses } from "../src/node/index.ts";
import { HeadTail } from "../src/node/output.ts";

const sh = (script: string, more: Partial<ProcessOptions> = {}) =>
  nodeProcesses().run({ command: "sh", args: ["-c", script], cwd: "/", ...more });
/** What is left of processes that have `mark` in their command line. */
const left = async (mark: string): Promise<string> =>
  (await sh(`ps -eo args | grep -c "[${mark[0]}]${mark.slice(1)}" || true`)).stdout.trim();

describe("processes", () => {
  it("hands over both streams, the code, and what came when", async () => {
    const pieces: string[] = [];
    const result = await sh("echo out; sleep 0.05; echo err >&2; exit 3", { onOutput: (text, stream) => pieces.push(`${stream} ${text}`) });
    expect(result).toEqual({
      exitCode: 3,
      signal: null,
      stdout: "out\n",
      stderr: "err\n",
      output: "out\nerr\n",
      droppedBytes: 0,
      ended: "exit",
    });
    expect(pieces).toEqual(["stdout out\n", "stderr err\n"]);
  });

  it("gives no input unless there is some, and bears a reader that does not read it", async () => {
    expect((await sh("cat; tty; true")).stdout).toBe("not a tty\n");
    expect((await sh("cat", { stdin: "typed" })).stdout).toBe("typed");
    expect((await sh("exit 0", { stdin: "x".repeat(1_000_000) })).exitCode).toBe(0);
  });

  it("rejects only when it cannot be started", async () => {
    await expect(nodeProcesses().run({ command: "/nonexistent/program", cwd: "/" })).rejects.toMatchObject({ code: "ENOENT" });
    await expect(nodeProcesses().run({ command: "echo", args: ["a\0b"], cwd: "/" })).rejects.toMatchObject({
      code: "ERR_INVALID_ARG_VALUE",
    });
  });

  it("ends the whole group at the timeout", async () => {
    const result = await sh("sleep 31.4159 & sleep 31.4159; echo never", { timeoutMs: 100 });
    expect([result.ended, result.exitCode, result.signal, await left("31.4159")]).toEqual(["timeout", null, "SIGTERM", "0"]);
  });

  it("ends what does not take the hint", async () => {
    const result = await sh("trap '' TERM; echo ready; while :; do sleep 27.1828; done", { timeoutMs: 100 });
    expect([result.ended, result.signal, result.stdout, await left("27.1828")]).toEqual(["timeout", "SIGKILL", "ready\n", "0"]);
  });

  it("ends at an abort, and does not start after one", async () => {
    const controller = new AbortController();
    const running = sh("echo ready; sleep 30", { signal: controller.signal, onOutput: () => controller.abort() });
    expect(await running).toMatchObject({ ended: "abort", stdout: "ready\n", exitCode: null });
    expect(await sh("echo x", { signal: controller.signal })).toMatchObject({ ended: "abort", stdout: "" });
  });

  it("does not wait for a child that holds the pipe", async () => {
    const started = performance.now();
    expect(await sh("sleep 5 & echo done")).toMatchObject({ ended: "exit", exitCode: 0, stdout: "done\n" });
    expect(performance.now() - started).toBeLessThan(4_000);
  });

  it("takes what ended commands left running with it when it ends itself", async () => {
    const source = new URL("../src/node/processes.ts", import.meta.url).href;
    const code = `const { nodeProcesses } = await import(${JSON.stringify(source)});
      const ran = await nodeProcesses().run({ command: "sh", args: ["-c", "sleep 31.4159 >/dev/null 2>&1 & echo started"], cwd: "/" });
      process.stdout.write(ran.stdout);`;
    const args = ["--conditions=@heddle/source", "--import", "tsx", "--input-type=module", "-e", code];
    const ran = await nodeProcesses().run({ command: process.execPath, args, cwd: process.cwd() });
    expect([ran.stdout, ran.exitCode, await left("31.4159")]).toEqual(["started\n", 0, "0"]);
  });

  it("calls neither a timeout nor an abort what comes after a command has ended by itself", async () => {
    const controller = new AbortController();
    const late = sh("sleep 5 & echo done", { timeoutMs: 120 });
    const aborted = sh("sleep 5 & echo done", { signal: controller.signal, onOutput: () => setTimeout(() => controller.abort(), 100) });
    const ended = { ended: "exit", exitCode: 0, signal: null, stdout: "done\n" };
    expect(await Promise.all([late, aborted])).toMatchObject([ended, ended]);
  });

  it("keeps the head and the tail of long output and counts the rest", async () => {
    const result = await sh("i=0; while [ $i -lt 2000 ]; do echo line $i; i=$((i+1)); done", { maxBytes: 100 });
    expect(result.stdout).toMatch(/^line 0\nline 1\n[\s\S]*\n\[\d+ bytes left out\]\n[\s\S]*line 1999\n$/);
    expect([result.stdout.length < 150, result.droppedBytes]).toEqual([true, 18_890 - 100]);
  });

  it("puts characters together that come in pieces", async () => {
    const result = await sh(`printf '\\342'; sleep 0.05; printf '\\202'; sleep 0.05; printf '\\254\\n'`);
    expect([result.stdout, result.output]).toEqual(["€\n", "€\n"]);
  });

  it("passes on the environment without credentials and without anyone to ask", () => {
    const env = {
      PATH: "/bin",
      ANTHROPIC_API_KEY: "a",
      ANTHROPIC_BASE_URL: "b",
      HEDDLE_API_KEY: "c",
      HEDDLE_X_TOKEN: "d",
      HEDDLE_HOME: "/h",
      MY_KEY: "e",
      EXTRA: "f",
    };
    const made = environmentFor({ env, hide: ["EXTRA"] }, { GIT_EDITOR: "mine" });
    expect(Object.keys(made).filter((k) => k in env)).toEqual(["PATH", "HEDDLE_HOME", "MY_KEY"]);
    expect(made).toMatchObject({ GIT_EDITOR: "mine", GIT_TERMINAL_PROMPT: "0", PAGER: "cat", EDITOR: "true" });
  });
});

describe("head and tail", () => {
  it("never cuts a character", () => {
    for (let max = 2; max < 40; max++) {
      const kept = new HeadTail(max);
      for (let i = 0; i < 10; i++) kept.push("aé€😀");
      expect(kept.text()).not.toContain("\uFFFD");
      expect(Buffer.byteLength(kept.text().replace(/\n\[\d+ bytes left out\]\n/, ""))).toBeLessThanOrEqual(max);
    }
  });
  it("leaves alone what fits", () => {
    const kept = new HeadTail(10);
    kept.push("12345");
    kept.push("67890");
    expect([kept.text(), kept.dropped]).toEqual(["1234567890", 0]);
  });
});
