/** The shell script around a command: it hands the command over untouched and learns in which folder the command's shell ended. */

/**
 * Takes `$1` the command, `$2` an id, `$3` the shell. The command runs in a shell of its own, given as an argument and never
 * quoted again, so heredocs, comments and `exec` stay its own affair. That shell writes its folder to a deleted file: children
 * that outlive it may hold the file open without holding anybody up, and no redirection of the command can reach the answer.
 * `write` and `read` are descriptors that commands hardly use. At the end an escape sequence with id and folder is printed.
 */
const script = (write: number, read: number): string => `exec 2>/dev/null
f=$(mktemp "\${TMPDIR:-/tmp}/heddle.XXXXXX") && exec ${write}>>"$f" ${read}<"$f" && rm -f "$f"
"$3" -c '${inner(write)}' "$3" "$1" </dev/null 2>&1 ${read}<&-
s=$?
[ -z "$f" ] || { IFS= read -r d <&${read} && printf '\\033]777;%s;%s\\007' "$2" "$d"; }
exit $s`;

/**
 * The trap is for commands that end the shell themselves, what follows `eval` for those that set a trap of their own. All is
 * one line, so that it is read before the command runs and the command's first line has the number 1.
 */
const inner = (write: number): string =>
  `trap "{ set +x; command pwd >&${write}; } 2>/dev/null" EXIT; eval "set --; $1"; { s=$?; command pwd >&${write}; (exit $s); } 2>/dev/null`;

export type Shell = { readonly command: string; readonly args: (command: string, id: string) => readonly string[] };

const shell = (command: string, write: number, read: number): Shell => ({
  command,
  args: (text, id) => ["-c", script(write, read), command, text, id, command],
});

/** In order of preference. A plain sh knows one-digit descriptors only. */
export const SHELLS: readonly Shell[] = [shell("bash", 198, 199), shell("sh", 8, 7)];

/** The folder that the script reported in the text of an escape sequence; undefined for sequences of the command itself. */
export function reportedFolder(sequence: string, id: string): string | undefined {
  const start = `777;${id};`;
  const folder = sequence.startsWith(start) ? sequence.slice(start.length) : "";
  return folder.startsWith("/") ? folder : undefined;
}

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
