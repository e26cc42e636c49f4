/** Columns that text takes in a terminal, and where to break it. Cheap and near enough for running text. */

const WIDE = [
  [0x1100, 0x115f],
  [0x2e80, 0x303e],
  [0x3041, 0xa4cf],
  [0xac00, 0xd7a3],
  [0xf900, 0xfaff],
  [0xfe30, 0xfe6f],
  [0xff00, 0xff60],
  [0xffe0, 0xffe6],
  [0x1f300, 0x1faff],
  [0x20000, 0x3fffd],
] as const;
const ZERO = [
  [0x300, 0x36f],
  [0x200d, 0x200d],
  [0xfe00, 0xfe0f],
  [0x1f3fb, 0x1f3ff],
] as const;

function columnsOf(char: string): number {
  const code = char.codePointAt(0)!;
  const within = (ranges: typeof WIDE | typeof ZERO): boolean => ranges.some(([from, to]) => code >= from && code <= to);
  if (code < 0x300) return 1;
  return within(ZERO) ? 0 : within(WIDE) ? 2 : 1;
}

export function width(text: string): number {
  if (/^[\x20-\x7e]*$/.test(text)) return text.length;
  let sum = 0;
  for (const char of text) sum += columnsOf(char);
  return sum;
}

/** Breaks one line (no line ends in it) into pieces of at most `columns`, at blanks where it can. */
export function wrap(line: string, columns: number): string[] {
  const rows: string[] = [];
  let rest = line;
  while (width(rest) > columns) {
    const cut = cutAt(rest, columns);
    const blank = rest.lastIndexOf(" ", cut);
    const end = blank > 0 && rest.slice(0, blank).trim() !== "" ? blank : cut;
    rows.push(rest.slice(0, end));
    rest = rest.slice(rest[end] === " " ? end + 1 : end);
  }
  return [...rows, rest];
}

function cutAt(text: string, columns: number): number {
  let used = 0;
  let at = 0;
  for (const char of text) {
    used += columnsOf(char);
    if (used > columns) return at === 0 ? char.length : at;
    at += char.length;
  }
  return at;
}
