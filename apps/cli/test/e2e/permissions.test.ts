/** `heddle permissions check` in the built program. */
import { describe, expect, it } from "vitest";
import { lines, world } from "./run.ts";

describe("permissions check", () => {
  it("says what is decided, by which rule of which settings, and what would happen", async () => {
    const w = await world();
    w.write("project/.heddle/settings.json", JSON.stringify({ permissions: { deny: ["Bash(git push:*)"] } }));
    const ran = await w.run(["permissions", "check", "ls > out.txt && git -C . push"]);
    expect({ ...ran, ms: 0 }).toEqual({
      code: 0,
      stdout:
        `deny: the rule "deny Bash(git push:*) (${w.cwd}/.heddle/settings.json)" forbids it\n` +
        `decided by: deny Bash(git push:*) (${w.cwd}/.heddle/settings.json)\n` +
        `command: ls\ncommand: git -C . push\nwrite: ${w.cwd}/out.txt\nexecute: git -C . push\nnetwork: git -C . push\n`,
      stderr: "",
      ms: 0,
    });
  });

  it("takes rules and a mode from the command line, and tells of rules that cannot be used", async () => {
    const w = await world();
    const check = async (...args: string[]) => {
      const { stdout, stderr } = await w.run(["permissions", "check", ...args, "--json"]);
      const { decision, rule } = JSON.parse(stdout) as { decision: string; rule: string };
      return [decision, rule, stderr];
    };
    expect(await check("make all", "--allow", "Bash(make:*)")).toEqual(["allow", "allow Bash(make:*) (the command line)", ""]);
    expect(await check("make all", "--mode", "dontAsk")).toEqual(["deny", "mode dontAsk", ""]);
    expect(await check("Write(src/a.ts)", "--mode", "acceptEdits")).toEqual(["allow", "mode acceptEdits", ""]);
    expect(await check("ls", "--deny", "Bash(")).toEqual([
      "deny",
      "deny Bash( (the command line): it is not of the form Tool or Tool(specifier)",
      expect.stringContaining('heddle: The deny rule "Bash(" in the command line cannot be used'),
    ]);
    expect((await w.run(["permissions", "check", "ls", "--mode", "yolo"])).code).toBe(2);
    expect((await w.run(["permissions", "check"])).code).toBe(2);
  });

  it("keeps to settings that switch the mode bypassPermissions off", async () => {
    const w = await world();
    w.write("home/.heddle/settings.json", JSON.stringify({ permissions: { disableBypassPermissionsMode: "disable" } }));
    const ran = await w.run(["permissions", "check", "touch x", "--mode", "bypassPermissions"]);
    expect(ran.stdout).toMatch(/^ask: no rule allows: touch x\n/);
  });

  it("answers lines in their order, each as it comes", async () => {
    const w = await world();
    const stdin = [
      { command: "cat README.md" },
      { command: "Read(.env)", rules: { deny: ["Read(.env)"] }, cwd: w.home },
      { command: "npm test; touch x", rules: { allow: ["Bash(npm test:*)"] }, mode: "default" },
    ];
    const ran = await w.run(["permissions", "check", "--jsonl"], { stdin: stdin.map((l) => `${JSON.stringify(l)}\n`).join("") });
    expect(lines(ran.stdout)).toEqual([
      {
        decision: "allow",
        rule: "read-only command",
        reason: "read-only command",
        commands: ["cat README.md"],
        effects: [{ kind: "read", target: `${w.cwd}/README.md` }],
      },
      {
        decision: "deny",
        rule: "deny Read(.env) (the line)",
        reason: 'the rule "deny Read(.env) (the line)" forbids it',
        commands: [],
        effects: [{ kind: "read", target: `${w.home}/.env` }],
      },
      {
        decision: "ask",
        rule: "mode default",
        reason: "no rule allows: touch x",
        commands: ["npm test", "touch x"],
        effects: [
          { kind: "execute", target: "npm test" },
          { kind: "network", target: "npm test" },
          { kind: "write", target: `${w.cwd}/x` },
        ],
      },
    ]);
    const bad = await w.run(["permissions", "check", "--jsonl"], { stdin: '{"command":1}\n' });
    expect([bad.code, bad.stderr]).toEqual([1, expect.stringContaining("line 1 of stdin: command: ")]);
  });
});
