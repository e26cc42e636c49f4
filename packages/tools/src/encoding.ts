/** Bytes of a file as text and back, without losing a byte: UTF-8, UTF-16, and the older encodings that can be guessed. */
import { Buffer } from "node:buffer";

/** `name` as a person would write it. */
export type Encoding = { readonly name: string; readonly bom: boolean };
/** `text` is without the byte order mark. Where `exact`, `encode(text, encoding)` gives the very bytes. */
export type DecodedText = { readonly kind: "text"; readonly text: string; readonly encoding: Encoding; readonly exact: boolean };
export type Decoded = DecodedText | { readonly kind: "image" | "pdf" | "binary"; readonly what: string };
/** `lost` is the first character that the encoding has no place for. */
export type Encoded = { readonly bytes: Uint8Array } | { readonly lost: string };

export const UTF8: Encoding = { name: "UTF-8", bom: false };

/** By the first bytes, as characters. */
const MAGIC: readonly (readonly [start: RegExp, kind: "image" | "pdf" | "binary", what: string])[] = [
  [/^\x89PNG/, "image", "a PNG image"],
  [/^\xff\xd8\xff/, "image", "a JPEG image"],
  [/^GIF8[79]a/, "image", "a GIF image"],
  [/^RIFF.{4}WEBP/s, "image", "a WebP image"],
  [/^(II\*\0|MM\0\*)/, "image", "a TIFF image"],
  [/^.{4}ftyp(avi[fs]|hei[cfx]|mif1)/s, "image", "an AVIF or HEIF image"],
  [/^%PDF-/, "pdf", "a PDF document"],
  [/^PK\x03\x04/, "binary", "a zip archive (or an office document)"],
  [/^\x1f\x8b/, "binary", "gzip-compressed"],
  [/^\x7fELF/, "binary", "a program"],
];
/** Bytes that an encoding is guessed from. */
const SAMPLE = 32 * 1024;
/** Of bytes that are not UTF-8, how many may be control characters before it is no text at all. */
const CONTROL = 0.05;

export async function decode(bytes: Uint8Array): Promise<Decoded> {
  const start = String.fromCharCode(...bytes.subarray(0, 16));
  const known = MAGIC.find(([magic]) => magic.test(start));
  if (known) return { kind: known[1], what: known[2] };
  const wide = start.startsWith("\xff\xfe\0\0") ? undefined : wideOf(start, bytes);
  if (wide) return exactly(bytes, wide, fromWide(bytes, wide));
  if (bytes.includes(0)) return { kind: "binary", what: "binary" };
  const bom = start.startsWith("\xef\xbb\xbf");
  try {
    const text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bom ? bytes.subarray(3) : bytes);
    return { kind: "text", text, encoding: { name: "UTF-8", bom }, exact: true };
  } catch {
    return controls(bytes) > CONTROL ? { kind: "binary", what: "binary" } : fromOlder(bytes);
  }
}

export async function encode(text: string, { name, bom }: Encoding): Promise<Encoded> {
  const marked = bom ? `\uFEFF${text}` : text;
  if (name === "UTF-8") return { bytes: new TextEncoder().encode(marked) };
  if (name.startsWith("UTF-16")) {
    const bytes = Buffer.from(marked, "utf16le");
    return { bytes: name === "UTF-16BE" ? bytes.swap16() : bytes };
  }
  const { default: iconv } = await import("iconv-lite");
  const bytes = iconv.encode(text, name);
  const back = iconv.decode(bytes, name);
  if (back === text) return { bytes };
  let i = 0;
  while (text[i] === back[i]) i++;
  return { lost: String.fromCodePoint(text.codePointAt(i) ?? 0) };
}

async function exactly(bytes: Uint8Array, encoding: Encoding, text: string): Promise<DecodedText> {
  const again = await encode(text, encoding);
  return { kind: "text", text, encoding, exact: "bytes" in again && Buffer.compare(again.bytes, bytes) === 0 };
}

function wideOf(start: string, bytes: Uint8Array): Encoding | undefined {
  if (start.startsWith("\xff\xfe")) return { name: "UTF-16LE", bom: true };
  if (start.startsWith("\xfe\xff")) return { name: "UTF-16BE", bom: true };
  const name = unmarkedWide(bytes);
  return name && { name, bom: false };
}

function fromWide(bytes: Uint8Array, { name, bom }: Encoding): string {
  const body = Buffer.from(bytes.subarray(bom ? 2 : 0, bytes.length - (bytes.length % 2))); // a copy, since it may be swapped
  return (name === "UTF-16BE" ? body.swap16() : body).toString("utf16le");
}

