/** The tool Bash: one command, its output, and the folder in which the next command starts. */
import { dirname } from "node:path";
import {
  defineTool,
  type FileSystem,
  FS,
  PROCESS,
  type ProcessResult,
  type Tool,
  type ToolContext,
  type ToolOutput,
  z,
} from "@heddle/kernel/plugin";
import { codeOf, failed } from "../answer.ts";
import { lenient } from "../input.ts";
import { prompts } from "../prompts.generated.ts";
import { leanSchema } from "../schema.ts";
import type { ShellFolder } from "../shell-folder.ts";
import { Cleaner } from "./clean.ts";
import { HeadTail } from "./output.ts";
import { createProgress } from "./progress.ts";
import { reportedFolder, SHELL_ENV, SHELLS } from "./script.ts";

const DEFAULT_TIMEOUT = 120_000;
const MAX_TIMEOUT = 600_000;
/** What the port may take to kill a process group and to hand over its output. */
const LEEWAY = 5_000;
/** Bytes per stream that the port is to keep; what is shown is taken from the stream. */
const PORT_BYTES = 64 * 1024;

const input = lenient({
  command: z.string().min(1),
  timeout: z.number().optional().describe(`ms; default ${DEFAULT_TIMEOUT}, at most ${MAX_TIMEOUT}`),
  description: z.string().optional().describe("what it does, in a few words"),
});
type Input = z.output<typeof input>;

const timeoutOf = (i: Input): number => Math.min(MAX_TIMEOUT, Math.max(1, Math.trunc(i.timeout ?? DEFAULT_TIMEOUT)));

export const bashTool = (shell: ShellFolder, outputLimit: number): Tool =>
  defineTool({
    name: "Bash",
    description: prompts.bash,
    input,
    jsonSchema: leanSchema(input),
    overlap: "exclusive",
    deadlineMs: (i) => timeoutOf(i) + LEEWAY,
    graceMs: LEEWAY,
    effects: (i) => [{ kind: "execute", target: i.command }],
    run: (i, ctx) => bash(i, ctx, shell, outputLimit),
  });

async function bash(i: Input, ctx: ToolContext, shell: ShellFolder, outputLimit: number): Promise<ToolOutput> {
  if (i.command.includes("\0")) return failed("The command holds a NUL character, which no program can be given.");
  const session = ctx.session;
  const wanted = shell.get(session.id) ?? session.cwd;
  const cwd = await livingFolder(ctx.capability(FS), [wanted, session.cwd]);
  if (cwd === undefined) return failed(`No command can run: neither ${wanted} nor a folder above it exists.`);
  if (cwd !== wanted) shell.set(session.id, cwd);
  const notes = cwd === wanted ? [] : [`[The folder ${wanted} is gone. This ran in ${cwd}.]`];

  const marker = ctx.id("shell");
  let ended: string | undefined;
  const kept = new HeadTail(outputLimit);
  const progress = createProgress(ctx.progress, ctx.now);
  const cleaner = new Cleaner((sequence) => {
    ended = reportedFolder(sequence, marker) ?? ended;
  });
  const take = (text: string): void => {
    kept.push(text);
    progress.push(text);
  };
  let streamed = false;
  const onOutput = (chunk: string): void => {
    streamed = true;
    take(cleaner.push(chunk));
  };
  try {
    const result = await start(i, ctx, cwd, marker, onOutput);
    if (!streamed) take(cleaner.push(result.output));
    kept.push(cleaner.end());
    if (ended !== undefined && ended !== cwd) {
      shell.set(session.id, ended);
      notes.push(`[The folder is now ${ended}]`);
    }
    const ending = endingOf(result, i);
    const output = kept.text().toWellFormed().replace(/\n+$/, "");
    const content = [output || (ending || notes.length > 0 ? "" : "(no output)"), ending, ...notes].filter((s) => s !== "").join("\n");
    return { content, ...(ending === "" ? {} : { isError: true }) };
  } catch (error) {
    if (codeOf(error) === "E2BIG") return failed("The command is too long to be run. Write it to a file with Write and run that.");
    return failed(`The command was not run: ${error instanceof Error ? error.message : String(error)}`);
  } finally {
    progress.stop();
  }
}

/** Rejects when no shell can be started. */
async function start(i: Input, ctx: ToolContext, cwd: string, marker: string, onOutput: (chunk: string) => void): Promise<ProcessResult> {
  let missing: unknown;
  for (const { command, args } of SHELLS) {
    try {
      return await ctx.capability(PROCESS).run({
        command,
        args: args(i.command, marker),
        cwd,
        env: { ...SHELL_ENV, PWD: cwd },
        timeoutMs: timeoutOf(i),
        signal: ctx.signal,
        maxBytes: PORT_BYTES,
        onOutput,
      });
    } catch (error) {
      if (codeOf(error) !== "ENOENT") throw error;
      missing = error;
    }
  }
  throw new Error(`neither bash nor sh could be started (${missing instanceof Error ? missing.message : String(missing)})`);
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

const SIGNALS: Readonly<Record<number, string>> = {
  1: "SIGHUP",
  2: "SIGINT",
  3: "SIGQUIT",
  4: "SIGILL",
  6: "SIGABRT",
  8: "SIGFPE",
  9: "SIGKILL",
  11: "SIGSEGV",
  13: "SIGPIPE",
  14: "SIGALRM",
  15: "SIGTERM",
};

/** How it ended, unless well. */
function endingOf(result: ProcessResult, i: Input): string {
  if (result.ended === "timeout")
    return `[Timed out after ${timeoutOf(i)} ms and was killed with all it had started. A longer \`timeout\` may be given, up to ${MAX_TIMEOUT}.]`;
  if (result.ended === "abort") return "[Stopped before its end.]";
  if (result.signal !== null) return `[Killed by ${result.signal}]`;
  if (result.exitCode === 0) return "";
  const signal = SIGNALS[(result.exitCode ?? 0) - 128];
  return `[Exit code ${result.exitCode}${signal ? `: ${signal}` : ""}]`;
}
