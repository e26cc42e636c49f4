/** Makes images fit with sharp, which is optional and loaded by the first image that needs it. */
import { createRequire } from "node:module";
import type { Fitted, ImageLimits, Images, ImageType } from "@heddle/kernel";
import type { Sharp as Picture } from "sharp";
import { IMAGE_LIMITS } from "../types.ts";
import { type ImageHeader, imageHeader } from "./image-header.ts";

type Library = typeof import("sharp")["default"];
/** Not typed as the library, which an embedder need not have. */
type Load = () => unknown;
type Raw = { readonly data: Buffer; readonly width: number; readonly height: number; readonly channels: 1 | 2 | 3 | 4 };
/** `most`: bytes above which the next one is tried. */
type Encoding = { readonly mimeType: ImageType; readonly most?: number; readonly apply: (image: Picture) => Picture };

/** Pixels. More would take gigabytes of memory. */
const MAX_PIXELS = 100_000_000;
const MAX_SECONDS = 30;
/** What a smaller version is made of when no quality is low enough, and where that ends. */
const STEP = 0.7;
const SMALLEST = 64;
/** Bytes. A PNG that is larger after scaling is a photograph. */
const LOSSLESS = 1_000_000;

const jpeg = (quality: number): Encoding => ({
  mimeType: "image/jpeg",
  apply: (image) => image.flatten({ background: "#ffffff" }).jpeg({ quality }),
});
const webp = (quality: number): Encoding => ({ mimeType: "image/webp", apply: (image) => image.webp({ quality }) });
const JPEG = [jpeg(85), jpeg(65), jpeg(40)];
/** In the order in which they are tried. What is read and not taken by the servers becomes a PNG or a JPEG. */
const ENCODINGS: Readonly<Record<ImageType, readonly Encoding[]>> = {
  "image/png": [{ mimeType: "image/png", most: LOSSLESS, apply: (image) => image.png() }, ...JPEG],
  "image/jpeg": JPEG,
  "image/gif": [{ mimeType: "image/gif", most: LOSSLESS, apply: (image) => image.gif() }, ...JPEG],
  "image/webp": [webp(85), webp(65), webp(40)],
};
/** By sharp's names. An SVG is text that can name other files. */
const READ: readonly string[] = ["png", "jpeg", "gif", "webp", "heif", "tiff"];
const UNREADABLE = "it is no readable PNG, JPEG, GIF, WebP, AVIF or TIFF image";

/** `load` throws where sharp is not installed. */
export function nodeImages(load: Load = loadSharp): Images {
  return {
    size(bytes) {
      const header = imageHeader(bytes);
      return header && { mimeType: header.mimeType, width: header.width, height: header.height };
    },
    async fit(bytes, limits = IMAGE_LIMITS) {
      const header = imageHeader(bytes);
      if (header && isWithin(header, bytes, limits)) {
        const { mimeType, width, height } = header;
        return { mimeType, bytes, width, height, was: { width, height, bytes: bytes.length } };
      }
      let sharp: Library;
      try {
        sharp = load() as Library;
      } catch {
        return { why: NOT_INSTALLED, unable: true };
      }
      return await resized(sharp, bytes, limits, header).catch((error: Error) => ({ why: whyOf(error) }));
    },
  };
}

const NOT_INSTALLED = "the optional package sharp is not installed, or not made for this machine";
const loadSharp: Load = () => createRequire(import.meta.url)("sharp");

/** What makes images fit here, with its version; undefined where nothing does. Loads it. */
export function imageLibrary(load: Load = loadSharp): string | undefined {
  try {
    return `sharp ${(load() as Library).versions.sharp}`;
  } catch {
    return undefined;
  }
}

const isWithin = ({ width, height, plain }: ImageHeader, bytes: Uint8Array, limits: ImageLimits): boolean =>
  plain && Math.max(width, height) <= limits.side && bytes.length <= limits.bytes;

async function resized(sharp: Library, bytes: Uint8Array, limits: ImageLimits, header: ImageHeader | undefined): Promise<Fitted> {
  const image = sharp(bytes, { failOn: "truncated", limitInputPixels: MAX_PIXELS }).timeout({ seconds: MAX_SECONDS });
  const { format, width, height, hasAlpha } = await image.metadata();
  if (!READ.includes(format)) return { why: UNREADABLE };
  const raw = await rawOf(within(image.autoOrient(), limits.side).toColourspace("srgb"));
  const encodings = ENCODINGS[header?.mimeType ?? (hasAlpha ? "image/png" : "image/jpeg")];
  let side = Math.max(raw.width, raw.height);
  do {
    for (const { mimeType, most = limits.bytes, apply } of encodings) {
      const { data, info } = await apply(within(sharp(raw.data, { raw }), side)).toBuffer({ resolveWithObject: true });
      if (data.length > Math.min(most, limits.bytes)) continue;
      return { mimeType, bytes: data, width: info.width, height: info.height, was: { width, height, bytes: bytes.length } };
    }
    side = Math.floor(side * STEP);
  } while (side >= SMALLEST);
  return { why: `it cannot be made smaller than ${Math.ceil(limits.bytes / 1024)} KB` };
}

const within = (image: Picture, side: number): Picture =>
  image.resize({ width: side, height: side, fit: "inside", withoutEnlargement: true });

/** Decoded once, however often it is encoded. */
async function rawOf(image: Picture): Promise<Raw> {
  const { data, info } = await image.raw().toBuffer({ resolveWithObject: true });
  return { data, width: info.width, height: info.height, channels: info.channels };
}

/** Its first line; the others name the inner steps of the library. */
function whyOf({ message }: Error): string {
  if (/unsupported image format|buffer is empty/i.test(message)) return UNREADABLE;
  return `it cannot be decoded (${message.split("\n")[0]!.trim()})`;
}
