import { describe, expect, it } from "vitest";
import { type LogLine, lineParser, readLog, turnsOf } from "../src/index.ts";
import { added, bytesOf, header, jsonl, user } from "./support.ts";

const events = Array.from({ length: 200 }, (_, i) => added(user(`m${i}`)));
const idsOf = (bytes: Uint8Array): string[] => readLog(bytes).lines.flatMap((l) => (l.type === "message.added" ? [l.message.id] : []));
const all = events.map((_, i) => `m${i}`);

/** Keys that the types call optional may be missing, and nothing of it is a broken line. */
it.each<[string, object]>([
  ["what the runtime says without data", { role: "system", subtype: "s", level: "info", text: "x" }],
  ["an attachment without data", { role: "attachment", kind: "k", content: [] }],
  ["reasoning without a seal", { role: "assistant", content: [{ type: "reasoning", text: "hm" }], stop: "end" }],
  ["a result", { role: "tool", callId: "c", tool: "T", outcome: "ok", content: [] }],
  ["a prompt", { role: "user", content: [] }],
])("reads %s", (_, more) => {
  const message = { id: "m", parentId: null, at: 1, origin: { by: "kernel" }, ...more };
  const line = { type: "message.added", message, at: 1, turn: null, step: 0 } as unknown as LogLine;
  expect(readLog(bytesOf(jsonl(header, line)))).toMatchObject({ lines: [header, line], broken: 0 });
});

describe("reading a log", () => {
  it("gives back every line as it was written", () => {
    const lines = [header, ...events];
    expect(readLog(bytesOf(jsonl(...lines)))).toEqual({ header, lines, broken: 0, brokenAt: [], torn: false });
  });

  it.each([
    ["a torn last line", (s: string) => s.slice(0, -20), all.slice(0, -1), 1, true],
    ["a torn line in the middle", (s: string) => cutLine(s, 100), all.filter((id) => id !== "m99"), 1, false],
    ["a blank line", (s: string) => s.replace("\n", "\n\n  \n"), all, 0, false],
    ["JSON of an unknown type", (s: string) => s.replace("\n", `\n{"type":"file-history","id":"m3"}\n`), all, 1, false],
    ["JSON that is no object", (s: string) => s.replace("\n", "\n42\nnull\n[]\n"), all, 3, false],
    [
      "an event without its fields",
      (s: string) => s.replace("\n", `\n{"type":"message.added","at":1,"turn":"t","step":0}\n`),
      all,
      1,
      false,
    ],
    ["Windows line ends", (s: string) => s.replaceAll("\n", "\r\n"), all, 0, false],
  ])("bears %s", (_, damage, ids, broken, torn) => {
    const bytes = bytesOf(damage(jsonl(header, ...events)));
    expect(idsOf(bytes)).toEqual(ids);
    expect(readLog(bytes)).toMatchObject({ header, broken, torn });
  });

  it("bears a run of NUL bytes, also one that a whole line is glued to", () => {
    const lines = jsonl(header, ...events).split("\n");
    const nul = "\0".repeat(512);
    const alone = bytesOf([...lines.slice(0, 100), nul, ...lines.slice(100)].join("\n"));
    const glued = bytesOf([...lines.slice(0, 100), nul + lines[100], ...lines.slice(101)].join("\n"));
    expect([idsOf(alone), idsOf(glued)]).toEqual([all, all]);
    expect([readLog(alone).broken, readLog(glued).broken]).toEqual([1, 1]);
  });

  it("keeps a whole line of more than 10 MB and leaves out a broken one", () => {
    const big = added(user("big", "x".repeat(11 * 1024 * 1024)));
    const bytes = bytesOf(jsonl(header, events[0]!, big, `{"type":"${"y".repeat(11 * 1024 * 1024)}`, events[1]!));
    expect(idsOf(bytes)).toEqual(["m0", "big", "m1"]);
    expect(readLog(bytes)).toMatchObject({ broken: 1, brokenAt: [4] });
  });

  it("bears bytes that are no text", () => {
    const bytes = Uint8Array.from({ length: 5_000 }, (_, i) => (i * 7) % 256);
    expect(readLog(bytes)).toMatchObject({ header: undefined, lines: [] });
  });

  it("never throws on what JSON can do", () => {
    const parseLine = lineParser();
    expect(parseLine("[".repeat(200_000))).toBeUndefined();
    expect(parseLine(`${"[".repeat(100_000)}${"]".repeat(100_000)}`)).toBeUndefined();
    expect(parseLine(`{"type":"__proto__"}`)).toBeUndefined();
  });

  it("sorts events into turns", () => {
    const [a, b] = [events[0]!, { ...events[1]!, turn: "u" }];
    const between = { ...events[2]!, turn: null };
    expect(turnsOf([header, a, between, b, events[3]!])).toEqual([
      { turn: "t", events: [a, events[3]!] },
      { turn: "u", events: [b] },
    ]);
  });
});

/** Cuts the end off the nth message's line. */
function cutLine(source: string, n: number): string {
  const lines = source.split("\n");
  lines[n] = lines[n]!.slice(0, 30);
  return lines.join("\n");
}
