/** From what a command says to the programs it may start: behind wrappers, in strings that a shell is given, with options before the verb. */
import type { Grammar } from "./grammar.ts";
import { baseName, canonical } from "./text.ts";
import { readWide, type Simple, type WideWord } from "./wide.ts";

/** A program by its base name, and its arguments. */
export type Candidate = readonly WideWord[];
export type Candidates = {
  readonly all: readonly Candidate[];
  /** The commands as they stand, for what they open and where they go. */
  readonly simple: readonly Simple[];
  /** False where something may have been missed. */
  readonly sure: boolean;
  /** Some program's name is known to the shell alone, or a shell reads its commands from elsewhere. */
  readonly hidden: boolean;
};

/** Programs that start what their arguments name. */
const WRAPPERS: readonly string[] =
  "env sudo doas su runuser pkexec timeout nice nohup time command builtin noglob exec xargs watch setsid ionice flock stdbuf strace ltrace chrt taskset prlimit unshare nsenter chroot setpriv systemd-run systemd-inhibit parallel busybox toybox ssh script coproc find fd fdfind eval trap caffeinate dbus-run-session xvfb-run ssh-agent unbuffer chronic faketime proot torsocks entr sem rlwrap gdb valgrind perf npx bunx pnpx mise direnv devbox".split(
    " ",
  );
const SHELLS: readonly string[] = "sh bash zsh dash ksh mksh ash fish rbash pwsh".split(" ");
/** Their arguments, or parts of them, are read as a script. */
const READS_SCRIPT: readonly string[] =
  "eval trap watch su runuser env flock script parallel ssh entr sem bash sh zsh dash ksh mksh ash fish rbash".split(" ");
/** They run or change what no reading of the words shows. */
const OPAQUE: readonly string[] =
  "source . alias unalias hash enable python python2 python3 node deno bun perl ruby php lua awk gawk mawk vim vi ed emacs make bind complete mapfile readarray".split(
    " ",
  );
const ASSIGNMENT = /^[A-Za-z_]\w*(\[[^\]]*\])?\+?=/;
const MAX_SUFFIXES = 200;
const MAX_DEPTH = 6;
/** Words before a verb that may be options and their values. */
const MAX_OPTIONS = 20;
const MAX_SCRIPTS = 2_000;

const keyOf = ({ words, opens }: Simple): string =>
  [...words, { text: "\x01", unknown: false }, ...opens.map((o) => ({ ...o, text: `${o.write}${o.text}` }))]
    .map((w) => (w.unknown ? `${w.text}\x02` : w.text))
    .join("\0");

export function candidatesOf(command: string, grammar: Grammar): Candidates {
  const all: Candidate[] = [];
  const simple: Simple[] = [];
  let sure = true;
  let hidden = false;

  const read = new Set<string>();
  const seen = new Set<string>();
  const script = (text: string, depth: number): void => {
    if (read.has(text)) return;
    read.add(text);
    if (depth > MAX_DEPTH || read.size > MAX_SCRIPTS) {
      sure = false;
      return;
    }
    const reading = readWide(text, grammar);
    sure &&= reading.sure;
    for (const one of reading.simple) {
      const key = keyOf(one);
      if (seen.has(key)) continue;
      seen.add(key);
      simple.push(one);
      const from = one.words.findIndex((w) => !ASSIGNMENT.test(w.text));
      if (from >= 0) program(one.words.slice(from), depth);
    }
  };
  const program = (words: readonly WideWord[], depth: number): void => {
    if (words[0]!.unknown) hidden = true;
    inspect(words, depth);
    if (!WRAPPERS.includes(baseName(words[0]!.text))) return;
    if (words.length > MAX_SUFFIXES) sure = false;
    // which words are options of the wrapper is its own business: each may be where the program starts
    for (let i = 1; i < Math.min(words.length, MAX_SUFFIXES); i++) if (!words[i]!.text.startsWith("-")) inspect(words.slice(i), depth);
  };
  const inspect = ([first, ...rest]: readonly WideWord[], depth: number): void => {
    const name = baseName(first!.text);
    all.push([{ ...first!, text: name }, ...rest]);
    if (OPAQUE.includes(name)) sure = false;
    const has = (pattern: RegExp): boolean => rest.some((w) => pattern.test(w.text));
    if (SHELLS.includes(name) && !has(/^-\w*c/) && !has(/^[^-]/)) hidden = true;
    if (!READS_SCRIPT.includes(name)) return;
    if (rest.some((w) => w.unknown)) hidden = true;
    for (const w of rest) script(w.text.replace(/^-\w(?=[^\w-])|^--[\w-]+=/, ""), depth + 1);
    if (name === "eval" || name === "ssh" || name === "watch") script(rest.map((w) => w.text).join(" "), depth + 1);
  };
  script(command, 0);
  return { all, simple, sure, hidden };
}

/** The ways to read a command with the options that stand before its verb left out, with and without a value of their own. */
export function readings(words: Candidate): readonly Candidate[] {
  const out: Candidate[] = [words];
  const [name, ...rest] = words;
  const seen = new Set<number>();
  const skip = (from: number): void => {
    if (seen.has(from) || from > MAX_OPTIONS) return;
    seen.add(from);
    if (from > 0) out.push([name!, ...rest.slice(from)]);
    if (!rest[from]?.text.startsWith("-")) return;
    skip(from + 1);
    if (from + 2 <= rest.length) skip(from + 2);
  };
  skip(0);
  return out;
}

export const textOfWords = (words: readonly WideWord[]): string => canonical(words.map((w) => w.text));
