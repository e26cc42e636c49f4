/** Failures that nobody waits for: who is named, and what is asked of the person. */
import { describe, expect, it } from "vitest";
import { type Owner, strayLine } from "../src/stray.ts";

const owners: Record<string, Owner> = {
  "/p/acme/index.js": { name: "acme", plugin: true },
  "/p/zod/index.js": { name: "zod", plugin: false },
  "/h/heddle.js": { name: "heddle", plugin: false },
  "/h/tools.js": { name: "@heddle/tools", plugin: true },
};
const line = (error: unknown): string => strayLine(error, (file) => owners[file]);
const failed = (message: string, ...frames: string[]): Error =>
  Object.assign(new Error(message), { stack: `Error: ${message}\n${frames.map((f) => `    at ${f}`).join("\n")}` });

describe("a stray failure", () => {
  it.each<[string, unknown, string]>([
    ["a plugin", failed("boom", "run (file:///p/acme/index.js:3:9)"), 'plugin "acme" failed where nobody waits for it: boom'],
    [
      "a plugin, however deep it fell",
      failed(
        "boom",
        "new Promise (<anonymous>)",
        "parse (/p/zod/index.js:1:2)",
        "async file:///p/acme/index.js:3:9",
        "go (/h/heddle.js:1:1)",
      ),
      'plugin "acme" failed where nobody waits for it: boom',
    ],
    ["a package of others", failed("boom", "parse (/p/zod/index.js:1:2)"), 'package "zod" failed where nobody waits for it: boom'],
    [
      "heddle",
      failed("boom", "node:internal/timers:1:1", "a.b (/h/heddle.js:12:3456)", "c (/h/heddle.js:1:1)"),
      "this is a bug in heddle, please report it: boom (node:internal/timers:1:1)",
    ],
    ["a plugin of heddle's", failed("boom", "/h/tools.js:1:2"), "this is a bug in heddle, please report it: boom (/h/tools.js:1:2)"],
    [
      "nobody",
      failed("boom", "listOnTimeout (node:internal/timers:1:1)"),
      "something that is no part of heddle failed where nobody waits for it: boom",
    ],
    ["what is no error", { a: 1 }, "something that is no part of heddle failed where nobody waits for it: [object Object]"],
    [
      "what cannot be read",
      {
        toString() {
          throw new Error("ha");
        },
      },
      "something that is no part of heddle failed where nobody waits for it: something that cannot be shown",
    ],
  ])("of %s", (_, error, said) => {
    expect(line(error)).toBe(said);
  });
});
