/** Bytes of a file as text and back, without losing a byte: encodings, byte order marks, line ends, cuts between code points. */

export type Decoded =
  /** `text` is without the byte order mark; `encode(text, bom)` gives the very bytes. */
  | { readonly kind: "text"; readonly text: string; readonly bom: boolean }
  /** Can be shown but not written back. */
  | { readonly kind: "foreign"; readonly text: string; readonly encoding: string }
  | { readonly kind: "binary"; readonly what: string };

const MAGIC: readonly (readonly [string, string])[] = [
  ["\x89PNG", "a PNG image"],
  ["\xff\xd8\xff", "a JPEG image"],
  ["GIF8", "a GIF image"],
  ["%PDF-", "a PDF document"],
  ["PK\x03\x04", "a zip archive (or an office document)"],
  ["\x1f\x8b", "gzip-compressed"],
  ["\x7fELF", "a program"],
];
/** Of bytes that are not UTF-8, how many may be unreadable before it is no text at all. */
const UNREADABLE = 0.3;

export function decode(bytes: Uint8Array): Decoded {
  const start = String.fromCharCode(...bytes.subarray(0, 8));
  const known = MAGIC.find(([magic]) => start.startsWith(magic));
  if (known) return { kind: "binary", what: known[1] };
  const utf16 = start.startsWith("\xff\xfe") ? "utf-16le" : start.startsWith("\xfe\xff") ? "utf-16be" : unmarkedUtf16(bytes);
  if (utf16 && !start.startsWith("\xff\xfe\0\0"))
    return { kind: "foreign", text: new TextDecoder(utf16).decode(bytes), encoding: utf16.toUpperCase() };
  if (bytes.includes(0)) return { kind: "binary", what: "binary" };
  const bom = start.startsWith("\xef\xbb\xbf");
  const body = bom ? bytes.subarray(3) : bytes;
  try {
    return { kind: "text", text: new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(body), bom };
  } catch {
    const text = new TextDecoder("utf-8", { ignoreBOM: true }).decode(body);
    const lost = text.split("\uFFFD").length - 1;
    if (lost > text.length * UNREADABLE) return { kind: "binary", what: "binary, or text in an encoding other than UTF-8" };
    return { kind: "foreign", text, encoding: "not UTF-8" };
  }
}

export function encode(text: string, bom: boolean): Uint8Array {
  return new TextEncoder().encode(bom ? `\uFEFF${text}` : text);
}

/** ASCII text in UTF-16 has a zero in nearly every second byte. */
function unmarkedUtf16(bytes: Uint8Array): "utf-16le" | "utf-16be" | undefined {
  const sample = bytes.subarray(0, 4096);
  if (sample.length < 8 || bytes.length % 2 !== 0) return undefined;
  const zeros = [0, 0];
  sample.forEach((byte, i) => {
    if (byte === 0) zeros[i % 2]!++;
  });
  const many = sample.length * 0.35;
  if (zeros[1]! > many && zeros[0] === 0) return "utf-16le";
  if (zeros[0]! > many && zeros[1] === 0) return "utf-16be";
  return undefined;
}

/** Lines without their ends; a line end at the very end starts no further line. */
export function linesOf(text: string): string[] {
  const lines = text.split("\n");
  if (lines.at(-1) === "") lines.pop();
  return lines.map((line) => (line.endsWith("\r") ? line.slice(0, -1) : line));
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
