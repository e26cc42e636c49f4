/** Nothing that steers a terminal, or hides, gets through. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { callLine, callText } from "../src/faces/call-line.ts";
import { width, wrap } from "../src/faces/width.ts";
import { plain, plainJson, plainLine, visible } from "../src/plain.ts";

describe("plain", () => {
  it.each([
    ["colours go", "\x1b[31mred\x1b[0m", "red"],
    ["clearing the screen goes", "a\x1b[2J\x1b[Hb", "ab"],
    ["a title goes", "\x1b]0;evil\x07ok", "ok"],
    ["a link keeps its text", "\x1b]8;;http://x\x1b\\text\x1b]8;;\x1b\\", "text"],
    ["a bell is shown", "a\x07", "a\\u{7}"],
    ["C1 controls are shown", "a\x9b2Jb", "a\\u{9b}2Jb"],
    ["direction marks are shown", "a\u202eb", "a\\u{202e}b"],
    ["tag characters are shown", "a\u{e0041}b", "a\\u{e0041}b"],
    ["tabs and line ends stay", "a\tb\nc\r\nd", "a\tb\nc\nd"],
    ["a carriage return cannot overwrite", "real\rfake", "real\nfake"],
    ["other scripts stay", "日本語 👍🏽", "日本語 👍🏽"],
  ])("%s", (_name, text, shown) => {
    expect(plain(text)).toBe(shown);
  });

  it("leaves no control character of any text, and says the same thing twice", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary" }), (text) => {
        const shown = plain(text);
        expect(shown).not.toMatch(/[\x00-\x08\x0b-\x1f\x7f-\x9f]/);
        expect(plain(shown)).toBe(shown);
      }),
    );
  });

  it("cuts a line without parting a pair", () => {
    expect(plainLine("a\n b", 10)).toBe("a b");
    expect(plainLine(`${"x".repeat(8)}👍yy`, 10)).toBe("xxxxxxxx…");
  });
});

describe("what a person is asked about", () => {
  it.each([
    ["echo ok \x1b]; touch /tmp/x; : \x07", "echo ok \\u{1b}]; touch /tmp/x; : \\u{7}"],
    ["a\x1b[8mhidden\x1b[0m", "a\\u{1b}[8mhidden\\u{1b}[0m"],
    ["a\r\nb\rc", "a\\u{d}\nb\\u{d}c"],
    ["x\u200b\u200d\u00ad\u3164\ufe0f\u00a0\u2800y", "x\\u{200b}\\u{200d}\\u{ad}\\u{3164}\\u{fe0f}\\u{a0}\\u{2800}y"],
    ["\ud800 \u{e0041}", "\\u{d800} \\u{e0041}"],
    ["tab\tand\nlines", "tab\tand\nlines"],
    ["日本語\u3000👍🏽 é", "日本語\u3000👍🏽 é"],
  ])("%j", (text, shown) => {
    expect(visible(text)).toBe(shown);
  });

  it("is shown character for character", () => {
    const back = (text: string): string =>
      text.replace(/\\u\{([0-9a-f]+)\}/g, (_, code: string) => String.fromCodePoint(Number.parseInt(code, 16)));
    fc.assert(
      fc.property(fc.string({ unit: "binary" }), (text) => {
        const shown = visible(text);
        expect(back(shown)).toBe(back(text));
        expect(plain(shown)).toBe(shown);
      }),
    );
  });

  it("has no hidden part in a call line, nor in any argument of a call", () => {
    const command = "echo ok \x1b]; touch /tmp/x; : \x07";
    expect(callLine("Bash", { command })).toBe("Bash echo ok \\u{1b}]; touch /tmp/x; : \\u{7}");
    expect(callText("Write", { "file_path\x1b]": "a", content: "1\n\x1b]x\x07\n2", edits: [{ to: "\x9b2J" }] })).toBe(
      'Write\n  file_path\\u{1b}]: a\n  content:\n    1\n    \\u{1b}]x\\u{7}\n    2\n  edits: [{"to":"\\u{9b}2J"}]',
    );
  });
});

describe("plainJson", () => {
  it("says the same, without controls", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary" }), (text) => {
        expect(plainJson(text)).not.toMatch(/[\x00-\x1f\x7f-\x9f]/);
        expect(JSON.parse(plainJson(text))).toBe(text);
      }),
    );
  });
});

describe("callText", () => {
  it("shows every argument whole", () => {
    expect(callText("Bash", { command: `echo ${"x".repeat(300)}\nrm -rf \u202e/`, timeout: 5 })).toBe(
      `Bash\n  command:\n    echo ${"x".repeat(300)}\n    rm -rf \\u{202e}/\n  timeout: 5`,
    );
  });
});

describe("wrap", () => {
  it("breaks at blanks, else anywhere, and loses nothing but the blank it broke at", () => {
    expect(wrap("one two three", 8)).toEqual(["one two", "three"]);
    expect(wrap("abcdefghij", 4)).toEqual(["abcd", "efgh", "ij"]);
    expect(wrap("日本語日本語", 5)).toEqual(["日本", "語日", "本語"]);
    fc.assert(
      fc.property(fc.string({ unit: "grapheme" }), fc.integer({ min: 2, max: 30 }), (text, columns) => {
        const line = text.replace(/\s/g, " ");
        const rows = wrap(line, columns);
        expect(rows.join("").replaceAll(" ", "")).toBe(line.replaceAll(" ", ""));
        for (const row of rows) expect(width(row)).toBeLessThanOrEqual(Math.max(columns, 2));
      }),
    );
  });
});
