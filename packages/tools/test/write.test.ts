import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { reserved } from "../src/paths.ts";
import { kitOf } from "./support/harness.ts";
import { MemoryFs } from "./support/memory-fs.ts";

const setup = async (files: Record<string, string | Uint8Array> = {}) => {
  const fs = new MemoryFs(files);
  return { fs, kit: await kitOf({ fs }) };
};

describe("Write", () => {
  it("stores exactly what was sent in a new file, and makes its folders", async () => {
    const { fs, kit } = await setup();
    const contents = ["#!/bin/sh\necho hi\n", "a\r\nb\nc", "", "“a” ‘b’ — … é\u00a0x\u200b\u{1F600}\t\u0301\n", "\uFEFFx"];
    for (const [n, content] of contents.entries()) {
      const result = await kit.call("Write", { file_path: `new/${n}/f`, content });
      expect(result.isError).toBe(false);
      expect(fs.text(`/w/new/${n}/f`)).toBe(content);
    }
    expect((await kit.call("Write", { file_path: "run.sh", content: "a\nb\n" })).text).toBe("Created run.sh (2 lines).");
  });

  it("changes no character of a new file, whatever it is", async () => {
    await fc.assert(
      fc.asyncProperty(fc.string({ unit: "binary" }), async (content) => {
        const { fs, kit } = await setup();
        expect(await kit.call("Write", { file_path: "f", content })).toMatchObject({ isError: false });
        expect(fs.text("/w/f")).toBe(content);
      }),
    );
  });

  it("takes brackets, braces, quotes and backslashes in names for themselves, as Read and Edit do", async () => {
    const names = ["app/[id]/(grp)/p {x}.tsx", 'it\'s "q".ts', "a\\b.ts", "*.ts", "-e", "$HOME"];
    const { fs, kit } = await setup();
    for (const file_path of names) {
      expect((await kit.call("Write", { file_path, content: "one\n" })).text).toBe(`Created ${file_path} (1 line).`);
      expect((await kit.call("Read", { file_path })).text).toBe("     1\tone");
      expect(await kit.call("Edit", { file_path, old_string: "one", new_string: "two" })).toMatchObject({ isError: false });
    }
    expect(fs.names()).toEqual(names.map((name) => `/w/${name}`));
  });

  it("keeps the line ends that most lines of an existing file have, its mark and its mode", async () => {
    const { fs, kit } = await setup({ "/w/c.ps1": "\uFEFFx\r\ny\r\n", "/w/lf": "x\ny\r\nz\n" });
    fs.set("/w/c.ps1", fs.bytes("/w/c.ps1"), 0o755);
    for (const file_path of ["c.ps1", "lf"]) await kit.call("Read", { file_path });
    expect((await kit.call("Write", { file_path: "c.ps1", content: "x\ny\nz\n" })).text).toBe("Wrote c.ps1: +1 -0 lines, from line 3.");
    expect(fs.text("/w/c.ps1")).toBe("\uFEFFx\r\ny\r\nz\r\n");
    expect(await fs.stat("/w/c.ps1")).toMatchObject({ mode: 0o755 });
    await kit.call("Write", { file_path: "lf", content: "1\n2\n" });
    expect(fs.text("/w/lf")).toBe("1\n2\n");
    await kit.call("Write", { file_path: "lf", content: "1\r\n2\n" });
    expect(fs.text("/w/lf")).toBe("1\r\n2\n");
    await kit.call("Write", { file_path: "c.ps1", content: "\uFEFFq\n" });
    expect(fs.text("/w/c.ps1")).toBe("\uFEFFq\r\n");
  });

  it("refuses an existing file that was not read or has changed, and takes its own writes for read", async () => {
    const { fs, kit } = await setup({ "/w/a": "old\n" });
    const write = (content: string) => kit.call("Write", { file_path: "a", content });
    expect((await write("new\n")).text).toBe("a exists but has not been read in this session. Read it first.");
    await kit.call("Read", { file_path: "a" });
    expect((await write("new\n")).isError).toBe(false);
    expect((await kit.call("Edit", { file_path: "a", old_string: "new", new_string: "newer" })).isError).toBe(false);
    fs.set("/w/a", "formatted\n");
    expect((await write("x")).text).toMatch(/has changed since/);
    expect(fs.text("/w/a")).toBe("formatted\n");
  });

  it("writes an empty file unread, a deleted file anew, and nothing when nothing changes", async () => {
    const { fs, kit } = await setup({ "/w/empty": "", "/w/gone": "x" });
    expect((await kit.call("Write", { file_path: "empty", content: "a" })).isError).toBe(false);
    await kit.call("Read", { file_path: "gone" });
    fs.nodes.delete("/w/gone");
    expect((await kit.call("Write", { file_path: "gone", content: "b" })).text).toBe("Created gone (1 line).");
    fs.writes.length = 0;
    expect((await kit.call("Write", { file_path: "gone", content: "b" })).text).toBe("gone already has this content; nothing was written.");
    expect(fs.writes).toEqual([]);
  });

  it("does not make a twin of a file whose name only looks the same", async () => {
    const { fs, kit } = await setup({ [`/w/${"é.txt".normalize("NFD")}`]: "x" });
    await kit.call("Read", { file_path: "é.txt".normalize("NFC") });
    expect((await kit.call("Write", { file_path: "é.txt".normalize("NFC"), content: "y" })).isError).toBe(false);
    expect(fs.names()).toEqual([`/w/${"é.txt".normalize("NFD")}`]);
  });

  it("refuses folders and half surrogate pairs, and words what the disk says", async () => {
    const { fs, kit } = await setup({ "/w/d/x": "" });
    expect((await kit.call("Write", { file_path: "d", content: "" })).text).toBe("d is a folder, not a file.");
    expect((await kit.call("Write", { file_path: "n", content: "\ud83d" })).isError).toBe(true);
    fs.beforeWrite = () => {
      throw Object.assign(new Error("EROFS"), { code: "EROFS" });
    };
    expect((await kit.call("Write", { file_path: "n", content: "x" })).text).toBe("Cannot write n: the file system is read-only.");
  });

  it("remembers at most 100 files", async () => {
    const { kit } = await setup();
    for (let n = 0; n < 101; n++) await kit.call("Write", { file_path: `f${n}`, content: "x" });
    expect(kit.files.list("s").length).toBe(100);
    expect((await kit.call("Write", { file_path: "f0", content: "y" })).text).toMatch(/has not been read/);
    expect((await kit.call("Write", { file_path: "f1", content: "y" })).isError).toBe(false);
  });
});

describe("names of devices on Windows", () => {
  it("are no files there, whatever their folder, case and ending", () => {
    const on = (path: string): boolean => reserved(path, true);
    expect(["C:\\w\\nul", "con", "AUX.txt", "d/LPT1", "com1.tar.gz", "prn "].map(on)).toEqual([true, true, true, true, true, true]);
    expect(["null", "console.log", "a/con/x", "com", "com10", "my.nul"].map(on)).toEqual([false, false, false, false, false, false]);
    expect(reserved("/w/nul", false)).toBe(false);
  });
});
