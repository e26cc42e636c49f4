/** Checks what stands between the words of a command: there only blanks, operators, reserved words and true comments may stand. */

/** Start and end in the source; what lies between was read as a word, a redirection or the body of a heredoc. */
export type Span = readonly [start: number, end: number];

const BLANK = /[ \t]+/y;
const OPERATOR = /\n|&&|\|\||\|&|[;&|()]/y;
const RESERVED = /(?:if|then|elif|else|fi|for|in|do|done|while|until|time|[{}!])(?=[ \t\n;&|)]|$)/y;
const COMMENT = /#[^\n]*/y;
/** Between two words of one command. */
const WITHIN = /^[ \t]*(?:(?<=[ \t])\\\n[ \t]*)*$/;

/** Where the text is not what it seems, as an offset; undefined when all is well. `spans` are in order. */
export function strangeGap(source: string, spans: readonly Span[]): number | undefined {
  let at = 0;
  for (const [start, end] of [...spans, [source.length, source.length] as const]) {
    if (start < at) return start;
    const strange = scan(source, at, start);
    if (strange !== undefined) return strange;
    at = end;
  }
  return undefined;
}

function scan(source: string, from: number, to: number): number | undefined {
  const taken = (pattern: RegExp, at: number): number => {
    pattern.lastIndex = at;
    return pattern.test(source) ? pattern.lastIndex : -1;
  };
  for (let at = from; at < to; ) {
    const before = at === 0 ? "\n" : source[at - 1]!;
    const escaped = at > 1 && source[at - 2] === "\\";
    const fresh = !escaped && " \t\n;&|(".includes(before);
    let next = taken(BLANK, at);
    if (next < 0) next = taken(OPERATOR, at);
    if (next < 0 && fresh) next = taken(RESERVED, at);
    if (next < 0 && fresh) next = taken(COMMENT, at);
    if (next < 0 && (before === " " || before === "\t") && !escaped && source.startsWith("\\\n", at)) next = at + 2;
    if (next < 0 || next > to) return at;
    at = next;
  }
  return undefined;
}

/** Whether two words of one command are parted as bash parts them. */
export const isPlainGap = (source: string, from: number, to: number): boolean => WITHIN.test(source.slice(from, to));
