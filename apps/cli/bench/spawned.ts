/** Runs a Node program and says how long it took and what it used. */
import { spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";

/** Milliseconds since the epoch, with fractions. */
export const clock = (): number => performance.timeOrigin + performance.now();

export type Spawned = { startedAt: number; wallMs: number; cpuMs: number; rssMb: number };

/** With `usageFile`, CPU and peak memory are measured, which costs a little time of its own; without it they are 0. Throws when it fails. */
export async function spawned(args: readonly string[], env: Record<string, string>, cwd: string, usageFile?: string): Promise<Spawned> {
  const hook = usageFile === undefined ? [] : ["--require", join(import.meta.dirname, "usage.cjs")];
  const startedAt = clock();
  const child = spawn(process.execPath, [...hook, ...args], {
    cwd,
    env: { ...env, ...(usageFile === undefined ? {} : { HEDDLE_BENCH_USAGE: usageFile }) },
    stdio: ["ignore", "ignore", "pipe"],
  });
  let stderr = "";
  child.stderr.setEncoding("utf8").on("data", (chunk: string) => {
    stderr += chunk;
  });
  const code = await new Promise<number | null>((resolve) => child.on("close", resolve));
  const wallMs = clock() - startedAt;
  if (code !== 0) throw new Error(`${args.join(" ")} ended with ${code}:\n${stderr}`);
  if (usageFile === undefined) return { startedAt, wallMs, cpuMs: 0, rssMb: 0 };
  const used = JSON.parse(readFileSync(usageFile, "utf8")) as NodeJS.ResourceUsage;
  return { startedAt, wallMs, cpuMs: (used.userCPUTime + used.systemCPUTime) / 1000, rssMb: used.maxRSS / 1024 };
}

export function quantile(values: readonly number[], q: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(q * sorted.length))] ?? Number.NaN;
}
