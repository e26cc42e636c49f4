import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type Kit, kitOf } from "./support/harness.ts";
import { MemoryFs } from "./support/memory-fs.ts";

const opened = async (files: Record<string, string | Uint8Array>): Promise<{ fs: MemoryFs; kit: Kit }> => {
  const fs = new MemoryFs(files);
  const kit = await kitOf({ fs });
  for (const path of Object.keys(files)) await kit.call("Read", { file_path: path });
  return { fs, kit };
};
/** Reads, edits, and gives the new content or the error. */
const edited = async (before: string | Uint8Array, old_string: string, new_string: string, replace_all?: boolean): Promise<string> => {
  const { fs, kit } = await opened({ "/w/f": before });
  const result = await kit.call("Edit", { file_path: "f", old_string, new_string, replace_all });
  if (!result.isError) return fs.text("/w/f");
  expect(Buffer.from(fs.bytes("/w/f"))).toEqual(Buffer.from(before as string));
  return `ERROR ${result.text}`;
};

describe("Edit, line ends", () => {
  it("leaves every other byte of a file with mixed line ends", async () => {
    expect(await edited("one\r\ntwo\nthree\r\nfour\n", "three", "THREE")).toBe("one\r\ntwo\nTHREE\r\nfour\n");
  });
  it("matches LF against CRLF and inserts lines with the ends of the place", async () => {
    expect(await edited("int a;\r\nint b;\r\nint c;\r\n", "int a;\nint b;", "int a;\nint z;\nint b;")).toBe(
      "int a;\r\nint z;\r\nint b;\r\nint c;\r\n",
    );
    expect(await edited("a\r\nb\nc\nd\r\n", "b\nc", "b\nx\nc")).toBe("a\r\nb\nx\nc\nd\r\n");
    expect(await edited("a\nb\nc\r\nd", "c\nd", "c\nx\nd")).toBe("a\nb\nc\r\nx\r\nd");
    expect(await edited("a\r\nb", "b", "b\nc")).toBe("a\r\nb\r\nc");
  });
  it("keeps the mixed ends of lines that old_string names but does not change", async () => {
    expect(await edited("a\r\nb\nc\r\nd\n", "a\nb\nc\nd", "a\nB\nc\nd")).toBe("a\r\nB\nc\r\nd\n");
  });
  it("takes CRLF from the model for what the file has", async () => {
    expect(await edited("a\nb\nc\n", "a\r\nb", "a\r\nz")).toBe("a\nz\nc\n");
    expect(await edited("a\r\nb\r\n", "a\r\nb", "a\nz")).toBe("a\r\nz\r\n");
  });
  it("changes line ends when nothing else differs", async () => {
    expect(await edited("a\r\nb\r\n", "a\r\nb", "a\nb")).toBe("a\nb\r\n");
    expect(await edited("a\nb\nc\n", "\n", "\r\n", true)).toBe("a\r\nb\r\nc\r\n");
    expect(await edited("a\nb\n", "a\r\nb", "a\nb")).toMatch(/differ only in their line ends/);
  });
  it("deletes a word at a line's end and not the line end", async () => {
    expect(await edited("HOST=db1.old\nPORT=81\n", ".old", "")).toBe("HOST=db1\nPORT=81\n");
    expect(await edited("HOST=db1.old\r\nPORT=81.old\r\n", ".old", "", true)).toBe("HOST=db1\r\nPORT=81\r\n");
  });
  it("keeps a byte order mark, a missing last line end, and lone carriage returns", async () => {
    expect(await edited("\uFEFFa\rb\nc", "c", "C")).toBe("\uFEFFa\rb\nC");
    expect(await edited("\uFEFFfirst\n", "first", "1st")).toBe("\uFEFF1st\n");
  });
  it("edits twice in a row without a new read", async () => {
    const { fs, kit } = await opened({ "/w/b.js": "a\r\nb\r\n" });
    expect((await kit.call("Edit", { file_path: "b.js", old_string: "a", new_string: "A" })).isError).toBe(false);
    expect((await kit.call("Edit", { file_path: "b.js", old_string: "b", new_string: "B" })).isError).toBe(false);
    expect(fs.text("/w/b.js")).toBe("A\r\nB\r\n");
  });
});

