import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { Cleaner } from "../src/bash/clean.ts";
import { HeadTail } from "../src/bash/output.ts";
import { createFileState } from "../src/file-state.ts";
import { cutLine, headOf, tailOf } from "../src/text.ts";

const lone = /[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/;
const unicode = fc.string({ unit: fc.constantFrom("a", "\n", "水", "\u{1F600}", "\u{10FFFF}"), maxLength: 300 });
/** Cuts a text into pieces at any code unit, as a careless stream would. */
const pieces = (text: string, size: number): string[] => text.match(new RegExp(`[\\s\\S]{1,${size}}`, "g")) ?? [];

describe("HeadTail", () => {
  const of = (text: string, limit: number, size: number): string => {
    const kept = new HeadTail(limit);
    for (const piece of pieces(text, size)) kept.push(piece);
    return kept.text();
  };
  it("keeps what fits as it is, and else a start and an end without half a code point", () => {
    fc.assert(
      fc.property(unicode, fc.integer({ min: 2, max: 60 }), fc.integer({ min: 1, max: 50 }), (text, limit, size) => {
        const shown = of(text, limit, size);
        if (text.length <= 2 * Math.floor(limit / 2)) return shown === text;
        const [, head, lines, characters, tail] =
          /^([\s\S]*?)\n?\[\.\.\. (\d+) lines?, (\d+) characters left out; [^\]]*\]\n([\s\S]*)$/.exec(shown)!;
        expect(shown).not.toMatch(lone);
        expect(text.startsWith(head!)).toBe(true);
        expect(text.endsWith(tail!)).toBe(true);
        expect(head!.length + tail!.length).toBeLessThanOrEqual(limit);
        expect(Number(lines)).toBeGreaterThanOrEqual(0);
        expect(Number(characters)).toBeLessThanOrEqual(text.length);
        return true;
      }),
      { numRuns: 1000 },
    );
  });
});

describe("cuts", () => {
  it("never part a code point", () => {
    fc.assert(
      fc.property(unicode, fc.integer({ min: 0, max: 50 }), (text, n) => {
        for (const cut of [headOf(text, n), tailOf(text, n), cutLine(text, n)]) expect(cut).not.toMatch(lone);
        expect(headOf(text, n).length).toBeLessThanOrEqual(Math.max(n, 0));
        expect(tailOf(text, n).length).toBeLessThanOrEqual(n);
      }),
    );
  });
});

describe("Cleaner", () => {
  const clean = (text: string, size = text.length || 1, sequences: string[] = []): string => {
    const cleaner = new Cleaner((s) => void sequences.push(s));
    return (
      pieces(text, size)
        .map((piece) => cleaner.push(piece))
        .join("") + cleaner.end()
    );
  };
  it("drops sequences, whole or broken", () => {
    expect({
      colour: clean("\x1b[1;31mred\x1b[m"),
      eightBit: clean("\x9b31mred\x9d0;t\x9c!"),
      charset: clean("\x1b(Bx\x1b=y\x1bMz"),
      dcs: clean("a\x1bPq#0\x1b\\b"),
      openString: clean("\x1b]0;no end\nnext"),
      nested: clean("\x1b]0;no end\x1b[1mx"),
      brokenCsi: clean("\x1b[3\x1b[1mx"),
      atEnd: clean("x\x1b["),
      backspace: clean("a\u{1F600}\bb"),
      crlf: clean("a\r\nb\r\n"),
      bar: clean(" 1%\r 50%\r100%\n"),
      erase: clean("long text\r\x1b[Kshort\n"),
      bell: clean("a\x07b\tc\0d\x7f"),
    }).toEqual({
      colour: "red",
      eightBit: "red!",
      charset: "xyz",
      dcs: "ab",
      openString: "0;no end\nnext",
      nested: "0;no endx",
      brokenCsi: "x",
      atEnd: "x",
      backspace: "ab",
      crlf: "a\nb\n",
      bar: "100%\n",
      erase: "short\n",
      bell: "ab\tc\u2400d",
    });
  });
  it("gives the same however the text is cut, and no control character", () => {
    const unit = fc.constantFrom("a", "\n", "\r", "\x1b", "[", "]", "0", ";", "m", "\x07", "\\", "\b", "\x9b", "\x9c", "P", " ", "\0");
    fc.assert(
      fc.property(fc.string({ unit, maxLength: 60 }), fc.integer({ min: 1, max: 5 }), (text, size) => {
        const [whole, parts]: string[][] = [[], []];
        const once = clean(text, undefined, whole);
        expect(clean(text, size, parts)).toBe(once);
        expect(parts).toEqual(whole);
        expect(once).not.toMatch(/[\0-\x08\x0b-\x1f\x7f-\x9f]/);
      }),
      { numRuns: 3000 },
    );
  });
  it("passes endless lines and sequences on in bounded pieces", () => {
    const cleaner = new Cleaner();
    const piece = "x".repeat(1000);
    let out = 0;
    for (let n = 0; n < 1000; n++) out += cleaner.push(piece).length;
    expect(out).toBeGreaterThan(980_000);
    expect(clean(`\x1b]${"y".repeat(20_000)}`, 500).length).toBeGreaterThanOrEqual(19_998);
  });
});

describe("FileState", () => {
  it("forgets the file that was used longest ago", () => {
    const files = createFileState(2);
    const bytes = new Uint8Array([1]);
    const saw = (path: string): void => files.saw("s", path, bytes, { at: 1, by: "read" });
    saw("/a");
    saw("/b");
    files.get("s", "/a");
    saw("/c");
    expect(files.list("s").map((f) => f.realpath)).toEqual(["/c", "/a"]);
    expect([files.same("s", "/a", bytes), files.same("s", "/a", new Uint8Array()), files.same("s", "/b", bytes)]).toEqual([
      true,
      false,
      undefined,
    ]);
    files.forget("s", "/a");
    expect(files.get("s", "/a")).toBeUndefined();
  });
});
