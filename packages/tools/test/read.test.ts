import { describe, expect, it } from "vitest";
import { kitOf } from "./support/harness.ts";
import { MemoryFs } from "./support/memory-fs.ts";

const read = async (fs: MemoryFs, input: Record<string, unknown>) => (await kitOf({ fs })).call("Read", input);
const lines = (n: number, text = "line"): string => Array.from({ length: n }, (_, i) => `${text} ${i + 1}\n`).join("");

describe("Read", () => {
  it("numbers lines, whatever their ends, and does not show a byte order mark", async () => {
    const fs = new MemoryFs({ "/w/a.txt": "\uFEFFone\r\n\ttwo\n\nfour" });
    expect(await read(fs, { file_path: "a.txt" })).toEqual({ text: "     1\tone\n     2\t\ttwo\n     3\t\n     4\tfour", isError: false });
  });

  it("gives a part, and says where to go on", async () => {
    const fs = new MemoryFs({ "/w/a.txt": lines(10) });
    expect((await read(fs, { file_path: "a.txt", offset: 3, limit: 2 })).text).toBe(
      "     3\tline 3\n     4\tline 4\n[Lines 3 to 4 of 10. Go on with offset 5.]",
    );
    expect((await read(fs, { file_path: "a.txt", offset: 10 })).text).toBe("    10\tline 10");
    expect((await read(fs, { file_path: "a.txt", offset: 0, limit: 1 })).text).toMatch(/^ {5}1\tline 1\n/);
    expect(await read(fs, { file_path: "a.txt", offset: 11 })).toEqual({
      text: "a.txt has only 10 lines; line 11 is beyond its end.",
      isError: true,
    });
  });

  it("stops after 2000 lines", async () => {
    const { text } = await read(new MemoryFs({ "/w/a.txt": lines(2001) }), { file_path: "a.txt" });
    expect(text.split("\n").slice(-2)).toEqual(["  2000\tline 2000", "[Lines 1 to 2000 of 2001. Go on with offset 2001.]"]);
  });

  it("cuts long lines between code points, also in a file that is one line", async () => {
    const fs = new MemoryFs({ "/w/a.txt": `${"x".repeat(1999)}\u{1F600}tail`, "/w/one.txt": "x".repeat(600_000) });
    expect((await read(fs, { file_path: "a.txt" })).text).toBe(`     1\t${"x".repeat(1999)} [... 6 more characters]`);
    expect((await read(fs, { file_path: "one.txt" })).text).toBe(`     1\t${"x".repeat(2000)} [... 598000 more characters]`);
  });

  it("refuses more than 256 KB at once, and says how to read it in parts", async () => {
    const fs = new MemoryFs({ "/w/big.log": lines(40_000) });
    expect(await read(fs, { file_path: "big.log" })).toEqual({
      text: "big.log is larger than 256 KB: it has 419 KB in 40000 lines. Read a part with offset and limit, or find the place with Grep.",
      isError: true,
    });
    expect((await read(fs, { file_path: "big.log", offset: 39_999 })).text).toBe(" 39999\tline 39999\n 40000\tline 40000");
    const part = await read(fs, { file_path: "big.log", limit: 40_000 });
    expect(part.text.length).toBeLessThan(600_000);
    expect(part.text).toMatch(/\[Lines 1 to \d+ of 40000\. Go on with offset \d+\.\]$/);
  });

  it("lists a folder", async () => {
    const fs = new MemoryFs({ "/w/d/b.txt": "", "/w/d/a/x": "" });
    fs.link("/w/d/c", "b.txt");
    fs.folder("/w/none");
    expect(await read(fs, { file_path: "d" })).toEqual({ text: "/w/d is a folder with 3 entries:\na/\nb.txt\nc@", isError: false });
    expect((await read(fs, { file_path: "none/" })).text).toBe("/w/none is an empty folder.");
  });

  it("says that a file is empty", async () => {
    const fs = new MemoryFs({ "/w/e": "", "/w/bom": "\uFEFF" });
    expect(await read(fs, { file_path: "e" })).toEqual({ text: "e is empty (0 bytes).", isError: false });
    expect((await read(fs, { file_path: "bom" })).text).toBe("bom holds nothing but a byte order mark.");
  });

  it("names what is near a missing file", async () => {
    const fs = new MemoryFs({ "/w/src/Index.ts": "", "/w/src/index.tsx": "", "/w/src/other.ts": "" });
    expect(await read(fs, { file_path: "src/index.ts" })).toEqual({
      text: "src/index.ts does not exist (the project folder is /w). Did you mean src/Index.ts or src/index.tsx?",
      isError: true,
    });
    expect((await read(fs, { file_path: "scr/index.ts" })).text).toBe(
      "scr/index.ts does not exist (the project folder is /w). There is no folder /w/scr either.",
    );
    expect((await read(fs, { file_path: "src/zebra.ts" })).text).toBe("src/zebra.ts does not exist (the project folder is /w).");
  });

  it("points to the shell's folder when the path was meant from there", async () => {
    const kit = await kitOf({ fs: new MemoryFs({ "/w/pkg/src/a.ts": "" }) });
    kit.shell.set("s", "/w/pkg");
    expect((await kit.call("Read", { file_path: "src/a.ts" })).text).toContain("Did you mean pkg/src/a.ts?");
  });

  it("refuses what is no text, in words", async () => {
    const fs = new MemoryFs({
      "/w/a.png": new Uint8Array([0x89, 0x50, 0x4e, 0x47, 13, 10]),
      "/w/a.pdf": "%PDF-1.7",
      "/w/a.bin": new Uint8Array([1, 2, 0, 3]),
    });
    fs.special("/w/pipe");
    expect(await Promise.all(["a.png", "a.pdf", "a.bin", "pipe"].map((file_path) => read(fs, { file_path })))).toEqual([
      { text: "a.png is a PNG image (6 bytes) and cannot be shown: this host has no images.", isError: true },
      {
        text: "a.pdf is damaged and cannot be read as a PDF (Invalid PDF structure). Try pdftotext or qpdf in Bash, or ask for another copy.",
        isError: true,
      },
      { text: "a.bin is binary (4 bytes), which Read cannot show.", isError: true },
      { text: "pipe is neither a file nor a folder (a pipe, socket or device), so it is not read.", isError: true },
    ]);
  });

  it("finds names that only look like the one on disk", async () => {
    const nfd = "Résumé d’été.txt".normalize("NFD");
    const fs = new MemoryFs({ "/w/Shot at 9.05\u202fPM.txt": "shot", [`/w/${nfd}`]: "cv", "/w/two\u00a0x": "1", "/w/two\u2009x": "2" });
    expect((await read(fs, { file_path: "Shot at 9.05 PM.txt" })).text).toBe("     1\tshot");
    expect((await read(fs, { file_path: "Résumé d'été.txt".normalize("NFC") })).text).toBe("     1\tcv");
    expect((await read(fs, { file_path: "two x" })).isError).toBe(true);
    const kit = await kitOf({ fs });
    expect(await kit.effects("Read", { file_path: "Shot at 9.05 PM.txt" })).toEqual([
      { kind: "read", target: "/w/Shot at 9.05\u202fPM.txt" },
    ]);
  });

  it("turns system errors into words", async () => {
    const fs = new MemoryFs({ "/w/a": "x" });
    fs.readFile = async () => Promise.reject(Object.assign(new Error("EACCES: open"), { code: "EACCES" }));
    fs.link("/w/loop", "loop");
    expect((await read(fs, { file_path: "a" })).text).toBe("Cannot read a: permission is denied.");
    expect((await read(fs, { file_path: "loop" })).text).toBe("Cannot read loop: its symbolic links go round in a circle.");
  });

  it("records what was seen, by the real path", async () => {
    const fs = new MemoryFs({ "/w/a": "x" });
    fs.link("/w/b", "a");
    const kit = await kitOf({ fs, now: () => 42 });
    await kit.call("Read", { file_path: "b" });
    expect(kit.files.list("s")).toEqual([
      {
        realpath: "/w/a",
        hash: "2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881",
        text: "x",
        at: 42,
        by: "read",
        shown: { callId: "c0", what: "[null,null,null]" },
      },
    ]);
    expect(kit.files.list("other")).toEqual([]);
  });
});
