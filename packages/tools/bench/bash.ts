/** Measures Bash against its budgets: what a command costs beyond its bare process, and the memory that a gigabyte of output takes. */
import { spawn } from "node:child_process";
import { mkdtempSync, realpathSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { nodeFiles, nodeProcesses } from "@heddle/runtime/node";
import { kitOf } from "../test/support/harness.ts";

const ROUNDS = 40;
const BUDGET = { startMs: 15, memoryMb: 50 };
const GIGABYTE = 2 ** 30;
const MB = 2 ** 20;

/** What other work on the machine adds is left out. */
const quartile = (values: readonly number[]): number => [...values].sort((a, b) => a - b)[Math.floor(values.length / 4)]!;

const dir = realpathSync(mkdtempSync(join(tmpdir(), "heddle-bench-bash-")));
const kit = await kitOf({ fs: nodeFiles(), processes: nodeProcesses(), cwd: dir, folder: dir, now: Date.now });

async function msOf(work: () => Promise<unknown>): Promise<number> {
  const started = performance.now();
  await work();
  return performance.now() - started;
}
const bare = (): Promise<unknown> =>
  new Promise((resolve) => {
    const child = spawn("bash", ["-c", "true"], { cwd: dir, detached: true, stdio: ["ignore", "pipe", "pipe"] });
    child.once("close", resolve);
  });

async function start(): Promise<number> {
  const [own, through]: number[][] = [[], []];
  for (let n = 0; n < ROUNDS; n++) {
    own.push(await msOf(bare));
    through.push(await msOf(() => kit.call("Bash", { command: "true" })));
  }
  return quartile(through) - quartile(own);
}

async function gigabyte(command: string): Promise<{ mb: number; s: number }> {
  global.gc?.();
  const before = process.memoryUsage().rss;
  let peak = before;
  const watch = setInterval(() => {
    peak = Math.max(peak, process.memoryUsage().rss);
  }, 20);
  const ms = await msOf(() => kit.call("Bash", { command, timeout: 600_000 }));
  clearInterval(watch);
  return { mb: (peak - before) / MB, s: ms / 1000 };
}

try {
  const over = await start();
  console.log(`start over spawn: ${over.toFixed(1)} ms (budget ${BUDGET.startMs})`);
  let good = over <= BUDGET.startMs;
  for (const command of [`yes "a line of some length, as logs have them" | head -c ${GIGABYTE}`, `head -c ${GIGABYTE} /dev/zero`]) {
    const { mb, s } = await gigabyte(command);
    const kept = statSync(join(dir, "outputs"), { throwIfNoEntry: false }) ? "kept on disk" : "not kept";
    console.log(`1 GB of ${command.slice(0, 20)}…: ${mb.toFixed(0)} MB more (budget ${BUDGET.memoryMb}), ${s.toFixed(1)} s, ${kept}`);
    good &&= mb <= BUDGET.memoryMb;
  }
  process.exitCode = good ? 0 : 1;
} finally {
  rmSync(dir, { recursive: true, force: true });
}
