/** Images as data URLs; one that a server would refuse becomes a note, since it would make every later request fail. */
import { Buffer } from "node:buffer";
import type { ImagePart } from "@heddle/kernel/plugin";

/** Images that one request may hold. More, and the oldest go, `DROPPED_AT_ONCE` at a time so that the prefix changes seldom. */
export const MAX_IMAGES = 100;
export const DROPPED_AT_ONCE = 20;
const MAX_BYTES = 20 * 1024 * 1024;

/** `none`: the model takes no images. `old`: there are too many of them. */
export type ImageMode = "all" | "none" | "old";

/** `url` is a data URL. */
export type Shown = { readonly type: "text"; readonly text: string } | { readonly type: "image"; readonly url: string };

export function showImage(part: ImagePart, mode: ImageMode): Shown {
  if (mode === "none") return note("this model takes no images");
  if (mode === "old") return note("too many images in this conversation");
  const bytes = Buffer.from(part.data, "base64");
  const kind = kindOf(bytes);
  if (kind === undefined) return note("it is no readable PNG, JPEG, GIF or WebP image");
  if (bytes.length > MAX_BYTES) return note(`${Math.ceil(bytes.length / 1024)} KB is over ${MAX_BYTES / 1024} KB`);
  return { type: "image", url: `data:${kind};base64,${bytes.toString("base64")}` };
}
const note = (why: string): Shown => ({ type: "text", text: `[image left out: ${why}]` });

/** From the image's own bytes: names and declared types lie. */
function kindOf(bytes: Buffer): string | undefined {
  const head = bytes.toString("latin1", 0, 12);
  if (head.startsWith("\x89PNG\r\n\x1a\n") && bytes.length >= 24) return "image/png";
  if (head.startsWith("\xff\xd8\xff") && bytes.length > 4) return "image/jpeg";
  if (/^GIF8[79]a/.test(head) && bytes.length >= 10) return "image/gif";
  return head.startsWith("RIFF") && head.slice(8) === "WEBP" && bytes.length >= 30 ? "image/webp" : undefined;
}
