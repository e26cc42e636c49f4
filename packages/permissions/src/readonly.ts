/** The programs that only look, with the options under which they do. Whatever is not listed here is not harmless. */
import type { Word } from "./shell.ts";

/** What such a command reads. `deep`: everything below its paths too. */
export type Looks = { readonly paths: readonly string[]; readonly deep: boolean };

type Program = {
  /** Letters that may stand in a cluster and take no value. */
  readonly flags?: string;
  /** Letters with a value, attached or as the next word. */
  readonly valued?: string;
  /** Long options, exact; with `=` at the end when they take a value, `=?` when they may. */
  readonly long?: string;
  /** Values of long options are attached. */
  readonly attached?: boolean;
  /** `-5` and the like. */
  readonly number?: boolean;
  readonly operands: "paths" | "text" | "pattern" | "none" | ((operands: readonly string[]) => readonly string[] | undefined);
  readonly deep?: (options: readonly string[]) => boolean;
  /** Words that look like options and are none. */
  readonly verbatim?: boolean;
};

const COLOR = "color=? colour=?";
const SEARCH: Program = {
  flags: "aEFGHIPbchilLnoqrsvwxyzZ",
  valued: "ABCem",
  long: `after-context= before-context= context= count extended-regexp files-with-matches files-without-match fixed-strings ignore-case include= exclude= exclude-dir= invert-match line-number line-regexp max-count= no-filename no-messages only-matching perl-regexp quiet recursive regexp= silent text with-filename word-regexp ${COLOR}`,
  operands: "pattern",
  deep: (options) => options.some((o) => o === "r" || o === "recursive"),
};
const LINES: Program = { flags: "qv", valued: "nc", long: "lines= bytes= quiet silent verbose", number: true, operands: "paths" };
const PLAIN: Program = { operands: "paths" };

const PROGRAMS: { readonly [name: string]: Program } = {
  ls: {
    flags: "1AaBbCcdFfGghiklmnopqRrSstUuvXx",
    long: `all almost-all author classify=? directory file-type full-time group-directories-first human-readable inode no-group numeric-uid-gid recursive reverse size sort= time= time-style= ${COLOR}`,
    operands: "paths",
    deep: (o: readonly string[]) => o.includes("R") || o.includes("recursive"),
  },
  pwd: { flags: "LP", operands: "none" },
  cat: { flags: "AbEenstTuv", long: "number number-nonblank show-all show-ends show-tabs squeeze-blank", operands: "paths" },
  head: LINES,
  tail: { ...LINES, operands: (words: readonly string[]) => words.filter((w, i) => !(i === 0 && /^\+\d+$/.test(w))) },
  wc: { flags: "clLmw", long: "bytes chars lines max-line-length words", operands: "paths" },
  nl: { flags: "p", valued: "bnsvw", operands: "paths" },
  rev: PLAIN,
  cmp: { flags: "bls", operands: "paths" },
  comm: { flags: "123", operands: "paths" },
  diff: {
    flags: "abBcdeinpqrstuwy",
    valued: "U",
    long: `brief ignore-all-space ignore-case recursive side-by-side unified=? ${COLOR}`,
    operands: "paths",
    deep: (o: readonly string[]) => o.includes("r") || o.includes("recursive"),
  },
  cut: {
    flags: "ns",
    valued: "bcdf",
    long: "delimiter= fields= characters= bytes= complement only-delimited output-delimiter=",
    operands: "paths",
  },
  sort: {
    flags: "bdfghinMrRsuVz",
    valued: "kt",
    long: "key= field-separator= numeric-sort reverse unique ignore-case version-sort human-numeric-sort",
    operands: "paths",
  },
  uniq: {
    flags: "cdDiuz",
    valued: "fsw",
    long: "count repeated unique ignore-case",
    operands: (w: readonly string[]) => (w.length < 2 ? w : undefined),
  },
  stat: { flags: "Lft", valued: "c", long: "format= dereference terse", operands: "paths" },
  du: { flags: "abchkmsSx", valued: "d", long: "all human-readable summarize max-depth= total apparent-size", operands: "paths" },
  echo: { operands: "text", verbatim: true },
  true: { operands: "none" },
  false: { operands: "none" },
  which: { flags: "a", operands: "text" },
  whoami: { operands: "none" },
  uname: { flags: "amnoprsv", operands: "none" },
  basename: { flags: "az", valued: "s", operands: "text" },
  dirname: { flags: "z", operands: "text" },
  date: { flags: "uR", long: "utc iso-8601=?", operands: (w: readonly string[]) => (w.every((x) => x.startsWith("+")) ? [] : undefined) },
  grep: SEARCH,
  egrep: SEARCH,
  fgrep: SEARCH,
  sed: {
    flags: "nE",
    operands: ([script, ...files]: readonly string[]) => (script && /^(\d+|\$)(,(\+?\d+|\$))?p$/.test(script) ? files : undefined),
  },
};

const LOG =
  "oneline graph stat=? shortstat numstat name-only name-status all decorate=? no-decorate patch no-patch merges no-merges follow reverse first-parent abbrev-commit abbrev=? max-count= skip= since= until= after= before= author= committer= grep= format= pretty=? date= branches tags remotes unified= summary no-color word-diff=? ignore-all-space ignore-space-change no-ext-diff no-textconv";
