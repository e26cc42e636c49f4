/** A long text cut to its head and its tail: on whole lines where that leaves enough, and never within a code point. */

export type Cut = {
  readonly head: string;
  readonly tail: string;
  /** The first line that is not whole in `head`, from 1. */
  readonly line: number;
  /** Both ends of the cut are ends of lines. */
  readonly wholeLines: boolean;
  readonly lines: { readonly left: number; readonly all: number };
  readonly chars: { readonly left: number; readonly all: number };
};

/** The end of an output says how it went, its beginning what it was. */
const HEAD_SHARE = 0.6;

/** `limit` in characters of `head` and `tail` together. Undefined when nothing has to go. */
export function cutMiddle(text: string, limit: number): Cut | undefined {
  if (text.length <= limit) return undefined;
  const share = Math.ceil(limit * HEAD_SHARE);
  const from = headEnd(text, share);
  const to = tailStart(text, text.length - (limit - share));
  const middle = text.slice(from, to);
  const before = breaksIn(text.slice(0, from));
  const left = breaksIn(middle);
  return {
    head: text.slice(0, from),
    tail: text.slice(to),
    line: before + 1,
    wholeLines: text[from - 1] === "\n" && text[to - 1] === "\n",
    lines: { left, all: before + left + breaksIn(text.slice(to)) + (text.endsWith("\n") ? 0 : 1) },
    chars: { left: middle.length, all: text.length },
  };
}

const breaksIn = (text: string): number => text.split("\n").length - 1;
const splitsPair = (text: string, at: number): boolean => /^[\uD800-\uDBFF][\uDC00-\uDFFF]$/.test(text.slice(at - 1, at + 1));

/** A line that is longer than half of what may stay is cut within. */
function headEnd(text: string, at: number): number {
  const end = at > 0 ? text.lastIndexOf("\n", at - 1) + 1 : 0;
  if (end > at / 2) return end;
  return splitsPair(text, at) ? at - 1 : at;
}
function tailStart(text: string, at: number): number {
  const start = text.indexOf("\n", at - 1) + 1;
  if (start > 0 && start - at < (text.length - at) / 2) return start;
  return splitsPair(text, at) ? at + 1 : at;
}
