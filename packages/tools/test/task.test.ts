import { type Call, type CallContext, type Effect, type ToolMessage, textOf, type Verdict } from "@heddle/kernel/plugin";
import { ownPlugin, pluginOf, type Reply, scriptedModel, startWith, type TestSession, testHost } from "@heddle/testkit";
import { describe, expect, it } from "vitest";
import packageJson from "../package.json" with { type: "json" };
import plugin from "../src/index.ts";
import { readDefinition } from "../src/task/definition.ts";

const allow = pluginOf("allow", { gates: [{ name: "all", judge: () => ({ say: "allow" }) }] });
const task = (input: object, callId?: string) => ({
  tool: "Task",
  input: { description: "look", prompt: "Look!", ...input } as never,
  ...(callId ? { callId } : {}),
});
type Files = Readonly<Record<string, string>>;

async function open(
  replies: readonly Reply[],
  files: Files = {},
  more: object = {},
): Promise<TestSession & { model: ReturnType<typeof scriptedModel> }> {
  const model = scriptedModel(replies);
  const host = testHost({ cwd: "/w", files });
  const own = ownPlugin(plugin, packageJson, { home: "/home/me" });
  const runtime = await startWith({ host, cwd: "/w", plugins: [own, allow], replies: model, answers: () => ({ kind: "allow" }), ...more });
  return { ...(await runtime.open()), model };
}
const results = (messages: readonly { role: string }[]): string[] =>
  messages.flatMap((m) => (m.role === "tool" ? [`${(m as ToolMessage).outcome}: ${textOf((m as ToolMessage).content)}`] : []));
const usage = { input: 100, output: 7, cacheRead: 20 };

