import { describe, expect, it } from "vitest";
import { terminal } from "./pty.ts";
import { lines, world } from "./run.ts";

type Usage = { input_tokens: number; cache_read_input_tokens: number; cache_creation_input_tokens: number };
const prompted = (usage: Usage | undefined): number =>
  usage === undefined ? 0 : usage.input_tokens + usage.cache_read_input_tokens + usage.cache_creation_input_tokens;
const task = (input: object) => ({ name: "Task", input: { description: "side task", ...input } });
/** The session reads a file and starts an agent of this type; the agent searches once, unless it is a copy. */
const scripts = (type: string) => [
  {
    marker: "SIDE-TASK",
    script: [...(type === "fork" ? [] : [{ calls: [{ name: "Glob", input: { pattern: "*" } }] }]), { text: "The side task is done." }],
  },
  {
    marker: "MAIN-TASK",
    script: [
      { calls: [{ name: "Glob", input: { pattern: "*.txt" } }] },
      { calls: [task({ prompt: "SIDE-TASK", subagent_type: type })] },
      { text: "All is done." },
    ],
  },
];

describe("a sub-agent", () => {
  it("that is a copy reads the cache of its session, breaks nothing of it, and is paid for once", async () => {
    const w = await world({ scripts: scripts("fork") });
    const ran = await w.run(["-p", "MAIN-TASK", "--output-format", "json"]);
    const [, before, copy, after] = w.server.mainRequests().map((r) => r.usage as Usage);
    expect(copy!.cache_read_input_tokens).toBe(prompted(before));
    expect(after!.cache_read_input_tokens).toBeGreaterThanOrEqual(prompted(before));
    expect(w.server.warnings()).toEqual([]);
    const result = JSON.parse(ran.stdout) as { result: string; total_cost_usd: number; modelUsage: Record<string, Record<string, number>> };
    const all = w.server.mainRequests().reduce((n, r) => n + prompted(r.usage as Usage), 0);
    const { inputTokens = 0, cacheReadInputTokens = 0, cacheCreationInputTokens = 0 } = result.modelUsage["claude-sonnet-5-5"]!;
    expect([result.result, inputTokens + cacheReadInputTokens + cacheCreationInputTokens]).toEqual(["All is done.", all]);
    const again = await w.run(["-c", "-p", "and?", "--output-format", "json"]);
    expect((JSON.parse(again.stdout) as typeof result).total_cost_usd).toBeGreaterThan(result.total_cost_usd);
  });

  it("needs no permission of its own, and shows nothing but the result where only that is wanted", async () => {
    const w = await world({ scripts: scripts("general-purpose") });
    const ran = await w.run(["-p", "MAIN-TASK"]);
    expect(ran).toMatchObject({ code: 0, stdout: "All is done.\n", stderr: "" });
    expect(w.server.mainRequests().length).toBe(5);
  });

  it("may be forbidden by a rule, by either name", async () => {
    for (const rule of ["Agent(Explore)", "Task(Explore)", "Agent"]) {
      const w = await world({ scripts: scripts("Explore") });
      const ran = await w.run(["-p", "MAIN-TASK", "--settings", JSON.stringify({ permissions: { deny: [rule] } })]);
      expect([ran.stdout, w.server.mainRequests().length]).toEqual(["All is done.\n", 3]);
    }
  });

  it("has its messages under the call that started it in stream-json", async () => {
    const w = await world({ scripts: scripts("Explore") });
    const out = lines((await w.run(["-p", "MAIN-TASK", "--output-format", "stream-json"])).stdout);
    const call = out
      .flatMap((l) => (l["message"] as { content?: { type: string; name?: string; id: string }[] } | undefined)?.content ?? [])
      .find((b) => b.name === "Task")!;
    const within = out.filter((l) => l["parent_tool_use_id"] === call.id);
    expect(within.map((l) => [l["type"], (l["message"] as { content: { type: string }[] }).content[0]!.type])).toEqual([
      ["assistant", "tool_use"],
      ["user", "tool_result"],
      ["assistant", "text"],
    ]);
    expect(out.filter((l) => l["parent_tool_use_id"] === null).length).toBe(5);
  });

  it("shows a line for each of its calls in a terminal", async () => {
    const w = await world({ scripts: scripts("Explore") });
    const t = terminal(w);
    await t.shows(/^>$/m);
    t.type("MAIN-TASK\r");
    await t.shows(/3 model calls/);
    expect(t.text()).toMatch(/^· Task side task\n {2}side task · Glob \*\n {2}side task: completed\n/m);
    t.type("\x04");
    expect(await t.ended).toBe(0);
  });
});