/** ASCII text in UTF-16 has a zero in nearly every second byte. */
function unmarkedWide(bytes: Uint8Array): "UTF-16LE" | "UTF-16BE" | undefined {
  const sample = bytes.subarray(0, 4096);
  if (sample.length < 8 || bytes.length % 2 !== 0) return undefined;
  const zeros = [0, 0];
  sample.forEach((byte, i) => {
    if (byte === 0) zeros[i % 2]!++;
  });
  const many = sample.length * 0.35;
  if (zeros[1]! > many && zeros[0] === 0) return "UTF-16LE";
  if (zeros[0]! > many && zeros[1] === 0) return "UTF-16BE";
  return undefined;
}

function controls(bytes: Uint8Array): number {
  const sample = bytes.subarray(0, SAMPLE);
  return sample.filter((b) => b === 0x7f || (b < 0x20 && !(b >= 8 && b <= 13) && b !== 0x1b)).length / sample.length;
}

/** The likeliest encoding that gives the bytes back; ISO-8859-1 always does. */
async function fromOlder(bytes: Uint8Array): Promise<Decoded> {
  const [{ default: iconv }, { analyse }] = await Promise.all([import("iconv-lite"), import("chardet")]);
  const sample = telling(bytes);
  const guesses = analyse(sample);
  const sure = guesses.filter((it) => it.confidence >= 50 && MULTIBYTE.test(it.name));
  const names = [
    ...sure.map((it) => it.name),
    ...["Shift_JIS", "EUC-JP"].filter((name) => kana(iconv.decode(sample, name))),
    ...(hanzi(sample) ? ["GB18030"] : []),
    ...(latin(sample) ? [latinOf(sample, guesses)] : []),
    ...guesses.map((it) => it.name),
    "ISO-8859-1",
  ];
  for (const name of names) {
    if (!iconv.encodingExists(name) || name.startsWith("UTF")) continue;
    const text = iconv.decode(bytes, name);
    if (text.includes("\uFFFD")) continue;
    const decoded = await exactly(bytes, { name, bom: false }, text);
    if (decoded.exact) return decoded;
  }
  return { kind: "binary", what: "binary" };
}

const MULTIBYTE = /^(GB|Big5|Shift_JIS|EUC)/;
const WESTERN = /^(ISO-8859-1|windows-1252)$/;
const OTHER_LATIN = /^(ISO-8859-[29]|windows-125[0478])$/;
/** By how much, of 100, another Latin alphabet must be likelier than the western one, which short texts seldom tell from it. */
const CLEARLY = 20;

/** Whether nothing but habit and statistics speaks for this encoding: with one byte for a character nearly any bytes are valid. */
export const guessed = ({ name }: Encoding): boolean => !name.startsWith("UTF") && !MULTIBYTE.test(name);

type Guess = { readonly name: string; readonly confidence: number };

function latinOf(sample: Uint8Array, guesses: readonly Guess[]): string {
  const western = guesses.find((it) => WESTERN.test(it.name))?.confidence ?? 0;
  const other = guesses.find((it) => OTHER_LATIN.test(it.name));
  if (other && other.confidence >= Math.max(2 * CLEARLY, western + CLEARLY)) return other.name;
  return sample.some((b) => b >= 0x80 && b < 0xa0) ? "windows-1252" : "ISO-8859-1";
}

/** Whether most words that are not ASCII have ASCII letters too, or are one sign: other scripts write whole words without. */
function latin(sample: Uint8Array): boolean {
  const words = runsOf(sample, /[a-z\x80-\xff]*[\x80-\xff][a-z\x80-\xff]*/gi);
  return words.filter((word) => /[a-z]/i.test(word) || word.length === 1).length * 2 > words.length;
}

/** Japanese and ASCII only, with two kana at least; those of half width are left out, since they are single bytes. */
const kana = (text: string): boolean => /^[\0-\x7f\u3000-\u30ff\u4e00-\u9fff\uff01-\uff5e]*$/.test(text) && /[ぁ-ヾ].*[ぁ-ヾ]/s.test(text);

const runsOf = (sample: Uint8Array, run: RegExp): readonly string[] => Buffer.from(sample).toString("latin1").match(run) ?? [];

/** The lines that are not ASCII, since the others say nothing about the encoding. */
function telling(bytes: Uint8Array): Uint8Array {
  const sample: number[] = [];
  for (let from = 0; from < bytes.length && sample.length < SAMPLE; ) {
    const found = bytes.indexOf(0x0a, from);
    const end = found < 0 ? bytes.length : found + 1;
    const line = bytes.subarray(from, Math.min(end, from + SAMPLE));
    if (line.some((b) => b > 0x7f)) sample.push(...line);
    from = end;
  }
  return Uint8Array.from(sample);
}

/** Too few characters for statistics, but all of them pairs of bytes from the common part of GB 2312. */
function hanzi(sample: Uint8Array): boolean {
  const runs = runsOf(sample, /[\x80-\xff]+/g);
  return runs.length > 0 && runs.every((run) => /^(?:[\xa1\xa3\xb0-\xd7][\xa1-\xfe])+$/.test(run));
}
