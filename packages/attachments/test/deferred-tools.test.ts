/** What the model is told of tools that wait to be loaded. */
import { type AttachmentMessage, defineTool, type Message, z } from "@heddle/kernel";
import { ownPlugin, pluginOf, runTurnWith } from "@heddle/testkit";
import { describe, expect, it } from "vitest";
import packageJson from "../package.json" with { type: "json" };
import plugin from "../src/index.ts";

const tool = (name: string, deferred = true, description = `Does ${name}. And more.`) =>
  defineTool({ name, description, deferred, overlap: "shared", input: z.object({}), effects: () => [], run: () => "" });
const tools = (...names: string[]) => pluginOf("more", { tools: [tool("ToolSearch", false), ...names.map((name) => tool(name))] });

async function told(plugins: ReturnType<typeof tools>[], history: readonly Message[] = [], input: string[] = ["go"]) {
  const own = ownPlugin(plugin, packageJson);
  const { messages, refused } = await runTurnWith({
    plugins: [...plugins, own],
    replies: input.map(() => "ok"),
    input,
    ...(history.length > 0 ? { history } : {}),
  });
  expect(refused).toEqual([]);
  const all = messages.filter((m): m is AttachmentMessage => m.role === "attachment" && m.kind === "deferred-tools");
  const texts = all.slice(history.length).map((m) => m.content.map((p) => (p.type === "text" ? p.text : "")).join(""));
  return { texts, all };
}
const HEAD = "More tools, to be loaded with ToolSearch before they are called:\n";

describe("deferred tools", () => {
  it("are told of once, with what they do", async () => {
    const { texts, all } = await told([tools("B", "A")], [], ["go", "go on"]);
    expect(texts).toEqual([`${HEAD}- B: Does B.\n- A: Does A.`]);
    expect(all[0]!.data).toEqual({
      tools: [
        { name: "B", summary: "Does B." },
        { name: "A", summary: "Does A." },
      ],
      gone: [],
    });
  });
  it("are not spoken of where there are none, or nothing loads them", async () => {
    expect((await told([tools()])).texts).toEqual([]);
    expect((await told([pluginOf("more", { tools: [tool("A")] })])).texts).toEqual([]);
  });
  it("that are new or gone in a session that goes on are all that is told", async () => {
    const before = (await told([tools("A", "B")])).all.map((m) => ({ ...m, id: "before-1", parentId: null }));
    expect((await told([tools("A", "B")], before)).texts).toEqual([]);
    const { texts, all } = await told([tools("B", "C")], before);
    expect(texts).toEqual([`${HEAD}- C: Does C.\n\nTools that are no longer there: A`]);
    expect(
      (
        await told(
          [tools("B", "C")],
          all.map((m, n) => ({ ...m, id: `before-${n}` })),
        )
      ).texts,
    ).toEqual([]);
  });
  it("in great numbers are names only, and then as many as fit", async () => {
    const names = (n: number) => Array.from({ length: n }, (_, i) => `mcp__server__tool_${i}`);
    const [some] = (await told([tools(...names(40))])).texts;
    expect(some).toBe(HEAD + names(40).join(", "));
    const { texts, all } = await told([tools(...names(500))], [], ["go", "go on"]);
    expect(texts).toHaveLength(1);
    expect(texts[0]).toMatch(/mcp__server__tool_\d+, and \d+ more that a search by words finds$/);
    expect(texts[0]!.length / 3.6).toBeLessThan(350);
    expect((all[0]!.data as { tools: unknown[] }).tools).toHaveLength(500);
  });
});
