/** The programs that only look, with the options under which they do. Whatever is not listed here is not harmless. */
import type { Word } from "../shell/word.ts";
import type { Program } from "./options.ts";

const COLOR = "color=? colour=?";
const recursive = (o: readonly string[]): boolean => o.includes("r") || o.includes("R") || o.includes("recursive");
const always = (): boolean => true;
const plain = (words: readonly Word[]): boolean => words.every((w) => !w.glob);
const SEARCH: Program = {
  flags: "aEFGHIPbchilLnoqrsvwxyzZ",
  valued: "ABCemf",
  files: "f",
  long: `after-context= before-context= context= count extended-regexp file=@ files-with-matches files-without-match fixed-strings ignore-case include= exclude= exclude-dir= invert-match line-number line-regexp max-count= no-filename no-messages only-matching perl-regexp quiet recursive regexp= silent text with-filename word-regexp ${COLOR}`,
  number: true,
  operands: "pattern",
  deep: recursive,
  tame: true,
};
const LINES: Program = {
  flags: "qv",
  valued: "nc",
  long: "lines= bytes= quiet silent verbose",
  number: true,
  operands: "paths",
  tame: true,
};
const PLAIN: Program = { operands: "paths", tame: true };
const NOTHING: Program = { operands: "none" };
const SUMS: Program = { flags: "bt", long: "binary tag text", operands: "paths" };
const FD: Program = {
  flags: "HIFgiaps0",
  valued: "tedE",
  long: "hidden no-ignore glob fixed-strings ignore-case case-sensitive absolute-path full-path type= extension= max-depth= exclude= print0 color=?",
  operands: "pattern",
  deep: always,
};