describe("Edit, matching", () => {
  it("takes new_string to the letter", async () => {
    for (const text of ["$&", "$1 $$ $` $'", "\\n", "“a” ‘b’ — … é\u00a0x\u200b"])
      expect(await edited("a X b", "X", text)).toBe(`a ${text} b`);
  });
  it("replaces all, left to right, without looking at what it has put in", async () => {
    expect(await edited("aaaa", "aa", "aaa", true)).toBe("aaaaaa");
    expect(await edited("aaa", "aa", "b", true)).toBe("ba");
  });
  it("refuses several matches and says where they are", async () => {
    expect(await edited("x=1\nx=1\ny\nx=1\n", "x=1", "x=2")).toBe(
      "ERROR f was not changed. It occurs 3 times (lines 1, 2, 4). Add lines around it until it is unique, or set replace_all.",
    );
    expect(await edited("aaa", "aa", "b")).toMatch(/occurs 2 times/);
  });
  it("takes its time neither for very many places nor for long ones", async () => {
    expect(await edited("x\n".repeat(100_000), "x", "y", true)).toBe("y\n".repeat(100_000));
    expect(await edited("a".repeat(200_000), "a".repeat(50_000), "b")).toMatch(/occurs 1000 or more times \(lines 1, 1, /);
  });
  it("refuses an edit that changes nothing", async () => {
    expect(await edited("a", "a", "a")).toMatch(/are the same/);
  });
  it("never cuts a code point", async () => {
    expect(await edited("\u{1F600}", "\ude00", "x")).toMatch(/half of a surrogate pair/);
    expect(await edited("x", "x", "\ud83d")).toMatch(/half of a surrogate pair/);
  });
});

describe("Edit, several at once", () => {
  const several = async (before: string, edits: unknown, more: object = {}): Promise<string> => {
    const { fs, kit } = await opened({ "/w/f": before });
    const result = await kit.call("Edit", { file_path: "f", edits, ...more });
    return result.isError ? `ERROR ${result.text}, then ${fs.text("/w/f")}` : fs.text("/w/f");
  };
  const edit = (old_string: string, new_string: string, more: object = {}) => ({ old_string, new_string, ...more });

  it("makes them one after the other, each on what the one before has left", async () => {
    expect(await several("a\r\nb\r\nc\r\n", [edit("a", "b"), edit("b", "x", { replace_all: "true" }), edit("c\n", "d\ne\n")])).toBe(
      "x\r\nx\r\nd\r\ne\r\n",
    );
    expect(await several("a b", JSON.stringify([edit("a", "1"), edit("b", "2")]))).toBe("1 2");
  });
  it("makes none when one cannot be made, and says which", async () => {
    expect(await several("a b", [edit("a", "1"), edit("zzz", "2")])).toMatch(
      /^ERROR f was not changed\. Edit 2 of 2: It was not found, .*, then a b$/,
    );
    expect(await several("a b b", [edit("a", "1"), edit("b", "2")])).toMatch(/Edit 2 of 2: It occurs 2 times .*, then a b b$/);
    expect(await several("a b", [edit("a", "1"), edit("", "2")])).toMatch(/Edit 2 of 2: An empty old_string .*, then a b$/);
    expect(await several("a b", [edit("a", "1"), edit("b", "b")])).toMatch(/Edit 2 of 2: .* are the same/);
  });
  it("begins a new file, writes once, and reports each edit", async () => {
    const { fs, kit } = await opened({ "/w/f": "one\ntwo\n" });
    expect((await kit.call("Edit", { file_path: "new", edits: [edit("", "x\ny\n"), edit("y", "z")] })).text).toBe("Created new (2 lines).");
    expect(fs.text("/w/new")).toBe("x\nz\n");
    expect((await kit.call("Edit", { file_path: "f", edits: [edit("one", "1"), edit("two", "2")] })).text).toBe(
      "All 2 edits are made.\nEdited f: +1 -1 lines.\n     1\t1\n     2\ttwo\nEdited f: +1 -1 lines.\n     1\t1\n     2\t2",
    );
    expect(fs.writes).toEqual(["/w/new", "/w/f"]);
  });
  it("wants one form or the other", async () => {
    expect(await several("a", [edit("a", "b")], { old_string: "a", new_string: "c" })).toMatch(/^ERROR Give either `edits` or/);
    expect(await several("a", undefined, { old_string: "a" })).toMatch(/^ERROR `old_string` and `new_string` are both needed/);
    expect(await several("a", [])).toMatch(/^ERROR edits: /);
    expect(await several("a", "[{")).toMatch(/^ERROR edits: /);
  });
});

describe("Edit, near misses", () => {
  it("names line numbers that were copied from Read", async () => {
    expect(await edited("foo\nbar\n", "     1\tfoo\n     2\tbar", "x")).toMatch(/begin with the line numbers that Read shows/);
  });
  it("quotes what differs in white space only", async () => {
    expect(await edited("a\nif (a)  {\n}\n", "if (a) {", "x")).toBe(
      "ERROR f was not changed. It was not found, but this differs only in white space (tabs, spaces, indentation):\n     2\tif (a)  {",
    );
    expect(await edited("x\n\tone\n\t\ttwo\n", "  one\n    two", "x")).toMatch(/white space.*:\n {5}2\t\tone\n {5}3\t\t\ttwo$/s);
    expect(await edited("f(a,b)", "f(a, b)", "x")).toMatch(/only in white space:\n {5}1\tf\(a,b\)$/);
  });
  it("names curly quotes and letter case", async () => {
    expect(await edited("say “hi”\n", 'say "hi"', "x")).toMatch(/only in curly and straight quotes:\n {5}1\tsay “hi”$/);
    expect(await edited("Hello World\n", "hello world", "x")).toMatch(/upper and lower case/);
  });
  it("quotes the nearest lines", async () => {
    expect(await edited("a\nconst total = sum(list);\nb\n", "const total = sum(lists);", "x")).toMatch(
      /The nearest lines are:\n {5}2\tconst total = sum\(list\);$/,
    );
    expect(await edited("start();\nmiddle(1);\nfinish();\n", "start();\nmiddle(2);\nfinish();", "x")).toMatch(/ {5}2\tmiddle\(1\);\n/);
    expect(await edited("abc\n", "something else entirely", "x")).toMatch(/nor anything near it/);
  });
});

describe("Edit, which files", () => {
  it("creates with an empty old_string, fills an empty file, and never replaces a file so", async () => {
    const { fs, kit } = await opened({ "/w/full": "text\n", "/w/empty": "" });
    expect(await kit.call("Edit", { file_path: "new/a", old_string: "", new_string: "x\n" })).toEqual({
      text: "Created new/a (1 line).",
      isError: false,
      lines: { added: 1, removed: 0 },
    });
    expect((await kit.call("Edit", { file_path: "empty", old_string: "", new_string: "y\n" })).text).toBe("Filled empty (1 line).");
    expect((await kit.call("Edit", { file_path: "full", old_string: "", new_string: "z\n" })).isError).toBe(true);
    expect([fs.text("/w/new/a"), fs.text("/w/empty"), fs.text("/w/full")]).toEqual(["x\n", "y\n", "text\n"]);
  });

  it("refuses what was not read in this session", async () => {
    const { fs, kit } = await opened({ "/w/a": "x" });
    expect(await kit.call("Edit", { file_path: "a", old_string: "x", new_string: "y" }, { session: "other" })).toEqual({
      text: "a exists but has not been read in this session. Read it first.",
      isError: true,
    });
    expect(fs.writes).toEqual([]);
  });

  it("refuses what has changed since, shows the change, and goes on after a new read", async () => {
    const { fs, kit } = await opened({ "/w/f.md": "A old-a\nB\n" });
    fs.set("/w/f.md", "A new-a\nB\n");
    const edit = { file_path: "f.md", old_string: "B", new_string: "b" };
    expect(await kit.call("Edit", edit)).toEqual({
      text: "f.md has changed since it was last read. Read it again, then repeat the change. It now has, from line 1:\n     1\tA new-a",
      isError: true,
    });
    await kit.call("Read", { file_path: "f.md" });
    expect((await kit.call("Edit", edit)).isError).toBe(false);
    expect(fs.text("/w/f.md")).toBe("A new-a\nb\n");
  });

  it("judges by content: a newer time with the same content is no change, the same size and time with other content is", async () => {
    const { fs, kit } = await opened({ "/w/k": "one two" });
    fs.touch("/w/k");
    expect((await kit.call("Edit", { file_path: "k", old_string: "one", new_string: "1" })).isError).toBe(false);
    const node = fs.nodes.get("/w/k") as { bytes: Uint8Array };
    node.bytes = new TextEncoder().encode("1 TWO");
    expect((await kit.call("Edit", { file_path: "k", old_string: "1", new_string: "2" })).isError).toBe(true);
  });

  it("never touches binary files", async () => {
    const { fs, kit } = await opened({ "/w/b": new Uint8Array([0, 49]) });
    expect((await kit.call("Edit", { file_path: "b", old_string: "1", new_string: "2" })).text).toBe("b is binary; it is not changed.");
    expect((await kit.call("Write", { file_path: "b", content: "2" })).isError).toBe(true);
    expect(fs.writes).toEqual([]);
  });

  it("follows symlinks and keeps them, and knows a file by its real path", async () => {
    const { fs, kit } = await opened({ "/w/rw/settings.json": "{}" });
    fs.link("/w/ro/hop.json", "../rw/settings.json");
    fs.link("/w/settings.json", "ro/hop.json");
    expect((await kit.call("Edit", { file_path: "settings.json", old_string: "{}", new_string: "{1}" })).isError).toBe(false);
    expect(fs.text("/w/rw/settings.json")).toBe("{1}");
    expect(fs.nodes.get("/w/settings.json")).toEqual({ kind: "symlink", to: "ro/hop.json" });
  });

  it("says what is near a missing file, and refuses folders and pipes", async () => {
    const { fs, kit } = await opened({ "/w/main.ts": "x" });
    fs.special("/w/pipe");
    expect((await kit.call("Edit", { file_path: "mian.ts", old_string: "x", new_string: "y" })).text).toContain("Did you mean main.ts?");
    expect((await kit.call("Edit", { file_path: ".", old_string: "x", new_string: "y" })).text).toBe(". is a folder, not a file.");
    expect((await kit.call("Edit", { file_path: "pipe", old_string: "x", new_string: "y" })).isError).toBe(true);
  });

  it("lets edits of two sessions to one file follow one another", async () => {
    const { fs, kit } = await opened({ "/w/a": "one two" });
    await kit.call("Read", { file_path: "a" }, { session: "fork" });
    let release = (): void => {};
    const writing = new Promise<void>((begun) => {
      fs.duringWrite = () =>
        new Promise((go) => {
          release = go;
          begun();
        });
    });
    const first = kit.call("Edit", { file_path: "a", old_string: "one", new_string: "1" });
    const second = kit.call("Edit", { file_path: "a", old_string: "two", new_string: "2" }, { session: "fork" });
    await writing;
    fs.duringWrite = async () => {};
    release();
    expect((await first).isError).toBe(false);
    expect((await second).text).toMatch(/has changed since it was last read/);
    expect(fs.text("/w/a")).toBe("1 two");
  });
});

describe("Edit, result", () => {
  it("shows the new lines with a few around", async () => {
    const { kit } = await opened({ "/w/a": "1\n2\n3\n4\n5\n6\n" });
    expect((await kit.call("Edit", { file_path: "a", old_string: "4\n", new_string: "four\nfour and a half\n" })).text).toBe(
      "Edited a: +2 -1 lines.\n     2\t2\n     3\t3\n     4\tfour\n     5\tfour and a half\n     6\t5\n     7\t6",
    );
  });
  it("stays small", async () => {
    const { kit } = await opened({ "/w/a": "x", "/w/many": "x\n".repeat(50) });
    const big = await kit.call("Edit", { file_path: "a", old_string: "x", new_string: `${"y".repeat(5000)}\n`.repeat(100) });
    expect(big.text.length).toBeLessThan(6000);
    expect(big.text).toMatch(/\[and 86 more lines\]$/);
    expect((await kit.call("Edit", { file_path: "many", old_string: "x", new_string: "y", replace_all: true })).text).toMatch(
      /^Edited many in 50 places \(lines 1, 2, .*, 20, \.\.\.\)\.$/,
    );
  });
  it("reports a full disk and a short write, and never says that it worked", async () => {
    const { fs, kit } = await opened({ "/w/a": "x" });
    fs.beforeWrite = () => {
      throw Object.assign(new Error("ENOSPC"), { code: "ENOSPC" });
    };
    expect((await kit.call("Edit", { file_path: "a", old_string: "x", new_string: "y" })).text).toMatch(
      /^Cannot edit a: the disk is full \(ENOSPC\)/,
    );
    expect(fs.text("/w/a")).toBe("x");
    fs.beforeWrite = () => {};
    fs.writeFile = async (path, bytes) => fs.set(path, bytes.slice(0, 1));
    expect(await kit.call("Edit", { file_path: "a", old_string: "x", new_string: "long" })).toMatchObject({
      isError: true,
      text: expect.stringContaining("1 of 4 bytes were written"),
    });
    expect(kit.files.get("s", "/w/a")).toBeUndefined();
  });
});

describe("Edit, properties", () => {
  const eol = fc.constantFrom("\n", "\r\n");
  const word = fc.string({ unit: fc.constantFrom("a", "b", " ", "\t", "é", "水", "\u{1F600}", "$", "\\", "\r"), maxLength: 4 });
  const text = fc.array(fc.tuple(word, eol), { maxLength: 8 }).map((lines) => lines.map(([w, e]) => w + e).join(""));
  const lf = (s: string): string => s.replaceAll("\r\n", "\n");
  // A carriage return beside the place would form a line end with what is put in.
  const clean = (s: string): boolean => !/\r(?!\n)/.test(s);

  it("changes nothing outside the match, and inserts exactly new_string but for line ends", async () => {
    await fc.assert(
      fc.asyncProperty(text, text, text, text, fc.boolean(), async (before, middle, after, fresh, bom) => {
        const mark = "<<";
        const file = `${before}${mark}${middle}${after}`;
        fc.pre([file, fresh].every(clean));
        const old = mark + lf(middle);
        const { fs, kit } = await opened({ "/w/f": (bom ? "\uFEFF" : "") + file });
        const result = await kit.call("Edit", { file_path: "f", old_string: old, new_string: lf(fresh) });
        if (result.isError) throw new Error(result.text);
        const now = fs.text("/w/f").slice(bom ? 1 : 0);
        expect(fs.text("/w/f").startsWith("\uFEFF")).toBe(bom);
        expect(now.startsWith(before)).toBe(true);
        expect(now.endsWith(after)).toBe(true);
        expect(lf(now.slice(before.length, now.length - after.length))).toBe(lf(fresh));
      }),
      { numRuns: 500 },
    );
  });

  it("in a file with one kind of line end, leaves that kind alone", async () => {
    await fc.assert(
      fc.asyncProperty(text, text, eol, async (file, fresh, end) => {
        const same = `${lf(file).replaceAll("\n", end)}@${end}`;
        fc.pre(clean(same) && clean(fresh));
        const { fs, kit } = await opened({ "/w/f": same });
        const result = await kit.call("Edit", { file_path: "f", old_string: "@", new_string: fresh });
        if (result.isError) throw new Error(result.text);
        expect(fs.text("/w/f")).toBe(same.replace("@", () => lf(fresh).replaceAll("\n", end)));
      }),
      { numRuns: 300 },
    );
  });

  it("gives the same as a plain replacement for LF files, once and for all", async () => {
    await fc.assert(
      fc.asyncProperty(text, word, word, async (file, from, to) => {
        const plain = lf(file);
        fc.pre(from !== "" && from !== to && clean(plain + from + to) && plain.includes(from));
        expect(await edited(plain, from, to, true)).toBe(plain.split(from).join(to));
      }),
      { numRuns: 300 },
    );
  });
});
