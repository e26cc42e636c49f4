/** The lines of a text that match a regex of a model, found by ripgrep: its time is bounded whatever the pattern. */
import type { Processes } from "@heddle/kernel/plugin";
import { NoRipgrep } from "../ripgrep.ts";

const PATIENCE_MS = 5_000;
const MAX_BYTES = 1024 * 1024;

export type Matched = { readonly lines: readonly string[]; readonly problem?: string };

/** `problem` says what is wrong with the pattern, or that there is no ripgrep. Never rejects. */
export const matcherOf =
  (processes: Processes, ripgrep: string, cwd: string, pattern: string) =>
  async (text: string): Promise<Matched> => {
    const args = ["--no-config", "--color=never", "--text", "--regexp", pattern, "--", "-"];
    try {
      const result = await processes.run({ command: ripgrep, args, cwd, stdin: text, timeoutMs: PATIENCE_MS, maxBytes: MAX_BYTES });
      if (result.exitCode === 0) return { lines: result.stdout.replace(/\n$/, "").split("\n") };
      if (result.exitCode === 1) return { lines: [] };
      const why = result.stderr.trim() || `rg ended with ${result.signal ?? result.exitCode}`;
      return { lines: [], problem: `The regex cannot be used: ${why}` };
    } catch (error) {
      return { lines: [], problem: new NoRipgrep(ripgrep, error).message };
    }
  };
