import fc from "fast-check";
import iconv from "iconv-lite";
import { describe, expect, it } from "vitest";
import { decode, encode } from "../src/encoding.ts";
import { type Kit, kitOf } from "./support/harness.ts";
import { MemoryFs } from "./support/memory-fs.ts";

const bytesOf = (...parts: (string | readonly number[])[]): Uint8Array =>
  Uint8Array.from(parts.flatMap((p) => (typeof p === "string" ? [...Buffer.from(p, "latin1")] : p)));
const opened = async (file: Uint8Array): Promise<{ fs: MemoryFs; kit: Kit; shown: string }> => {
  const fs = new MemoryFs({ "/w/f": file });
  const kit = await kitOf({ fs });
  return { fs, kit, shown: (await kit.call("Read", { file_path: "f" })).text };
};
const utf16 = (text: string): Uint8Array => Uint8Array.from(Buffer.from(text, "utf16le"));
const utf16be = (text: string): Uint8Array => Uint8Array.from(Buffer.from(text, "utf16le").swap16());

/** The same words in what editors of other times and countries have stored them in. */
const SAMPLES: readonly (readonly [encoding: string, text: string])[] = [
  ["GBK", "// 中文\r\nint n = 1;\r\n"],
  ["GBK", "# 这是一个测试文件，用于检查编码。\nn = 1\n"],
  ["Big5", "// 這是一個測試檔案，用來檢查編碼。\nn = 1\n"],
  ["Shift_JIS", "// これは日本語のコメントです。編集の試験をします。\nn = 1\n"],
  ["EUC-JP", "// これはテストです。日本語\nn = 1\n"],
  ["EUC-KR", "// 한국어 주석입니다. 테스트\nn = 1\n"],
  ["windows-1251", "// Привет, мир! Это проверка.\nn = 1\n"],
  ["KOI8-R", "// Привет, мир! Это проверка.\nn = 1\n"],
  ["ISO-8859-1", "// Grüße aus Köln, café au lait\nn = 1\n"],
  ["windows-1252", "// “quoted” — café\nn = 1\n"],
];

