/** Runs the program: signals, streams that break, errors, and the exit code. */
import { homedir } from "node:os";
import * as z from "zod";
import { CliError, EXIT, type ExitCode, UsageError } from "./exit.ts";
import { type Io, say } from "./io.ts";
import { strayLine } from "./stray.ts";

/** Ends the process. After a signal the turn has this long to write down what it has. */
const GRACE_MS = 1_500;

export async function start(argv: readonly string[]): Promise<never> {
  // Compiling each schema at its first use costs a start more than all of a long session wins by it.
  z.config({ jitless: true });
  const userDir = homedir();
  const cwd = currentFolder();
  if (cwd === undefined) {
    process.stderr.write("heddle: the folder that you are in is gone: cd into one that is there, and run heddle again\n");
    process.exit(EXIT.failed);
  }
  const stop = new AbortController();
  const { stdin, stdout, stderr } = process;
  const io: Io = { stdin, stdout, stderr, env: process.env, cwd, userDir, signal: stop.signal };
  const end = (code: ExitCode): void => {
    if (stop.signal.aborted) process.exit(code);
    stop.abort(code);
    setTimeout(() => process.exit(code), GRACE_MS).unref();
  };
  process.on("SIGINT", () => end(EXIT.interrupted));
  process.on("SIGTERM", () => end(EXIT.terminated));
  process.on("SIGHUP", () => end(EXIT.terminated));
  const said = new Set<string>();
  const sayOnce = (text: string): void => {
    if (!said.has(text)) say(io, text);
    said.add(text);
  };
  process.on("unhandledRejection", (error) => sayOnce(strayLine(error)));
  process.on("uncaughtException", (error) => {
    sayOnce(`${strayLine(error)}; heddle ends`);
    if (!stop.signal.aborted) end(EXIT.failed);
  });
  stderr.on("error", () => {});
  stdout.on("error", (error: NodeJS.ErrnoException) => {
    if (error.code === "EPIPE") return end(EXIT.done);
    say(io, `cannot write the answer: ${error.message}`);
    end(EXIT.failed);
  });
  const code = await settle(argv, io);
  await new Promise<void>((resolve) => (stdout.writable ? stdout.write("", () => resolve()) : resolve()));
  // An error of the last write is told a moment after it.
  await new Promise((resolve) => setImmediate(resolve));
  process.exit(stop.signal.aborted ? (stop.signal.reason as ExitCode) : code);
}

/** Undefined when it was deleted. */
function currentFolder(): string | undefined {
  try {
    return process.cwd();
  } catch {
    return undefined;
  }
}

async function settle(argv: readonly string[], io: Io): Promise<ExitCode> {
  try {
    const { run } = await import("./cli.ts");
    return await run(argv, io);
  } catch (error) {
    if (error instanceof UsageError) say(io, error.message);
    else if (error instanceof CliError) io.stderr.write(`heddle: ${error.message}\n`);
    else if ((error as Error).name === "SessionError") say(io, (error as Error).message);
    else io.stderr.write(`heddle: this is a bug in heddle, please report it:\n${(error as Error).stack ?? String(error)}\n`);
    return error instanceof UsageError ? EXIT.usage : EXIT.failed;
  }
}
