/** The bytes of a page as text: by its byte order mark, by its header, by what the page says of itself, or by what they look like. */
import { Buffer } from "node:buffer";

const MARKS: readonly (readonly [string, string])[] = [
  ["\xef\xbb\xbf", "utf-8"],
  ["\xff\xfe", "utf-16le"],
  ["\xfe\xff", "utf-16be"],
];
/** Bytes in which a page has to name its encoding. */
const HEAD = 1024;
/** As browsers read what calls itself so. */
const WIDER: Readonly<Record<string, string>> = {
  "iso-8859-1": "windows-1252",
  latin1: "windows-1252",
  ascii: "windows-1252",
  "us-ascii": "windows-1252",
};

/** `named`: what the header says. */
export async function textIn(bytes: Uint8Array, named: string | undefined): Promise<string> {
  const head = Buffer.from(bytes.subarray(0, HEAD)).toString("latin1");
  const mark = MARKS.find(([start]) => head.startsWith(start))?.[1];
  const own = /<meta\b[^>]*\bcharset\s*=\s*["']?\s*([\w:.-]+)/i.exec(head)?.[1] ?? /^<\?xml[^>]*\bencoding=["']([\w:.-]+)/i.exec(head)?.[1];
  const said = (mark ?? named ?? own)?.toLowerCase();
  if (said === undefined || /^utf-?8$/.test(said)) {
    try {
      return new TextDecoder("utf-8", { fatal: said === undefined }).decode(bytes);
    } catch {
      return await decoded(bytes, "windows-1252");
    }
  }
  return await decoded(bytes, WIDER[said] ?? said);
}

async function decoded(bytes: Uint8Array, encoding: string): Promise<string> {
  const { default: iconv } = await import("iconv-lite");
  return iconv.encodingExists(encoding) ? iconv.decode(Buffer.from(bytes), encoding) : new TextDecoder().decode(bytes);
}
