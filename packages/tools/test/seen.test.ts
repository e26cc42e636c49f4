import type { Message } from "@heddle/kernel/plugin";
import { describe, expect, it } from "vitest";
import { createFileState } from "../src/file-state.ts";
import { kitOf } from "./support/harness.ts";
import { MemoryFs } from "./support/memory-fs.ts";

const base = { parentId: null, at: 0, origin: { by: "kernel" } } as const;
const result = (callId: string, text = "1", outcome: "ok" | "error" = "ok"): Message => ({
  ...base,
  id: callId,
  role: "tool",
  callId,
  tool: "Read",
  outcome,
  content: [{ type: "text", text }],
});
const prompt = (text: string): Message => ({ ...base, id: "u", role: "user", content: [{ type: "text", text }] });
const UNCHANGED = "a is unchanged since you read it above. Read it again if you no longer have it.";
const lines = (n: number): string => Array.from({ length: n }, (_, i) => `line ${i + 1}\n`).join("");

describe("a file that is read again", () => {
  const reader = async () => {
    const fs = new MemoryFs({ "/w/a": "x\ny\n" });
    const kit = await kitOf({ fs });
    const read = async (callId: string, messages: readonly Message[], input: object = {}, session = "s") =>
      (await kit.call("Read", { file_path: "a", ...input }, { callId, messages, session })).text;
    return { fs, kit, read };
  };
  const TEXT = "     1\tx\n     2\ty";

  it("is not shown twice while the first result is in view", async () => {
    const { read } = await reader();
    expect([await read("c1", []), await read("c2", [result("c1")])]).toEqual([TEXT, UNCHANGED]);
  });

  it("is shown when asked for once more, since only the model knows what it still has", async () => {
    const { read } = await reader();
    await read("c1", []);
    expect(await read("c2", [result("c1")])).toBe(UNCHANGED);
    expect(await read("c3", [result("c1"), result("c2", UNCHANGED)])).toBe(TEXT);
    expect(await read("c4", [result("c1"), result("c3")])).toBe(UNCHANGED);
  });

  it("is shown when the result is gone, failed, far back, of another part, or of another session", async () => {
    const { read } = await reader();
    await read("c1", []);
    expect(await read("c2", [])).toBe(TEXT);
    expect(await read("c3", [result("c2", "", "error")])).toBe(TEXT);
    expect(await read("c4", [result("c3"), prompt("z".repeat(100_000))])).toBe(TEXT);
    expect(await read("c5", [result("c4")], { offset: 1 })).toBe(TEXT);
    expect(await read("c6", [result("c4"), result("c5")])).toBe(TEXT);
    expect(await read("c7", [result("c6")], {}, "other")).toBe(TEXT);
  });

  it("is shown when it has changed, by whomever", async () => {
    const { fs, kit, read } = await reader();
    await read("c1", []);
    fs.set("/w/a", "z\n");
    expect(await read("c2", [result("c1")])).toBe("     1\tz");
    await kit.call("Edit", { file_path: "a", old_string: "z", new_string: "q" });
    expect(await read("c3", [result("c2")])).toBe("     1\tq");
  });

  it("may still be changed after that answer", async () => {
    const { kit, read } = await reader();
    await read("c1", []);
    await read("c2", [result("c1")]);
    expect(await kit.call("Write", { file_path: "a", content: "n" })).toMatchObject({ isError: false });
  });
});

describe("a file that was read in part", () => {
  const opened = async () => {
    const fs = new MemoryFs({ "/w/a": lines(3000) });
    const kit = await kitOf({ fs });
    return { fs, kit, write: () => kit.call("Write", { file_path: "a", content: "all\n" }) };
  };

  it("may be edited, but not replaced as a whole", async () => {
    const { kit, write } = await opened();
    await kit.call("Read", { file_path: "a" });
    expect(kit.files.get("s", "/w/a")?.part).toEqual({ ranges: [[1, 2000]], of: 3000 });
    expect(await write()).toEqual({
      text: "a was not written: you have seen only a part of its 3000 lines. Read the rest first, or change what you have seen with Edit.",
      isError: true,
    });
    expect(await kit.call("Edit", { file_path: "a", old_string: "line 1500\n", new_string: "" })).toMatchObject({ isError: false });
    expect(await write()).toMatchObject({ isError: true });
  });

  it("is known as a whole once its parts add up, in any order", async () => {
    const { kit, write } = await opened();
    await kit.call("Read", { file_path: "a", offset: 1500 });
    await kit.call("Read", { file_path: "a", limit: 1000 });
    expect(kit.files.get("s", "/w/a")?.part).toEqual({
      ranges: [
        [1, 1000],
        [1500, 3000],
      ],
      of: 3000,
    });
    await kit.call("Read", { file_path: "a", offset: 1001, limit: 499 });
    expect(await write()).toMatchObject({ isError: false });
  });

  it("stays known as a whole when a part is looked at again", async () => {
    const fs = new MemoryFs({ "/w/a": lines(10) });
    const kit = await kitOf({ fs });
    await kit.call("Read", { file_path: "a" });
    await kit.call("Read", { file_path: "a", offset: 3, limit: 2 });
    expect(await kit.call("Write", { file_path: "a", content: "x" })).toMatchObject({ isError: false });
  });
});

describe("FileState", () => {
  const bytes = new Uint8Array([1]);

  it("keeps so much text and no more, and what it knows of the oldest files beyond it", () => {
    const files = createFileState(100, 20);
    const saw = (path: string, text: string): void => files.saw("s", path, bytes, { at: 1, by: "read", text });
    saw("/a", "aaaa");
    saw("/b", "bbbb");
    saw("/c", "cccc");
    expect(files.list("s").map((f) => [f.realpath, f.text])).toEqual([
      ["/c", "cccc"],
      ["/b", "bbbb"],
      ["/a", undefined],
    ]);
    expect(files.same("s", "/a", bytes)).toBe(true);
    saw("/c", "c");
    files.forget("s", "/b");
    saw("/d", "ddddd");
    expect(files.list("s").map((f) => f.text)).toEqual(["ddddd", "c", undefined]);
  });

  it("keeps no text of more than 256 K characters", () => {
    const files = createFileState();
    files.saw("s", "/a", bytes, { at: 1, by: "read", text: "x".repeat(256 * 1024) });
    files.saw("s", "/b", bytes, { at: 1, by: "read", text: "x".repeat(256 * 1024 + 1) });
    expect(files.list("s").map((f) => f.text?.length)).toEqual([undefined, 256 * 1024]);
  });
});
