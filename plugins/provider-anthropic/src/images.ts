/** Images as the API takes them; one that it would refuse becomes a note, since it would make every later request fail. */
import { Buffer } from "node:buffer";
import type { ImagePart } from "@heddle/kernel/plugin";
import { type ImageBlock, type TextBlock, textBlock } from "./wire.ts";

/**
 * Which images go along: all that are legal, only those no side of which is over `MANY_SIDE` pixels, or none; "blind" is none since
 * the model takes no images.
 */
export type ImageMode = "all" | "small" | "none" | "blind";
/** With more images than this in a request, the API takes only small ones. */
export const MANY_IMAGES = 20;
export const MANY_SIDE = 2000;
const MAX_SIDE = 8000;
const MAX_BASE64 = 5_242_880;

/** Images that one request may hold. */
export const imageLimit = (window: number): number => (window >= 1_000_000 ? 600 : 100);

export const note = (why: string): TextBlock => textBlock(`[image left out: ${why}]`);

export function imageBlock(part: ImagePart, mode: ImageMode): ImageBlock | TextBlock {
  if (mode === "blind") return note("this model takes no images");
  const bytes = Buffer.from(part.data, "base64");
  const facts = inspect(bytes);
  if (facts === undefined) return note("it is no readable PNG, JPEG, GIF or WebP image");
  const { mediaType, side } = facts;
  if (side > MAX_SIDE) return note(`a side of ${side} pixels is over ${MAX_SIDE}`);
  if (mode === "none") return note("too many images in this conversation");
  if (mode === "small" && side > MANY_SIDE)
    return note(`a side of ${side} pixels is over ${MANY_SIDE}, the limit for more than ${MANY_IMAGES} images`);
  const data = bytes.toString("base64");
  if (data.length > MAX_BASE64) return note(`${Math.ceil(bytes.length / 1024)} KB is over ${(MAX_BASE64 * 3) / 4 / 1024} KB`);
  return { type: "image", source: { type: "base64", media_type: mediaType, data } };
}

/** The longest side in pixels of an image block. */
export function sideOf(block: ImageBlock): number {
  return inspect(Buffer.from(block.source.data, "base64"))?.side ?? 0;
}

type Facts = { readonly mediaType: string; readonly side: number };
/** From the image's own bytes: names and declared types lie. Undefined when it is of no known kind or cut off in its head. */
function inspect(bytes: Buffer): Facts | undefined {
  const at = (start: number, end: number): string => bytes.toString("latin1", start, end);
  const facts = (mediaType: string, size: readonly number[] | undefined): Facts | undefined =>
    size?.every((n) => n > 0) ? { mediaType, side: Math.max(...size) } : undefined;
  if (at(0, 8) === "\x89PNG\r\n\x1a\n")
    return facts("image/png", bytes.length < 24 ? undefined : [bytes.readUInt32BE(16), bytes.readUInt32BE(20)]);
  if (["GIF87a", "GIF89a"].includes(at(0, 6)))
    return facts("image/gif", bytes.length < 10 ? undefined : [bytes.readUInt16LE(6), bytes.readUInt16LE(8)]);
  if (at(0, 3) === "\xff\xd8\xff") return facts("image/jpeg", jpegSize(bytes));
  if (at(0, 4) === "RIFF" && at(8, 12) === "WEBP") return facts("image/webp", bytes.length < 30 ? undefined : webpSize(bytes, at(12, 16)));
  return undefined;
}

/** In the first frame header, behind segments of any length. */
function jpegSize(bytes: Buffer): readonly number[] | undefined {
  for (let at = 2; at + 9 < bytes.length && bytes[at] === 0xff; ) {
    const marker = bytes[at + 1]!;
    if (marker === 0xff) {
      at++; // fill bytes
      continue;
    }
    if (marker >= 0xc0 && marker <= 0xcf && ![0xc4, 0xc8, 0xcc].includes(marker))
      return [bytes.readUInt16BE(at + 5), bytes.readUInt16BE(at + 7)];
    at += 2 + bytes.readUInt16BE(at + 2);
  }
  return undefined;
}

function webpSize(bytes: Buffer, kind: string): readonly number[] | undefined {
  if (kind === "VP8X") return [bytes.readUIntLE(24, 3) + 1, bytes.readUIntLE(27, 3) + 1];
  if (kind === "VP8 ") return [bytes.readUInt16LE(26) & 0x3fff, bytes.readUInt16LE(28) & 0x3fff];
  if (kind !== "VP8L") return undefined;
  const bits = bytes.readUInt32LE(21);
  return [(bits & 0x3fff) + 1, ((bits >>> 14) & 0x3fff) + 1];
}
