/** Runs ripgrep and reads what it finds while it is still searching, so that a search of any size needs little memory. */
import { PROCESS, type ToolContext } from "@heddle/kernel/plugin";
import { codeOf, Refusal } from "./answer.ts";

/** Characters kept of one record. */
const MAX_RECORD = 4000;
const MAX_STDERR = 16 * 1024;
/** No search of a real project takes so long; one that meets a pipe in place of an ignore file would never end. */
const PATIENCE_MS = 60_000;

export type Search = {
  readonly ripgrep: string;
  readonly args: readonly string[];
  readonly cwd: string;
  readonly separator: "\n" | "\0";
  /** Gets each record in order. False stops the search. */
  readonly record: (text: string) => boolean;
};
/** `found`: at least one record. `stopped`: `record` ended it. `problem`: what ripgrep complained about, "" for nothing. */
export type Searched = { readonly found: boolean; readonly stopped: boolean; readonly failed: boolean; readonly problem: string };

/** ripgrep cannot be started. */
export class NoRipgrep extends Refusal {
  constructor(path: string, cause: unknown) {
    const why = codeOf(cause) ?? (cause instanceof Error ? cause.message : String(cause));
    super(
      `ripgrep could not be started ("${path}": ${why}). Install it (https://github.com/BurntSushi/ripgrep#installation), or set the option "ripgrep" of @heddle/tools to the path of rg.`,
    );
  }
}

/** Throws {@link NoRipgrep}. */
export async function search(ctx: ToolContext, s: Search): Promise<Searched> {
  const stop = new AbortController();
  const abort = (): void => stop.abort(ctx.signal.reason);
  if (ctx.signal.aborted) abort();
  ctx.signal.addEventListener("abort", abort, { once: true });
  let rest = "";
  let found = false;
  let stopped = false;
  let streamed = false;
  const give = (text: string): void => {
    found = true;
    if (stopped || s.record(text)) return;
    stopped = true;
    stop.abort();
  };
  const take = (chunk: string): void => {
    if (stopped) return;
    const parts = chunk.split(s.separator);
    parts[0] = rest + parts[0];
    rest = (parts.pop() ?? "").slice(0, MAX_RECORD);
    for (const part of parts) give(part.slice(0, MAX_RECORD));
  };
  try {
    const result = await ctx.capability(PROCESS).run({
      command: s.ripgrep,
      args: ["--no-config", "--color=never", "--no-require-git", ...s.args],
      cwd: s.cwd,
      signal: stop.signal,
      maxBytes: MAX_STDERR,
      timeoutMs: PATIENCE_MS,
      onOutput: (chunk, stream) => {
        if (stream !== "stdout") return;
        streamed = true;
        take(chunk);
      },
    });
    if (!streamed) take(result.stdout);
    if (rest !== "" && !stopped && result.ended === "exit") give(rest);
    const failed = !stopped && (result.exitCode === null || result.exitCode > 1);
    const how =
      result.ended === "timeout"
        ? `rg did not end within ${PATIENCE_MS / 1000} s: search a smaller folder`
        : `rg ended with ${result.signal ?? result.exitCode}`;
    return { found, stopped, failed, problem: failed ? result.stderr.trim() || how : "" };
  } catch (error) {
    if (ctx.signal.aborted) throw error;
    throw new NoRipgrep(s.ripgrep, error);
  } finally {
    ctx.signal.removeEventListener("abort", abort);
  }
}

/** `--hidden` where the path itself leads into a hidden folder. */
export const hiddenFlags = (path: string): readonly string[] => (/(^|[/\\])\.[^./\\]/.test(path) ? ["--hidden"] : []);

/** True when a folder is not empty and yet ripgrep lists no file of it: it is ignored as a whole. */
export async function ignoredWhole(ctx: ToolContext, ripgrep: string, cwd: string): Promise<boolean> {
  const any = async (args: readonly string[]): Promise<boolean> =>
    (
      await search(ctx, {
        ripgrep,
        cwd,
        args: ["--files", "--hidden", "--null", ...args, "--", "./"],
        separator: "\0",
        record: () => false,
      })
    ).found;
  return !(await any([])) && (await any(["--no-ignore"]));
}

/** The first complaints, one a line. */
export function complaints(problem: string, most = 3): string {
  const lines = problem.split("\n").filter((line) => line.trim() !== "");
  const more = lines.length - most;
  return lines.slice(0, most).join("\n") + (more > 0 ? `\n... and ${more} more` : "");
}
