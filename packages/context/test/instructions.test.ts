import { ownPlugin, runTurnWith, type TestFiles } from "@heddle/testkit";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import packageJson from "../package.json" with { type: "json" };
import plugin from "../src/index.ts";

const HOME = "/home/u";

async function read(files: TestFiles, cwd = "/w", home?: string): Promise<{ text: string; paths: string[]; logs: string[] }> {
  const plugins = [ownPlugin(plugin, packageJson, home ? { home } : {})];
  const { requests, logs } = await runTurnWith({ plugins, replies: ["ok"], files, cwd });
  const text = requests[0]!.prefix.context.find((p) => p.name === "instructions")?.text ?? "";
  return { text, paths: [...text.matchAll(/<instructions path="(.*)">/g)].map((m) => m[1]!), logs: logs.map((l) => l.text) };
}
const count = (text: string, word: string): number => text.split(word).length - 1;

describe("where instruction files are found", () => {
  it("gives the whole text, block by block", async () => {
    const { text } = await read({ "/w/AGENTS.md": "\uFEFFBe kind.\r\nBe brief.\r\n" });
    expect(text).toMatch(
      /^Instructions of the user and the project\.[^\n]*\n\n<instructions path="\/w\/AGENTS\.md">\nBe kind\.\nBe brief\.\n<\/instructions>$/,
    );
  });

  it("goes from the user over the root down to the folder", async () => {
    const { paths } = await read(
      {
        [`${HOME}/.heddle/AGENTS.md`]: "u2",
        [`${HOME}/.claude/CLAUDE.md`]: "u1",
        "/CLAUDE.md": "root",
        "/w/CLAUDE.md": "w1",
        "/w/.claude/CLAUDE.md": "w2",
        "/w/CLAUDE.local.md": "w3",
        "/w/p/q/CLAUDE.md": "q",
        "/w/p/q/deeper/CLAUDE.md": "not yet",
        "/w/other/CLAUDE.md": "not here",
      },
      "/w/p/q",
      HOME,
    );
    expect(paths).toEqual([
      `${HOME}/.claude/CLAUDE.md`,
      `${HOME}/.heddle/AGENTS.md`,
      "/CLAUDE.md",
      "/w/CLAUDE.md",
      "/w/.claude/CLAUDE.md",
      "/w/CLAUDE.local.md",
      "/w/p/q/CLAUDE.md",
    ]);
  });

  it("takes AGENTS.md only where a folder has no CLAUDE.md", async () => {
    const files = {
      "/w/AGENTS.md": "a",
      "/w/CLAUDE.local.md": "l",
      "/w/p/AGENTS.md": "no",
      "/w/p/CLAUDE.md": "c",
      "/w/p/q/AGENTS.md": "no",
      "/w/p/q/.claude/CLAUDE.md": "d",
    };
    expect((await read(files, "/w/p/q")).paths).toEqual([
      "/w/AGENTS.md",
      "/w/CLAUDE.local.md",
      "/w/p/CLAUDE.md",
      "/w/p/q/.claude/CLAUDE.md",
    ]);
  });

  it("reads no user files without a home, and says nothing when there are none", async () => {
    expect(await read({ [`${HOME}/.claude/CLAUDE.md`]: "u" })).toEqual({ text: "", paths: [], logs: [] });
  });

  it("loads the user's file once when the session runs in the home folder", async () => {
    expect((await read({ [`${HOME}/.claude/CLAUDE.md`]: "u" }, HOME, HOME)).paths).toEqual([`${HOME}/.claude/CLAUDE.md`]);
  });

  it.each([
    ["a symlink", { link: "AGENTS.md" }],
    ["a checked-out link that is text", "AGENTS.md"],
    ["an import", "@AGENTS.md"],
    ["an import among text", "Text.\n@AGENTS.md\n"],
  ])("loads one file once: CLAUDE.md is %s of AGENTS.md", async (_, claude) => {
    const { text } = await read({ "/w/AGENTS.md": "CANARY", "/w/CLAUDE.md": claude });
    expect(count(text, "CANARY")).toBe(1);
  });

  it("does not follow a link of the project to the outside, and says so", async () => {
    const { text, paths, logs } = await read({ "/secret": "KEY", "/w/CLAUDE.md": { link: "/secret" } });
    expect(paths).toEqual([]);
    expect(logs).toEqual(["/w/CLAUDE.md was not loaded, because it is a link to a file outside of the project."]);
    expect(text).toContain(logs[0]);
    expect(text).not.toContain("KEY");
  });

  it("passes over what is no text, too large or a folder", async () => {
    const { paths, logs } = await read(
      { "/CLAUDE.md/x": "", "/w/CLAUDE.md": Uint8Array.of(65, 0, 66), "/w/p/CLAUDE.md": "x".repeat(4 * 1024 * 1024 + 1) },
      "/w/p",
    );
    expect(paths).toEqual([]);
    expect(logs).toEqual(["/w/p/CLAUDE.md was not loaded, because it is larger than 4 MiB."]);
  });
});

