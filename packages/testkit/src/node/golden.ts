/** Golden turns: what was typed and what the model says stand in files, and so does the table of stages that has to come out. */
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Answer, ProcessOptions, ProcessResult } from "@heddle/kernel";
import type { Candidate } from "@heddle/runtime";
import * as z from "zod";
import { testHost } from "../host.ts";
import type { ScriptedReply } from "../model.ts";
import { type RunResult, runTurnWith } from "../turn.ts";

/**
 * `input.json` of a case. Several inputs are submitted one after the other. `processes`: the first whose `command` is part of the
 * command line says how it ends; while one that `hangs` runs, the person aborts the turn, and that ends it. `abortOn`: the first
 * event of that type ends the turn.
 */
const Case = z.strictObject({
  input: z.union([z.string(), z.array(z.string())]),
  files: z.record(z.string(), z.string()).default({}),
  answers: z.array(z.looseObject({ kind: z.enum(["allow", "deny", "text"]) })).optional(),
  permissionMode: z.string().optional(),
  maxSteps: z.number().optional(),
  processes: z
    .array(
      z.strictObject({
        command: z.string(),
        stdout: z.string().default(""),
        stderr: z.string().default(""),
        exitCode: z.number().default(0),
        hangs: z.boolean().default(false),
      }),
    )
    .default([]),
  abortOn: z.string().optional(),
});
type Case = z.infer<typeof Case>;

export type GoldenOptions = {
  /** What is in use beside the scripted model; may depend on the case. */
  readonly plugins: readonly Candidate[] | ((name: string) => readonly Candidate[]);
  /** Write `expected.txt` instead of reading it. Default: when the environment has `UPDATE_GOLDEN=1`. */
  readonly update?: boolean;
};
export type GoldenTurn = {
  readonly name: string;
  /** Plays the turn. `expected` is empty when there is no `expected.txt`. Rejects when a file is wrong or a request was refused. */
  run(): Promise<{ readonly actual: string; readonly expected: string; readonly result: RunResult }>;
};

/** Every folder of `dir` that holds an `input.json`: beside it stand `model.jsonl`, one reply a line, and `expected.txt`. */
export function goldenTurns(dir: string, o: GoldenOptions): readonly GoldenTurn[] {
  const update = o.update ?? process.env["UPDATE_GOLDEN"] === "1";
  return readdirSync(dir)
    .filter((name) => existsSync(join(dir, name, "input.json")))
    .sort()
    .map((name) => ({ name, run: () => play(name, join(dir, name), o.plugins, update) }));
}

async function play(name: string, folder: string, plugins: GoldenOptions["plugins"], update: boolean): ReturnType<GoldenTurn["run"]> {
  const c = Case.parse(JSON.parse(readFileSync(join(folder, "input.json"), "utf8")));
  const script = join(folder, "model.jsonl");
  const lines = existsSync(script) ? readFileSync(script, "utf8").split("\n") : [];
  const replies = lines.filter((l) => l.trim() !== "").map((l) => JSON.parse(l) as ScriptedReply);
  let abort: () => void = () => {};
  const result = await runTurnWith({
    plugins: typeof plugins === "function" ? plugins(name) : plugins,
    replies,
    input: c.input,
    host: testHost({ files: c.files, run: (p) => processOf(c, p, () => abort()) }),
    onEvent(event, session) {
      abort = () => session.abort("the person pressed Escape");
      if (event.type === c.abortOn) abort();
    },
    ...(c.answers ? { answers: c.answers as unknown as readonly Answer[] } : {}),
    ...(c.permissionMode === undefined ? {} : { permissionMode: c.permissionMode }),
    ...(c.maxSteps === undefined ? {} : { maxSteps: c.maxSteps }),
  });
  if (result.refused.length > 0) throw new Error(`golden turn "${name}": no real API takes ${result.refused.join("; ")}`);
  const file = join(folder, "expected.txt");
  if (update) writeFileSync(file, result.explain);
  return { actual: result.explain, expected: existsSync(file) ? readFileSync(file, "utf8") : "", result };
}

async function processOf(c: Case, p: ProcessOptions, abort: () => void): Promise<Partial<ProcessResult>> {
  const line = [p.command, ...(p.args ?? [])].join(" ");
  const known = c.processes.find((k) => line.includes(k.command));
  if (!known) return { exitCode: 127, stderr: `${p.command}: not found\n` };
  const { exitCode, stdout, stderr } = known;
  if (stdout) p.onOutput?.(stdout, "stdout");
  if (stderr) p.onOutput?.(stderr, "stderr");
  if (!known.hangs) return { exitCode, stdout, stderr };
  const ended = new Promise<void>((resolve) => p.signal?.addEventListener("abort", () => resolve(), { once: true }));
  abort();
  await ended;
  return { exitCode: null, signal: "SIGKILL", stdout, stderr, ended: "abort" };
}
