/** What is paid for once: the bytes of each request begin with those of the one before, from turn to turn and from process to process. */
import { spawnSync } from "node:child_process";
import type { Step } from "@heddle/anthropic-server";
import { describe, expect, it } from "vitest";
import { type World, world } from "./run.ts";

const MARK = ',"cache_control":{"type":"ephemeral"}';
/** The API takes this many breakpoints. */
const MOST = 4;
const FLAGS = ["--permission-mode", "acceptEdits", "--model", "claude-opus-5-5"];

function script(w: World): Step[] {
  const read = (file: string) => ({ name: "Read", input: { file_path: `${w.cwd}/${file}` } });
  return [
    { thinking: "A look first.", text: "Looking.", calls: [read("a.txt"), read("none.txt")] },
    { calls: [{ name: "Write", input: { file_path: `${w.cwd}/b.txt`, content: 'beta "\u00e9\u{1F600}"\n' } }] },
    { text: "Written." },
    // more blocks than a breakpoint looks back
    { thinking: "All at once.", calls: Array.from({ length: 14 }, () => read("b.txt")) },
    { text: "Read." },
    { text: "Said." },
    { calls: [read("a.txt")] },
    { text: "Done." },
  ];
}
const git = (w: World, ...args: string[]): void => {
  const identity = ["-c", "user.name=t", "-c", "user.email=t@example.com", "-c", "commit.gpgsign=false"];
  const { status, stderr } = spawnSync("git", [...identity, ...args], {
    cwd: w.cwd,
    env: { PATH: process.env["PATH"] ?? "", HOME: w.home },
  });
  if (status !== 0) throw new Error(String(stderr));
};
const line = (text: string): string => `${JSON.stringify({ type: "user", message: { content: text } })}\n`;

/** Without what moves, and without the end of the body, behind which the next request goes on. */
const stable = (text: string): string => text.replaceAll(MARK, "").slice(0, -"]}".length);

describe("the requests of a session", () => {
  it("begin with the bytes of the one before, whatever has changed around them, with few breakpoints", async () => {
    const w = await world({ keepText: true });
    w.server.setScript(script(w));
    w.write("project/a.txt", "alpha\n");
    w.write("project/AGENTS.md", "# House rules\n\nKeep it small.\n");
    git(w, "init", "-q", "-b", "main");
    git(w, "add", ".");
    git(w, "commit", "-qm", "start");

    expect(await w.run(["-p", "look at @a.txt", ...FLAGS])).toMatchObject({ code: 0, stdout: "Written.\n" });
    w.write("project/AGENTS.md", "# Other rules\n\nMake it large.\n");
    git(w, "checkout", "-q", "-b", "other");
    expect(await w.run(["-c", "-p", "and again", ...FLAGS])).toMatchObject({ code: 0, stdout: "Read.\n" });
    git(w, "commit", "-qam", "changed");
    const stdin = line("say it") + line("the last one");
    expect(await w.run(["-c", "-p", "--input-format", "stream-json", "--output-format", "stream-json", ...FLAGS], { stdin })).toMatchObject(
      {
        code: 0,
        stderr: "",
      },
    );

    const texts = w.server.mainRequests().map((r) => r.text ?? "");
    expect(texts).toHaveLength(8);
    for (const [n, text] of texts.slice(1).entries()) {
      const before = stable(texts[n]!);
      expect(stable(text).slice(0, before.length + 1), `request ${n + 2} begins like the one before`).toBe(`${before},`);
    }
    const marks = texts.map((text) => text.split(MARK).length - 1);
    expect(Math.max(...marks)).toBeLessThanOrEqual(MOST);
    expect(marks).toEqual([2, 2, 2, 2, 3, 2, 2, 2]);
    expect(w.server.costRatio()).toBeLessThanOrEqual(1.005);
    expect(texts[7]).toContain("Keep it small.");
    expect(texts[7]).not.toContain("Make it large.");
  });
});