describe("a worktree within its repository", () => {
  const files = (rule: string): TestFiles => ({
    "/top/CLAUDE.md": "above",
    "/top/repo/.git/HEAD": "x",
    "/top/repo/.git/worktrees/x/commondir": "../..",
    "/top/repo/CLAUDE.md": "CANARY main",
    "/top/repo/.wt/x/.git": "gitdir: /top/repo/.git/worktrees/x",
    "/top/repo/.wt/x/CLAUDE.md": rule,
    "/top/repo/.wt/x/sub/a": "",
  });
  it.each(["CANARY main", "CANARY changed on this branch"])("has each rule once: %s", async (rule) => {
    for (const cwd of ["/top/repo/.wt/x", "/top/repo/.wt/x/sub"]) {
      const { text, paths } = await read(files(rule), cwd);
      expect(paths).toEqual(["/top/CLAUDE.md", "/top/repo/.wt/x/CLAUDE.md"]);
      expect(count(text, "CANARY")).toBe(1);
    }
  });
  it("has each rule once also when the copy is no worktree", async () => {
    const { text } = await read({ "/w/CLAUDE.md": "CANARY", "/w/copy/CLAUDE.md": "CANARY\n" }, "/w/copy");
    expect(count(text, "CANARY")).toBe(1);
  });
});

describe("imports", () => {
  it.each([
    ["/w/p", "/w"],
    ["/w/p/q", "/w"],
    ["/w/p", "/w/p"],
    ["/w/p/q", "/w/p"],
  ])("of an ancestor are found from %s with the repository at %s", async (cwd, root) => {
    const { text } = await read(
      {
        [`${root}/.git/HEAD`]: "x",
        "/w/CLAUDE.md": "@more.md and @AGENTS.md",
        "/w/more.md": "CANARY1",
        "/w/AGENTS.md": "CANARY2",
        "/w/p/q/a": "",
      },
      cwd,
    );
    expect([count(text, "CANARY1"), count(text, "CANARY2")]).toEqual([1, 1]);
  });

  it("are relative to the file that holds them", async () => {
    const { paths } = await read({ "/w/CLAUDE.md": "see @docs/a.md", "/w/docs/a.md": "see @b.md", "/w/docs/b.md": "b", "/w/b.md": "no" });
    expect(paths).toEqual(["/w/CLAUDE.md", "/w/docs/a.md", "/w/docs/b.md"]);
  });

  it("go four hops deep", async () => {
    const chain = Object.fromEntries([1, 2, 3, 4, 5].map((n) => [`/w/${n}.md`, `hop ${n} @${n + 1}.md`]));
    const { paths } = await read({ "/w/CLAUDE.md": "start @1.md", ...chain });
    expect(paths).toEqual(["/w/CLAUDE.md", "/w/1.md", "/w/2.md", "/w/3.md", "/w/4.md"]);
  });

  it("in a circle are read once", async () => {
    const { paths } = await read({ "/w/CLAUDE.md": "a @b.md @CLAUDE.md", "/w/b.md": "b @CLAUDE.md @b.md" });
    expect(paths).toEqual(["/w/CLAUDE.md", "/w/b.md"]);
  });

  it("are no imports in code, in an address, in a package name or in a comment", async () => {
    const { text, paths } = await read({
      "/w/CLAUDE.md": [
        "Mail foo@x.md, use @scope/pkg, `@x.md`, ``a ` @x.md``, `over",
        "two @x.md lines`.",
        "<!-- not @x.md -->",
        "```",
        "@x.md",
        "````",
        "~~~md",
        "@x.md",
        "```",
        "~~~",
        "- ```",
        "  @x.md",
        "  ```",
      ].join("\n"),
      "/w/x.md": "X",
    });
    expect(paths).toEqual(["/w/CLAUDE.md"]);
    expect(text).toContain("@scope/pkg");
    expect(text).not.toContain("not @x.md");
  });

  it("may end in punctuation, and have spaces behind backslashes", async () => {
    const { paths } = await read({
      "/w/CLAUDE.md": "See @a.md, (not a start: (@b.md) but `x` @c\\ d.md.\n\n` @e.md",
      "/w/a.md": "a",
      "/w/b.md": "b",
      "/w/c d.md": "c",
      "/w/e.md": "e",
    });
    expect(paths).toEqual(["/w/CLAUDE.md", "/w/a.md", "/w/c d.md", "/w/e.md"]);
  });

  it("leave what they cannot find, or what is a folder, as text", async () => {
    const { text, paths } = await read({ "/w/CLAUDE.md": "see @gone.md and @docs", "/w/docs/a": "" });
    expect(paths).toEqual(["/w/CLAUDE.md"]);
    expect(text).toContain("see @gone.md and @docs");
  });

  it("from outside the project come only with user files", async () => {
    const files = {
      "/etc/x.md": "OUTSIDE",
      "/home/u/notes.md": "NOTES",
      "/w/link.md": { link: "/etc/x.md" },
      "/w/CLAUDE.md": "a @/etc/x.md @../home/u/notes.md @~/notes.md @link.md",
    };
    const project = await read(files, "/w", HOME);
    expect(project.paths).toEqual(["/w/CLAUDE.md"]);
    const user = await read({ ...files, [`${HOME}/.claude/CLAUDE.md`]: "u @~/notes.md @/etc/x.md" }, "/w", HOME);
    expect(user.paths).toEqual([`${HOME}/.claude/CLAUDE.md`, "/home/u/notes.md", "/etc/x.md", "/w/CLAUDE.md"]);
  });

  it("give a project file no more rights when a user file imports it", async () => {
    const { paths } = await read(
      { [`${HOME}/.claude/CLAUDE.md`]: "u @/w/rules.md", "/w/rules.md": "r @/etc/x.md", "/etc/x.md": "X", "/w/a": "" },
      "/w",
      HOME,
    );
    expect(paths).toEqual([`${HOME}/.claude/CLAUDE.md`, "/w/rules.md"]);
  });
});

