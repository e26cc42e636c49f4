/** Deferred tools, from their names to their calls. */
import { defineTool, type Message, textOf, z } from "@heddle/kernel/plugin";
import { ownPlugin, pluginOf, type Reply, runTurnWith } from "@heddle/testkit";
import { describe, expect, it } from "vitest";
import packageJson from "../package.json" with { type: "json" };
import plugin from "../src/index.ts";
import { ranked } from "../src/tool-search/rank.ts";

const rare = (name: string, description: string) =>
  defineTool({
    ...{ name, description, deferred: true, overlap: "shared", input: z.object({ n: z.number() }) },
    effects: () => [],
    run: ({ n }) => `${name} ${n}`,
  });
const more = pluginOf("more", {
  tools: [
    rare("mcp__tracker__createIssue", "Opens an issue. It takes a title."),
    rare("mcp__tracker__listIssues", "Lists issues."),
    rare("Notebook", "Edits a cell of a notebook."),
  ],
});
const own = ownPlugin(plugin, packageJson);

async function run(replies: readonly Reply[], plugins = [own, more]) {
  const { added, requests, refused } = await runTurnWith({ plugins, replies });
  const results = added.flatMap((m: Message) =>
    m.role === "tool" ? [{ text: textOf(m.content), outcome: m.outcome, loads: m.loads }] : [],
  );
  return { results, refused, tools: requests.map((r) => r.tools) };
}
const search = (query: string, max_results?: number): Reply => ({
  calls: [{ tool: "ToolSearch", input: { query, ...(max_results ? { max_results } : {}) } }],
});

describe("ToolSearch", () => {
  it("is there only when something can be loaded", async () => {
    expect((await run(["done"])).tools[0]!.map((t) => t.name)).toContain("ToolSearch");
    const all = (await run(["done"], [own])).tools[0]!;
    const withoutTools = all.flatMap((t) => (t.deferred ? [t.name] : []));
    const { requests } = await runTurnWith({ plugins: [own], replies: ["done"], withoutTools });
    const rest = all.map((t) => t.name).filter((name) => !withoutTools.includes(name));
    expect(requests[0]!.tools.map((t) => t.name)).toEqual(rest.filter((name) => name !== "ToolSearch"));
  });

  it("loads by exact name, once each, in any case, and says what is not there or always was", async () => {
    const { results } = await run([
      search("select:Notebook, mcp__tracker__listissues,Notebook,Read,Nope"),
      search("select:Read"),
      search("select:Nope"),
      "done",
    ]);
    expect(results).toEqual([
      {
        outcome: "ok",
        text: [
          "Loaded, and can be called now:",
          "Notebook: Edits a cell of a notebook.",
          "mcp__tracker__listIssues: Lists issues.",
          "Always loaded: Read.",
          "There is no tool: Nope. Search with words in place of select:.",
        ].join("\n"),
        loads: ["Notebook", "mcp__tracker__listIssues"],
      },
      { outcome: "ok", text: "Always loaded: Read.", loads: undefined },
      { outcome: "error", text: "There is no tool: Nope. Search with words in place of select:.", loads: undefined },
    ]);
  });

  it("ranks by words, never loads what is always there, and says how many more fit", async () => {
    const { results } = await run([search("open a tracker issue", 1), search("zebra"), "done"]);
    expect(results).toEqual([
      {
        outcome: "ok",
        text: [
          "Loaded, and can be called now:",
          "mcp__tracker__createIssue: Opens an issue.",
          "1 more fit; raise max_results or say more to see them.",
        ].join("\n"),
        loads: ["mcp__tracker__createIssue"],
      },
      {
        outcome: "error",
        text: 'No tool that can be loaded fits "zebra". Try other words, or select:Name with an exact name.',
        loads: undefined,
      },
    ]);
  });

  it("leaves the tools of the request as they were", async () => {
    const { tools, refused } = await run([search("notebook"), { calls: [{ tool: "Notebook", input: { n: 1 } }] }, "done"]);
    expect(new Set(tools).size).toBe(1);
    expect(refused).toEqual([]);
  });

  it("is not needed for a call that is right; one that is wrong is told of it", async () => {
    const call = (n: unknown): Reply => ({ calls: [{ tool: "Notebook", input: { n } as never }] });
    const { results } = await run([call(7), call("x"), "done"]);
    expect(results.map((r) => r.text)).toEqual([
      "Notebook 7",
      expect.stringMatching(/arguments are wrong.*find it with ToolSearch first\.$/),
    ]);
  });
});

describe("ranking", () => {
  it("puts names before summaries, whole words before parts, and equals by name", () => {
    const tools = [
      { name: "b_other", summary: "Reads mail." },
      { name: "a_other", summary: "Reads mail." },
      { name: "mailbox" },
      { name: "sendMail" },
      { name: "unrelated", summary: "No." },
    ];
    expect(ranked(tools, "MAIL of").map((t) => t.name)).toEqual(["sendMail", "mailbox", "a_other", "b_other"]);
    expect(ranked(tools, "...")).toEqual([]);
  });
});
