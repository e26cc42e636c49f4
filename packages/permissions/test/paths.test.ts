import { type TestFiles, testHost } from "@heddle/testkit";
import { describe, expect, it } from "vitest";
import { PROJECT, rules, run } from "./calls.ts";

const files: TestFiles = {
  ...PROJECT,
  "/proj/link": { link: "/home/dev/.ssh" },
  "/proj/alias": { link: ".env" },
  "/proj/in": { link: "src" },
  "/proj/nowhere": { link: "/home/dev/new" },
  "/proj/loop": { link: "loop" },
  "/proj/pipe": { special: true },
  "/proj-evil/x": "",
  "/home/dev/p": { link: "/proj" },
  "/proj/[2024] x/a.md": "",
};
type Case = [tool: "Read" | "Write", path: string, texts: Parameters<typeof rules>[0], say: "allow" | "ask" | "deny"];
async function say(tool: string, file_path: string, texts: Parameters<typeof rules>[0] = {}, mode = "default") {
  const ran = await run({
    call: { tool, input: { file_path } },
    options: rules(texts),
    mode,
    host: testHost({ files }),
    directories: ["/data"],
  });
  return ran.asked.length > 0 ? "ask" : ran.decision.say;
}

describe("anchors and patterns", () => {
  const cases: Case[] = [
    ["Read", "/etc/hosts", {}, "ask"],
    ["Read", "/etc/hosts", { allow: ["Read(//etc/hosts)"] }, "allow"],
    ["Read", "/etc/hosts", { allow: ["Read(/etc/hosts)"] }, "ask"],
    ["Read", "/home/dev/.bashrc", { allow: ["Read(~/.bashrc)"] }, "allow"],
    ["Read", "/home/dev/.ssh/id_rsa", { allow: ["Read"], deny: ["Read(~/.ssh/**)"] }, "deny"],
    ["Read", "/home/dev/.ssh", { deny: ["Read(~/.ssh/**)"] }, "deny"],
    ["Read", "/home/dev/.sshx/id", { deny: ["Read(~/.ssh/**)"] }, "ask"],
    ["Read", "/proj/packages/a/.env", { deny: ["Read(.env)"] }, "deny"],
    ["Read", "/proj/.ENV", { deny: ["Read(./.env)"] }, "deny"],
    ["Read", "/proj/.env.local", { deny: ["Read(.env)"] }, "allow"],
    ["Read", "/proj/.env.local", { deny: ["Read(.env*)"] }, "deny"],
    ["Read", "/srv/.env", { deny: ["Read(//**/.env)"] }, "deny"],
    ["Read", "/proj/packages/a/src/x", { deny: ["Read(src/**)"] }, "deny"],
    ["Read", "/proj/src/../.env", { deny: ["Read(.env)"] }, "deny"],
    ["Read", "/proj/src", { deny: ["Read(src/)"] }, "deny"],
    ["Write", "/proj/.env", { allow: ["Edit"], deny: ["Read(.env)"] }, "deny"],
    ["Write", "/proj/src/x.ts", { allow: ["Edit(src/**)"] }, "allow"],
    ["Write", "/proj/src/x.ts", { allow: ["Edit(/src/**)"] }, "allow"],
    ["Write", "/proj/src/x.ts", { allow: ["Edit(./src/**)"] }, "allow"],
    ["Write", "/proj/packages/a/src/x.ts", { allow: ["Edit(src/**)"] }, "ask"],
    ["Write", "/proj/SRC/x.ts", { allow: ["Edit(src/**)"] }, "ask"],
    ["Write", "/proj/srcx/x.ts", { allow: ["Edit(src/**)"] }, "ask"],
    ["Write", "/proj/[2024] x/a.md", { allow: ["Edit([2024] x/**)"] }, "ask"],
    ["Write", "/proj/[2024] x/a.md", { allow: ["Edit(\\[2024\\] x/**)"] }, "allow"],
    ["Write", "/proj/src/x.ts", { allow: ["Edit(src/x.ts)"], deny: ["Edit(**)"] }, "deny"],
    ["Write", "/proj/src/x.ts", { allow: ["Edit(src/**)"], ask: ["Edit(src/x.ts)"] }, "ask"],
    ["Write", "/proj/src/x.ts", { allow: ["Read(src/**)"] }, "ask"],
    ["Write", "/proj/src/x.ts", { deny: ["Edit"] }, "deny"],
    ["Read", "/proj/src/app.ts", { deny: ["Edit(**)"] }, "allow"],
    ["Read", "/proj/src/app.ts", { deny: ["read"] }, "deny"],
    ["Read", "/proj/src/app.ts", { deny: ["*"] }, "deny"],
    ["Write", "/proj/src/x.ts", { deny: ["Write(src/**)"] }, "deny"],
  ];
  it.each(cases)("%s %s under %j: %s", async (tool, path, texts, expected) => {
    expect(await say(tool, path, texts)).toBe(expected);
  });
  it("`/` stands on the folder of the settings that hold the rule", async () => {
    const rule = { rule: "Read(/secrets/**)", source: "user settings", root: "/home/dev/.heddle" };
    const options = { deny: [rule, { rule: "Read(/own/**)", source: "project settings", root: "/proj" }], home: "/home/dev" };
    const outcome = async (file_path: string) => (await run({ call: { tool: "Read", input: { file_path } }, options })).decision.say;
    expect(await outcome("/proj/secrets/x")).toBe("allow");
    expect(await outcome("/home/dev/.heddle/secrets/x")).toBe("deny");
    expect(await outcome("/proj/own/x")).toBe("deny");
  });
  it("without a known home a `~/` rule is broken, and a broken deny closes", async () => {
    const options = { deny: [{ rule: "Read(~/.ssh/**)", source: "user settings" }] };
    expect((await run({ call: { tool: "Read", input: { file_path: "/proj/README.md" } }, options })).result).toContain(
      "the home folder is not known",
    );
  });
});

