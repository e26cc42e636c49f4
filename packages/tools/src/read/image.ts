/** Pictures as the model gets them: made to fit, with a line on what they were. */
import { Buffer } from "node:buffer";
import { type CallContext, IMAGES, type ImagePart, type Images } from "@heddle/kernel/plugin";

/** `size` says how large the picture was, and what was made of it. */
export type Picture = { readonly image: ImagePart; readonly size: string };

/** The picture, or why there is none. */
export async function pictureOf(bytes: Uint8Array, ctx: Pick<CallContext, "capability">): Promise<Picture | string> {
  const images = imagesOf(ctx);
  if (!images) return "this host has no images";
  const fitted = await images.fit(bytes);
  if ("why" in fitted) return fitted.why;
  const { mimeType, width, height, was } = fitted;
  const scaled = was.width === width && was.height === height ? "" : `, scaled to ${width}x${height}`;
  return {
    image: { type: "image", mimeType, data: Buffer.from(fitted.bytes).toString("base64") },
    size: `${was.width}x${was.height} pixels${scaled}`,
  };
}

function imagesOf(ctx: Pick<CallContext, "capability">): Images | undefined {
  try {
    return ctx.capability(IMAGES);
  } catch {
    return undefined;
  }
}
