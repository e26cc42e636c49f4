/** Exit codes and the two errors that end the program with one line and no stack. */

export const EXIT = { done: 0, failed: 1, usage: 2, interrupted: 130, terminated: 143 } as const;
export type ExitCode = (typeof EXIT)[keyof typeof EXIT];

/** What was typed or piped in cannot be used: exit 2. */
export class UsageError extends Error {
  override readonly name = "UsageError";
}

/** heddle cannot do what was asked: exit 1. The message says what to do next. */
export class CliError extends Error {
  override readonly name = "CliError";
}
