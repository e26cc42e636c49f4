/** A mentioned image: made fit for the servers, and shown to the model behind a line that says what it is. */
import { Buffer } from "node:buffer";
import { extname } from "node:path";
import { type CallContext, type Content, IMAGES, type Images, z } from "@heddle/kernel/plugin";
import type { Reference } from "./reference.ts";

/** Bytes on the disk. */
export const MAX_IMAGE_FILE = 50 * 1024 * 1024;
const NAMES: readonly string[] = [".png", ".jpg", ".jpeg", ".gif", ".webp", ".avif", ".heic", ".heif", ".tif", ".tiff"];

/** `width` and `height` are pixels of what is shown, `was` those of the file. `data` is base64. */
export const imageData = z.object({
  kind: z.literal("image"),
  path: z.string(),
  mimeType: z.string(),
  width: z.int(),
  height: z.int(),
  was: z.object({ width: z.int(), height: z.int(), bytes: z.int() }),
  data: z.string(),
});
type ImageData = z.output<typeof imageData>;

export const seemsImage = (path: string): boolean => NAMES.includes(extname(path).toLowerCase());

/** Undefined where the host has none. */
export function imagesOf(ctx: CallContext): Images | undefined {
  try {
    return ctx.capability(IMAGES);
  } catch {
    return undefined;
  }
}

export async function imageOf(images: Images | undefined, path: string, bytes: Uint8Array): Promise<ImageData | Reference> {
  const fitted = images ? await images.fit(bytes) : { why: "there is nothing here that looks at images" };
  if ("why" in fitted) return { kind: "reference", path, why: "unfit", bytes: bytes.length, detail: fitted.why };
  const { mimeType, width, height, was } = fitted;
  return { kind: "image", path, mimeType, width, height, was, data: Buffer.from(fitted.bytes).toString("base64") };
}

export function renderImage({ path, mimeType, width, height, was, data }: ImageData): Content {
  const scaled = was.width === width && was.height === height ? "" : `, scaled to ${width}x${height}`;
  return [
    { type: "text", text: `The user mentions ${path}, an image of ${was.width}x${was.height} pixels${scaled}:` },
    { type: "image", mimeType, data },
  ];
}
