/** Rules that a question offers, and what becomes of those that the person takes. */
import { describe, expect, it } from "vitest";
import { offers, rules, run } from "./calls.ts";

const bash = (command: string) => ({ tool: "Bash", input: { command } });
const write = (file_path: string) => ({ tool: "Write", input: { file_path } });

describe("offered rules", () => {
  it.each([
    ["npm test", ["Bash(npm test)"]],
    ["npm test -- --run 'a b'", ["Bash(npm test -- --run 'a b')"]],
    ["npm run build && npm test", ["Bash(npm run build)", "Bash(npm test)"]],
    ["npm test; npm test", ["Bash(npm test)"]],
    ["git status && npm test | head", ["Bash(npm test)"]],
    ["git commit -m 'it works'", ["Bash(git commit *)"]],
    ["./build.sh", ["Bash(./build.sh)"]],
  ])("of %s are one for each command that has none", async (command, wanted) => {
    expect(await offers({ call: bash(command) })).toEqual([wanted]);
  });

  it.each([
    "timeout 5 npm test",
    "sudo npm test",
    "env A=1 npm test",
    "xargs npm test",
    "bash build.sh",
    "python3 x.py",
    "node x.js",
    "npx something",
    "pnpm dlx something",
    "find . -exec rm {} +",
    "git -c core.pager=x commit",
    "make $TARGET",
    "make $(cat x)",
    "rm *.log",
    "echo x > out.txt",
    "npm test > out.txt",
    "npm test && bash x.sh",
    "export A=1 && npm test",
    "rm -rf /",
    "npm test \u202e",
    `make ${"x".repeat(400)}`,
    Array.from({ length: 20 }, (_, i) => `make t${i}`).join(" && "),
  ])("are none for %s", async (command) => {
    expect(await offers({ call: bash(command) })).toEqual([[]]);
  });

  it("are the very file, and none for what is protected, outside, or no plain name", async () => {
    const of = async (path: string) => (await offers({ call: write(path) }))[0];
    expect(await of("/proj/src/app.ts")).toEqual(["Edit(/src/app.ts)"]);
    for (const path of ["/proj/.git/hooks/pre-commit", "/etc/hosts", "/proj/a*.ts", "/proj/[a].ts", "/proj/(x)/a.ts"])
      expect([path, await of(path)]).toEqual([path, []]);
  });

  it("are the file that is read and the host that is asked, unless it is one of this machine or its network", async () => {
    expect(await offers({ call: { tool: "Read", input: { file_path: "/etc/hosts" } } })).toEqual([["Read(//etc/hosts)"]]);
    const fetch = (url: string) => offers({ call: { tool: "WebFetch", input: { url } } });
    expect(await fetch("https://docs.example.com/a")).toEqual([["WebFetch(domain:docs.example.com)"]]);
    expect(await fetch("http://localhost:3000/")).toEqual([[]]);
  });

  it("are none where a rule wants to be asked, or for a tool that nobody knows", async () => {
    expect(await offers({ call: bash("npm test"), options: rules({ ask: ["Bash(npm:*)"] }) })).toEqual([[]]);
    expect(await offers({ call: { tool: "Deploy", input: { where: "prod" } } })).toEqual([[]]);
  });
});

describe("rules that an answer gives", () => {
  it("hold for the calls after it, and no further than they say", async () => {
    const ran = await run({
      before: [bash("npm test")],
      call: bash("npm test"),
      answer: { kind: "allow", rules: ["Bash(npm test)"] },
    });
    expect([ran.asked.length, ran.decision]).toEqual([
      1,
      { tool: "Bash", say: "allow", by: "permissions", rule: "allow Bash(npm test) (allowed for this session)" },
    ]);
    const other = await run({ before: [bash("npm test")], call: bash("npm test x"), answer: { kind: "allow", rules: ["Bash(npm test)"] } });
    expect(other.asked.length).toBe(2);
  });
});
