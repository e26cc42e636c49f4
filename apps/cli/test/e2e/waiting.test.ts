/** What is typed while a turn runs. */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { terminal } from "./pty.ts";
import { type World, world } from "./run.ts";

const waits = { calls: [{ name: "Bash", input: { command: "until test -e go; do sleep 0.05; done" } }] };
const ALL = ["--permission-mode", "bypassPermissions"];
const bodies = (w: World): string[] => w.server.mainRequests().map((r) => JSON.stringify((r.body as { messages: unknown[] }).messages));

describe("typed while a turn runs", () => {
  it("commands and shell lines run after it, and never reach the model as text", async () => {
    const w = await world({ script: [waits, { text: "First done." }, { text: "Last done." }] });
    const t = terminal(w, ALL);
    await t.shows(/^>$/m);
    t.type("wait\r");
    await t.shows("· Bash until");
    t.type("/help\r");
    await t.shows("runs when this turn has ended");
    t.type("!echo hey > out.txt\r");
    t.type("and then this\r");
    await t.shows("+ and then this");
    w.write("project/go", "");
    await t.shows("First done.");
    await t.shows("Lists the commands");
    await t.shows("Last done.");
    expect(existsSync(join(w.cwd, "out.txt"))).toBe(true);
    const sent = bodies(w);
    expect(sent.length).toBe(3);
    expect(sent[1]).not.toMatch(/and then this|\/help|echo hey/);
    expect(sent[2]).toContain("and then this");
    t.type("\x04");
    await t.ended;
  });

  it("one text comes back to the line after Ctrl-C, and Enter sends it", async () => {
    const w = await world({ script: [waits, { text: "Now." }] });
    const t = terminal(w, ALL);
    await t.shows(/^>$/m);
    t.type("wait\r");
    await t.shows("· Bash until");
    t.type("use tabs\r");
    await t.shows("said to the running turn");
    t.type("\x03");
    await t.shows(/interrupted[\s\S]*\n> use tabs$/);
    await new Promise((r) => setTimeout(r, 300));
    expect(w.server.mainRequests().length).toBe(1);
    t.type("\r");
    await t.shows("Now.");
    expect(bodies(w)[1]).toContain("use tabs");
    t.type("\x04");
    await t.ended;
  });

  it("several are listed after Ctrl-C, and an empty line sends them in order", async () => {
    const w = await world({ script: [waits, { text: "One." }, { text: "Two." }] });
    const t = terminal(w, ALL);
    await t.shows(/^>$/m);
    t.type("wait\r");
    await t.shows("· Bash until");
    t.type("use tabs\r");
    await t.shows("said to the running turn");
    t.type("and spaces\r");
    await t.shows(/said to the running turn[\s\S]*said to the running turn/);
    t.type("half a li");
    await t.shows("+ half a li");
    t.type("\x03");
    await t.shows(/not sent yet; Enter on an empty line sends:\n {2}use tabs\n {2}and spaces\n> half a li$/);
    t.type("\x03");
    await t.shows(/^>$/m);
    expect(w.server.mainRequests().length).toBe(1);
    t.type("\r");
    await t.shows("One.");
    await t.shows("Two.");
    expect(bodies(w)[1]).toMatch(/use tabs/);
    expect(bodies(w)[2]).toMatch(/use tabs.*One.*and spaces/);
    t.type("\x04");
    await t.ended;
  });

  it("does not split what streams in", async () => {
    const words = Array.from({ length: 60 }, (_, i) => `word${i}`).join(" ");
    const w = await world({ script: [{ text: words }, { text: "Later." }], faults: [{ name: "slow", at: 0 }] });
    const t = terminal(w, [], 60);
    await t.shows(/^>$/m);
    t.type("go\r");
    await t.shows("word5");
    t.type("typed meanwhile\r");
    await t.shows("Later.");
    const body = t.text();
    for (let i = 0; i < 60; i++) expect(body).toMatch(new RegExp(`\\bword${i}\\b`));
    expect(body).toMatch(/^\+ typed meanwhile$/m);
    t.type("\x04");
    await t.ended;
  });

  it("a lone mark is answered with a hint, and not sent", async () => {
    const w = await world();
    const t = terminal(w);
    await t.shows(/^>$/m);
    t.type("/\r");
    await t.shows("/help lists them");
    t.type("!\r");
    await t.shows("as in !git status");
    t.type("\x04");
    await t.ended;
    expect(w.server.requests).toEqual([]);
  });
});

describe("an ask", () => {
  it("hides nothing of the call", async () => {
    const command = "echo ok \x1b]; touch hidden.txt; : \x07";
    const w = await world({ script: [{ calls: [{ name: "Bash", input: { command } }] }, { text: "Fine." }] });
    const t = terminal(w);
    await t.shows(/^>$/m);
    t.type("go\r");
    await t.shows(/command: echo ok \\u\{1b\}\]; touch hidden\.txt; : \\u\{7\}[\s\S]*Allow\?/);
    t.type("n\r");
    await t.shows("Fine.");
    expect(existsSync(join(w.cwd, "hidden.txt"))).toBe(false);
    t.type("\x04");
    await t.ended;
  });
});
