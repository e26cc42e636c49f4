/** A session in a real pseudo-terminal. */
import { readdirSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { terminal } from "./pty.ts";
import { world } from "./run.ts";

const lastText = (body: unknown): string => JSON.stringify((body as { messages: unknown[] }).messages.at(-1));

describe("a session in a terminal", () => {
  it("answers what is typed, and says how to go on with it", async () => {
    const w = await world({ script: [{ text: "Hello there.\nSecond line." }, { text: "Again." }] });
    const t = terminal(w);
    await t.shows(/^>$/m);
    t.type("hi\r");
    await t.shows("Second line.");
    await t.shows(/1 model call/);
    t.type("more\r");
    await t.shows("Again.");
    await t.shows(/^>$/m);
    t.type("/exit\r");
    expect(await t.ended).toBe(0);
    expect(t.text()).toMatch(/heddle --resume [a-z0-9-]+$/);
    expect(t.text()).toMatch(/> hi\n+Hello there\.\nSecond line\.\n/);
    expect(w.server.mainRequests().length).toBe(2);
  });

  it("warns of a model that no provider has, as -p does", async () => {
    const w = await world();
    const t = terminal(w, [], 400);
    await t.shows(/^>$/m);
    t.type("/model nope/x\r");
    await t.shows(`there is no provider "nope", so ${w.server.url} is asked for the model "nope/x"`);
    t.type("\x04");
    expect(await t.ended).toBe(0);
  });

  it("shows running text that is longer than a row whole and once", async () => {
    const words = Array.from({ length: 120 }, (_, i) => `word${i}`).join(" ");
    const w = await world({ script: [{ text: `${words}\n日本語のテキスト` }] });
    const t = terminal(w, [], 50);
    await t.shows(/^>$/m);
    t.type("go\r");
    await t.shows(/1 model call/);
    const body = t.text().split("> go")[1]!.split("1 model call")[0]!;
    expect(body.replace(/\s+/g, " ").trim()).toBe(`${words} 日本語のテキスト`);
    t.type("\x04");
    expect(await t.ended).toBe(0);
  });

  it("marks what a cut reply had shown, tells of the retry, and sums up at the end", async () => {
    const w = await world({
      script: [{ text: "From the first word to the very last one: all of it." }],
      faults: [{ name: "cut-text", at: 0 }],
    });
    const t = terminal(w);
    await t.shows(/^>$/m);
    t.type("go\r");
    await t.shows(/1 model call/);
    expect(t.text()).toMatch(
      /From the[\s\S]*\n\(The reply was cut off\. What is above of it is void\.\)\nretry 1 of 10 in 0\.\d s \(network\): [\s\S]*ended before[\s\S]*: all of it\.\n/,
    );
    t.type("/cost\r");
    await t.shows(/^anthropic\/claude-sonnet-5-5 +2 /m);
    t.type("\x04");
    expect(await t.ended).toBe(0);
    expect(t.text()).toMatch(/^cost (\$\d\.\d{4}|not known) · \d+\.\d s of waiting for models · \d+\.\d s in all$/m);
  });

  it("marks what a reply had shown before a filter stopped it", async () => {
    const w = await world({ script: [{ text: "Something that no filter likes.", stop_reason: "refusal" }] });
    const t = terminal(w);
    await t.shows(/^>$/m);
    t.type("go\r");
    await t.shows(/1 model call|2 model calls/);
    const mark = "\\(A safety filter stopped the reply\\. What is above of it is void\\.\\)\\n";
    expect(t.text()).toMatch(new RegExp(`Something[\\s\\S]*\\n${mark}Something[\\s\\S]*\\n${mark}The model refused to answer`));
  });

  it("keeps on the screen what had been said when no retry is left", async () => {
    const w = await world({
      script: [{ text: "From the first word to the very last one: all of it." }],
      faults: [{ name: "cut-text", at: 0 }],
    });
    const t = terminal(w, ["--settings", '{ "recovery": { "retries": 0 } }'], 200);
    await t.shows(/^>$/m);
    t.type("go\r");
    await t.shows(/\nFrom [^\n]*\nThe connection to .* ended before the reply was complete/);
    expect(t.text()).not.toContain("void");
  });

  it("asks before it writes, and does what the person says", async () => {
    const write = (name: string) => ({ calls: [{ name: "Write", input: { file_path: `{{cwd}}/${name}`, content: "x\n" } }] });
    const w = await world();
    w.server.setScript(JSON.parse(JSON.stringify([write("yes.txt"), write("no.txt"), { text: "Finished." }]).replaceAll("{{cwd}}", w.cwd)));
    const t = terminal(w);
    await t.shows(/^>$/m);
    t.type("write\r");
    await t.shows(/yes\.txt[\s\S]*Allow\?/);
    expect(readdirSync(w.cwd)).toEqual([]);
    t.type("y\r");
    await t.shows(/no\.txt[\s\S]*Allow\?[\s\S]*\?$/);
    t.type("call it maybe.txt\r");
    await t.shows("Finished.");
    expect(readdirSync(w.cwd)).toEqual(["yes.txt"]);
    expect(lastText(w.server.mainRequests()[2]?.body)).toContain("call it maybe.txt");
    t.type("\x04");
    expect(await t.ended).toBe(0);
  });

  it("Ctrl-C interrupts the turn, and twice at the prompt leaves", async () => {
    const w = await world({ script: [{ text: "never" }], faults: [{ name: "stall", at: 0 }] });
    const t = terminal(w);
    await t.shows(/^>$/m);
    t.type("go\r");
    await t.shows(/^\+$/m);
    while (w.server.mainRequests().length === 0) await new Promise((r) => setTimeout(r, 10));
    t.type("\x03");
    await t.shows("interrupted");
    w.server.setScript([{ text: "Back again." }]);
    t.type("again\r");
    await t.shows("Back again.");
    await t.shows(/1 model call/);
    t.type("\x03");
    await t.shows("Ctrl-C again to leave");
    t.type("\x03");
    expect(await t.ended).toBe(0);
  });

  it("what is typed while it works is said at the next step", async () => {
    const w = await world({
      script: [{ calls: [{ name: "Bash", input: { command: "until test -e go; do sleep 0.05; done" } }] }, { text: "Understood." }],
    });
    const t = terminal(w, ["--allowedTools", "Bash", "--permission-mode", "bypassPermissions"]);
    await t.shows(/^>$/m);
    t.type("wait\r");
    await t.shows("· Bash until");
    t.type("use tabs\r");
    await t.shows("said to the running turn");
    w.write("project/go", "");
    await t.shows("Understood.");
    expect(JSON.stringify(w.server.mainRequests()[1]?.body)).toContain("use tabs");
    t.type("\x04");
    await t.ended;
  });

  it("a pasted text of several lines is one prompt", async () => {
    const w = await world({ script: [{ text: "Got it." }] });
    const t = terminal(w);
    await t.shows(/^>$/m);
    t.type("\x1b[200~first line\r\nsecond line\rthird line\x1b[201~");
    await t.shows("third line");
    t.type("\r");
    await t.shows("Got it.");
    expect(lastText(w.server.mainRequests()[0]?.body)).toContain("first line\\nsecond line\\nthird line");
    t.type("\x04");
    await t.ended;
  });

  it("nothing that comes from outside steers the terminal", async () => {
    const evil = "before \x1b[2J\x1b]0;owned\x07\x9b2J after\u202e.";
    const w = await world({ script: [{ text: evil }] });
    const t = terminal(w);
    await t.shows(/^>$/m);
    t.type("x\r");
    await t.shows(/1 model call/);
    expect(t.raw()).not.toContain("\x1b[2J");
    expect(t.raw()).not.toContain("\x1b]0;");
    expect(t.text()).toContain("before \\u{9b}2J after\\u{202e}.");
    t.type("\x04");
    await t.ended;
  });

  it("goes on with the newest session", async () => {
    const w = await world({ script: [{ text: "one" }, { text: "two" }] });
    await w.run(["-p", "first"]);
    const t = terminal(w, ["-c", "second"]);
    await t.shows("two");
    expect(JSON.stringify(w.server.mainRequests()[1]?.body)).toMatch(/first.*one.*second/);
    t.type("\x04");
    await t.ended;
  });

  it("without a key says what is needed", async () => {
    const w = await world();
    const t = terminal({ ...w, env: { PATH: w.env["PATH"]!, HOME: w.home } });
    expect(await t.ended).toBe(1);
    expect(t.text().split("\n").length).toBe(3);
  });
});
