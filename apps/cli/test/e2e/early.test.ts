/** Tools of the real program start while the server still sends their reply. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { lines, world } from "./run.ts";

it("a call that is complete has run before the reply that goes on behind it has ended", async () => {
  const read = (file_path: string) => ({ name: "Read", input: { file_path } });
  const script = [{ text: "Both.", calls: [read("a.txt"), read("b.txt")], fault: { eventMs: 60 } }, { text: "Read." }];
  const w = await world({ script });
  for (const name of ["a", "b"]) w.write(`project/${name}.txt`, name);
  const ran = await w.run(["-p", "read both"]);
  expect([ran.code, ran.stdout]).toEqual([0, "Read.\n"]);
  const projects = join(w.home, ".heddle", "projects");
  const dir = join(projects, readdirSync(projects)[0]!);
  const log = lines(readFileSync(join(dir, readdirSync(dir).find((f) => f.endsWith(".jsonl"))!), "utf8"));
  const seen = log.flatMap((l) => (["tool.started", "tool.finished", "model.replied"].includes(l["type"] as string) ? [l["type"]] : []));
  expect(seen).toEqual(["tool.started", "tool.finished", "model.replied", "tool.started", "tool.finished", "model.replied"]);
});
