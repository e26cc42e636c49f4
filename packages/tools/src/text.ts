/** Text in lines and pieces: line ends, and cuts between code points. */

/** Lines without their ends; a line end at the very end starts no further line. */
export function linesOf(text: string): string[] {
  const lines = text.split("\n");
  if (lines.at(-1) === "") lines.pop();
  return lines.map((line) => (line.endsWith("\r") ? line.slice(0, -1) : line));
}

/** As many as `linesOf` gives, without making them. */
export const lineCount = (text: string): number => lineAt(text, text.length) - (text === "" || text.endsWith("\n") ? 1 : 0);

/** The line, from 1, that holds the character at `index`. */
export function lineAt(text: string, index: number): number {
  let line = 1;
  for (let i = text.indexOf("\n"); i >= 0 && i < index; i = text.indexOf("\n", i + 1)) line++;
  return line;
}

export const toLf = (text: string): string => text.replaceAll("\r\n", "\n");

/** The line end that most lines have; LF where it is a draw or there is none. */
export function dominantEol(text: string): "\n" | "\r\n" {
  const crlf = text.split("\r\n").length - 1;
  return crlf > text.split("\n").length - 1 - crlf ? "\r\n" : "\n";
}

const isLow = (code: number): boolean => code >= 0xdc00 && code <= 0xdfff;
const isHigh = (code: number): boolean => code >= 0xd800 && code <= 0xdbff;

/** The first `n` characters, one less where that would part a code point. */
export function headOf(text: string, n: number): string {
  if (text.length <= n) return text;
  return text.slice(0, isHigh(text.charCodeAt(n - 1)) && isLow(text.charCodeAt(n)) ? n - 1 : n);
}

/** The last `n` characters, one less where that would part a code point. */
export function tailOf(text: string, n: number): string {
  if (text.length <= n) return text;
  const from = text.length - n;
  return text.slice(isLow(text.charCodeAt(from)) && isHigh(text.charCodeAt(from - 1)) ? from + 1 : from);
}

/** A line of at most `max` characters, with a note of what was cut. */
export function cutLine(line: string, max: number): string {
  if (line.length <= max) return line;
  const head = headOf(line, max);
  return `${head} [... ${line.length - head.length} more characters]`;
}

/** Lines as `cat -n` prints them. */
export const numbered = (lines: readonly string[], first: number): string =>
  lines.map((line, i) => `${String(first + i).padStart(6)}\t${line}`).join("\n");