describe("a file in another encoding", () => {
  it("is read as text and named, and an edit changes no other byte", async () => {
    const seen: string[] = [];
    for (const [encoding, text] of SAMPLES) {
      const { fs, kit, shown } = await opened(Uint8Array.from(iconv.encode(text, encoding)));
      const note = /\[This file is (.*), and stays so when you change it\.\]$/.exec(shown)?.[1] ?? "";
      expect(shown).toContain(text.split(/\r?\n/)[0]!);
      expect(await kit.call("Edit", { file_path: "f", old_string: "n = 1", new_string: "n = 2" })).toMatchObject({ isError: false });
      expect(Buffer.from(fs.bytes("/w/f"))).toEqual(iconv.encode(text.replace("n = 1", "n = 2"), encoding));
      seen.push(`${encoding}: ${note}`);
    }
    expect(seen).toEqual([
      "GBK: GB18030",
      "GBK: GB18030",
      "Big5: Big5",
      "Shift_JIS: Shift_JIS",
      "EUC-JP: EUC-JP",
      "EUC-KR: EUC-KR",
      "windows-1251: windows-1251",
      "KOI8-R: KOI8-R",
      "ISO-8859-1: ISO-8859-1",
      "windows-1252: windows-1252",
    ]);
  });

  it("is guessed as western where a short text tells little, and shown as a guess", async () => {
    const { fs, kit, shown } = await opened(Uint8Array.from(iconv.encode("café crème / naïve résumé / x=1", "ISO-8859-1")));
    expect(shown).toBe(
      [
        "     1\tcafé crème / naïve résumé / x=1",
        "[One-byte encodings look alike, so the one named here is a guess. Check it before you add other letters.]",
        "[This file is ISO-8859-1, and stays so when you change it.]",
      ].join("\n"),
    );
    expect(await kit.call("Edit", { file_path: "f", old_string: "x=1", new_string: "č" })).toMatchObject({ isError: true });
    expect(fs.writes).toEqual([]);
  });

  it("is told by the shape of its words where it is short, and by statistics where those are clear", async () => {
    const cases = [
      ["ISO-8859-1", "// é"],
      ["ISO-8859-1", "Größe: über"],
      ["ISO-8859-1", "año, señor, mañana"],
      ["windows-1252", "naïve – “crème”"],
      ["ISO-8859-2", "W Szczebrzeszynie chrząszcz brzmi w trzcinie, zażółć gęślą jaźń. Szczebrzeszyn z tego słynie."],
      ["windows-1250", "Příliš žluťoučký kůň úpěl ďábelské ódy. Je to možné, že člověk nebyl doma a že jsme se neviděli"],
      ["ISO-8859-9", "Türkçe şarkı söylüyor ve için bir"],
      ["windows-1251", "Привет"],
      ["KOI8-R", "Привет"],
      ["Shift_JIS", "こんにちは"],
      ["Shift_JIS", 'print("こんにちは")'],
      ["Shift_JIS", "テスト"],
      ["EUC-JP", "こんにちは"],
    ] as const;
    const seen: (readonly [string, string])[] = [];
    for (const [encoding, text] of cases) {
      const decoded = await decode(Uint8Array.from(iconv.encode(text, encoding)));
      if (decoded.kind === "text") seen.push([decoded.encoding.name, decoded.text]);
    }
    expect(seen).toEqual(cases);
  });

  it("keeps UTF-16 of either order, with its mark or without", async () => {
    const text = "first: grün\r\nsecond: 水\r\n";
    for (const [file, after, name] of [
      [utf16(`\uFEFF${text}`), utf16(`\uFEFF${text.replace("first", "1st")}`), "UTF-16LE"],
      [utf16be(`\uFEFF${text}`), utf16be(`\uFEFF${text.replace("first", "1st")}`), "UTF-16BE"],
      [utf16("no mark here\n"), utf16("no mark there\n"), "UTF-16LE"],
      [utf16be("no mark here\n"), utf16be("no mark there\n"), "UTF-16BE"],
    ] as const) {
      const { fs, kit, shown } = await opened(file);
      expect(shown).toMatch(new RegExp(`\\[This file is ${name}, and stays so`));
      const [old_string, new_string] = shown.includes("first") ? ["first", "1st"] : ["here", "there"];
      expect(await kit.call("Edit", { file_path: "f", old_string, new_string })).toMatchObject({ isError: false });
      expect(Uint8Array.from(fs.bytes("/w/f"))).toEqual(after);
    }
  });

  it("is kept by Write, with its line ends", async () => {
    const { fs, kit } = await opened(Uint8Array.from(iconv.encode("// 中文测试\r\n", "gbk")));
    expect(await kit.call("Write", { file_path: "f", content: "// 测试\n// 中文\n" })).toMatchObject({ isError: false });
    expect(Buffer.from(fs.bytes("/w/f"))).toEqual(iconv.encode("// 测试\r\n// 中文\r\n", "gbk"));
    const marked = await opened(utf16("\uFEFFa\n"));
    await marked.kit.call("Write", { file_path: "f", content: "b\n" });
    expect(Uint8Array.from(marked.fs.bytes("/w/f"))).toEqual(utf16("\uFEFFb\n"));
  });

  it("is left alone when it cannot store the new text", async () => {
    const file = bytesOf("caf", [0xe9], " au lait\n");
    const { fs, kit } = await opened(file);
    for (const result of [
      await kit.call("Edit", { file_path: "f", old_string: "au", new_string: "\u{1F600}" }),
      await kit.call("Write", { file_path: "f", content: "a \u{1F600}" }),
    ])
      expect(result).toEqual({
        text: 'f was not changed. It is ISO-8859-1, which has no "\u{1F600}". Leave that out, or convert the file to UTF-8 first, for example with iconv in Bash.',
        isError: true,
      });
    expect(fs.bytes("/w/f")).toEqual(file);
  });

  it("is not changed when its own bytes would not come back", async () => {
    const odd = Uint8Array.from([...utf16("\uFEFFn = 1\n"), 0x41]);
    const { fs, kit, shown } = await opened(odd);
    expect(shown).toBe("     1\tn = 1\n[This file is damaged UTF-16LE. Edit and Write refuse it.]");
    expect((await kit.call("Edit", { file_path: "f", old_string: "1", new_string: "2" })).text).toMatch(/^f is damaged UTF-16LE/);
    expect(fs.bytes("/w/f")).toEqual(odd);
  });

  it("is told from what is no text at all", async () => {
    const noise = Uint8Array.from({ length: 400 }, (_, n) => ((n * 167) % 255) + 1);
    expect((await opened(noise)).shown).toBe("f is binary (400 bytes), which Read cannot show.");
  });
});

describe("decode and encode", () => {
  it("give back the very bytes of whatever counts as text", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.uint8Array({ maxLength: 40 }),
        fc.boolean(),
        fc.constantFrom([], [0xef, 0xbb, 0xbf], [0xff, 0xfe]),
        async (bytes, ascii, bom) => {
          const file = new Uint8Array([...bom, ...(ascii ? bytes.map((b) => b % 0x7f) : bytes)]);
          const decoded = await decode(file);
          if (decoded.kind !== "text" || !decoded.exact) return;
          const encoded = await encode(decoded.text, decoded.encoding);
          expect("bytes" in encoded && Uint8Array.from(encoded.bytes)).toEqual(file);
        },
      ),
      { numRuns: 1000 },
    );
  });
});
