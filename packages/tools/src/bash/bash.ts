/** The tool Bash: one command, its output, and the folder in which the next command starts. */
import { dirname, join } from "node:path";
import {
  defineTool,
  type FileSystem,
  FS,
  PROCESS,
  type ProcessResult,
  SESSION,
  type Tool,
  type ToolContext,
  type ToolOutput,
  z,
} from "@heddle/kernel/plugin";
import { codeOf, failed } from "../answer.ts";
import { flag, lenient } from "../input.ts";
import { prompts } from "../prompts.generated.ts";
import { leanSchema } from "../schema.ts";
import type { ShellFolder } from "../shell-folder.ts";
import type { BackgroundRuns } from "./background.ts";
import { endingOf, wentWell } from "./ending.ts";
import { createProgress } from "./progress.ts";
import { ShellRun, type Start } from "./run.ts";
import { blockedNote, type Placed, placeOf, type SandboxUse } from "./sandbox.ts";
import { asWritten, SHELL_ENV, SHELLS } from "./script.ts";

const DEFAULT_TIMEOUT = 120_000;
const MAX_TIMEOUT = 600_000;
/** Of a command that was sent to the background: what a timer can wait. */
const MAX_BACKGROUND = 2 ** 31 - 1;
/** What the port may take to kill a process group and to hand over its output. */
const LEEWAY = 5_000;
/** Deferred tools that a command in the background makes useful. */
const LOADS = ["BashOutput", "KillShell", "Monitor"];

/** Characters that what is said about a command may add to its output. */
const NOTES = 4_000;

const shape = {
  command: z.string().min(1),
  timeout: z.number().optional().describe(`ms; default ${DEFAULT_TIMEOUT}, at most ${MAX_TIMEOUT}`),
  description: z.string().optional().describe("what it does, in a few words"),
  run_in_background: flag,
};
const input = lenient({ ...shape, dangerouslyDisableSandbox: flag.describe("asks the person to run it outside") });
const withoutSandbox = lenient(shape);
type Input = z.output<typeof input>;

/** `outputLimit` in characters. `atTimeout`: what becomes of a command that takes longer than its `timeout`. */
export type BashOptions = { readonly outputLimit: number; readonly atTimeout: "background" | "kill"; readonly sandbox: SandboxUse };
type Services = BashOptions & { readonly shell: ShellFolder; readonly background: BackgroundRuns };

const timeoutOf = (i: Input): number => Math.min(MAX_TIMEOUT, Math.max(1, Math.trunc(i.timeout ?? DEFAULT_TIMEOUT)));

export const bashTool = (services: Services): Tool =>
  defineTool({
    name: "Bash",
    description: services.sandbox.use === "off" ? prompts.bash : `${prompts.bash} ${prompts.sandbox}`,
    input,
    jsonSchema: () => leanSchema(services.sandbox.use === "off" ? withoutSandbox : input),
    overlap: "exclusive",
    failureCancels: true,
    outputLimit: services.outputLimit + NOTES,
    deadlineMs: (i) => timeoutOf(i) + LEEWAY,
    graceMs: LEEWAY,
    async effects(i, ctx) {
      const { sandbox, refusal } = await placeOf(i.dangerouslyDisableSandbox, ctx, services.sandbox);
      const where = refusal === undefined ? sandbox : "inside"; // it will not run at all, so nobody need be asked
      return [{ kind: "execute", target: i.command, ...(where === undefined ? {} : { sandbox: where }) }];
    },
    run: (i, ctx) => bash(i, ctx, services),
  });

async function bash(i: Input, ctx: ToolContext, given: Services): Promise<ToolOutput> {
  // A headless session ends with its turn: what went on would be lost, and nobody told.
  const services: Services = ctx.session.headless ? { ...given, atTimeout: "kill" } : given;
  if (i.command.includes("\0")) return failed("The command holds a NUL character, which no program can be given.");
  const { shell, background } = services;
  const session = ctx.session;
  const fs = ctx.capability(FS);
  const placed = await placeOf(i.dangerouslyDisableSandbox, ctx, services.sandbox);
  const refusal = placed.refusal ?? (i.run_in_background ? background.refusal(session.id) : undefined);
  if (refusal !== undefined) return failed(refusal);
  const wanted = shell.get(session.id) ?? session.cwd;
  const cwd = await livingFolder(fs, [wanted, session.cwd]);
  if (cwd === undefined) return failed(`No command can run: neither ${wanted} nor a folder above it exists.`);
  if (cwd !== wanted) shell.set(session.id, cwd);
  const notes = cwd === wanted ? [] : [`[The folder ${wanted} is gone. This ran in ${cwd}.]`];

  const startedAt = ctx.now();
  if (placed.missing !== undefined && ctx.state.get("no sandbox") === undefined) {
    ctx.state.set("no sandbox", true);
    notes.push(`[Commands run without a sandbox here: ${placed.missing}]`);
  }
  const run = start(i, ctx, cwd, services, placed);
  const moved = async (why: string): Promise<ToolOutput> => {
    const { tell } = ctx.capability(SESSION);
    const { id } = background.add(session.id, run, startedAt, (text) => tell(text, { isMeta: true }));
    const output = i.run_in_background ? "" : await shownOf(run, fs);
    const note = session.headless
      ? `[${why} in the background as ${id}, and ends at the latest when this session's last turn ends. Nobody is told afterwards: look at it with BashOutput before you finish. KillShell stops it.]`
      : `[${why} in the background as ${id}, and you are told when it ends. BashOutput shows its output, KillShell stops it.]`;
    return { content: [output, note, ...notes].filter((s) => s !== "").join("\n"), loads: LOADS };
  };
  try {
    const result = await (i.run_in_background ? started(run) : inFront(i, ctx, run, services));
    if (result === undefined) return await moved(i.run_in_background ? "It runs" : `Not finished after ${timeoutOf(i)} ms: it goes on`);
    const { folder, jobs } = run.report ?? { folder: undefined, jobs: [] };
    if (folder !== undefined && folder !== cwd) {
      shell.set(session.id, folder);
      notes.push(`[The folder is now ${folder}]`);
    }
    if (jobs.length > 0 && result.ended === "exit")
      notes.push(
        placed.sandbox === "inside"
          ? "[What it left running has ended with it, as all does in the sandbox: use run_in_background.]"
          : `[Left running until the session ends: process ${jobs.join(", ")}]`,
      );
    const output = asWritten(await shownOf(run, fs));
    const ending = wentWell(result) ? "" : endingNote(result, i);
    const blocked = placed.sandbox === "inside" ? blockedNote(result, output, services.sandbox.mayLeave) : undefined;
    if (blocked !== undefined) notes.push(blocked);
    const content = [output || (ending || notes.length > 0 ? "" : "(no output)"), ending, ...notes].filter((s) => s !== "").join("\n");
    return { content, ...(ending === "" ? {} : { isError: true }) };
  } catch (error) {
    if (codeOf(error) === "E2BIG") return failed("The command is too long to be run. Write it to a file with Write and run that.");
    return failed(`The command was not run: ${error instanceof Error ? error.message : String(error)}`);
  }
}

