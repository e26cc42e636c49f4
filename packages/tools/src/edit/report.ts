/** What Edit tells of a replacement that it has made: the new lines with a few around, or where several places were changed. */

import { plural } from "../answer.ts";
import { changedLines } from "../change.ts";
import { cutLine, lineAt, linesOf, numbered } from "../text.ts";
import type { Span } from "./match.ts";
import type { Replaced } from "./replace.ts";

const AROUND = 2;
const SNIPPET_LINES = 14;
/** Lines that are named where several places were changed. */
const NAMED_LINES = 20;

export function report(name: string, before: string, { after, places, lf, span }: Replaced): string {
  if (places.length > 1) {
    const lines = places.slice(0, NAMED_LINES).map((start) => lineAt(lf, start));
    return `Edited ${name} in ${places.length} places (lines ${lines.join(", ")}${places.length > lines.length ? ", ..." : ""}).`;
  }
  const near = neighbourhood(before, after, span);
  const { first, removed, added } = changedLines(near.before, near.after);
  const start = Math.max(1, first - AROUND);
  const snippet = linesOf(near.after).slice(start - 1, first - 1 + added.length + AROUND);
  const part = snippet.slice(0, SNIPPET_LINES).map((line) => cutLine(line, 300));
  const more = snippet.length > part.length ? `\n[and ${plural(snippet.length - part.length, "more line")}]` : "";
  return `Edited ${name}: +${added.length} -${removed.length} lines.\n${numbered(part, near.line + start - 1)}${more}`;
}

/** The changed stretch of both texts with some whole lines around it, so that the rest need not be taken apart. `line` is its first. */
function neighbourhood(before: string, after: string, { start, end }: Span): { before: string; after: string; line: number } {
  let head = start;
  for (let n = 0; n <= AROUND && head > 0; n++) head = before.lastIndexOf("\n", head - 1);
  head = head <= 0 ? 0 : head + 1;
  let tail = end;
  for (let n = 0; n <= AROUND && tail < before.length; n++) tail = before.indexOf("\n", tail) + 1 || before.length;
  const rest = before.length - tail;
  return { before: before.slice(head, tail), after: after.slice(head, after.length - rest), line: lineAt(before, head) };
}
