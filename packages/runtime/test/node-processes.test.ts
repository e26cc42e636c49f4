import { existsSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { ProcessOptions } from "@heddle/kernel";
import { describe, expect, it } from "vitest";
import { environmentFor, nodeProcesses } from "../src/node/index.ts";
import { HeadTail } from "../src/node/output.ts";
import { Spool } from "../src/node/spool.ts";
import { temporaryFolders } from "./support-node.ts";

const port = nodeProcesses();
const sh = (script: string, more: Partial<ProcessOptions> = {}) => port.run({ command: "sh", args: ["-c", script], cwd: "/", ...more });
const temporary = temporaryFolders();
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

  it("reaches what went into a group of its own", async () => {
    const idioms = ["timeout 99 sleep 31.4160", "set -m; sleep 31.4160 & wait", "(sleep 31.4160 &) ; sleep 31.4160"];
    const ends = await Promise.all(idioms.map((script) => sh(script, { command: "bash", args: ["-c", script], timeoutMs: 150 })));
    expect([ends.map((end) => end.ended), await left("31.4160")]).toEqual([["timeout", "timeout", "timeout"], "0"]);
  });

  it("takes such a one with it when it ends itself, also long after its command", async () => {
    const source = new URL("../src/node/processes.ts", import.meta.url).href;
    const code = `const { nodeProcesses } = await import(${JSON.stringify(source)});
      const port = nodeProcesses();
      const run = (script) => port.run({ command: "bash", args: ["-c", script], cwd: "/" });
      await run("set -m; sleep 31.4161 >/dev/null 2>&1 & true");
      const ran = await run("ps -eo comm,args | grep -c '^sleep.*[3]1.4161'");
      process.stdout.write(ran.stdout);
      void run("timeout 99 sleep 31.4161");
      setTimeout(() => process.exit(0), 300);`;
    const args = ["--conditions=@heddle/source", "--import", "tsx", "--input-type=module", "-e", code];
    const ran = await port.run({ command: process.execPath, args, cwd: process.cwd() });
    expect([ran.stdout, ran.exitCode, await left("31.4161")]).toEqual(["1\n", 0, "0"]);
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
    expect(made["HEDDLE_PID"]).toBe(`${process.pid}`);
    expect(made).toMatchObject({ GIT_EDITOR: "mine", GIT_TERMINAL_PROMPT: "0", PAGER: "cat", EDITOR: "true" });
  });
});

describe("what a person's shell exports", () => {
  it("does not reach the shells of commands, except for functions of their own", async () => {
    const env = {
      PATH: process.env["PATH"],
      SHELLOPTS: "errexit:noclobber:xtrace",
      CDPATH: "/",
      BASH_ENV: "/nonexistent",
      "BASH_FUNC_cd%%": "() { echo mine; }",
      "BASH_FUNC_mine%%": "() { echo kept; }",
    };
    const ran = await nodeProcesses({ env }).run({
      command: "bash",
      args: ["-c", "false; cd /tmp; pwd; mine; echo $SHELLOPTS"],
      cwd: "/",
    });
    expect([ran.output.replace(/\S*braceexpand\S*/, ""), ran.exitCode]).toEqual(["/tmp\nkept\n\n", 0]);
    expect(ran.output).not.toMatch(/errexit|noclobber|xtrace/);
  });
});

describe("the file with the whole output", () => {
  const lines = (n: number) => `i=0; while [ $i -lt ${n} ]; do echo line $i; i=$((i+1)); done`;
  it("is made only when something is left out, for its owner alone, and has no stderr", async () => {
    const dir = temporary();
    const spool = join(dir, "out/a.txt");
    await sh("echo short", { spool, maxBytes: 100 });
    expect(existsSync(join(dir, "out"))).toBe(false);
    const ran = await sh(`${lines(500)}; echo problem >&2`, { spool, maxBytes: 100 });
    expect(ran.droppedBytes).toBeGreaterThan(0);
    const kept = readFileSync(spool, "utf8").split("\n");
    expect(kept.filter((line) => line.startsWith("line"))).toEqual(Array.from({ length: 500 }, (_, i) => `line ${i}`));
    expect(kept).not.toContain("problem");
    expect(statSync(spool).mode & 0o777).toBe(0o600);
    expect(statSync(join(dir, "out")).mode & 0o777).toBe(0o700);
  });
  it("holds a fast command back and loses nothing", async () => {
    const spool = join(temporary(), "a.txt");
    await sh("head -c 30000000 /dev/zero; echo end", { spool, maxBytes: 1000 });
    expect(statSync(spool).size).toBe(30_000_004);
  });
  it("has its bytes as they are, also what is no text", async () => {
    const spool = join(temporary(), "a.txt");
    await sh("printf '\\377\\376x'", { spool, maxBytes: 1 });
    expect([...readFileSync(spool)]).toEqual([0xff, 0xfe, 0x78]);
  });
  it("is not there when it cannot be written; the command does not notice", async () => {
    const dir = temporary();
    writeFileSync(join(dir, "file"), "");
    for (const spool of [join(dir, "file/a.txt"), "/proc/nowhere.txt"]) {
      const ran = await sh(lines(500), { spool, maxBytes: 100 });
      expect([ran.exitCode, ran.stdout.endsWith("line 499\n")]).toEqual([0, true]);
    }
  });
  it("ends at its limit with a word", async () => {
    const path = join(temporary(), "a.txt");
    const spool = new Spool(path, 4, 10);
    for (const piece of ["abc", "def", "ghijklm", "nop"]) spool.push(Buffer.from(piece));
    await spool.end();
    expect(readFileSync(path, "utf8")).toBe("abcdefghij\n[The output goes on; no more of it is kept.]\n");
  });
});

describe("head and tail", () => {
  it("never cuts a character", () => {
    for (let max = 2; max < 40; max++) {
      const kept = new HeadTail(max);
      for (let i = 0; i < 10; i++) kept.push(Buffer.from("aé€😀"));
      expect(kept.text()).not.toContain("\uFFFD");
      expect(Buffer.byteLength(kept.text().replace(/\n\[\d+ bytes left out\]\n/, ""))).toBeLessThanOrEqual(max);
    }
  });
  it("leaves alone what fits", () => {
    const kept = new HeadTail(10);
    kept.push(Buffer.from("12345"));
    kept.push(Buffer.from("67890"));
    expect([kept.text(), kept.dropped]).toEqual(["1234567890", 0]);
  });
});