function start(i: Input, ctx: ToolContext, cwd: string, { outputLimit, atTimeout }: Services, { sandbox }: Placed): ShellRun {
  const { folder } = ctx.capability(SESSION);
  const spool = folder === null ? undefined : join(folder, "outputs", `${ctx.callId.replace(/[^\w-]/g, "_")}.txt`);
  const marker = ctx.id("shell");
  const timeoutMs = i.run_in_background
    ? i.timeout && Math.min(MAX_BACKGROUND, i.timeout)
    : atTimeout === "kill"
      ? timeoutOf(i)
      : undefined;
  const processes = ctx.capability(PROCESS);
  const begin: Start = async (onOutput, signal) => {
    let missing: unknown;
    for (const { command, args } of SHELLS) {
      try {
        return await processes.run({
          command,
          args: args(i.command, marker),
          cwd,
          env: { ...SHELL_ENV, PWD: cwd, HEDDLE_SESSION: ctx.session.id },
          ...(timeoutMs === undefined ? {} : { timeoutMs }),
          signal,
          maxBytes: outputLimit - (outputLimit % 2), // what `HeadTail` leaves whole; a file has what goes beyond
          onOutput,
          ...(spool === undefined ? {} : { spool }),
          ...(sandbox === "inside" ? { sandbox: true } : {}),
        });
      } catch (error) {
        if (codeOf(error) !== "ENOENT") throw error;
        missing = error;
      }
    }
    throw new Error(`neither bash nor sh could be started (${missing instanceof Error ? missing.message : String(missing)})`);
  };
  return new ShellRun({ command: i.command, marker, limit: outputLimit, spool }, begin);
}

/** Undefined when it still runs after its time. An abort of the call stops it. */
async function inFront(i: Input, ctx: ToolContext, run: ShellRun, { atTimeout }: Services): Promise<ProcessResult | undefined> {
  const progress = createProgress(ctx.progress, ctx.now);
  const watcher = { push: (text: string) => progress.push(text), end: async () => {} };
  run.watchers.add(watcher);
  const onAbort = (): void => void run.stop();
  ctx.signal.addEventListener("abort", onAbort, { once: true });
  if (ctx.signal.aborted) onAbort();
  let timer: ReturnType<typeof setTimeout> | undefined;
  const over = new Promise<undefined>((resolve) => {
    if (atTimeout === "background") timer = setTimeout(() => !ctx.signal.aborted && resolve(undefined), timeoutOf(i));
  });
  try {
    return await Promise.race([run.done, over]);
  } finally {
    clearTimeout(timer);
    ctx.signal.removeEventListener("abort", onAbort);
    run.watchers.delete(watcher);
    progress.stop();
  }
}

/** Rejects when it is known at once that it cannot start. */
const started = (run: ShellRun): Promise<undefined> =>
  Promise.race([run.done.then(() => undefined), new Promise<undefined>((resolve) => setTimeout(() => resolve(undefined), 0))]);

/** What it has written since the last look. What is left out stands in a file, provided that the host has made one. */
export async function shownOf(run: ShellRun, fs: FileSystem): Promise<string> {
  const seen = run.look();
  const file = seen.cut && run.spool !== undefined && (await fs.stat(run.spool).catch(() => undefined)) ? run.spool : undefined;
  return seen.text(file).toWellFormed().replace(/\n+$/, "");
}

/** The first of the folders that exists, else the nearest one above the last. */
async function livingFolder(fs: FileSystem, folders: readonly string[]): Promise<string | undefined> {
  const alive = async (path: string): Promise<boolean> => (await fs.stat(path).catch(() => undefined))?.kind === "directory";
  for (const folder of folders) if (await alive(folder)) return folder;
  for (let folder = folders.at(-1)!; ; folder = dirname(folder)) {
    if (await alive(folder)) return folder;
    if (dirname(folder) === folder) return undefined;
  }
}

function endingNote(result: ProcessResult, i: Input): string {
  if (result.ended === "timeout")
    return `[Timed out after ${timeoutOf(i)} ms and was killed with all it had started. A longer \`timeout\` may be given, up to ${MAX_TIMEOUT}.]`;
  if (result.ended === "abort") return "[Stopped before its end.]";
  const ending = endingOf(result);
  return `[${ending[0]!.toUpperCase()}${ending.slice(1)}]`;
}
