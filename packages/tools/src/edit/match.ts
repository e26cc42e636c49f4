/** Finds text whose line ends may differ from those of the file, and replaces it without touching another byte. */
import { dominantEol, toLf } from "../text.ts";

/** Half-open, in characters of the file's own text. */
export type Span = { readonly start: number; readonly end: number };

/** A text with LF alone, and the way back to the positions in the original. */
export type Flat = { readonly lf: string; readonly original: string; readonly at: (lfIndex: number) => number };

export function flatten(original: string): Flat {
  const breaks: number[] = [];
  for (let i = original.indexOf("\r\n"); i >= 0; i = original.indexOf("\r\n", i + 2)) breaks.push(i - breaks.length);
  const at = (lfIndex: number): number => {
    let low = 0;
    let high = breaks.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (breaks[middle]! < lfIndex) low = middle + 1;
      else high = middle;
    }
    return lfIndex + low;
  };
  return { lf: toLf(original), original, at };
}

/** Where `wanted` begins in `text`, at most `most` places. With `step` 1 overlapping ones too, so that an ambiguous one never looks unique. */
export function places(text: string, wanted: string, step: number, most = Number.POSITIVE_INFINITY): number[] {
  const found: number[] = [];
  for (let i = text.indexOf(wanted); i >= 0 && found.length < most; i = text.indexOf(wanted, i + step)) found.push(i);
  return found;
}

/**
 * The text with `from` replaced by `to` at each of `starts` (positions in the LF text). What both have in common at their start
 * and end stays as it is on disk; new line ends are those of the place.
 */
export function replaceAt(flat: Flat, starts: readonly number[], from: string, to: string): string {
  let head = 0;
  while (head < from.length && head < to.length && from[head] === to[head]) head++;
  let tail = 0;
  while (tail < from.length - head && tail < to.length - head && from[from.length - 1 - tail] === to[to.length - 1 - tail]) tail++;
  const inserted = to.slice(head, to.length - tail);
  const { original } = flat;
  let out = "";
  let done = 0;
  for (const start of starts) {
    const span = { start: flat.at(start + head), end: flat.at(start + from.length - tail) };
    out += original.slice(done, span.start) + inserted.replaceAll("\n", () => eolAt(original, span));
    done = span.end;
  }
  return out + original.slice(done);
}

/** The line end inside the replaced text, else of the line it is in, else of the line before, else of most lines. */
function eolAt(text: string, span: Span): string {
  const inside = text.indexOf("\n", span.start);
  const end = inside >= 0 ? inside : text.lastIndexOf("\n", span.start - 1);
  if (end < 0) return dominantEol(text);
  return text[end - 1] === "\r" ? "\r\n" : "\n";
}
