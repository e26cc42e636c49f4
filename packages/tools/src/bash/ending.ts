/** How a command ended, in words for the model. */
import type { ProcessResult } from "@heddle/kernel/plugin";

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

/** Without a full stop: `exit code 143: SIGTERM`. What a time limit or a stop did is not called an exit. */
export function endingOf(result: ProcessResult): string {
  if (result.ended === "timeout") return "its time was over, and it was killed with all it had started";
  if (result.ended === "abort") return "stopped before its end, with all it had started";
  if (result.signal !== null) return `killed by ${result.signal}`;
  const signal = SIGNALS[(result.exitCode ?? 0) - 128];
  return `exit code ${result.exitCode}${signal ? `: ${signal}` : ""}`;
}

export const wentWell = (result: ProcessResult): boolean => result.ended === "exit" && result.exitCode === 0;
