/** Programs that only change how another one runs, taken away for rules that allow. Others are never seen through. */
import type { Word } from "../shell/word.ts";

type Wrapper = {
  /** Options that are one word; those whose value is the next word stand in `valued`. */
  readonly options: readonly RegExp[];
  readonly valued: readonly string[];
  /** Words of its own before the program. */
  readonly own?: RegExp;
};

const WRAPPERS: { readonly [name: string]: Wrapper } = {
  timeout: {
    options: [/^-v$/, /^--(foreground|preserve-status|verbose)$/, /^--(signal|kill-after)=\w+$/],
    valued: ["-k", "-s", "--signal", "--kill-after"],
    own: /^\d+(\.\d+)?[smhd]?$/,
  },
  time: { options: [/^-p$/], valued: [] },
  nice: { options: [/^-\d+$/, /^--adjustment=-?\d+$/], valued: ["-n"] },
  nohup: { options: [], valued: [] },
  stdbuf: { options: [/^-[ioe][0L]$/], valued: [] },
  command: { options: [], valued: [] },
  builtin: { options: [], valued: [] },
};

/** What runs behind the wrappers, the words as they stand first. */
export function unwrapped(words: readonly Word[]): readonly (readonly Word[])[] {
  const out = [words];
  for (let left = inner(words); left; left = inner(left)) out.push(left);
  return out;
}

function inner(words: readonly Word[]): readonly Word[] | undefined {
  const name = words[0]?.value ?? "";
  const wrapper = Object.hasOwn(WRAPPERS, name) ? WRAPPERS[name]! : undefined;
  if (!wrapper || words.some((w, i) => i < 6 && w.unknown)) return undefined;
  let at = 1;
  for (let word = words[at]; word?.value.startsWith("-"); word = words[at]) {
    if (wrapper.valued.includes(word.value) && /^-?\w+$/.test(words[at + 1]?.value ?? "")) at += 2;
    else if (wrapper.options.some((o) => o.test(word!.value))) at++;
    else return undefined;
  }
  if (wrapper.own && !wrapper.own.test(words[at++]?.value ?? "")) return undefined;
  return at < words.length && !words[at]!.glob ? words.slice(at) : undefined;
}

/** What `xargs` without options of its own runs: with more words, which it reads. */
export const fedByXargs = (words: readonly Word[]): readonly Word[] | undefined =>
  words[0]?.value === "xargs" && words.length > 1 && !words[1]!.value.startsWith("-") ? words.slice(1) : undefined;
