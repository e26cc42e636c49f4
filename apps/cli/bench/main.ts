/** Measures the built program against the test server and prints one table; ratios are to `node -e 0` in the same run. */
import { spawnSync } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startAnthropicServer } from "@heddle/anthropic-server";
import { callRows } from "./calls.ts";
import { clock, quantile, type Spawned, spawned } from "./spawned.ts";
import { type Row, table } from "./table.ts";

const ROUNDS = Number(process.env["HEDDLE_BENCH_ROUNDS"] ?? 15);
const STEPS = 205;
const CHARS_PER_TOKEN = 3.6;
const program = join(import.meta.dirname, "..", "dist", "heddle.js");

const root = mkdtempSync(join(tmpdir(), "heddle-bench-"));
const cwd = join(root, "project");
mkdirSync(cwd);
writeFileSync(join(cwd, "a.txt"), "alpha\n");
const repository = join(root, "repository");
cpSync(cwd, repository, { recursive: true });
for (const args of [
  ["init", "--quiet"],
  ["add", "--all"],
  ["-c", "user.name=b", "-c", "user.email=b@b.invalid", "commit", "--quiet", "--message", "a"],
])
  spawnSync("git", args, { cwd: repository });
// NODE_EXTRA_CA_CERTS is left out on purpose: on Node 20 it costs every start about 60 ms.
const base = { PATH: process.env["PATH"] ?? "", HOME: root, ANTHROPIC_API_KEY: "bench" };

/** Every case once per round, so that a busy moment of the machine hits all of them. */
async function starts() {
  const server = await startAnthropicServer({ script: () => ({ text: "ok" }), clock });
  const env = { ...base, ANTHROPIC_BASE_URL: server.url };
  const one = [program, "-p", "hi"];
  const seen: Record<string, number[]> = {};
  const note = (name: string, value: number): void => {
    seen[name] = [...(seen[name] ?? []), value];
  };
  for (let round = -1; round < ROUNDS; round++) {
    const cases: [name: string, args: readonly string[], folder?: string][] = [
      ["node", ["-e", "0"]],
      ["version", [program, "--version"]],
      ["light", [program, "plugins", "list"]],
      ["one-shot", one],
      ["one-shot in git", one, repository],
    ];
    for (const [name, args, folder = cwd] of cases) {
      const before = server.mainRequests().length;
      const ran = await spawned(args, env, folder);
      if (round < 0) continue; // warms the disk
      note(name, ran.wallMs);
      const request = server.mainRequests()[before];
      if (request) note(`${name}, first request`, request.receivedAt - ran.startedAt);
    }
  }
  const used: Spawned[] = [];
  for (let i = 0; i < 5; i++) used.push(await spawned(one, env, cwd, join(root, "usage.json")));
  const bytes = server.mainRequests()[0]?.bytes ?? 0;
  await server.close();
  return { seen, used, bytes };
}

/** One turn of many trivial steps. `overhead[n]`: from the end of reply n to the arrival of the next request. */
async function steps() {
  const calls = [{ name: "Read", input: { file_path: join(cwd, "a.txt") } }];
  const server = await startAnthropicServer({ script: (_, step) => (step < STEPS ? { calls } : { text: "done" }), clock });
  await spawned([program, "-p", "go", "--max-turns", String(STEPS + 5)], { ...base, ANTHROPIC_BASE_URL: server.url }, cwd);
  const requests = server.mainRequests();
  const overhead = requests.slice(1).map((r, i) => r.receivedAt - (requests[i]?.endedAt ?? Number.NaN));
  const costRatio = server.costRatio();
  const refused = server.refusals().length;
  await server.close();
  return { overhead, costRatio, refused };
}

try {
  const { seen, used, bytes } = await starts();
  const { overhead, costRatio, refused } = await steps();
  const at = (name: string): readonly number[] => seen[name] ?? [];
  const node = quantile(at("node"), 0.25);
  /** `most`: times that of `node -e 0`. */
  const timed = (what: string, name: string, most?: number): Row => {
    const ratio = quantile(at(name), 0.25) / node;
    return {
      what,
      value: `${quantile(at(name), 0.25).toFixed(0)} / ${quantile(at(name), 0.5).toFixed(0)} ms`,
      ratio: `${ratio.toFixed(2)} x`,
      ...(most === undefined ? {} : { budget: `${most} x`, isOver: ratio > most }),
    };
  };
  const usual = (of: (it: Spawned) => number): number => quantile(used.map(of), 0.5);
  const memory = usual((u) => u.rssMb);
  const around = (step: number): number => quantile(overhead.slice(Math.max(1, step - 8), step + 9), 0.5);
  const growth = around(200) / around(10);
  const tokens = Math.round(bytes / CHARS_PER_TOKEN);
  const rows: Row[] = [
    timed("node -e 0", "node"),
    timed("--version", "version", 1.7),
    timed("plugins list", "light", 2.8),
    timed("start to first request", "one-shot, first request", 6),
    timed("  in a git repository", "one-shot in git, first request"),
    timed("one-shot, wall", "one-shot"),
    { what: "one-shot, CPU", value: `${usual((u) => u.cpuMs).toFixed(0)} ms` },
    { what: "one-shot, peak memory", value: `${memory.toFixed(0)} MB`, budget: "100 MB", isOver: memory > 100 },
    { what: "overhead at step 10", value: `${around(10).toFixed(1)} ms` },
    {
      what: "overhead at step 200",
      value: `${around(200).toFixed(1)} ms`,
      ratio: `${growth.toFixed(2)} x step 10`,
      budget: "12 ms, 1.2 x",
      isOver: around(200) > 12 || growth > 1.2,
    },
    { what: "first request", value: `${tokens} tokens`, budget: "5,000", isOver: tokens > 5_000 },
    {
      what: `input cost over ${overhead.length} steps`,
      value: `${costRatio.toFixed(4)} of the ideal`,
      budget: "1.005",
      isOver: costRatio > 1.005,
    },
    { what: "refused requests", value: String(refused), budget: "0", isOver: refused > 0 },
    ...(await callRows(root)),
  ];
  process.stdout.write(table(rows));
} finally {
  rmSync(root, { recursive: true, force: true });
}
