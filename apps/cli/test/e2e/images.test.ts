/** Images that are given to the program, as the server gets them: one that it refused would end every later turn. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { startOpenAIServer } from "@heddle/openai-server";
import { describe, expect, it } from "vitest";
import { png } from "./png.ts";
import { lines, type Options, type World, world } from "./run.ts";

type Given = { bytes: Buffer; type?: string };
type Block = { type: string; text?: string; source?: { media_type: string; data: string } };

/** Says one line with each list of images, one after the other; resolves with the results. */
async function show(w: World, turns: readonly (readonly Given[])[], flags: readonly string[] = [], options: Options = {}) {
  const stdin = turns.map((images) => {
    const blocks = images.map(({ bytes, type = "image/png" }) => ({
      type: "image",
      source: { type: "base64", media_type: type, data: bytes.toString("base64") },
    }));
    return JSON.stringify({ type: "user", message: { role: "user", content: [{ type: "text", text: "look" }, ...blocks] } });
  });
  const running = w.start(["-p", "--input-format", "stream-json", "--output-format", "stream-json", ...flags], options);
  running.child.stdin!.end(`${stdin.join("\n")}\n`);
  const { code, stdout } = await running.ended;
  return { code, results: lines(stdout).flatMap((l) => (l["type"] === "result" ? [l["result"]] : [])) };
}
/** What the person's messages of each request hold beside plain text. */
const shown = (w: World): string[][] =>
  w.server.mainRequests().map((r) => {
    const { messages } = r.body as { messages: { role: string; content: string | Block[] }[] };
    return messages.flatMap((m) => (m.role === "user" && typeof m.content !== "string" ? m.content : [])).flatMap(shapeOf);
  });
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
    const ran = await show(w, [[{ bytes: png(5000, 4000) }, { bytes: png(40, 30), type: "image/jpeg" }, ...many, ...broken], []]);
    const unread = expect.stringMatching(/^\[image \d+ \(image\/\S+, \d KB\) left out: it (is no readable|cannot be decoded) .*\]$/);
    const first = ["image/png 1568x1254", "image/png 40x30", ...many.map(() => "image/png 1568x19"), ...broken.map(() => unread)];
    expect([ran, shown(w)]).toEqual([{ code: 0, results: ["Seen.", "Still here."] }, [first, first]]);
  });

  it("that a prompt mentions come with it, and the person is told which files do not", async () => {
    const w = await world({ script: [{ text: "Seen." }] });
    for (const [name, bytes] of [
      ["ok.png", png(40, 30)],
      ["wide.png", png(5000, 40)],
      ["bad.png", Buffer.from("\x89PNG\0")],
      ["data.bin", Buffer.alloc(9)],
    ] as const)
      writeFileSync(join(w.cwd, name), bytes);
    const ran = await w.run(["-p", "look at @ok.png, @wide.png, @bad.png and @data.bin"]);
    expect({ ...ran, ms: 0 }).toEqual({
      ms: 0,
      code: 0,
      stdout: "Seen.\n",
      stderr: [
        `heddle: ${w.cwd}/bad.png is not attached: image left out: it is no readable PNG, JPEG, GIF, WebP, AVIF or TIFF image\n`,
        `heddle: ${w.cwd}/data.bin is not attached: it is no text\n`,
      ].join(""),
    });
    expect(shown(w)).toEqual([["image/png 40x30", "image/png 1568x13"]]);
    expect(JSON.stringify(w.server.mainRequests()[0]!.body)).toContain("wide.png, an image of 5000x40 pixels, scaled to 1568x13:");
  });

  it("reach servers of another kind just so", async () => {
    const server = await startOpenAIServer({ script: [{ text: "Seen." }], models: { "gpt-x": { images: true } } });
    const [w, env] = [await world(), { OPENAI_API_KEY: "k", OPENAI_BASE_URL: server.url }];
    const ran = await show(w, [[{ bytes: png(5000, 4000) }]], ["--model", "openai/gpt-x"], { env });
    await server.close();
    const urls = JSON.stringify(server.requests.map((r) => r.body)).match(/data:image[^"]+/g) ?? [];
    const given = urls.map((url) => shapeOf({ type: "image", source: { media_type: url.slice(5, 14), data: url.slice(22) } }));
    expect([ran, given]).toEqual([{ code: 0, results: ["Seen."] }, [["image/png 1568x1254"]]]);
  });
});
