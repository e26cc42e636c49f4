/** What the first bytes of an image say, without decoding it. */
import { Buffer } from "node:buffer";
import type { ImageType } from "@heddle/kernel";

/** `plain`: nothing in it stops a server from reading it. False when its end is missing, and for the colours of print. */
export type ImageHeader = { readonly mimeType: ImageType; readonly width: number; readonly height: number; readonly plain: boolean };

type Size = { readonly width: number; readonly height: number; readonly plain: boolean };
/** The frame header of a JPEG says how many colours it has; those of print are four. */
const PRINT = 4;

/** From the image's own bytes: names and declared types lie. Undefined when it is of no other kind, or cut off in its head. */
export function imageHeader(given: Uint8Array): ImageHeader | undefined {
  const bytes = Buffer.from(given.buffer, given.byteOffset, given.byteLength);
  const at = (start: number, end: number): string => bytes.toString("latin1", start, end);
  const header = (mimeType: ImageType, size: Size | undefined): ImageHeader | undefined =>
    size && size.width > 0 && size.height > 0 ? { mimeType, ...size } : undefined;
  if (at(0, 8) === "\x89PNG\r\n\x1a\n") return header("image/png", pngSize(bytes));
  if (["GIF87a", "GIF89a"].includes(at(0, 6))) return header("image/gif", gifSize(bytes));
  if (at(0, 3) === "\xff\xd8\xff") return header("image/jpeg", jpegSize(bytes));
  if (at(0, 4) === "RIFF" && at(8, 12) === "WEBP") return header("image/webp", webpSize(bytes, at(12, 16)));
  return undefined;
}

function pngSize(bytes: Buffer): Size | undefined {
  if (bytes.length < 24) return undefined;
  return { width: bytes.readUInt32BE(16), height: bytes.readUInt32BE(20), plain: bytes.lastIndexOf("IEND") > 24 };
}

function gifSize(bytes: Buffer): Size | undefined {
  if (bytes.length < 10) return undefined;
  return { width: bytes.readUInt16LE(6), height: bytes.readUInt16LE(8), plain: bytes.at(-1) === 0x3b };
}

/** In the first frame header, behind segments of any length. Its end is looked for behind that, since a preview before it has its own. */
function jpegSize(bytes: Buffer): Size | undefined {
  for (let at = 2; at + 9 < bytes.length && bytes[at] === 0xff; ) {
    const marker = bytes[at + 1]!;
    if (marker === 0xff) {
      at++; // fill bytes
      continue;
    }
    if (marker >= 0xc0 && marker <= 0xcf && ![0xc4, 0xc8, 0xcc].includes(marker)) {
      const plain = bytes[at + 9] !== PRINT && bytes.lastIndexOf("\xff\xd9", undefined, "latin1") > at;
      return { width: bytes.readUInt16BE(at + 7), height: bytes.readUInt16BE(at + 5), plain };
    }
    at += 2 + bytes.readUInt16BE(at + 2);
  }
  return undefined;
}

function webpSize(bytes: Buffer, kind: string): Size | undefined {
  if (bytes.length < 30) return undefined;
  const plain = bytes.readUInt32LE(4) + 8 <= bytes.length;
  if (kind === "VP8X") return { width: bytes.readUIntLE(24, 3) + 1, height: bytes.readUIntLE(27, 3) + 1, plain };
  if (kind === "VP8 ") return { width: bytes.readUInt16LE(26) & 0x3fff, height: bytes.readUInt16LE(28) & 0x3fff, plain };
  if (kind !== "VP8L") return undefined;
  const bits = bytes.readUInt32LE(21);
  return { width: (bits & 0x3fff) + 1, height: ((bits >>> 14) & 0x3fff) + 1, plain };
}