export const PROGRAMS: { readonly [name: string]: Program } = {
  ls: {
    flags: "1AaBbCcdFfGghiklmnopqRrSstUuvXx",
    long: `all almost-all author classify=? directory file-type full-time group-directories-first human-readable inode no-group numeric-uid-gid recursive reverse size sort= time= time-style= ${COLOR}`,
    operands: "paths",
    deep: (o) => o.includes("R") || o.includes("recursive"),
    tame: true,
    names: true,
  },
  tree: { flags: "adfiplshDugFCnrtv", valued: "LIP", long: "noreport dirsfirst", operands: "paths", deep: always },
  pwd: { flags: "LP", operands: "none" },
  cat: { flags: "AbEenstTuv", long: "number number-nonblank show-all show-ends show-tabs squeeze-blank", operands: "paths", tame: true },
  tac: PLAIN,
  head: LINES,
  tail: { ...LINES, operands: (words) => words.filter((w, i) => !(i === 0 && /^\+\d+$/.test(w.value))) },
  wc: { flags: "clLmw", long: "bytes chars lines max-line-length words", operands: "paths", tame: true },
  nl: { flags: "p", valued: "bnsvw", operands: "paths" },
  rev: PLAIN,
  od: { flags: "abcdfiloxv", valued: "AjNtw", operands: "paths" },
  hexdump: { flags: "bCcdovx", valued: "ns", operands: "paths" },
  xxd: { flags: "bepu", valued: "cglsn", operands: (w) => (w.length < 2 && plain(w) ? w : undefined) },
  strings: { flags: "a", valued: "nt", operands: "paths" },
  base64: { flags: "di", valued: "w", long: "decode wrap= ignore-garbage", operands: "paths" },
  md5sum: SUMS,
  sha1sum: SUMS,
  sha256sum: SUMS,
  sha512sum: SUMS,
  cksum: PLAIN,
  cmp: { flags: "bls", operands: "paths" },
  comm: { flags: "123", operands: "paths" },
  join: { valued: "t12jaoe", operands: "paths" },
  paste: { flags: "sz", valued: "d", long: "serial delimiters=", operands: "paths" },
  column: { flags: "tenx", valued: "sco", operands: "paths" },
  fold: { flags: "bs", valued: "w", operands: "paths" },
  fmt: { flags: "cstu", valued: "w", operands: "paths" },
  expand: { valued: "t", operands: "paths" },
  diff: {
    flags: "abBcdeinNpqrstuwy",
    valued: "U",
    long: `brief ignore-all-space ignore-case recursive side-by-side unified=? ${COLOR}`,
    operands: "paths",
    deep: recursive,
  },
  cut: {
    flags: "ns",
    valued: "bcdf",
    long: "delimiter= fields= characters= bytes= complement only-delimited output-delimiter=",
    operands: "paths",
  },
  tr: { flags: "cCdst", long: "complement delete squeeze-repeats truncate-set1", operands: (w) => (plain(w) ? [] : undefined) },
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
    operands: (w) => (w.length < 2 && plain(w) ? w : undefined),
  },
  seq: { valued: "sf", flags: "w", operands: (w) => (w.every((x) => /^-?[\d.]+$/.test(x.value)) ? [] : undefined) },
  sleep: { operands: (w) => (w.every((x) => /^[\d.]+[smhd]?$/.test(x.value)) ? [] : undefined) },
  stat: { flags: "Lft", valued: "c", long: "format= dereference terse", operands: "paths", tame: true },
  file: { flags: "bikL", long: "brief mime mime-type mime-encoding dereference", operands: "paths" },
  readlink: { flags: "efmnz", long: "canonicalize canonicalize-existing canonicalize-missing", operands: "paths" },
  realpath: { flags: "ems", long: "canonicalize-existing canonicalize-missing no-symlinks relative-to=@", operands: "paths" },
  du: {
    flags: "abchkmsSx",
    valued: "d",
    long: "all human-readable summarize max-depth= total apparent-size",
    operands: "paths",
    tame: true,
  },
  df: { flags: "ahHiklT", long: "human-readable", operands: "paths" },
  echo: { operands: "text", verbatim: true, prints: true },
  printf: { operands: format, verbatim: true, prints: true },
  true: { operands: "text", verbatim: true },
  false: { operands: "text", verbatim: true },
  ":": { operands: "text", verbatim: true },
  which: { flags: "a", operands: "text" },
  type: { flags: "atpP", operands: "text" },
  whoami: NOTHING,
  groups: NOTHING,
  nproc: NOTHING,
  arch: NOTHING,
  tty: { flags: "s", operands: "none" },
  uptime: { flags: "ps", operands: "none" },
  id: { flags: "gGnru", operands: "none" },
  uname: { flags: "amnoprsv", operands: "none" },
  basename: { flags: "az", valued: "s", operands: "text", prints: true },
  dirname: { flags: "z", operands: "text", prints: true },
  date: {
    flags: "uR",
    valued: "d",
    long: "utc iso-8601=? date=",
    operands: (w) => (w.every((x) => x.value.startsWith("+") && !x.glob) ? [] : undefined),
  },
  grep: SEARCH,
  egrep: SEARCH,
  fgrep: SEARCH,
  rg: {
    flags: "acFhHiIlLnNopPqsSuUvwx0.",
    valued: "ABCegmtTMf",
    files: "f",
    long: `after-context= before-context= context= count count-matches file=@ files files-with-matches files-without-match fixed-strings glob= iglob= heading no-heading hidden ignore-case invert-match json line-number line-regexp max-columns= max-count= max-depth= multiline no-filename no-ignore no-line-number no-messages only-matching pcre2 quiet regexp= replace= smart-case sort= stats text type= type-not= vimgrep with-filename word-regexp ${COLOR}`,
    operands: "pattern",
    deep: always,
  },
  fd: FD,
  fdfind: FD,
  jq: { flags: "ceMnrsSCj", long: "compact-output null-input raw-output slurp sort-keys tab exit-status", operands: jqFilter },
};

/** `%n` of printf names a variable, and a name may hold what bash evaluates. */
function format(words: readonly Word[]): readonly Word[] | undefined {
  const [first] = words;
  const pattern = first && !first.unknown && !first.glob && !first.value.startsWith("-") ? first.value : undefined;
  return pattern !== undefined && /^([^%]|%%|%[-+ #0]*\d*(\.\d+)?[sdiuoxXfeEgGcb])*$/.test(pattern) ? [] : undefined;
}

/** The environment holds secrets, and a module is a program of its own. */
function jqFilter(words: readonly Word[]): readonly Word[] | undefined {
  const [filter, ...files] = words;
  return filter && !filter.glob && !/\benv\b|\$ENV|\$__|\b(import|include|input_filename|modulemeta|debug|stderr)\b/.test(filter.value)
    ? files
    : undefined;
}

/** Programs that say which version they are and do nothing else before, with the word that asks for it. */
export const VERSIONS: { readonly [name: string]: string } = {
  node: "--version -v",
  deno: "--version -V",
  bun: "--version -v",
  git: "--version",
  python: "--version -V",
  python3: "--version -V",
  ruby: "--version -v",
  perl: "--version -v",
  php: "--version -v",
  java: "-version --version",
  gcc: "--version",
  clang: "--version",
  make: "--version",
  cmake: "--version",
  bash: "--version",
  curl: "--version -V",
  tar: "--version",
  rg: "--version",
  jq: "--version",
  openssl: "version",
};
