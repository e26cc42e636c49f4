/** Measures the file tools on real files against their budgets, and prints one table. The tree has 100,000 files. */
import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { FileSystem } from "@heddle/kernel/plugin";
import { nodeFiles, nodeProcesses } from "@heddle/runtime/node";
import { rgPath } from "@vscode/ripgrep";
import { type Kit, kitOf } from "../test/support/harness.ts";

const ROUNDS = Number(process.env["HEDDLE_BENCH_ROUNDS"] ?? 7);
const FILES = Number(process.env["HEDDLE_BENCH_FILES"] ?? 100_000);
const LATENCY_MS = 20;

const root = realpathSync(mkdtempSync(join(tmpdir(), "heddle-bench-tools-")));
const tree = join(root, "tree");

function makeTree(): void {
  const filler = "// a line of text that is in every file\n".repeat(20);
  for (let n = 0; n < FILES; n++) {
    const folder = join(tree, `p${n % 100}`, `m${Math.floor(n / 100) % 20}`);
    if (n < 2000) mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, `f${n}.ts`), `export const v${n} = ${n};\n${n % 100 === 0 ? "const needle = 1;\n" : ""}${filler}`);
  }
}

const median = (values: readonly number[]): number => [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN;

/** Medians of each work; every one once per round, so that a busy moment hits all of them. The first round warms up. */
async function timed<K extends string>(works: Record<K, () => unknown>, rounds = ROUNDS): Promise<Record<K, number>> {
  const seen = new Map<string, number[]>();
  for (let round = -1; round < rounds; round++)
    for (const [name, work] of Object.entries(works) as [K, () => unknown][]) {
      const start = performance.now();
      await work();
      if (round >= 0) seen.set(name, [...(seen.get(name) ?? []), performance.now() - start]);
    }
  return Object.fromEntries([...seen].map(([name, values]) => [name, median(values)])) as Record<K, number>;
}

const files = nodeFiles();
const kit = (fs: FileSystem = files): Promise<Kit> =>
  kitOf({ fs, processes: nodeProcesses({ env: process.env }), cwd: root, options: { ripgrep: rgPath }, now: Date.now });

/** A tool that must succeed. */
const ok = async (tools: Kit, name: string, input: object): Promise<void> => {
  const { isError, text } = await tools.call(name, input);
  if (isError) throw new Error(`${name}: ${text}`);
};

async function reading(): Promise<Row[]> {
  const file = join(root, "a.txt");
  writeFileSync(file, "a line of forty characters, as they are.\n".repeat(5000).slice(0, 200 * 1024));
  const tools = await kit();
  const t = await timed({ plain: () => files.readFile(file), tool: () => ok(tools, "Read", { file_path: file }) }, ROUNDS * 5);

  const slow: FileSystem = {
    ...files,
    readFile: async (path) => {
      await new Promise((resolve) => setTimeout(resolve, LATENCY_MS));
      return files.readFile(path);
    },
  };
  const names = Array.from({ length: 10 }, (_, n) => join(root, `small${n}.txt`));
  for (const name of names) writeFileSync(name, "x\n".repeat(500));
  const far = await kit(slow);
  const many = await timed({
    one: () => ok(far, "Read", { file_path: names[0] }),
    ten: () => Promise.all(names.map((name) => ok(far, "Read", { file_path: name }))),
  });
  return [
    ["Read of 200 KB, over fs.readFile", `${(t.tool - t.plain).toFixed(1)} ms`, "5 ms"],
    [`10 parallel Reads, ${LATENCY_MS} ms a file`, `${(many.ten / many.one).toFixed(2)} x one`, "1.2 x one"],
  ];
}

async function editing(): Promise<Row[]> {
  const file = join(root, "big.txt");
  writeFileSync(file, "a line of forty characters, as they are.\n".repeat(128 * 1024 * 2).concat("the one 0\n"));
  const tools = await kit();
  await ok(tools, "Read", { file_path: file, limit: 1 });
  let n = 0;
  const bytes = readFileSync(file);
  const t = await timed({
    write: () => files.writeFile(join(root, "plain.txt"), bytes),
    edit: () => ok(tools, "Edit", { file_path: file, old_string: `the one ${n}\n`, new_string: `the one ${++n}\n` }),
  });
  return [
    ["Edit of one line in 10 MB", `${t.edit.toFixed(0)} ms`, "100 ms"],
    ["  of that, writing 10 MB to the disk", `${t.write.toFixed(0)} ms`, ""],
  ];
}

async function searching(): Promise<Row[]> {
  const tools = await kit();
  const rg = (...args: string[]): Buffer => execFileSync(rgPath, ["--no-config", ...args, "./"], { cwd: tree, maxBuffer: 1 << 28 });
  const grep = (input: object) => ok(tools, "Grep", { pattern: "needle", path: tree, ...input });
  const t = await timed({
    rgFiles: () => rg("--files-with-matches", "needle"),
    files: () => grep({}),
    rgContent: () => rg("--line-number", "needle"),
    content: () => grep({ output_mode: "content" }),
    glob: () => ok(tools, "Glob", { pattern: "**/*.ts", path: tree }),
    some: () => ok(tools, "Glob", { pattern: "**/f*00.ts", path: tree }),
  });
  const to = (mine: number, raw: number): string => `${mine.toFixed(0)} ms, ${(mine / raw).toFixed(2)} x rg`;
  return [
    ["Grep, files", to(t.files, t.rgFiles), "1.15 x rg"],
    ["Grep, content", to(t.content, t.rgContent), "1.15 x rg"],
    ["Glob of all files", `${t.glob.toFixed(0)} ms`, "1000 ms"],
    ["Glob of one file in a hundred", `${t.some.toFixed(0)} ms`, "1000 ms"],
  ];
}

type Row = readonly [what: string, value: string, budget: string];
try {
  makeTree();
  const rows: Row[] = [["", `median of ${ROUNDS}`, "budget"], ...(await reading()), ...(await editing()), ...(await searching())];
  const widths = [0, 1].map((i) => Math.max(...rows.map((r) => r[i]!.length)));
  for (const row of rows)
    process.stdout.write(
      `${row
        .map((cell, i) => cell.padEnd(widths[i] ?? 0))
        .join("  ")
        .trimEnd()}\n`,
    );
} finally {
  rmSync(root, { recursive: true, force: true });
}
