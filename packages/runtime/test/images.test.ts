/** Images that servers would refuse: made to fit by the host, and in the requests of a session. */

import type { Images } from "@heddle/kernel";
import fc from "fast-check";
import sharp from "sharp";
import { describe, expect, it } from "vitest";
import { imageLibrary, nodeImages } from "../src/node/index.ts";
import { IMAGE_LIMITS } from "../src/types.ts";
import { says } from "./support.ts";
import { flatPng, look, noise, part, picture, seen } from "./support-images.ts";
import { fails } from "./support-recovery.ts";

const images = nodeImages();
const missing = nodeImages(() => {
  throw new Error("Cannot find module");
});
const NOT_INSTALLED = "the optional package sharp is not installed, or not made for this machine";
const UNREADABLE = "it is no readable PNG, JPEG, GIF, WebP, AVIF or TIFF image";
const shape = async (bytes: Uint8Array) => {
  const fitted = await images.fit(bytes);
  if ("why" in fitted) return fitted.why;
  const { format, width, height } = await sharp(fitted.bytes).metadata();
  return `${fitted.mimeType} ${format} ${width}x${height}, was ${fitted.was.width}x${fitted.was.height}`;
};

describe("an image", () => {
  it("within the limits is the same bytes, without a library", async () => {
    const bytes = await flatPng(1568, 20);
    const fitted = await missing.fit(bytes);
    const size = { width: 1568, height: 20 };
    expect(fitted).toEqual({ mimeType: "image/png", bytes, ...size, was: { ...size, bytes: bytes.length } });
    expect("bytes" in fitted && fitted.bytes).toBe(bytes);
  });

  it.each([
    ["png", "image/png png 1568x1254, was 2500x2000"],
    ["jpeg", "image/jpeg jpeg 1568x1254, was 2500x2000"],
    ["gif", "image/gif gif 1568x1254, was 2500x2000"],
    ["webp", "image/webp webp 1568x1254, was 2500x2000"],
    ["tiff", "image/jpeg jpeg 1568x1254, was 2500x2000"],
  ] as const)("as %s keeps its type where servers take it", async (format, said) => {
    expect(
      await shape(
        await sharp(await flatPng(2500, 2000))
          [format]()
          .toBuffer(),
      ),
    ).toBe(said);
  });

  it("of a type that servers do not take is converted, also when it is small", async () => {
    const clear = sharp({ create: { width: 40, height: 20, channels: 4, background: "#f004" } });
    expect(await shape(await clear.avif().toBuffer())).toBe("image/png png 40x20, was 40x20");
    expect(await shape(await noise(40, 20).avif().toBuffer())).toBe("image/jpeg jpeg 40x20, was 40x20");
    expect(await shape(await noise(40, 20).toColourspace("cmyk").jpeg().toBuffer())).toBe("image/jpeg jpeg 40x20, was 40x20");
  });

  it("is turned as the camera was held", async () => {
    const turned = await sharp(await flatPng(3000, 1000))
      .jpeg()
      .withMetadata({ orientation: 6 })
      .toBuffer();
    expect(await shape(turned)).toBe("image/jpeg jpeg 523x1568, was 3000x1000");
  });

  it("that moves becomes its first picture", async () => {
    const frames = await Promise.all(
      ["#f00", "#00f"].map(async (c) =>
        sharp(await flatPng(1600, 8))
          .tint(c)
          .png()
          .toBuffer(),
      ),
    );
    const moving = await sharp(frames, { join: { animated: true } })
      .gif()
      .toBuffer();
    const fitted = await images.fit(moving);
    if ("why" in fitted) throw new Error(fitted.why);
    expect([(await sharp(moving).metadata()).pages, (await sharp(fitted.bytes).metadata()).pages ?? 1, fitted.width]).toEqual([2, 1, 1568]);
  });

  it("that stays too large is encoded harder, and then smaller", async () => {
    const bytes = await noise(2000, 1500).png().toBuffer();
    const usual = await images.fit(bytes);
    const tight = await images.fit(bytes, { side: 1568, bytes: 60_000 });
    if ("why" in usual || "why" in tight) throw new Error("not fitted");
    expect([usual.mimeType, usual.width, usual.bytes.length < IMAGE_LIMITS.bytes]).toEqual(["image/jpeg", 1568, true]);
    expect([tight.mimeType, tight.bytes.length <= 60_000, tight.width < 1568]).toEqual(["image/jpeg", true, true]);
    expect(await images.fit(bytes, { side: 1568, bytes: 60_000 })).toEqual(tight);
    expect(await images.fit(bytes, { side: 1568, bytes: 10 })).toEqual({ why: "it cannot be made smaller than 1 KB" });
  });

  it("that is none says why", async () => {
    const jpeg = await noise(300, 300).jpeg().toBuffer();
    const png = await noise(300, 300).png().toBuffer();
    const svg = Buffer.from('<svg xmlns="http://www.w3.org/2000/svg" width="10" height="10"/>');
    for (const bytes of [Buffer.alloc(0), Buffer.from("plain text in x.png"), svg, png.subarray(0, 10)])
      expect(await shape(bytes)).toMatch(new RegExp(`^(${UNREADABLE}|it cannot be decoded .*)$`));
    for (const bytes of [jpeg.subarray(0, 5000), png.subarray(0, 5000)])
      expect(await shape(bytes)).toMatch(/^it cannot be decoded \(.+\)$/);
    expect(await shape(await flatPng(20_000, 5_001))).toMatch(/^it cannot be decoded \(.*pixel limit\)$/);
  });

  it("is within any limits, keeps its shape, and fits from then on", async () => {
    const sides = fc.integer({ min: 1, max: 300 });
    const formats = fc.constantFrom("png", "jpeg", "gif", "webp", "avif", "tiff");
    const limits = fc.record({ side: fc.integer({ min: 64, max: 200 }), bytes: fc.integer({ min: 8_000, max: 50_000 }) });
    await fc.assert(
      fc.asyncProperty(sides, sides, formats, limits, async (width, height, format, within) => {
        const fitted = await images.fit(await noise(width, height).toFormat(format).toBuffer(), within);
        if ("why" in fitted) throw new Error(fitted.why);
        const { width: w, height: h } = await sharp(fitted.bytes).metadata();
        expect([fitted.width, fitted.height]).toEqual([w, h]);
        expect([Math.max(w, h) <= within.side, fitted.bytes.length <= within.bytes]).toEqual([true, true]);
        const scale = Math.max(w, h) / Math.max(width, height);
        expect(scale).toBeLessThanOrEqual(1);
        expect([Math.abs(w - width * scale) <= 1, Math.abs(h - height * scale) <= 1]).toEqual([true, true]);
        expect(await images.fit(fitted.bytes, within)).toMatchObject({ mimeType: fitted.mimeType, bytes: fitted.bytes });
      }),
      { numRuns: 30 },
    );
  });

  it("needs the library only when it is to change", async () => {
    expect(await missing.fit(await flatPng(5000, 10))).toEqual({ why: NOT_INSTALLED, unable: true });
    expect([
      imageLibrary(() => {
        throw new Error("no");
      }),
      imageLibrary(),
    ]).toEqual([undefined, expect.stringMatching(/^sharp \d+\./)]);
  });

  it("tells its size from its header", async () => {
    expect([images.size((await flatPng(12, 34)).subarray(0, 24)), images.size(Buffer.from("no"))]).toEqual([
      { mimeType: "image/png", width: 12, height: 34 },
      undefined,
    ]);
  });
});

