/** What a person is asked before a call runs, in a pseudo-terminal. */
import { existsSync, readFileSync, statSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { terminal } from "./pty.ts";
import { type World, world } from "./run.ts";

const bash = (...commands: string[]) => ({ calls: commands.map((command) => ({ name: "Bash", input: { command } })) });
const local = (w: World): string => join(w.cwd, ".heddle", "settings.local.json");

async function leave(t: ReturnType<typeof terminal>): Promise<void> {
  await t.shows(/^>$/m);
  t.type("\x04");
  expect(await t.ended).toBe(0);
}

describe("the question of a call", () => {
  it("says what, why and by which rule; for the session, the same is asked once", async () => {
    const w = await world({ script: [bash("touch one", "touch one"), bash("touch one"), { text: "Finished." }] });
    const t = terminal(w, [], 120);
    await t.shows(/^>$/m);
    t.type("go\r");
    await t.shows(
      /command: touch one\nno rule allows: touch one \(mode default\)\nAllow\? .*\n {2}s for this session · a always, .*: Bash\(touch one\)/,
    );
    t.type("s\r");
    await t.shows("Finished.");
    expect(t.text().match(/Allow\?/g)?.length).toBe(1);
    expect([existsSync(join(w.cwd, "one")), existsSync(local(w))]).toEqual([true, false]);
    await leave(t);
  });

  it("keeps a rule for later sessions, which need no trust for it, and what the file said", async () => {
    const w = await world({ script: [bash("touch one", "touch 'a b'"), { text: "Finished." }, bash("touch one"), { text: "Again." }] });
    w.write("project/.heddle/settings.local.json", '{\n  // mine\n  "model": "claude-haiku-5-5", \n}\n');
    const t = terminal(w, [], 120);
    await t.shows(/^>$/m);
    t.type("go\r");
    await t.shows(/Allow\?[\s\S]*\?$/);
    t.type("a\r");
    await t.shows(/saved in \.heddle\/settings\.local\.json[\s\S]*a b[\s\S]*Allow\?[\s\S]*\?$/);
    t.type("a\r");
    await t.shows("Finished.");
    await leave(t);
    expect(readFileSync(local(w), "utf8")).toContain("// mine");
    expect(readFileSync(local(w), "utf8")).toContain('"Bash(touch one)",\n      "Bash(touch \'a b\')"');
    expect(statSync(local(w)).mode & 0o777).toBe(0o600);
    const later = await w.run(["-p", "again"]);
    expect([later.stdout, later.stderr]).toEqual(["Again.\n", ""]);
  });

  it("saves through no link, and allows for the session all the same", async () => {
    const w = await world({ script: [bash("touch one", "touch one"), { text: "Finished." }] });
    w.write("elsewhere/x", "");
    symlinkSync(join(w.home, "..", "elsewhere"), join(w.cwd, ".heddle"));
    const t = terminal(w, [], 120);
    await t.shows(/^>$/m);
    t.type("go\r");
    await t.shows(/Allow\?[\s\S]*\?$/);
    t.type("a\r");
    await t.shows(/not saved, and allowed for this session: .* is a link/);
    await t.shows("Finished.");
    expect(existsSync(local(w))).toBe(false);
    await leave(t);
  });

  it("offers no rule for what runs anything, and shows what hides", async () => {
    const w = await world({ script: [bash("bash x.sh \u202e"), { text: "Finished." }] });
    const t = terminal(w, [], 120);
    await t.shows(/^>$/m);
    t.type("go\r");
    await t.shows(/command: bash x\.sh \\u\{202e\}[\s\S]*Allow\? .*\n\?$/);
    t.type("s\r");
    t.type("use make\r");
    await t.shows("Finished.");
    expect(JSON.stringify(w.server.mainRequests()[1]?.body)).toContain("use make");
    await leave(t);
  });

  it("shows what a change of a file changes", async () => {
    const w = await world();
    w.write("project/a.txt", "one\ntwo\nthree\n");
    const file_path = join(w.cwd, "a.txt");
    const call = (name: string, input: Record<string, string>) => ({ calls: [{ name, input }] });
    w.server.setScript([
      call("Read", { file_path }),
      call("Edit", { file_path, old_string: "one\ntwo", new_string: "one\n2\u200b" }),
      call("Write", { file_path, content: "one\ntwo\n3\n" }),
      { text: "Finished." },
    ]);
    const t = terminal(w, [], 120);
    await t.shows(/^>$/m);
    t.type("go\r");
    await t.shows(/a\.txt\n {2}once:\n {3}one\n {2}-two\n {2}\+2\\u\{200b\}\n[\s\S]*: Edit\(\/a\.txt\)\n\?$/);
    t.type("n\r");
    await t.shows(/@@ line 1 @@\n {3}one\n {3}two\n {2}-three\n {2}\+3\n[\s\S]*Allow\?[\s\S]*\?$/);
    t.type("y\r");
    await t.shows("Finished.");
    expect(readFileSync(file_path, "utf8")).toBe("one\ntwo\n3\n");
    await leave(t);
  });

  it("is answered by nothing that was typed before it, which comes back", async () => {
    const w = await world({ script: [bash("touch one"), { text: "Finished." }] });
    const t = terminal(w, [], 120);
    await t.shows(/^>$/m);
    t.type("go\r");
    await t.shows(/command: touch one/);
    t.type("y\ry");
    await t.shows(/Allow\?[\s\S]*\?$/);
    expect(existsSync(join(w.cwd, "one"))).toBe(false);
    t.type("n\r");
    await t.shows("Finished.");
    expect(existsSync(join(w.cwd, "one"))).toBe(false);
    t.type("\x03");
    await leave(t);
  });
});