const GIT: { readonly [verb: string]: Program } = {
  status: {
    flags: "sbvz",
    long: "short branch porcelain=? long verbose untracked-files=? ignored=? show-stash ahead-behind no-renames",
    operands: gitPaths,
  },
  log: { flags: "psuwbi", valued: "nSG", long: LOG, number: true, operands: gitPaths },
  show: { flags: "psuwb", valued: "n", long: LOG, number: true, operands: gitPaths },
  diff: { flags: "psuwbR", valued: "USG", long: `cached staged exit-code quiet check merge-base ${LOG}`, operands: gitPaths },
  branch: { flags: "arv", long: "show-current all remotes verbose list", operands: "none" },
  "rev-parse": { long: "short=? abbrev-ref show-toplevel is-inside-work-tree git-dir verify", operands: gitPaths },
  "ls-files": { flags: "comdst", long: "cached others modified deleted exclude-standard stage", operands: gitPaths },
};

/** Revisions look like names in the working folder; of `HEAD:path` and `a..b` both sides count. */
function gitPaths(operands: readonly string[]): readonly string[] {
  return operands.flatMap((o) => [o, ...o.split(":").slice(1)].filter((p) => p !== ""));
}

/** Undefined unless the command is known to change nothing, run nothing else and read nothing but the paths it gives back. */
export function looksOnly(words: readonly Word[]): Looks | undefined {
  if (words.some((w) => w.glob || (w.tilde && !/^~(\/|$)/.test(w.text)))) return undefined;
  const [name, ...args] = words.map((w) => w.text) as [string, ...string[]];
  if (name === "find") return find(args);
  if (name !== "git") return Object.hasOwn(PROGRAMS, name) ? fits(PROGRAMS[name]!, args) : undefined;
  const [verb = "", ...rest] = args;
  // %G? in a format runs the program that checks signatures
  if (!Object.hasOwn(GIT, verb) || rest.some((a) => a.includes("%G"))) return undefined;
  return fits({ ...GIT[verb]!, attached: true }, rest);
}

function fits(program: Program, args: readonly string[]): Looks | undefined {
  if (program.verbatim) return { paths: [], deep: false };
  const operands: string[] = [];
  const options: string[] = [];
  const long = new Map((program.long ?? "").split(" ").map((o) => [o.replace(/=\??$/, ""), /=\??$/.exec(o)?.[0] ?? ""]));
  // a value that looks like an option may be read as one by another version of the program
  const takesNext = (at: number): boolean => at < args.length && !args[at]!.startsWith("-");
  for (let i = 0; i < args.length; i++) {
    const arg = args[i]!;
    if (arg === "--") {
      operands.push(...args.slice(i + 1));
      break;
    }
    if (!arg.startsWith("-") || arg === "-") operands.push(arg);
    else if (/^-\d+$/.test(arg)) {
      if (!program.number) return undefined;
    } else if (arg.startsWith("--")) {
      const [, option, value] = /^--([a-z0-9-]+)(=[\s\S]*)?$/.exec(arg) ?? [];
      const takes = option === undefined ? undefined : long.get(option);
      if (takes === undefined || (takes === "" && value !== undefined)) return undefined;
      if (takes === "=" && value === undefined && (program.attached || !takesNext(++i))) return undefined;
      options.push(option!);
    } else {
      for (let k = 1; k < arg.length; k++) {
        const letter = arg[k]!;
        if (program.valued?.includes(letter)) {
          if (k === arg.length - 1 && !takesNext(++i)) return undefined;
          options.push(letter);
          break;
        }
        if (!program.flags?.includes(letter)) return undefined;
        options.push(letter);
      }
    }
  }
  const deep = program.deep?.(options) ?? false;
  const paths = pathsOf(program, operands, options);
  if (!paths) return undefined;
  return { paths: deep && paths.length === 0 ? ["."] : paths.filter((p) => p !== "-"), deep };
}

function pathsOf({ operands: role }: Program, operands: readonly string[], options: readonly string[]): readonly string[] | undefined {
  if (typeof role === "function") return role(operands);
  if (role === "none") return operands.length === 0 ? [] : undefined;
  if (role === "text") return [];
  return role === "pattern" && !options.some((o) => o === "e" || o === "regexp") ? operands.slice(1) : operands;
}

const TESTS: readonly string[] = "-name -iname -path -ipath -type -maxdepth -mindepth -size -mtime -mmin -newer".split(" ");
const ALONE: readonly string[] = "-print -empty -not -o -or -a -and ! ( ) -prune".split(" ");
function find(args: readonly string[]): Looks | undefined {
  const from = args.findIndex((a) => /^[-!(),]/.test(a));
  const starts = from < 0 ? args : args.slice(0, from);
  const paths = [...(starts.length > 0 ? starts : ["."])];
  for (let i = from < 0 ? args.length : from; i < args.length; i++) {
    const arg = args[i]!;
    if (ALONE.includes(arg)) continue;
    if (!TESTS.includes(arg) || ++i >= args.length) return undefined;
    if (arg === "-newer") paths.push(args[i]!);
  }
  return { paths, deep: false };
}
