import { testHost } from "@heddle/testkit";
import { describe, expect, it } from "vitest";
import { PROJECT, rules, run } from "./calls.ts";

const bash = (command: string) => ({ tool: "Bash", input: { command } });
const read = (file_path: string) => ({ tool: "Read", input: { file_path } });
const write = (file_path: string) => ({ tool: "Write", input: { file_path } });

describe("a turn under rules", () => {
  it("runs what an allow rule covers, and the trace names rule and source", async () => {
    expect(await run({ call: bash("npm test -- a"), options: rules({ allow: ["Bash(npm test:*)"] }) })).toEqual({
      decision: { tool: "Bash", say: "allow", by: "permissions", rule: "allow Bash(npm test:*) (project settings)" },
      outcome: "ok",
      result: "did it",
      asked: [],
      did: ['Bash {"command":"npm test -- a"}'],
      logged: [],
    });
  });
  it("denies what a deny rule covers, whatever allows it, and tells the model why", async () => {
    const options = rules({ allow: ["Bash"], ask: ["Bash"], deny: ["Bash(rm:*)"] });
    const why = 'Denied: the rule "deny Bash(rm:*) (project settings)" forbids it';
    expect(await run({ call: bash("sudo rm x"), options, mode: "bypassPermissions" })).toEqual({
      decision: { tool: "Bash", say: "deny", by: "permissions", rule: "deny Bash(rm:*) (project settings)", why },
      outcome: "denied",
      result: why,
      asked: [],
      did: [],
      logged: [],
    });
  });
  it("asks where an ask rule stands beside an allow rule, and runs when the person allows it", async () => {
    const options = rules({ allow: ["Bash(git push:*)"], ask: ["Bash(git push:*)"] });
    const ran = await run({ call: bash("git push"), options, answer: { kind: "allow" } });
    expect(ran).toMatchObject({ asked: ['the rule "ask Bash(git push:*) (project settings)" wants to be asked'], outcome: "ok" });
    expect(ran.decision).toEqual({ tool: "Bash", say: "allow", by: "user", rule: "ask Bash(git push:*) (project settings)" });
  });
  it("treats the tools that a command allows as allow rules of its turn", async () => {
    const ran = await run({ call: bash("make all"), controls: { allowedTools: ["Bash(make:*)", "*"] } });
    expect(ran.decision.rule).toBe("allow Bash(make:*) (this command)");
    expect(ran.logged).toEqual([
      'The allow rule "*" in this command cannot be used: an allow rule may use * in a tool name only after mcp__<server>__; it is ignored.',
    ]);
  });
  it("allows what touches nothing, and asks for what strangers run, reach or act on", async () => {
    expect((await run({ call: { tool: "Think", input: {} } })).decision).toEqual({
      tool: "Think",
      say: "allow",
      by: "permissions",
      rule: "touches nothing",
    });
    expect((await run({ call: { tool: "Deploy", input: { where: "prod" } } })).asked).toEqual(["no rule covers it; it runs prod"]);
    expect((await run({ call: { tool: "mcp__git__push", input: {} } })).asked).toEqual(["no rule covers it; it acts on git"]);
    expect((await run({ call: { tool: "WebFetch", input: { url: "https://example.com/" } } })).asked).toEqual([
      "no rule covers it; it connects to https://example.com/",
    ]);
  });
  it("lets an agent start, whose own calls are judged, unless a rule says otherwise by either name of the tool", async () => {
    const call = { tool: "Task", input: { subagent_type: "Explore" } };
    const said = async (more: object = {}): Promise<unknown> => {
      const { decision, asked } = await run({ call, ...more });
      return [decision.say, decision.rule, asked.length];
    };
    expect(await said()).toEqual(["allow", "each call of the agent is judged", 0]);
    expect(await said({ mode: "plan" })).toEqual(["allow", "each call of the agent is judged", 0]);
    for (const rule of ["Agent(Explore)", "Task(Explore)", "Agent", "Task(Ex*)"])
      expect(await said({ options: rules({ deny: [rule] }) })).toEqual(["deny", `deny ${rule} (project settings)`, 0]);
    expect(await said({ options: rules({ ask: ["Agent(Explore)"] }) })).toEqual(["deny", "ask Agent(Explore) (project settings)", 1]);
    expect(await said({ options: rules({ deny: ["Agent(Plan)"] }) })).toEqual(["allow", "each call of the agent is judged", 0]);
  });
});

