/** The demo, and the commands that need no model. */
import { existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { world } from "./run.ts";

const NO_MODEL = { ANTHROPIC_API_KEY: "", ANTHROPIC_BASE_URL: "" };

describe("heddle demo", () => {
  it.each([
    ["with git", true],
    ["without git", false],
  ])("%s fixes the project by itself, and explains the turn", async (_name, git) => {
    const w = await world();
    const bin = join(w.home, "bin");
    mkdirSync(bin);
    for (const name of readdirSync("/usr/bin"))
      if (!name.startsWith("git") && name !== "node") symlinkSync(join("/usr/bin", name), join(bin, name));
    symlinkSync(process.execPath, join(bin, "node"));
    const env = { ...NO_MODEL, TMPDIR: w.home, ...(git ? {} : { PATH: bin }) };
    const ran = await w.run(["demo"], { env });
    const folder = join(w.home, readdirSync(w.home).find((f) => f.startsWith("heddle-demo-"))!);
    expect([ran.code, ran.stderr]).toEqual([0, ""]);
    expect(ran.stdout).toContain("+  const cut = slug.lastIndexOf(separator, max);");
    expect(ran.stdout).toMatch(
      /tool +Bash +error[\s\S]+tool +Edit +ok[\s\S]+tool +Bash +ok[\s\S]+ended: completed; 6 model calls[\s\S]+That was the demo/,
    );
    expect(existsSync(join(folder, ".git"))).toBe(git);
    expect(readFileSync(join(folder, "src", "truncate.js"), "utf8")).toContain("lastIndexOf(separator, max)");
    const explained = await w.run(["explain", "-1"], { env, cwd: folder });
    expect([explained.code, explained.stderr]).toEqual([0, ""]);
    expect(explained.stdout).toContain("Bash(node --test:*)");
  });
});

describe("heddle explain", () => {
  it("--dry prints the request and sends nothing", async () => {
    const w = await world();
    const ran = await w.run(["explain", "--dry", "what now?"], { env: NO_MODEL });
    expect([ran.code, ran.stderr]).toEqual([0, ""]);
    expect(ran.stdout).toContain("@heddle/context/identity");
    const { request } = JSON.parse((await w.run(["explain", "--dry", "what now?", "--json"])).stdout) as {
      request: { messages: unknown[] };
    };
    expect(JSON.stringify(request.messages)).toContain("what now?");
    expect(w.server.requests).toEqual([]);
  });

  it("says what is not there", async () => {
    const w = await world({ script: [{ text: "ok" }] });
    const none = await w.run(["explain"]);
    expect([none.code, none.stdout]).toEqual([1, ""]);
    await w.run(["-p", "x"]);
    const ran = await w.run(["explain", "7"]);
    expect([ran.code, ran.stderr]).toEqual([2, expect.stringMatching(/^heddle: session \S+ has no turn 7: it has 1 to 1\n$/)]);
  });
});

describe("heddle plugins", () => {
  it("lists, checks, and says who owns a name", async () => {
    const w = await world();
    const list = JSON.parse((await w.run(["plugins", "list", "--json"])).stdout) as { id: string }[];
    expect(list.map((p) => p.id)).toEqual([
      "@heddle/context",
      "@heddle/permissions",
      "@heddle/input-pipeline",
      "@heddle/commands",
      "@heddle/tools",
      "@heddle/attachments",
      "@heddle/compaction",
      "@heddle/provider-anthropic",
      "@heddle/provider-openai",
    ]);
    const check = await w.run(["plugins", "check"]);
    expect([check.code, check.stdout]).toEqual([0, "9 of 9 plugins work\n"]);
    expect((await w.run(["plugins", "why", "/help"])).stdout).toMatch(/^help at commands: @heddle\/commands .*\(built in\)\n$/);
    const unknown = await w.run(["plugins", "why", "Grepp"]);
    expect([unknown.code, unknown.stderr]).toEqual([1, 'heddle: no plugin contributes "Grepp"; did you mean "Grep"?\n']);
  });

  it("names one that is broken, and the turn goes on", async () => {
    const w = await world({ script: [{ text: "Fine." }] });
    const manifest = { manifest: 1, api: "^1.0.0", main: "./i.js" };
    w.write("home/.heddle/plugins/bad/package.json", JSON.stringify({ name: "bad", version: "1.0.0", type: "module", heddle: manifest }));
    w.write("home/.heddle/plugins/bad/i.js", 'export default { setup() { throw new Error("on purpose"); } };');
    const check = await w.run(["plugins", "check"]);
    expect([check.code, check.stdout.split("\n").length]).toEqual([1, 3]);
    expect(check.stdout).toContain("on purpose");
    const ran = await w.run(["-p", "x"]);
    expect([ran.code, ran.stdout]).toEqual([0, "Fine.\n"]);
    expect(ran.stderr).toMatch(/^heddle: plugin "bad"@1\.0\.0 .*on purpose.*\n$/);
    expect((await w.run(["-p", "x", "--safe"])).stderr).toBe("");
  });
});

describe("heddle doctor", () => {
  it("says what is there and what to do", async () => {
    const w = await world();
    const fine = await w.run(["doctor"]);
    expect([fine.code, fine.stderr]).toEqual([0, ""]);
    for (const name of ["heddle", "model", "ripgrep", "git", "images", "state", "settings", "trust"])
      expect(fine.stdout).toMatch(new RegExp(`^(ok|note) +${name} `, "m"));
    expect(existsSync(join(w.home, ".heddle", "projects"))).toBe(false);
    const bad = await w.run(["doctor"], { env: NO_MODEL });
    expect(bad.code).toBe(1);
    expect(bad.stdout).toMatch(/^fail +model .*ANTHROPIC_API_KEY/m);
  });
});
