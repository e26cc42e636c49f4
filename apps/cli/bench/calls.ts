/** What model calls cost the process: each row runs the whole program in a process of its own, against the strict server. */
import { execFile } from "node:child_process";
import { mkdirSync, mkdtempSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { type AnthropicServer, type Script, startAnthropicServer } from "@heddle/anthropic-server";
import { build } from "esbuild";
import type { Grown, Packed, Streamed } from "./measured.ts";
import { quantile } from "./spawned.ts";
import type { Row } from "./table.ts";

const MESSAGES = 10_000;
const TURNS = 12;
const TEXT = "The quick brown fox jumps over the lazy dog. ";
const TEXT_CHARS = 5_000_000;
const INPUT_CHARS = 1_000_000;
const ROUNDS = 3;
/** By the first step everything is loaded and compiled. */
const FROM = 50;
const TO = 1_050;
/** Of a model that a history of this length fits into. */
const WINDOW = 5_000_000;
const run = promisify(execFile);

type Bench = { readonly root: string; readonly program: string };

/** `root`: an empty folder. */
export async function callRows(root: string): Promise<Row[]> {
  const bench = { root, program: await bundled(root) };
  return [...(await packing(bench)), await text(bench), await input(bench), await memory(bench)];
}

/** As the built program is: what runs from its source has other costs. */
async function bundled(root: string): Promise<string> {
  const outfile = join(root, "measured.cjs");
  await build({
    absWorkingDir: join(import.meta.dirname, ".."),
    entryPoints: ["bench/measured.ts"],
    outfile,
    bundle: true,
    format: "cjs",
    platform: "node",
    target: "node20",
    conditions: ["@heddle/source"],
    mainFields: ["module", "main"],
    external: ["@vscode/ripgrep", "sharp"],
    banner: { js: 'const __heddleUrl = require("node:url").pathToFileURL(__filename).href;' },
    define: { "import.meta.url": "__heddleUrl" },
    logLevel: "warning",
  });
  return outfile;
}

/** One run in a folder of its own. Throws when it fails or when the server refused anything. */
async function measured<T>(bench: Bench, scriptIn: (cwd: string) => Script, ...args: readonly (string | number)[]): Promise<T> {
  const home = mkdtempSync(join(bench.root, "home-"));
  const cwd = join(home, "project");
  mkdirSync(cwd);
  writeFileSync(join(cwd, "a.txt"), "alpha\n");
  const server: AnthropicServer = await startAnthropicServer({ script: scriptIn(cwd), window: WINDOW, classify: () => "main" });
  const env = { PATH: process.env["PATH"] ?? "", HOME: home, ANTHROPIC_API_KEY: "bench", ANTHROPIC_BASE_URL: server.url };
  try {
    const { stdout } = await run(process.execPath, ["--liftoff-only", "--expose-gc", bench.program, ...args.map(String)], { cwd, env });
    const refused = server.refusals().map((r) => r.refusal);
    if (refused.length > 0) throw new Error(`refused: ${JSON.stringify(refused)}`);
    return JSON.parse(stdout) as T;
  } finally {
    await server.close();
  }
}

async function packing(bench: Bench): Promise<Row[]> {
  const { ms, bytes } = await measured<Packed>(bench, () => () => ({ text: "ok" }), "packed", MESSAGES, TURNS);
  const [cold = Number.NaN, ...warm] = ms;
  const best = quantile(warm, 0.25);
  return [
    {
      what: `${MESSAGES.toLocaleString("en")} messages, submit to fetch`,
      value: `${best.toFixed(0)} / ${quantile(warm, 0.5).toFixed(0)} ms`,
      ratio: `${(bytes / 1e6).toFixed(1)} MB`,
      budget: "50 ms",
      isOver: best > 50,
    },
    { what: "  in the first turn after a resume", value: `${cold.toFixed(0)} ms` },
  ];
}

/** The CPU that a streamed reply costs, and what of it is not the reading of the socket by fetch. */
async function streaming(bench: Bench, what: string, chars: number, scriptIn: (cwd: string) => Script): Promise<Row> {
  const whole: number[] = [];
  const fetched: number[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    const it = await measured<Streamed>(bench, scriptIn, "streamed");
    if (it.chars < chars) throw new Error(`${it.chars} of ${chars} characters came`);
    whole.push(it.cpuMs);
    fetched.push((await measured<Streamed>(bench, scriptIn, "bare")).cpuMs);
  }
  const [cpu, bare] = [quantile(whole, 0.5), quantile(fetched, 0.5)];
  return {
    what,
    value: `${cpu.toFixed(0)} ms CPU`,
    ratio: `${(cpu - bare).toFixed(0)} ms over bare fetch`,
    budget: "1,000 ms over",
    isOver: cpu - bare > 1_000,
  };
}
const textOf = (chars: number): string => TEXT.repeat(Math.ceil(chars / TEXT.length)).slice(0, chars);

const text = (bench: Bench): Promise<Row> =>
  streaming(bench, "5 MB of text deltas", TEXT_CHARS, () => () => ({ text: textOf(TEXT_CHARS) }));

const input = (bench: Bench): Promise<Row> =>
  streaming(bench, "1 MB of tool input deltas", INPUT_CHARS, (cwd) => [
    { calls: [{ name: "Write", input: { file_path: join(cwd, "big.txt"), content: textOf(INPUT_CHARS) } }] },
    { text: "done" },
  ]);

async function memory(bench: Bench): Promise<Row> {
  const script = (cwd: string): Script => {
    const calls = [{ name: "Read", input: { file_path: join(cwd, "a.txt") } }];
    return (_, step) => (step < TO + 5 ? { calls } : { text: "done" });
  };
  const { heap, messages } = await measured<Grown>(bench, script, "grown", FROM, TO);
  const mb = (bytes: number): string => `${(bytes / 1e6).toFixed(1)} MB`;
  const own = heap - messages;
  return {
    what: `heap grown by ${(TO - FROM).toLocaleString("en")} steps`,
    value: mb(heap),
    ratio: `${mb(own)} without messages`,
    budget: "20 MB without",
    isOver: own > 20e6,
  };
}