/** Counts what is asked of it. */
function counting(): { images: Images; fitted: number[] } {
  const fitted: number[] = [];
  const fit: Images["fit"] = (bytes, limits) => {
    fitted.push(bytes.length);
    return images.fit(bytes, limits);
  };
  return { images: { ...images, fit }, fitted };
}

describe("the images of a session", () => {
  it("go out smaller and as what they are, and the log keeps the original", async () => {
    const big = part(await flatPng(5000, 4000));
    const misnamed = part(await flatPng(30, 20), "image/jpeg");
    const { requests, session } = await look([says("1")], [picture(big, misnamed)]);
    expect(seen(requests[0]?.messages)).toEqual([["look", "image/png 1568x1254", "image/png 30x20"]]);
    expect(seen(session.messages)[0]).toEqual(["look", "image/png 5000x4000", "image/jpeg 30x20"]);
  });

  it("are looked at once, and later requests and a resumed session begin with the same", async () => {
    const { images: counted, fitted } = counting();
    const again = await Promise.all([40, 50, 60].map(async (height) => picture(part(await flatPng(2500, height)))));
    const { requests, session, runtime } = await look([says("1"), says("2"), says("3"), says("4")], again, counted);
    expect(fitted).toHaveLength(3);
    const [one, two, three] = requests.map((r) => r.messages);
    expect(two?.slice(0, 1)).toEqual(one);
    expect(three?.slice(0, 3)).toEqual(two);
    expect(three?.[0]).toBe(one?.[0]);
    await session.dispose();
    const resumed = await runtime.open({ resume: session.id, headless: true });
    await resumed.submit("more");
    expect(requests[3]?.messages.slice(0, 5)).toEqual(three);
  });

  it("that cannot be read become notes, and the session goes on", async () => {
    const cut = (await noise(300, 300).jpeg().toBuffer()).subarray(0, 5000);
    const inputs = [picture(part(await flatPng(30, 20)), part(cut, "image/jpeg")), picture()];
    const { requests, outcomes } = await look([says("1"), says("2")], inputs);
    const first = [
      "look",
      "image/png 30x20",
      expect.stringMatching(/^\[image 2 \(image\/jpeg, 5 KB\) left out: it cannot be decoded \(.+\)\]$/),
    ];
    expect([seen(requests[0]?.messages), seen(requests[1]?.messages)]).toEqual([[first], [first, ["1"], ["look"]]]);
    expect(outcomes).toEqual(["completed", "completed"]);
  });

  it("go out as they are where nothing can change them, which is said once", async () => {
    const big = picture(part(await flatPng(5000, 10)));
    const { requests, events, session } = await look([says("1"), says("2")], [big, big], missing);
    expect(seen(requests[1]?.messages)).toEqual([["look", "image/png 5000x10"], ["1"], ["look", "image/png 5000x10"]]);
    const told = events.flatMap((e) => (e.type === "message.added" && e.message.role === "system" ? [e.message.text] : []));
    expect(told).toEqual([`Images that servers do not take are sent as they are, and may be left out or refused: ${NOT_INSTALLED}.`]);
    expect(session.messages.filter((m) => m.role === "system")).toHaveLength(1);
  });

  it("shrink when a request is too large, oldest first, before any is left out", async () => {
    const photo = async () => picture(part(await noise(1500, 1500).jpeg({ quality: 85 }).toBuffer(), "image/jpeg"));
    const LARGE = fails("too-large", { status: 413 });
    const inputs = [await photo(), await photo(), picture(), picture()];
    const { requests, outcomes } = await look([says("1"), LARGE, says("2"), says("3"), LARGE, says("4")], inputs);
    const small = ["look", "image/jpeg 768x768"];
    const left = ["look", expect.stringMatching(/^\[A file \(image\/jpeg, \d+ KB\) left out, because the request was too large\.\]$/)];
    expect(seen(requests[2]?.messages)).toEqual([small, ["1"], ["look", "image/jpeg 1500x1500"]]);
    expect(seen(requests[3]?.messages).slice(0, 3)).toEqual([small, ["1"], ["look", "image/jpeg 1500x1500"]]);
    expect(seen(requests[5]?.messages).slice(0, 3)).toEqual([small, ["1"], small]);
    expect(outcomes).toEqual(["completed", "completed", "completed", "completed"]);
    const all = await look([says("1"), LARGE, says("2"), LARGE, says("3")], [inputs[0]!, picture(), picture()]);
    expect([seen(all.requests[2]?.messages)[0], seen(all.requests[4]?.messages)[0]]).toEqual([small, left]);
  });

  it("that are too much together shrink before the server says so", async () => {
    const heavy = part(await noise(1500, 1000).png({ compressionLevel: 0 }).toBuffer());
    const lenient: Images = { ...images, fit: (bytes, limits) => images.fit(bytes, limits ?? { side: 1568, bytes: 10_000_000 }) };
    const inputs = Array.from({ length: 4 }, () => picture({ ...heavy }));
    const { requests } = await look([says("1"), says("2"), says("3"), says("4")], inputs, lenient);
    const kinds = requests.map((r) => seen(r.messages).flatMap((m) => m.filter((t) => t.startsWith("image/"))));
    const [small, large] = ["image/jpeg 768x512", "image/png 1500x1000"];
    expect(kinds).toEqual([[large], [large, large], [large, large, large], [small, small, small, large]]);
  });

  it("hold nobody up who ends the turn", async () => {
    let asked: () => void = () => {};
    const begun = new Promise<void>((resolve) => {
      asked = resolve;
    });
    const stuck: Images = { ...images, fit: () => new Promise(() => asked()) };
    const ran = look([], [picture(part(await flatPng(30, 20)))], stuck, async (session) => {
      await begun;
      session.abort();
    });
    expect([(await ran).outcomes, (await ran).requests]).toEqual([["aborted"], []]);
  });
});