describe("comments", () => {
  it("are taken out where they are blocks, and kept in code", async () => {
    const { text } = await read({
      "/w/CLAUDE.md":
        "one\n<!-- gone\nover lines -->\ntwo\n```\n<!-- kept -->\n```\nthree <!-- inline --> four\n<!-- a --> five\n<!-- open @x.md",
    });
    expect(text).toContain("one\ntwo\n```\n<!-- kept -->\n```\nthree <!-- inline --> four\n five\n<!-- open @x.md");
  });
});

describe("the limit of 40,000 characters", () => {
  it("cuts the longest first and names it", async () => {
    const { text, logs } = await read({ "/CLAUDE.md": "small", "/w/CLAUDE.md": "x".repeat(50_000) });
    expect(text.length).toBeLessThanOrEqual(40_000);
    expect(text.length).toBeGreaterThan(39_500);
    expect(text).toContain("small");
    expect(text).toMatch(/\[cut here: \d+ of 50000 characters; read the file for the rest\]/);
    expect(logs).toEqual([
      "The instruction files hold 50005 characters, and 40000 are the limit: the longest are cut. The biggest is /w/CLAUDE.md (50000 characters); make it shorter.",
    ]);
    expect(text).toContain(logs[0]);
  });

  it("stops after 64 files", async () => {
    const names = Array.from({ length: 100 }, (_, i) => `f${i}.md`);
    const { paths, logs } = await read({
      "/w/CLAUDE.md": `all ${names.map((n) => `@${n}`).join(" ")}`,
      ...Object.fromEntries(names.map((n) => [`/w/${n}`, n])),
    });
    expect(paths.length).toBe(64);
    expect(logs).toEqual(["/w/f63.md and what comes after it were not loaded: 64 files are the limit."]);
  });

  it("holds for any files", async () => {
    const piece = fc.constantFrom("word ", "\n", "```\n", "`", "<!--", "-->", "@a.md ", "@b.md", "\n\n", "😀", "\ud800", "x".repeat(9_000));
    const body = fc.array(piece, { maxLength: 12 }).map((l) => l.join(""));
    await fc.assert(
      fc.asyncProperty(body, body, body, async (claude, a, b) => {
        const { text } = await read({ "/w/CLAUDE.md": claude, "/w/a.md": a, "/w/b.md": b });
        expect(text.length).toBeLessThanOrEqual(40_000);
        expect(text.isWellFormed()).toBe(true);
      }),
      { numRuns: 100 },
    );
  });

  it("reads a hostile file in linear time", async () => {
    const ticks = Array.from({ length: 1_000 }, (_, i) => "`".repeat(i + 1)).join(" ");
    const { paths } = await read({ "/w/CLAUDE.md": `${"<!--\n".repeat(50_000)}${ticks}\n${"` ".repeat(100_000)}` });
    expect(paths).toEqual(["/w/CLAUDE.md"]);
  });
});
