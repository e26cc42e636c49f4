/** Runs the built program as a process of its own, in a folder of its own, with nothing of the person's environment. */
import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { type AnthropicServer, type ServerOptions, startAnthropicServer } from "@heddle/anthropic-server";
import { afterEach, expect } from "vitest";

const cliDir = join(dirname(fileURLToPath(import.meta.url)), "..", "..");
export const program = join(cliDir, "dist", "heddle.js");

const build = spawnSync(process.execPath, [join(cliDir, "build.mjs"), "--if-stale"], { encoding: "utf8" });
if (build.status !== 0) throw new Error(`the CLI cannot be built:\n${build.stderr}`);

export type Ran = { code: number | null; stdout: string; stderr: string; ms: number };
export type Options = { stdin?: string | Buffer; env?: Record<string, string>; cwd?: string };

/** A folder to work in, a home, and a server; all gone after the test, and the server has refused nothing. */
export type World = {
  cwd: string;
  home: string;
  server: AnthropicServer;
  env: Record<string, string>;
  write(path: string, text: string): void;
  start(args: readonly string[], options?: Options): Running;
  run(args: readonly string[], options?: Options): Promise<Ran>;
};
export type Running = { child: ChildProcess; ended: Promise<Ran>; seen(stream: "stdout" | "stderr", text: string): Promise<void> };

const open: { server: AnthropicServer; root: string; refusing: boolean }[] = [];
afterEach(async () => {
  const worlds = open.splice(0);
  await Promise.all(worlds.map(({ server }) => server.close()));
  for (const { root } of worlds) rmSync(root, { recursive: true, force: true });
  for (const { server, refusing } of worlds) if (!refusing) expect(server.refusals().map((r) => r.refusal)).toEqual([]);
}, 60_000);

/** `refusing`: the test wants a request to be refused. */
export async function world(options: ServerOptions = {}, refusing = false): Promise<World> {
  const root = realpathSync(mkdtempSync(join(tmpdir(), "heddle-test-")));
  const cwd = join(root, "project");
  const home = join(root, "home");
  mkdirSync(cwd);
  mkdirSync(home);
  const server = await startAnthropicServer(options);
  open.push({ server, root, refusing });
  const env = {
    PATH: process.env["PATH"] ?? "",
    HOME: home,
    TMPDIR: root,
    ANTHROPIC_API_KEY: "test-key",
    ANTHROPIC_BASE_URL: server.url,
  };
  const write = (path: string, text: string): void => {
    const full = join(root, path);
    mkdirSync(dirname(full), { recursive: true });
    writeFileSync(full, text);
  };
  const start = (args: readonly string[], o: Options = {}): Running => launch(args, { ...o, cwd: o.cwd ?? cwd, env: { ...env, ...o.env } });
  return { cwd, home, server, env, write, start, run: (args, o) => start(args, o).ended };
}

function launch(args: readonly string[], { stdin, env, cwd }: Options): Running {
  const started = performance.now();
  const child = spawn(process.execPath, [program, ...args], { ...(cwd ? { cwd } : {}), env: clean(env), stdio: ["pipe", "pipe", "pipe"] });
  const out = { stdout: "", stderr: "" };
  const waiting = new Set<() => void>();
  for (const stream of ["stdout", "stderr"] as const)
    child[stream]!.setEncoding("utf8").on("data", (chunk: string) => {
      out[stream] += chunk;
      for (const check of waiting) check();
    });
  child.stdin!.on("error", () => {});
  if (stdin !== undefined) child.stdin!.end(stdin);
  else if (!args.includes("--input-format")) child.stdin!.end();
  const ended = new Promise<Ran>((resolve) => {
    child.on("close", (code) => resolve({ code, ...out, ms: performance.now() - started }));
  });
  const seen = (stream: "stdout" | "stderr", text: string): Promise<void> =>
    new Promise((resolve, reject) => {
      const check = (): void => {
        if (out[stream].includes(text)) resolve();
      };
      waiting.add(check);
      void ended.then(() =>
        out[stream].includes(text) ? resolve() : reject(new Error(`ended without "${text}" on ${stream}: ${JSON.stringify(out)}`)),
      );
      check();
    });
  return { child, ended, seen };
}

/** An empty value takes a variable away. */
const clean = (env: Record<string, string> = {}): Record<string, string> =>
  Object.fromEntries(Object.entries(env).filter(([, v]) => v !== ""));

export const lines = (text: string): Record<string, unknown>[] =>
  text
    .split("\n")
    .filter((l) => l !== "")
    .map((l) => JSON.parse(l) as Record<string, unknown>);
