import { describe, expect, it } from "vitest";
import { memoryHost } from "../src/memory.ts";
import { DebugLog } from "../src/session/debug-log.ts";

const FILE = "/state/logs/heddle.log";
const text = (bytes: Uint8Array | undefined): string => new TextDecoder().decode(bytes);

describe("the debug log", () => {
  it("has one line for each entry, whatever is in it", async () => {
    const host = memoryHost();
    const log = await DebugLog.open(host, "/state");
    log.write("p", "two\nlines");
    expect(text(host.stored.get(FILE))).toBe("2026-01-01T00:00:00.000Z p: two\\nlines\n");
  });

  it("stays within its size, with one older part, also over several runs", async () => {
    const host = memoryHost();
    for (const run of ["first", "second"]) {
      host.stored.set(FILE, new Uint8Array(5 * 1024 * 1024 - 100));
      const log = await DebugLog.open(host, "/state");
      for (let i = 0; i < 3; i++) log.write(run, "x".repeat(5_000));
      log.close();
    }
    expect([...host.stored].map(([path, bytes]) => [path, bytes.length]).toSorted()).toEqual([
      [FILE, 3 * 4_034],
      [`${FILE}.1`, 5 * 1024 * 1024 - 100],
    ]);
  });

  it("is of no consequence when it cannot be written, and nothing without a folder", async () => {
    const host = memoryHost();
    host.failAppends("EROFS");
    const log = await DebugLog.open(host, "/state");
    log.write("p", "x");
    host.failAppends(undefined);
    (await DebugLog.open(host, null)).write("p", "x");
    expect(host.stored.size).toBe(0);
  });
});