describe("modes", () => {
  it.each([
    ["default", "allow", "inside the workspace", "ask", "mode default"],
    ["acceptEdits", "allow", "inside the workspace", "allow", "mode acceptEdits"],
    ["plan", "allow", "inside the workspace", "deny", "mode plan"],
    ["bypassPermissions", "allow", "mode bypassPermissions", "allow", "mode bypassPermissions"],
  ])("%s: reads %s, writes %s", async (mode, readSay, readRule, writeSay, writeRule) => {
    const r = await run({ call: read("/proj/src/app.ts"), mode });
    expect([r.decision.say, r.decision.rule]).toEqual([readSay, readRule]);
    const w = await run({ call: write("/proj/src/new.ts"), mode });
    expect([w.asked.length > 0 ? "ask" : w.decision.say, w.decision.rule]).toEqual([writeSay, writeRule]);
  });
  it("tells the model in plan mode what to do instead, also against an allow rule", async () => {
    for (const call of [write("/proj/a"), bash("npm test"), { tool: "Deploy", input: { where: "x" } }]) {
      const ran = await run({ call, mode: "plan", options: rules({ allow: ["Edit(**)", "Bash", "Deploy"] }) });
      expect(ran.result).toBe(
        "Denied: plan mode is on, so nothing may be changed or run. Read and search as you need, then present the plan (with ExitPlanMode where you have it); the person switches the mode when it is accepted.",
      );
      expect(ran.did).toEqual([]);
    }
    expect((await run({ call: bash("git log --oneline -3 | head -5"), mode: "plan" })).decision.rule).toBe("read-only command");
  });
  it("treats an unknown mode as default and says so once", async () => {
    const ran = await run({ call: write("/proj/a"), mode: "yolo" });
    expect(ran.asked).toEqual(["writes /proj/a"]);
    expect(ran.logged).toEqual(['The permission mode "yolo" is not known here; "default" is used.']);
  });
  it("bypass runs anything but what rules forbid or ask for, and critical removals", async () => {
    const mode = "bypassPermissions";
    expect((await run({ call: bash("curl x | sh > y"), mode })).decision.say).toBe("allow");
    expect((await run({ call: write("/proj/.git/hooks/x"), mode })).decision.say).toBe("allow");
    expect((await run({ call: bash("cd x; git push"), mode, options: rules({ ask: ["Bash(git push:*)"] }) })).asked).toHaveLength(1);
    expect((await run({ call: read("/proj/.env"), mode, options: rules({ deny: ["Read(.env)"] }) })).outcome).toBe("denied");
  });
  it.each([
    "rm -rf /",
    "rm -rf ~",
    "rm -fr /etc/",
    'rm -rf "$DIR"/*',
    "rm -r *",
    "rm -rf .",
    "rm -rf ..",
    "sudo rm -rf /usr",
    "cd / && rm -rf *",
    "cd $X; rm -rf lib",
    "bash -c 'rm -rf /'",
    "rm --recursive --force /proj",
    "find / -delete",
    "rmdir /",
    "ls | xargs rm -rf",
    "rm -rf $(pwd)",
    "rm -rf /home/dev/../dev",
  ])("no rule and no mode approves %s", async (command) => {
    for (const mode of ["default", "acceptEdits", "bypassPermissions"]) {
      const ran = await run({ call: bash(command), mode, options: rules({ allow: ["Bash", "Bash(rm:*)"] }) });
      expect([ran.decision.rule, ran.did]).toEqual(["critical removal", []]);
    }
  });
  it("an ordinary removal is no critical one", async () => {
    const mode = "bypassPermissions";
    for (const command of ["rm a.txt", "rm -rf build", "rm -rf src/*.js", "rm -r ./dist node_modules/.cache"])
      expect((await run({ call: bash(command), mode })).decision.rule).toBe("mode bypassPermissions");
  });
});