describe("Task", () => {
  it("gives back the last message of the agent, its id and what it used", async () => {
    const s = await open([
      { calls: [task({})] },
      { text: "I look.", calls: [{ tool: "Glob", input: { pattern: "*" } }], usage },
      { text: "There is nothing.", usage },
      "Thanks.",
    ]);
    const ran = await s.run("go");
    expect(results(ran.added)).toEqual([
      expect.stringMatching(
        /^ok: There is nothing\.\n\n\[agent fork-\d+ \(general-purpose\): 2 model calls, 240 tokens in, 14 out; `resume` goes on with it\]$/,
      ),
    ]);
    expect(ran.requests[1]!.tools.map((t) => t.name)).toContain("Task");
    expect(ran.refused).toEqual([]);
  });

  it.each([
    [
      "ends without a last message",
      [{ text: "Half way.", calls: [{ tool: "Glob", input: { pattern: "*" } }] }, "", ""],
      "failed: The model ended its reply without any output (end), also when it was asked again: put the question another way. What it did until then stands. The last it said:\nHalf way.",
    ],
    [
      "meets a server that fails",
      [{ text: "Half way.", calls: [{ tool: "Glob", input: { pattern: "*" } }] }, { fails: { kind: "billing", message: "No credit." } }],
      "failed: No credit. What it did until then stands. The last it said:\nHalf way.",
    ],
    [
      "fails at once",
      [{ fails: { kind: "billing", message: "No credit." } }],
      "failed: No credit. What it did until then stands. It had said nothing.",
    ],
    ["is refused", [{ stop: "refusal" }, { stop: "refusal" }], "ended, because the model refused to answer."],
    ["has a provider that breaks", [{ text: "Begun.", throws: "boom" }], "failed: "],
  ] as const)("says what happened, and what there is, when the agent %s", async (_, agent, expected) => {
    const s = await open(
      [{ calls: [task({})] }, ...(agent as readonly Reply[]), "I see."],
      {},
      { recovery: { retries: { interactive: 1, headless: 1 } } },
    );
    const ran = await s.run("go");
    expect(results(ran.added)[0]).toMatch(/^error: The agent /);
    expect(results(ran.added)[0]).toContain(expected);
    expect([ran.text, ran.refused]).toEqual(["I see.", []]);
  });

  it("says so when the agent comes to its limit of steps", async () => {
    const files = { "/w/.claude/agents/short.md": "---\nname: short\ndescription: d\nmaxTurns: 1\n---\nBe short." };
    const s = await open(
      [{ calls: [task({ subagent_type: "short" })] }, { text: "On it.", calls: [{ tool: "Glob", input: { pattern: "*" } }] }, "I see."],
      files,
    );
    expect(results((await s.run("go")).added)[0]).toMatch(
      /^error: The agent was stopped at its limit of 1 model call\..*The last it said:\nOn it\./s,
    );
  });

  it("gives Explore tools that read, and plan mode; what the project says it does not get", async () => {
    const context = pluginOf("context", {
      systemPrompt: [
        { name: "environment", placement: "system", build: () => "# Environment\nHere." },
        { name: "instructions", placement: "context", build: () => "The project." },
      ],
    });
    const modes: string[] = [];
    const look = pluginOf("look", {
      gates: [
        {
          name: "look",
          judge: (_, __, ctx: CallContext) => (modes.push(ctx.session.permissionMode) > 0 ? { say: "nothing" } : { say: "nothing" }),
        },
      ],
    });
    const own = ownPlugin(plugin, packageJson);
    const s = await open(
      [{ calls: [task({ subagent_type: "explore" }), task({})] }, { calls: [{ tool: "Glob", input: { pattern: "*" } }] }, "b", "c", "done"],
      {},
      { plugins: [own, allow, context, look] },
    );
    const { requests } = await s.run("go");
    const explore = requests.find((r) => r.prefix.system[0]?.text.startsWith("You explore"))!;
    const general = requests.find((r) => r.prefix.system[0]?.text.startsWith("You are an agent"))!;
    expect(explore.tools.map((t) => t.name)).toEqual(["Read", "Glob", "Grep", "Bash"]);
    expect(explore.prefix).toEqual({
      system: [{ plugin: "@heddle/runtime", name: "agent", text: expect.stringMatching(/# Environment\nHere\.$/) }],
      context: [],
    });
    expect(general.prefix.context.map((p) => p.text)).toEqual(["The project."]);
    expect(general.tools.map((t) => t.name)).not.toContain("TaskOutput");
    expect(new Set(modes)).toContain("plan");
  });

  it("hands a fork the conversation as it is, and only the task on top", async () => {
    const s = await open([{ calls: [task({ subagent_type: "fork" })] }, "copied", "done"]);
    const { requests } = await s.run("go");
    const [first, copy] = requests;
    expect(copy!.messages.slice(0, -1)).toEqual(first!.messages);
    expect(copy!.tools).toBe(first!.tools);
    expect(JSON.stringify(copy!.messages.at(-1))).toMatch(/made for one task.*Look!/s);
  });

  it("goes on with an agent, of the type it was", async () => {
    let id = "";
    const s = await open([
      { calls: [task({ subagent_type: "Explore" })] },
      "Found a.",
      (r) => {
        id = /fork-\d+/.exec(JSON.stringify(r.messages))![0];
        return { calls: [task({ resume: id, prompt: "And b?" })] };
      },
      "Found b.",
      "done",
    ]);
    const ran = await s.run("go");
    expect(results(ran.added)[1]).toMatch(/^ok: Found b\.\n\n\[agent fork-\d+ \(Explore\): 1 model call/);
    expect(ran.requests[3]!.messages.map((m) => ("content" in m ? textOf(m.content) : ""))).toEqual(["Look!", "Found a.", "And b?"]);
    expect(ran.requests[3]!.tools.map((t) => t.name)).toEqual(["Read", "Glob", "Grep", "Bash"]);
  });

  it("is judged by the type that it will start, also where the call leaves it out or spells it otherwise", async () => {
    const seen: unknown[] = [];
    const judge = (call: Call, effects: readonly Effect[]): Verdict => {
      if (call.tool === "Task") seen.push([(call.input as { subagent_type?: string }).subagent_type, ...effects]);
      return { say: "deny", why: "no" };
    };
    const look = pluginOf("look", { gates: [{ name: "look", judge }] });
    const own = ownPlugin(plugin, packageJson);
    const calls = [task({}), task({ subagent_type: "EXPLORE" }), task({ subagent_type: "other" })];
    await (await open([{ calls }, "done"], {}, { plugins: [own, look] })).run("go");
    const of = (type: string) => [type, { kind: "other", target: type }];
    expect(seen).toEqual([of("general-purpose"), of("Explore"), of("other")]);
  });

  it("names the agents there are when it is asked for another", async () => {
    const files = { "/w/.claude/agents/own.md": "---\nname: own\ndescription: Does it.\n---\nx" };
    const s = await open([{ calls: [task({ subagent_type: "nobody" })] }, "done"], files);
    expect(results((await s.run("go")).added)[0]).toBe(
      'error: There is no agent "nobody". There are:\n- own: Does it.\n- general-purpose: Any task of several steps.\n- Explore: Reads and searches, for wide questions about the code.\n- fork: A copy of you that knows this conversation.',
    );
  });

  it("in the background returns at once; the end is told once, and can be read and brought about", async () => {
    let answer = (): void => {};
    const answered = new Promise<void>((resolve) => {
      answer = resolve;
    });
    const s = await open([
      { calls: [task({ run_in_background: true })] },
      async (request) => {
        if (textOf((request.messages.at(-1) as ToolMessage).content) === "Look!") {
          await answered;
          return "Found it.";
        }
        return "Meanwhile.";
      },
      "Meanwhile.",
      "Heard.",
      (r) => ({
        calls: [
          { tool: "TaskOutput", input: { task_id: /fork-\d+/.exec(JSON.stringify(r.messages))![0] } },
          { tool: "TaskStop", input: { task_id: "x" } },
        ],
      }),
      "read",
    ]);
    const first = await s.run("go");
    expect(results(first.added)[0]).toMatch(
      /^ok: Started agent fork-\d+ \(general-purpose\) in the background\. You will be told its end; go on with other work\.$/,
    );
    const heard = new Promise<void>((resolve) => s.session.subscribe((e) => void (e.type === "turn.ended" && resolve())));
    answer();
    await heard;
    const mail = s.session.messages.filter((m) => m.role === "user" && m.isMeta);
    expect(mail.map((m) => textOf((m as ToolMessage).content))).toEqual([
      expect.stringMatching(/^The agent "look" in the background has ended\. Found it\.\n\n\[agent fork-/),
    ]);
    const last = await s.run("what was it?");
    expect(results(last.added)).toEqual([
      expect.stringMatching(/^ok: Found it\./),
      'error: No agent "x" was started in the background. None is running.',
    ]);
  });

  it("is listed by /agents with its id, and ended by it", async () => {
    const command = pluginOf("slash", {
      classifiers: [
        {
          name: "slash",
          classify: ({ text }) => {
            const [, name, args = ""] = /^\/(\w+) ?(.*)$/.exec(text) ?? [];
            return name === undefined ? undefined : { as: "command", command: name, args };
          },
        },
      ],
    });
    const own = ownPlugin(plugin, packageJson);
    const s = await open(
      [{ calls: [task({ run_in_background: true })] }, { hangs: true }, { hangs: true }],
      {},
      { plugins: [own, allow, command] },
    );
    const begun = new Promise<void>((resolve) =>
      s.session.subscribe((e) => void (e.type === "fork.event" && e.event.type === "model.requested" && resolve())),
    );
    const first = s.session.submit("go");
    await begun;
    s.session.abort();
    await first;
    const [id] = s.session.forks.list().map((f) => f.id);
    expect((await s.run("/agents")).shown).toEqual([
      expect.stringMatching(/^Agents:\n {2}general-purpose: .*\n\nStarted:\n {2}fork-\d+ {2}running after 1 model call: look$/s),
    ]);
    expect((await s.run("/agents stop x")).shown).toEqual([`No agent "x" is running. Running:\n  ${id}  running after 1 model call: look`]);
    const ended = new Promise<void>((resolve) => s.session.subscribe((e) => void (e.type === "fork.ended" && resolve())));
    expect((await s.run(`/agents stop ${id}`)).shown).toEqual(["Stopped: look"]);
    await ended;
    expect((await s.run("/agents what")).shown).toEqual(["/agents lists, /agents stop ID ends one. None is running."]);
    expect(s.session.busy).toBe(false);
  });

  it("runs in the foreground where nobody would hear the end", async () => {
    const s = await open([{ calls: [task({ run_in_background: true })] }, "Found it.", "done"], {}, { answers: undefined });
    expect(results((await s.run("go")).added)[0]).toMatch(/^ok: Found it\./);
  });
});

describe("agents in files", () => {
  const agent = (name: string, more = "", body = name): string => `---\nname: ${name}\ndescription: d\n${more}---\n${body}\n`;
  const files = {
    "/repo/.git/HEAD": "",
    "/repo/.claude/agents/a.md": agent("twice", "", "of the root"),
    "/repo/sub/.claude/agents/deep/b.md": agent(
      "twice",
      "tools: Read, Grep, mcp__x\nmodel: haiku\npermissionMode: bypassPermissions\n",
      "of the folder",
    ),
    "/home/me/.claude/agents/c.md": agent("twice", "", "of the person"),
    "/home/me/.heddle/agents/d.md": agent("mine", "disallowedTools: [Bash, 'Edit']\n", "mine"),
    "/repo/sub/.claude/agents/none.md": "No head at all.",
    "/repo/sub/.claude/agents/bad.md": "---\nname: -x\ndescription: d\n---\n",
    "/elsewhere/.claude/agents/e.md": agent("stranger"),
  };
  it("are read from the folder up to the repository's root, then from the person's; the nearest of a name counts", async () => {
    const s = await open(
      [
        { calls: [task({ subagent_type: "twice" }), task({ subagent_type: "mine" }), task({ subagent_type: "stranger" })] },
        "1",
        "2",
        "done",
      ],
      {},
      { host: testHost({ files }), cwd: "/repo/sub" },
    );
    const ran = await s.run("go");
    const [twice, mine] = ["of the folder", "mine"].map((text) => ran.requests.find((r) => r.prefix.system[0]?.text.startsWith(text)));
    expect(twice?.tools.map((t) => t.name)).toEqual(["Read", "Grep"]);
    expect(twice?.model).toBe("scripted");
    const all = ran.requests[0]!.tools.map((t) => t.name);
    expect(mine?.tools.map((t) => t.name)).toEqual(
      all.filter((name) => !["Bash", "Edit", "TaskOutput", "AskUserQuestion", "EnterPlanMode", "ExitPlanMode"].includes(name)),
    );
    expect(results(ran.added)[2]).toMatch(/^error: There is no agent "stranger"/);
    expect(ran.logs.map((l) => l.text).filter((t) => t.includes("defines no agent"))).toEqual([
      "/repo/sub/.claude/agents/bad.md defines no agent: name is empty, begins with - or holds a :",
      "/repo/sub/.claude/agents/none.md defines no agent: name is missing; description is missing",
    ]);
  });
  it("that name no tool that is here do not start", async () => {
    const s = await open([{ calls: [task({ subagent_type: "odd" })] }, "done"], {
      "/w/.heddle/agents/odd.md": agent("odd", "tools: [Teleport]\n"),
    });
    expect(results((await s.run("go")).added)).toEqual(['error: The agent "odd" cannot start: none of its tools is here (Teleport).']);
  });
  it("may be written as people write them", async () => {
    const read = async (head: string): Promise<unknown> => {
      const it = await readDefinition(`\uFEFF---\r\n${head.replace(/\n/g, "\r\n")}\r\n---\r\nBody: x\r\n`);
      return typeof it === "string"
        ? it
        : Object.fromEntries(Object.entries(it).filter(([k, v]) => v !== undefined && !["prompt", "context"].includes(k)));
    };
    expect(
      await read(
        "name: a\ndescription: Use when: it is hard <example>x: y</example>\ntools: Bash(git:*, ls) Read,Grep\nmaxTurns: '3'\nbackground: 'true'",
      ),
    ).toEqual({
      name: "a",
      description: "Use when: it is hard <example>x: y</example>",
      tools: ["Bash", "Read", "Grep"],
      maxTurns: 3,
      background: true,
    });
    expect(await read("name: a\ndescription: [x\ntools:\n  - Read\n  - Bash\nmodel: claude-x-9\ncolor: @red")).toEqual({
      name: "a",
      description: "[x",
      tools: ["Read", "Bash"],
      model: "claude-x-9",
    });
    expect(await read('name: a\ndescription: >\n  long\n  text\ntools: \'["Read", "Edit"]\'\nmaxTurns: many\neffort: huge')).toEqual({
      name: "a",
      description: "long text",
      tools: ["Read", "Edit"],
    });
    expect(await read("name: a\ndescription: d\ntools: ''")).toEqual({ name: "a", description: "d", tools: [] });
    expect(await read("name: a\ndescription: d\ntools: '*'")).toEqual({ name: "a", description: "d" });
    expect(await read("a: &a [x, x]\nname: a")).toBe("description is missing");
    expect(await readDefinition("---js\nname: a\n---\n")).toMatch(/^name/);
  });
});
