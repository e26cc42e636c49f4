/** The command behind `!`: runs one line in a shell for the person and shows the model what came of it. */
import { type Command, PROCESS, type ProcessResult } from "@heddle/kernel/plugin";

const TIMEOUT_MS = 120_000;
/** Characters of output, all streams together. */
const LIMIT = 30_000;
const STDERR_LIMIT = 10_000;

export const shell: Command = {
  name: "shell",
  kind: "local",
  hidden: true,
  summary: "Runs a line in the shell",
  async run(line, ctx) {
    const run = (command: string): Promise<ProcessResult> =>
      ctx.capability(PROCESS).run({
        command,
        args: ["-c", line],
        cwd: ctx.session.cwd,
        timeoutMs: TIMEOUT_MS,
        signal: ctx.signal,
        maxBytes: LIMIT * 4,
      });
    const result = await run("bash").catch((error: { code?: string }) => {
      if (error.code !== "ENOENT") throw error;
      return run("sh");
    });
    const end = endOf(result);
    const note = end ? `(${end})` : "";
    const out = plain(result.stdout);
    const err = plain(result.stderr);
    const errors = out.length + err.length > LIMIT ? bound(err, STDERR_LIMIT) : err;
    return {
      kind: "handled",
      level: result.exitCode === 0 ? "info" : "warning",
      show: [bound(plain(result.output), LIMIT).trimEnd(), note].filter((s) => s !== "").join("\n") || "(no output)",
      context: [
        tag("bash-input", line),
        tag("bash-stdout", bound(out, LIMIT - errors.length)),
        tag("bash-stderr", [errors.trimEnd(), note].filter((s) => s !== "").join("\n")),
      ].join("\n"),
    };
  },
};

function endOf({ ended, exitCode, signal }: ProcessResult): string {
  if (ended === "timeout") return `stopped after ${TIMEOUT_MS / 1000} s`;
  if (ended === "abort") return "interrupted";
  if (exitCode === null) return `ended by ${signal ?? "a signal"}`;
  return exitCode === 0 ? "" : `exit code ${exitCode}`;
}

/** Colours, titles and movements of a cursor. */
const ESCAPES = /\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[ -/]*[0-~])/g;
const plain = (text: string): string =>
  text
    .replace(ESCAPES, "")
    .replace(/\r\n?/g, "\n")
    .replace(/[^\P{Cc}\n\t]/gu, "");

/** At most `limit` characters: the start and the end, and how much is missing between them. */
function bound(text: string, limit: number): string {
  if (text.length <= limit) return text;
  const room = Math.max(0, limit - 50);
  const head = Math.ceil(room / 2);
  const tail = room - head;
  const end = tail > 0 ? text.slice(-tail) : "";
  return `${text.slice(0, head)}\n[... ${text.length - room} characters left out ...]\n${end}`;
}

/** What stands inside cannot close the tag. */
const tag = (name: string, text: string): string => `<${name}>${text.replaceAll("</bash-", "<\\/bash-")}</${name}>`;