describe("the workspace", () => {
  const cases: Case[] = [
    ["Read", "/proj/src/app.ts", {}, "allow"],
    ["Read", "/data/x", {}, "allow"],
    ["Read", "/proj-evil/x", {}, "ask"],
    ["Read", "/proj/../etc/hosts", {}, "ask"],
    ["Read", "src/app.ts", {}, "ask"],
    ["Read", "file:///etc/hosts", {}, "ask"],
    ["Read", "/home/dev/p/src/app.ts", {}, "allow"],
    ["Read", "/proj/link/id_rsa", {}, "ask"],
    ["Read", "/proj/link/id_rsa", { allow: ["Read(./**)"] }, "ask"],
    ["Read", "/proj/link/id_rsa", { allow: ["Read(./**)", "Read(~/.ssh/**)"] }, "allow"],
    ["Read", "/proj/alias", { deny: ["Read(.env)"] }, "deny"],
    ["Read", "/proj/pipe", {}, "ask"],
    ["Read", "/proj/loop", {}, "ask"],
    ["Write", "/proj/in/app.ts", { allow: ["Edit(in/**)"] }, "ask"],
  ];
  it.each(cases)("%s %s under %j: %s", async (tool, path, texts, expected) => {
    expect(await say(tool, path, texts)).toBe(expected);
  });
  it.each([
    ["/proj/src/new.ts", "allow"],
    ["/proj/a/b/c/new.ts", "allow"],
    ["/data/new", "allow"],
    ["/proj/in/new.ts", "allow"],
    ["/tmp/x", "ask"],
    ["/proj/../x", "ask"],
    ["/proj/link/new", "ask"],
    ["/proj/link/a/b/new", "ask"],
    ["/proj/nowhere", "ask"],
    ["/proj/nowhere/x", "ask"],
    ["/proj/loop", "ask"],
  ])("acceptEdits writes %s: %s", async (path, expected) => {
    expect(await say("Write", path, {}, "acceptEdits")).toBe(expected);
  });
});

