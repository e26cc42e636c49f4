/** What an image's own bytes say: its media type and its size in pixels. */

export interface ImageFacts {
  mediaType: string;
  width: number | undefined;
  height: number | undefined;
}

const ascii = (bytes: Buffer, start: number, end: number) => bytes.toString("latin1", start, end);

function png(bytes: Buffer): ImageFacts {
  const whole = bytes.length >= 24;
  return {
    mediaType: "image/png",
    width: whole ? bytes.readUInt32BE(16) : undefined,
    height: whole ? bytes.readUInt32BE(20) : undefined,
  };
}

function gif(bytes: Buffer): ImageFacts {
  const whole = bytes.length >= 10;
  return {
    mediaType: "image/gif",
    width: whole ? bytes.readUInt16LE(6) : undefined,
    height: whole ? bytes.readUInt16LE(8) : undefined,
  };
}

/** The size of a JPEG stands in its first frame header, behind segments of any length. */
function jpeg(bytes: Buffer): ImageFacts {
  let at = 2;
  while (at + 9 < bytes.length && bytes[at] === 0xff) {
    const marker = bytes[at + 1] ?? 0;
    const isFrame = marker >= 0xc0 && marker <= 0xcf && marker !== 0xc4 && marker !== 0xc8 && marker !== 0xcc;
    if (isFrame) return { mediaType: "image/jpeg", width: bytes.readUInt16BE(at + 7), height: bytes.readUInt16BE(at + 5) };
    at += 2 + bytes.readUInt16BE(at + 2);
  }
  return { mediaType: "image/jpeg", width: undefined, height: undefined };
}

function webp(bytes: Buffer): ImageFacts {
  const kind = ascii(bytes, 12, 16);
  const facts = (width?: number, height?: number): ImageFacts => ({ mediaType: "image/webp", width, height });
  if (bytes.length < 30) return facts();
  if (kind === "VP8X") return facts(bytes.readUIntLE(24, 3) + 1, bytes.readUIntLE(27, 3) + 1);
  if (kind === "VP8 ") return facts(bytes.readUInt16LE(26) & 0x3fff, bytes.readUInt16LE(28) & 0x3fff);
  if (kind !== "VP8L") return facts();
  const bits = bytes.readUInt32LE(21);
  return facts((bits & 0x3fff) + 1, ((bits >>> 14) & 0x3fff) + 1);
}

/** Undefined when the first bytes are those of no supported format. */
export function imageFacts(base64: string): ImageFacts | undefined {
  const bytes = Buffer.from(base64, "base64");
  if (ascii(bytes, 0, 8) === "\x89PNG\r\n\x1a\n") return png(bytes);
  if (["GIF87a", "GIF89a"].includes(ascii(bytes, 0, 6))) return gif(bytes);
  if (ascii(bytes, 0, 3) === "\xff\xd8\xff") return jpeg(bytes);
  if (ascii(bytes, 0, 4) === "RIFF" && ascii(bytes, 8, 12) === "WEBP") return webp(bytes);
  return undefined;
}

export function pdfPages(base64: string): number {
  const text = Buffer.from(base64, "base64").toString("latin1");
  return text.match(/\/Type\s*\/Page(?![A-Za-z])/g)?.length ?? 0;
}
