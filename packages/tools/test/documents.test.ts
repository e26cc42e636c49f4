import type { Fitted, Images } from "@heddle/kernel/plugin";
import { describe, expect, it } from "vitest";
import { kitOf } from "./support/harness.ts";
import { MemoryFs } from "./support/memory-fs.ts";
import { pdfOf } from "./support/pdf.ts";

const PNG = new Uint8Array([0x89, 0x50, 0x4e, 0x47, 13, 10]);
const imagesThat = (fit: Fitted): Images => ({ fit: async () => fit, size: () => undefined });
const small = { width: 40, height: 30, bytes: new Uint8Array([1, 2, 3]), mimeType: "image/png" as const };

describe("Read of an image", () => {
  const read = async (fit: Fitted) =>
    (await kitOf({ fs: new MemoryFs({ "/w/a.png": PNG }), images: imagesThat(fit) })).output("Read", { file_path: "a.png" });

  it("shows it as it was made fit, and says what it was", async () => {
    const image = { type: "image", mimeType: "image/png", data: "AQID" };
    expect(await read({ ...small, was: { width: 40, height: 30, bytes: 6 } })).toEqual({
      content: [image, { type: "text", text: "a.png: 40x30 pixels, 6 bytes" }],
    });
    expect(await read({ ...small, was: { width: 4000, height: 3000, bytes: 6 } })).toEqual({
      content: [image, { type: "text", text: "a.png: 4000x3000 pixels, scaled to 40x30, 6 bytes" }],
    });
  });

  it("says why it cannot", async () => {
    expect(await read({ why: "it is damaged" })).toEqual({
      content: "a.png is a PNG image (6 bytes) and cannot be shown: it is damaged.",
      isError: true,
    });
  });

  it("finds a screenshot whose name holds odd spaces", async () => {
    const fs = new MemoryFs({ "/w/Shot 2026-01-02 at 9.05.11\u202fPM.png": PNG });
    const kit = await kitOf({ fs, images: imagesThat({ ...small, was: { width: 40, height: 30, bytes: 6 } }) });
    expect(await kit.call("Read", { file_path: "Shot 2026-01-02 at 9.05.11 PM.png" })).toMatchObject({ isError: false });
  });
});

describe("Read of a PDF", () => {
  const read = async (pdf: Uint8Array, pages?: string) => {
    const { text, isError } = await (await kitOf({ fs: new MemoryFs({ "/w/a.pdf": pdf }) })).call("Read", { file_path: "a.pdf", pages });
    return (isError ? "ERROR " : "") + text;
  };
  const long = pdfOf(Array.from({ length: 25 }, (_, n) => `text ${n + 1}`));

  it("gives the text of each page", async () => {
    expect(await read(pdfOf(["Hello", ""]))).toBe("a.pdf has 2 pages.\n[page 1]\nHello\n[page 2]\n(no text: perhaps a picture)");
  });

  it("takes a page or a range", async () => {
    expect(await read(long, "3")).toBe("a.pdf has 25 pages.\n[page 3]\ntext 3");
    expect(await read(long, " 2 - 3 ")).toBe("a.pdf has 25 pages.\n[page 2]\ntext 2\n[page 3]\ntext 3");
    expect(await read(long, "25-99")).toBe("a.pdf has 25 pages.\n[page 25]\ntext 25");
    expect(await read(long, "24-")).toBe("a.pdf has 25 pages.\n[page 24]\ntext 24\n[page 25]\ntext 25");
  });

  it("wants a range for a long one, and no more than twenty pages", async () => {
    expect(await read(long)).toBe('ERROR a.pdf has 25 pages. Say which to read, at most 20 at once, such as pages "1-10".');
    expect(await read(long, "1-21")).toBe('ERROR pages "1-21" are 21 pages; at most 20 are read at once.');
    expect((await read(long, "1-20")).split("\n").length).toBe(41);
    expect(await read(long, "26")).toBe("ERROR a.pdf has only 25 pages.");
    for (const pages of ["0", "5-2", "a", "1,3", "-4"])
      expect(await read(long, pages)).toBe(`ERROR pages "${pages}" is no page or range of pages; write it as "3" or "1-5".`);
  });

  it("says what is wrong with one that is damaged or encrypted", async () => {
    expect(await read(long.slice(0, 300))).toMatch(/^ERROR a\.pdf is damaged and cannot be read as a PDF \(/);
    expect(await read(pdfOf(["x"], { encrypted: true }))).toMatch(/^ERROR a\.pdf is encrypted and needs a password\./);
  });

  it("is what pages are for, and nothing else", async () => {
    const kit = await kitOf({ fs: new MemoryFs({ "/w/a.txt": "x" }) });
    expect((await kit.call("Read", { file_path: "a.txt", pages: "1" })).text).toBe(
      "a.txt is no PDF, so it has no pages: use offset and limit.",
    );
  });
});