describe("protected files", () => {
  it.each([
    ".git/hooks/pre-commit",
    ".GIT/config",
    "packages/a/.git/config",
    "src/.git",
    ".git /config",
    ".git::$INDEX_ALLOCATION/config",
    ".git\\config",
    ".heddle/settings.json",
    ".Claude/settings.json",
    ".mcp.JSON",
    ".bashrc",
    ".envrc",
    "packages/a/.npmrc",
    ".vscode/tasks.json",
    ".husky/pre-commit",
    "x.code-workspace",
    "lefthook.yml",
    ".pnp.cjs",
    ".config/git/config",
  ])("%s asks even with an allow rule", async (path) => {
    expect(await say("Write", `/proj/${path}`, { allow: ["Edit", "Edit(**)"] }, "acceptEdits")).toBe("ask");
  });
  it.each(["src/git/config", "docs/.gitkeep", ".gitignore", "package.json", ".claude/worktrees/w/src/a.ts", "src/git.ts"])(
    "%s is not",
    async (path) => {
      expect(await say("Write", `/proj/${path}`, {}, "acceptEdits")).toBe("allow");
    },
  );
  it("start-up files in the home are protected from wide rules too", async () => {
    expect(await say("Write", "/home/dev/.bashrc", { allow: ["Edit(~/**)"] })).toBe("ask");
    expect(await say("Write", "/home/dev/notes.md", { allow: ["Edit(~/**)"] })).toBe("allow");
  });
});

describe("other tools", () => {
  const call = { tool: "mcp__git__push", input: {} };
  it.each([
    [{ allow: ["mcp__git"] }, "allow"],
    [{ allow: ["mcp__git__*"] }, "allow"],
    [{ allow: ["mcp__git__push"] }, "allow"],
    [{ allow: ["mcp__gi"] }, "ask"],
    [{ allow: ["mcp__*"] }, "ask"],
    [{ allow: ["Bash", "Read"] }, "ask"],
    [{ allow: ["mcp__git"], deny: ["mcp__*"] }, "deny"],
    [{ allow: ["mcp__git"], ask: ["mcp__git__push"] }, "ask"],
  ] as const)("mcp under %j: %s", async (texts, expected) => {
    const ran = await run({ call, options: rules(texts as unknown as Parameters<typeof rules>[0]) });
    expect(ran.asked.length > 0 ? "ask" : ran.decision.say).toBe(expected);
  });
  it.each([
    ["https://EXAMPLE.com./a", "domain:example.com", "allow"],
    ["https://api.example.com/", "domain:example.com", "ask"],
    ["https://api.example.com/", "domain:*.example.com", "allow"],
    ["https://example.com/", "domain:*.example.com", "ask"],
    ["https://example.com.evil.test/", "domain:example.com", "ask"],
    ["https://evil.test/?u=https://example.com", "domain:example.com", "ask"],
    ["http://169.254.169.254/latest", "domain:*", "ask"],
    ["http://0251.0376.0251.0376/", "domain:*", "ask"],
    ["http://[::ffff:169.254.169.254]/", "domain:*", "ask"],
    ["http://[::1]/", "domain:*", "ask"],
    ["http://localhost:4096/", "domain:*", "ask"],
    ["http://metadata.google.internal/", "domain:*", "ask"],
    ["https://example.org/", "domain:*", "allow"],
    ["not a url", "domain:*", "ask"],
  ])("WebFetch %s under %s: %s", async (url, spec, expected) => {
    const ran = await run({ call: { tool: "WebFetch", input: { url } }, options: rules({ allow: [`WebFetch(${spec})`] }) });
    expect(ran.asked.length > 0 ? "ask" : ran.decision.say).toBe(expected);
  });
  it("a deny rule may name a field of the input", async () => {
    const options = rules({ allow: ["Deploy"], deny: ["Deploy(where:prod*)"] });
    expect((await run({ call: { tool: "Deploy", input: { where: "prod-eu" } }, options })).outcome).toBe("denied");
    expect((await run({ call: { tool: "Deploy", input: { where: "test" } }, options })).outcome).toBe("ok");
  });
});
