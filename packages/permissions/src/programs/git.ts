/** The forms of git that only look. */
import type { Word } from "../shell/word.ts";
import { HERE, type Looks, looks, type Program } from "./options.ts";

const LOG =
  "oneline graph stat=? shortstat numstat name-only name-status all decorate=? no-decorate patch no-patch merges no-merges follow reverse first-parent abbrev-commit abbrev=? max-count= skip= since= until= after= before= author= committer= grep= format= pretty=? date= branches tags remotes unified= summary no-color word-diff=? ignore-all-space ignore-space-change no-ext-diff no-textconv diff-filter= topo-order date-order";
/** Of the options with a value those that git takes as the next word, whatever the verb. */
const attached = { apart: "max-count skip since until after before author committer grep".split(" ") };
const LISTS: Program = { operands: "none" };

const VERBS: { readonly [verb: string]: Program } = {
  status: {
    flags: "sbvz",
    long: "short branch porcelain=? long verbose untracked-files=? ignored=? show-stash ahead-behind no-renames",
    operands: paths,
  },
  log: { flags: "psuwbi", valued: "nSGL", long: LOG, number: true, operands: paths },
  show: { flags: "psuwb", valued: "n", long: LOG, number: true, operands: paths },
  diff: { flags: "psuwbR", valued: "USG", long: `cached staged exit-code quiet check merge-base ${LOG}`, operands: paths },
  shortlog: { flags: "sne", long: "summary numbered email no-merges", operands: paths },
  blame: { flags: "wlstenfp", valued: "L", long: "porcelain line-porcelain date=", operands: paths },
  branch: { flags: "arv", long: "show-current all remotes verbose list", operands: "none" },
  tag: { flags: "l", long: "list", operands: (w) => (w.length === 0 ? [] : undefined) },
  "rev-parse": { long: "short=? abbrev-ref show-toplevel is-inside-work-tree git-dir verify show-prefix", operands: paths },
  "rev-list": { flags: "n", valued: "n", long: `objects count max-parents= ${LOG}`, number: true, operands: paths },
  "ls-files": { flags: "comdstz", long: "cached others modified deleted exclude-standard stage", operands: paths },
  "ls-tree": { flags: "rdtlz", long: "name-only full-tree long", operands: paths },
  "cat-file": { flags: "ptse", operands: paths },
  "merge-base": { long: "all is-ancestor fork-point", operands: paths },
  "name-rev": { long: "name-only", operands: paths },
  describe: { long: "tags all always dirty=? long abbrev= match=", operands: paths },
  grep: {
    flags: "nilLcwvEFPIhHoqa",
    valued: "eABC",
    long: "line-number ignore-case files-with-matches count word-regexp extended-regexp fixed-strings cached untracked heading break",
    operands: (words) => (words.length > 0 ? [...paths(words), HERE] : undefined),
    deep: () => true,
  },
};
/** Verbs whose own verb says what they do. */
const PAIRS: { readonly [pair: string]: Program } = {
  "stash list": LISTS,
  "stash show": { flags: "p", long: "stat patch", operands: paths },
  "worktree list": { long: "porcelain", operands: "none" },
  "remote -v": LISTS,
  "config --get": { operands: (w) => (w.length === 1 ? [] : undefined) },
  "config --get-all": { operands: (w) => (w.length === 1 ? [] : undefined) },
  "reflog show": { flags: "n", number: true, operands: paths },
};
const ALONE: readonly string[] = ["remote", "reflog"];

/** Revisions look like names in the working folder; of `HEAD:path` and `a..b` both sides count. A pathspec is no name for the shell. */
function paths(operands: readonly Word[]): readonly Word[] {
  return operands.flatMap((w) => {
    const sides = [w.value, ...w.value.split(":").slice(1)].filter((p) => p !== "");
    return sides.map((value) => ({ ...w, value }));
  });
}

export function gitLooks(args: readonly Word[]): Looks | undefined {
  const words = args[0]?.value === "--no-pager" || args[0]?.value === "-P" ? args.slice(1) : args;
  const [verb, second, ...more] = words;
  // %G? in a format runs the program that checks signatures
  if (!verb || words.some((w) => w.value.includes("%G"))) return undefined;
  if (!second && ALONE.includes(verb.value)) return { paths: [], deep: false };
  const pair = second ? `${verb.value} ${second.value}` : "";
  if (Object.hasOwn(PAIRS, pair)) return looks({ ...PAIRS[pair]!, attached }, more);
  if (!Object.hasOwn(VERBS, verb.value)) return undefined;
  return looks({ ...VERBS[verb.value]!, attached }, words.slice(1));
}