describe("broken rules", () => {
  const sure = (list: string, rule: string, why: string) => `${list} ${rule} (project settings): ${why}`;
  it.each([
    ["Bash(git", "Bash", "it is not of the form Tool or Tool(specifier)"],
    ["Bash()", "Bash", "the specifier is empty"],
    ["Bash (rm:*)", "Bash", "it is not of the form Tool or Tool(specifier)"],
    ["bash(", "Bash", "it is not of the form Tool or Tool(specifier)"],
  ])("a deny %s denies all of %s and nothing else", async (rule, _tool, why) => {
    const options = rules({ allow: ["Bash"], deny: [rule] });
    const ran = await run({ call: bash("ls"), options, mode: "bypassPermissions" });
    expect(ran.decision.rule).toBe(sure("deny", rule, why));
    expect(ran.logged).toEqual([`The deny rule "${rule}" in project settings cannot be used: ${why}; until it is mended, Bash is denied.`]);
    expect((await run({ call: read("/proj/README.md"), options })).decision.say).toBe("allow");
  });
  it.each(["", "(ls)", "rm -rf", "!!"])("a deny %j whose tool cannot be told denies everything", async (rule) => {
    const ran = await run({ call: read("/proj/README.md"), options: rules({ deny: [rule] }) });
    expect(ran.outcome).toBe("denied");
    expect(ran.result).toContain("(project settings)");
  });
  it("a broken ask asks for all of its tool, a broken allow allows nothing", async () => {
    const ask = await run({ call: read("/proj/README.md"), options: rules({ ask: ["Read("] }) });
    expect(ask.decision.rule).toBe(sure("ask", "Read(", "it is not of the form Tool or Tool(specifier)"));
    for (const rule of ["Edit()", "Edit(!x)", "Write(**)", "*", "B*", "mcp__*", "Edit(**"]) {
      const ran = await run({ call: write("/proj/src/x.ts"), options: rules({ allow: [rule] }) });
      expect([rule, ran.decision.say, ran.logged.length]).toEqual([rule, "deny", 1]);
    }
  });
  it("good rules beside a broken one stay in force", async () => {
    const options = rules({ allow: ["Bash(git", "Bash(make:*)"], deny: ["Read(.env)"] });
    expect((await run({ call: bash("make"), options })).decision.say).toBe("allow");
    expect((await run({ call: read("/proj/.env"), options })).outcome).toBe("denied");
  });
});

describe("the shell stands elsewhere", () => {
  it("does not know where a command starts behind one in the same reply that may move the shell", async () => {
    const moved = [bash("cd ..")];
    const options = rules({ allow: ["Bash(cd:*)"] });
    const shell = "/proj/packages";
    expect((await run({ call: bash("cat ../README.md"), shell })).decision.rule).toBe("read-only command");
    expect((await run({ call: bash("cat ../README.md"), shell, before: moved, options })).decision.by).toBe("user");
    expect((await run({ call: bash("cat ../README.md"), shell, before: [bash("ls")], options })).decision.rule).toBe("read-only command");
    const deny = rules({ allow: ["Bash"], deny: ["Read(packages/a/index.ts)"] });
    expect((await run({ call: bash("cat a/index.ts"), shell, before: moved, options: deny })).decision.say).toBe("deny");
  });
  it("reads paths from where the shell is", async () => {
    expect((await run({ call: bash("cat app.ts"), shell: "/proj/src", options: rules({ deny: ["Read(src/app.ts)"] }) })).outcome).toBe(
      "denied",
    );
    expect((await run({ call: bash("cat app.ts"), shell: "/proj/src" })).decision.rule).toBe("read-only command");
    expect((await run({ call: bash("ls"), shell: "/home/dev" })).asked).toHaveLength(1);
    expect((await run({ call: bash("git status"), shell: "/proj/packages/a" })).asked).toHaveLength(1);
  });
});

describe("a search", () => {
  it("is asked for only when it would reach a file that may not be read", async () => {
    const options = rules({ deny: ["Read(.env)"] });
    expect((await run({ call: { tool: "Grep", input: { path: "/proj" } }, options })).asked).toEqual([
      "the search would reach /proj/.env, which a rule forbids to read",
    ]);
    expect((await run({ call: { tool: "Grep", input: { path: "/proj/src" } }, options })).decision.rule).toBe("inside the workspace");
    expect((await run({ call: { tool: "Grep", input: { path: "/proj" } } })).decision.rule).toBe("inside the workspace");
  });
});

it("denies when the file system cannot be asked", async () => {
  const host = testHost({ files: PROJECT, fails: (call) => (call === "realpath" ? "EIO" : undefined) });
  const ran = await run({ call: read("/proj/README.md"), host });
  expect(ran.asked).toEqual(['/proj/README.md cannot be resolved (EIO: realpath "/proj/README.md")']);
});
