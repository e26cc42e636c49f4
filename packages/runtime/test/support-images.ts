/** Images made for tests, and a session that is given them. */
import type { ImagePart, Images, Input, Message } from "@heddle/kernel";
import sharp from "sharp";
import type { Session } from "../src/index.ts";
import { type MemoryHost, memoryHost } from "../src/memory.ts";
import { nodeImages } from "../src/node/index.ts";
import { allowAll, echo, type Reply, scripted, seenBy, start } from "./support.ts";

/** One colour; a few KB, whatever its size. */
export const flatPng = (width: number, height: number): Promise<Buffer> =>
  sharp({ create: { width, height, channels: 3, background: "#555" } })
    .png()
    .toBuffer();
/** Noise, which no encoding makes small. */
export const noise = (width: number, height: number) =>
  sharp({ create: { width, height, channels: 3, background: "#888", noise: { type: "gaussian", mean: 128, sigma: 60 } } });

export const part = (bytes: Uint8Array, mimeType = "image/png"): ImagePart => ({
  type: "image",
  mimeType,
  data: Buffer.from(bytes).toString("base64"),
});
export const picture = (...images: ImagePart[]): Input => ({ text: "look", source: "sdk", images });

/** Each image as `image/png 100x50`, anything else as its text; one list for each message. */
export function seen(messages: readonly Message[] | undefined): string[][] {
  const { size } = nodeImages();
  return (messages ?? []).map((m) =>
    "content" in m
      ? m.content.map((p) => {
          if (p.type !== "image") return "text" in p ? p.text : p.type;
          const at = size(Buffer.from(p.data, "base64"));
          return `${p.mimeType} ${at ? `${at.width}x${at.height}` : "?"}`;
        })
      : [],
  );
}

export async function look(
  replies: readonly Reply[],
  inputs: readonly Input[],
  images: Images = nodeImages(),
  meanwhile?: (session: Session) => void,
) {
  const host: MemoryHost = { ...memoryHost({ files: { "/w/a.txt": "a" } }), images };
  const { candidate, requests } = scripted(replies);
  const { runtime } = await start([candidate, echo(), allowAll], { host });
  const session = await runtime.open({ headless: true });
  const events = seenBy(session);
  const outcomes: string[] = [];
  meanwhile?.(session);
  for (const input of inputs) outcomes.push((await session.submit(input)).outcome.kind);
  await session.idle();
  return { requests, session, events, outcomes, runtime };
}
