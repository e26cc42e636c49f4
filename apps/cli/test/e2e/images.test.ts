/** Images that are given to the program, as the server gets them: one that it refused would end every later turn. */
import { deflateSync } from "node:zlib";
import { describe, expect, it } from "vitest";
import { lines, type World, world } from "./run.ts";

const SIGNATURE = Buffer.from("\x89PNG\r\n\x1a\n", "latin1");
/** Black, so a few KB whatever its size. */
function png(width: number, height: number): Buffer {
  const head = Buffer.alloc(13);
  head.writeUInt32BE(width, 0);
  head.writeUInt32BE(height, 4);
  head[8] = 8; // bits of grey
  const pixels = deflateSync(Buffer.alloc((width + 1) * height));
  return Buffer.concat([SIGNATURE, chunk("IHDR", head), chunk("IDAT", pixels), chunk("IEND", Buffer.alloc(0))]);
}
function chunk(type: string, data: Buffer): Buffer {
  const body = Buffer.concat([Buffer.from(type, "latin1"), data]);
  const ends = Buffer.alloc(8);
  ends.writeUInt32BE(data.length, 0);
  ends.writeUInt32BE(crc(body), 4);
  return Buffer.concat([ends.subarray(0, 4), body, ends.subarray(4)]);
}
function crc(bytes: Buffer): number {
  let sum = 0xffffffff;
  for (const byte of bytes) {
    sum ^= byte;
    for (let bit = 0; bit < 8; bit++) sum = sum & 1 ? (sum >>> 1) ^ 0xedb88320 : sum >>> 1;
  }
  return ~sum >>> 0;
}

type Given = { bytes: Buffer; type?: string };
type Block = { type: string; text?: string; source?: { media_type: string; data: string } };

/** Says one line with each list of images, one after the other; the results, and each request's blocks of the first line. */
async function show(w: World, ...turns: readonly (readonly Given[])[]) {
  const stdin = turns.map((images) => {
    const blocks = images.map(({ bytes, type = "image/png" }) => ({
      type: "image",
      source: { type: "base64", media_type: type, data: bytes.toString("base64") },
    }));
    return JSON.stringify({ type: "user", message: { role: "user", content: [{ type: "text", text: "look" }, ...blocks] } });
  });
  const running = w.start(["-p", "--input-format", "stream-json", "--output-format", "stream-json", "--verbose"]);
  running.child.stdin!.end(`${stdin.join("\n")}\n`);
  const ran = await running.ended;
  const results = lines(ran.stdout).flatMap((l) => (l["type"] === "result" ? [l["result"]] : []));
  const asked = w.server.mainRequests().map((r) => {
    const { messages } = r.body as { messages: { role: string; content: string | Block[] }[] };
    return messages.flatMap((m) => (m.role === "user" && typeof m.content !== "string" ? m.content : [])).flatMap(shapeOf);
  });
  return { code: ran.code, results, asked };
}
/** The images, and the notes in their place. */
function shapeOf({ type, text, source }: Block): string[] {
  if (type === "text") return text?.startsWith("[image") ? [text] : [];
  const bytes = Buffer.from(source!.data, "base64");
  return [`${source!.media_type} ${bytes.readUInt32BE(16)}x${bytes.readUInt32BE(20)}`];
}

describe("images", () => {
  it("of a camera, among many, misnamed and broken reach the model or become notes, and the session goes on", async () => {
    const w = await world({ script: [{ text: "Seen." }, { text: "Still here." }] });
    const broken = [
      { bytes: Buffer.alloc(0) },
      { bytes: Buffer.from("plain text") },
      { bytes: png(500, 500).subarray(0, 60) },
      { bytes: Buffer.from('<svg xmlns="http://www.w3.org/2000/svg"/>'), type: "image/svg+xml" },
    ];
    const many = Array.from({ length: 25 }, () => ({ bytes: png(2500, 30) }));
    const ran = await show(w, [{ bytes: png(5000, 4000) }, { bytes: png(40, 30), type: "image/jpeg" }, ...many, ...broken], []);
    const unread = expect.stringMatching(/^\[image \d+ \(image\/\S+, \d KB\) left out: it (is no readable|cannot be decoded) .*\]$/);
    const first = ["image/png 1568x1254", "image/png 40x30", ...many.map(() => "image/png 1568x19"), ...broken.map(() => unread)];
    expect(ran).toEqual({ code: 0, results: ["Seen.", "Still here."], asked: [first, first] });
  });
});
