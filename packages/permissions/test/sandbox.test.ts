import { describe, expect, it } from "vitest";
import { type Run, rules, run } from "./calls.ts";

const judge = async (command: string, more: Partial<Run> = {}): Promise<readonly [string, string | undefined]> => {
  const options = rules({}, { sandboxed: true });
  const { decision, asked } = await run({ call: { tool: "Bash", input: { command } }, options, sandbox: "inside", ...more });
  return [asked.length > 0 ? "ask" : decision.say, asked[0] ?? decision.rule];
};
const YES = ["allow", "it runs in the sandbox"];

describe("in a sandbox", () => {
  it.each([
    "npm test",
    "make all > build.log 2>&1",
    "python3 -c 'print(1)'",
    "rm -r src/old",
    "for f in $(ls); do [[ -n $f ]] && echo $f; done",
    "curl example.com",
    "cat /etc/hosts",
    "echo x > /etc/hosts",
  ])("runs unasked: %s", async (command) => {
    expect(await judge(command)).toEqual(YES);
  });
  it("asks for what cannot be seen, what is protected, and what nobody approves in advance", async () => {
    expect(await judge("ls\u200b")).toEqual(["ask", "the command holds characters that cannot be seen"]);
    expect(await judge(`echo ${"a".repeat(10_000)}`)).toEqual(["ask", "the command is longer than 10000 characters"]);
    expect(await judge("mkdir -p packages/a/.vscode")).toEqual(["ask", ".vscode/ is protected: /proj/packages/a/.vscode"]);
    expect(await judge("cd packages && echo x > a/.npmrc")).toEqual(["ask", ".npmrc is protected: /proj/packages/a/.npmrc"]);
    expect(await judge("[[ -e x ]] || echo x > .envrc")).toEqual(["ask", ".envrc is protected: /proj/.envrc"]);
    expect(await judge("rm -rf .")).toEqual(["ask", "it would remove /proj"]);
  });
  it("keeps to rules that deny and ask, and to the mode plan", async () => {
    const options = rules({ deny: ["Bash(npm publish:*)", "Read(.env)"], ask: ["Bash(make:*)"] }, { sandboxed: true });
    expect((await judge("cd x; npm publish", { options }))[0]).toBe("deny");
    expect((await judge("cat .env", { options }))[0]).toBe("deny");
    expect((await judge("make", { options }))[0]).toBe("ask");
    expect((await judge("$X publish", { options }))[0]).toBe("ask");
    expect(await judge("npm test", { mode: "plan" })).toEqual(["deny", "mode plan"]);
  });
  it("runs unasked also where nobody may be asked", async () => {
    expect(await judge("npm test", { mode: "dontAsk" })).toEqual(YES);
  });
  it("counts only where the settings say so", async () => {
    expect(await judge("npm test", { options: rules({}) })).toEqual(["ask", "no rule allows: npm test"]);
  });
  it("is believed of commands only", async () => {
    const call = { tool: "Deploy", input: { where: "x" } };
    expect((await run({ call, options: rules({}, { sandboxed: true }), sandbox: "inside" })).asked).toHaveLength(1);
  });
});

describe("outside the sandbox", () => {
  it("is asked for, whatever allows the command, and forbidden what is forbidden", async () => {
    const options = rules({ allow: ["Bash"], deny: ["Bash(rm:*)"] }, { sandboxed: true });
    const outside = { options, sandbox: "outside" } as const;
    expect(await judge("ls", outside)).toEqual(["ask", "it would run outside the sandbox"]);
    expect((await judge("rm x", outside))[0]).toBe("deny");
    expect(await judge("ls", { ...outside, mode: "dontAsk" })).toEqual(["deny", "sandbox"]);
    expect(await judge("ls", { ...outside, mode: "bypassPermissions" })).toEqual(["allow", "mode bypassPermissions"]);
  });
});
