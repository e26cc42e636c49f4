/** The shell script around a command: it hands the command over untouched, and learns in which folder its shell ended and what it left running. */

/**
 * Takes `$1` the command, `$2` an id, `$3` the shell. The command runs in a shell of its own, given as an argument and never
 * quoted again, so heredocs, comments and `exec` stay its own affair. That shell writes its folder and the ids of its jobs to a
 * deleted file: children that outlive it may hold the file open without holding anybody up, and no redirection of the command
 * can reach the answer. It is made without a program of its own, since each costs as much as the shell. The descriptors are
 * such that commands hardly use. At the end an escape sequence goes to stderr, which nothing of the command does: stdout has it all.
 */
const script = (inner: string, write: number, read: number, report: number): string => `exec ${report}>&2 2>/dev/null
f=\${TMPDIR:-/tmp}/heddle.$2.$$
set -C
if command exec ${write}>"$f" ${read}<"$f"; then rm -f "$f" & else f=; fi
set +C
"$3" -c '${inner}' "$3" "$1" </dev/null 2>&1 ${read}<&- ${report}>&-
s=$?
[ -z "$f" ] || {
  d=; j=
  while IFS= read -r l <&${read}; do case $l in /*) d=$l;; *) j="$j $l";; esac; done
  printf '\\033]777;%s;%s;%s\\007' "$2" "$j" "$d" >&${report}
}
exit $s`;

/**
 * The trap is for commands that end the shell themselves, what follows `eval` for those that set a trap of their own. All is
 * one line, so that it is read before the command runs and the command's first line has the number 1.
 */
const inner = (write: number, before = "", jobs = ""): string =>
  `${before}trap "{ set +x; command pwd >&${write}; ${jobs}} 2>/dev/null" EXIT; eval "set --; $1"; { s=$?; command pwd >&${write}; (exit $s); } 2>/dev/null`;

/** Only for commands that may replace the shell, since it can be seen: `cd` tells at once where it went. */
const telling = (write: number): string =>
  `cd() { builtin cd "$@" || return; if [ "$BASH_SUBSHELL" = 0 ]; then { command pwd >&${write}; } 2>/dev/null; fi; }; `;

export type Shell = { readonly command: string; readonly args: (command: string, id: string) => readonly string[] };

const shell = (command: string, scriptFor: (text: string) => string): Shell => ({
  command,
  args: (text, id) => ["-c", scriptFor(text), command, text, id, command],
});

/** In order of preference. A plain sh knows one-digit descriptors only, and no jobs by number. */
export const SHELLS: readonly Shell[] = [
  shell("bash", (text) => script(inner(198, /\bexec\b/.test(text) ? telling(198) : "", "jobs -pr >&198; "), 198, 199, 197)),
  shell("sh", () => script(inner(8), 8, 7, 9)),
];

/** `jobs`: process ids of what the command's shell has started and not waited for. */
export type Report = { readonly folder: string | undefined; readonly jobs: readonly number[] };

/** What the script has reported in the text of an escape sequence; undefined for sequences of the command itself. */
export function reportOf(sequence: string, id: string): Report | undefined {
  const start = `777;${id};`;
  if (!sequence.startsWith(start)) return undefined;
  const [, jobs, folder] = /^([\d ]*);([\s\S]*)$/.exec(sequence.slice(start.length)) ?? [];
  if (jobs === undefined || folder === undefined) return undefined;
  return { folder: folder.startsWith("/") ? folder : undefined, jobs: [...new Set(jobs.split(" ").filter((j) => j !== ""))].map(Number) };
}

/** A syntax error names what read the text. That is `eval` here, which nobody has written. */
export const asWritten = (output: string): string =>
  output
    .replace(/^(ba)?sh: eval: (line \d+: )(syntax error|unexpected EOF|`)/gm, "$1sh: -c: $2$3")
    .replace(/^((?:ba)?sh: -c: line 1: `)set --; /gm, "$1");

/** So that nothing waits for an editor, a pager or a password, and no start-up file has a say. */
export const SHELL_ENV: Readonly<Record<string, string>> = {
  TERM: "dumb",
  EDITOR: "true",
  VISUAL: "true",
  GIT_EDITOR: "true",
  GIT_SEQUENCE_EDITOR: "true",
  GIT_TERMINAL_PROMPT: "0",
  GIT_PAGER: "cat",
  PAGER: "cat",
  BASH_ENV: "",
  ENV: "",
};
