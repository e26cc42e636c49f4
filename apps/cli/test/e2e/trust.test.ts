/** Which folders are trusted, in a pseudo-terminal and without one. */
import { chmodSync, existsSync, mkdirSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { terminal } from "./pty.ts";
import { type World, world } from "./run.ts";

/** A project whose plugin leaves a mark when its code runs, and whose settings allow a command. */
function project(w: World, mark = "one"): void {
  w.write("project/.heddle/settings.json", JSON.stringify({ permissions: { allow: ["Bash(touch x)"] } }));
  plugin(w, mark);
}
function plugin(w: World, mark: string, folder = "project"): void {
  const manifest = { name: "marks", version: "1.0.0", type: "module", heddle: { manifest: 1, api: "^1.0.0", main: "./i.js" } };
  w.write(`${folder}/.heddle/plugins/marks/package.json`, JSON.stringify(manifest));
  w.write(
    `${folder}/.heddle/plugins/marks/i.js`,
    `import { writeFileSync } from "node:fs"; writeFileSync("ran-${mark}", ""); export default { setup: () => ({}) };`,
  );
}
const script = Array.from({ length: 8 }, () => ({ text: "Hello." }));
const ran = (w: World, mark = "one"): boolean => existsSync(join(w.cwd, `ran-${mark}`));

async function leave(t: ReturnType<typeof terminal>): Promise<void> {
  await t.shows(/^>$/m);
  t.type("\x04");
  expect(await t.ended).toBe(0);
}

describe("a folder that wants something", () => {
  it("is asked about once, with all that it would get, and runs nothing before the answer", async () => {
    const w = await world({ script });
    project(w);
    const t = terminal(w, [], 200);
    await t.shows(/Trust\? $|Trust\?$/);
    expect(t.text()).toContain(`Do you trust this folder? ${w.cwd}`);
    expect(t.text()).toContain(`allow without asking Bash(touch x)  (${w.cwd}/.heddle/settings.json)`);
    expect(t.text()).toContain(`run the code of the plugin marks  (${w.cwd}/.heddle/plugins)`);
    expect(ran(w)).toBe(false);
    t.type("y\r");
    await leave(t);
    expect(ran(w)).toBe(true);
    expect(statSync(join(w.home, ".heddle", "trust.json")).mode & 0o777).toBe(0o600);
    const again = terminal(w, [], 200);
    await leave(again);
    expect(again.text()).not.toContain("trust");
    expect((await w.run(["-p", "x"])).stderr).toBe("");
  });

  it("is asked about again when the code of a plugin changes, and gets nothing of it before", async () => {
    const w = await world({ script });
    project(w);
    expect((await w.run(["trust"])).stdout).toContain("run the code of the plugin marks");
    expect((await w.run(["-p", "x"])).stderr).toBe("");
    plugin(w, "two");
    expect((await w.run(["-p", "x"])).stderr).toContain("not used");
    expect(ran(w, "two")).toBe(false);
    const t = terminal(w, [], 200);
    await t.shows("This folder wants more than you have trusted it with");
    await t.shows(/Trust\?$/);
    expect(t.text()).not.toContain("Bash(touch x)");
    t.type("n\r");
    await leave(t);
    expect(ran(w, "two")).toBe(false);
    const again = terminal(w, [], 200);
    await leave(again);
    expect(again.text()).not.toContain("Trust?");
  });

  it("is trusted for one session, and what was typed before the question answers nothing", async () => {
    const w = await world({ script });
    project(w);
    const t = terminal(w, [], 200);
    t.type("y\ry\r");
    await t.shows(/Trust\?$/);
    expect(ran(w)).toBe(false);
    t.type("s\r");
    await leave(t);
    expect(ran(w)).toBe(true);
    expect(existsSync(join(w.home, ".heddle", "trust.json"))).toBe(false);
  });

  it("is trusted for one session at most where it is a home", async () => {
    const w = await world({ script });
    w.write("home/.heddle/settings.local.json", JSON.stringify({ permissions: { allow: ["Bash(touch x)"] } }));
    const t = terminal({ ...w, cwd: w.home }, [], 200);
    await t.shows(/Trust\?$/);
    t.type("y\r");
    await t.shows(/Trust\? y\nTrust\?$/);
    t.type("s\r");
    await leave(t);
    expect(existsSync(join(w.home, ".heddle", "trust.json"))).toBe(false);
  });

  it("is not trusted where nobody can be asked, unless heddle trust or --trust said so before, and not after --remove", async () => {
    const w = await world({ script });
    project(w);
    expect((await w.run(["-p", "x"])).stderr).toContain("not used");
    expect(ran(w)).toBe(false);
    expect((await w.run(["trust", w.cwd], { cwd: w.home })).code).toBe(0);
    expect((await w.run(["-p", "x"])).stderr).toBe("");
    expect(ran(w)).toBe(true);
    rmSync(join(w.cwd, "ran-one"));
    expect((await w.run(["trust", "--remove"])).stdout).toBe(`${w.cwd} is trusted no longer.\n`);
    expect((await w.run(["-p", "x"])).stderr).toContain("not used");
    expect(ran(w)).toBe(false);
    expect(await w.run(["trust"], { cwd: w.home })).toMatchObject({ code: 1, stderr: expect.stringContaining("--trust") });
    expect((await w.run(["trust", "nowhere"])).code).toBe(1);
  });

  it("borrows no trust: neither by a worktree file, nor by a folder inside, and a link to it is the folder itself", async () => {
    const w = await world({ script });
    project(w);
    mkdirSync(join(w.cwd, ".git", "worktrees", "evil"), { recursive: true });
    await w.run(["trust"]);
    const evil = join(w.home, "evil");
    plugin(w, "evil", "home/evil");
    writeFileSync(join(evil, ".git"), `gitdir: ${w.cwd}/.git/worktrees/evil\n`);
    mkdirSync(join(evil, "fake"));
    writeFileSync(join(evil, "fake", "commondir"), `${w.cwd}/.git\n`);
    expect((await w.run(["-p", "x"], { cwd: evil })).stderr).toContain("not used");
    plugin(w, "inner", "project/inner");
    expect((await w.run(["-p", "x"], { cwd: join(w.cwd, "inner") })).stderr).toContain("not used");
    expect([existsSync(join(evil, "ran-evil")), existsSync(join(w.cwd, "inner", "ran-inner"))]).toEqual([false, false]);
    symlinkSync(w.cwd, join(w.home, "link"));
    expect((await w.run(["-p", "x"], { cwd: join(w.home, "link") })).stderr).toBe("");
  });

  it("is not trusted by a file that others may write, or that holds anything else", async () => {
    const w = await world({ script });
    project(w);
    await w.run(["trust"]);
    const store = join(w.home, ".heddle", "trust.json");
    chmodSync(store, 0o666);
    expect((await w.run(["-p", "x"])).stderr).toContain("others may write it");
    chmodSync(store, 0o600);
    writeFileSync(store, '{"folders": 1');
    expect((await w.run(["-p", "x"])).stderr).toContain("it cannot be read");
    expect(ran(w)).toBe(false);
    expect(readFileSync(store, "utf8")).toBe('{"folders": 1');
  });
});
