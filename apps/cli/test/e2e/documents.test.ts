/** Files that need a library from beside the program: it is loaded by the first of them, also from the built script. */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { world } from "./run.ts";

it("edits a file in another encoding, and names a PDF that is damaged", async () => {
  const calls = [
    { name: "Read", input: { file_path: "a.txt" } },
    { name: "Read", input: { file_path: "a.pdf" } },
    { name: "Edit", input: { file_path: "a.txt", old_string: "n = 1", new_string: "n = 2" } },
  ];
  const w = await world({ script: [{ calls }, { text: "done" }] });
  const comment = [0xd6, 0xd0, 0xce, 0xc4];
  writeFileSync(join(w.cwd, "a.txt"), Buffer.from([...comment, ...Buffer.from("\r\nn = 1\r\n")]));
  writeFileSync(join(w.cwd, "a.pdf"), "%PDF-1.7");
  const ran = await w.run(["-p", "--permission-mode", "acceptEdits", "go"]);
  expect([ran.code, ran.stdout, ran.stderr]).toEqual([0, "done\n", ""]);
  const results = JSON.stringify((w.server.mainRequests()[1]?.body as { messages: unknown[] } | undefined)?.messages.at(-1));
  expect(readFileSync(join(w.cwd, "a.txt"))).toEqual(Buffer.from([...comment, ...Buffer.from("\r\nn = 2\r\n")]));
  expect(results).toContain("\u4e2d\u6587");
  expect(results).toContain("a.pdf is damaged and cannot be read as a PDF");
});
