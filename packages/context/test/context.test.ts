import { ownPlugin, runTurnWith, type TestFiles, testHost } from "@heddle/testkit";
import { describe, expect, it } from "vitest";
import packageJson from "../package.json" with { type: "json" };
import plugin from "../src/index.ts";

const NOON = new Date(2026, 10, 30, 12).getTime();

async function prefix(files: TestFiles, options: unknown, more: { cwd?: string; directories?: readonly string[] } = {}) {
  const plugins = [ownPlugin(plugin, packageJson, options)];
  const { requests, logs } = await runTurnWith({ plugins, replies: ["ok"], host: testHost({ files, at: NOON }), cwd: "/w", ...more });
  const { system, context } = requests[0]!.prefix;
  const byName = Object.fromEntries([...system, ...context].map((p) => [p.name, p.text]));
  return { names: { system: system.map((p) => p.name), context: context.map((p) => p.name) }, byName, logs };
}

describe("system prompt parts", () => {
  it("gives identity, environment and date in an empty folder", async () => {
    const { names, byName } = await prefix({ "/w/a": "" }, { platform: "linux" }, { directories: ["/x"] });
    expect(names).toEqual({ system: ["identity", "environment"], context: ["date"] });
    expect(byName["environment"]).toBe(
      "# Environment\nWorking directory: /w\nFurther workspace folders: /x\nGit repository: no\nPlatform: linux",
    );
    expect(byName["date"]).toBe("Today's date: 2026-11-30 (Monday)");
  });

  it("keeps the identity below 700 tokens", async () => {
    const { byName } = await prefix({}, undefined);
    expect(new TextEncoder().encode(byName["identity"]).length / 3.6).toBeLessThan(700);
  });

  it("sees a repository above the folder, and none in an empty .git", async () => {
    const inside = await prefix({ "/w/.git/HEAD": "ref: refs/heads/main\n", "/w/p/a": "" }, { git: false }, { cwd: "/w/p" });
    expect(inside.byName["environment"]).toContain("Git repository: yes");
    const empty = await prefix({ "/w/.git/junk": "" }, { git: false });
    expect(empty.byName["environment"]).toContain("Git repository: no");
  });

  it("puts systemPrompt in place of identity, environment and git, and appendSystemPrompt last", async () => {
    const files = { "/w/.git/HEAD": "ref: refs/heads/main\n", "/w/AGENTS.md": "House rule." };
    const { names, byName } = await prefix(files, { systemPrompt: "You are a poet.", appendSystemPrompt: "Rhyme." });
    expect(names).toEqual({ system: ["identity", "append"], context: ["instructions", "date"] });
    expect(byName["identity"]).toBe("You are a poet.");
    expect(byName["append"]).toBe("Rhyme.");
  });

  it("adds appendSystemPrompt to its own parts", async () => {
    const { names } = await prefix({}, { appendSystemPrompt: "Rhyme." });
    expect(names.system).toEqual(["identity", "environment", "append"]);
  });

  it("refuses options that it does not know", async () => {
    await expect(prefix({}, { sytemPrompt: "x" })).rejects.toThrow(/sytemPrompt/);
  });

  it("gives the same bytes for the same folder", async () => {
    const files = { "/w/CLAUDE.md": "a @b.md", "/w/b.md": "b" };
    expect(await prefix(files, {})).toEqual(await prefix(files, {}));
  });
});
