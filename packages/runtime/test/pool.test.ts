/** Which tools a session has, in which order, and what is known of them. */
import { defineTool, type SessionView, type Tool, textOf, z } from "@heddle/kernel";
import { describe, expect, it } from "vitest";
import { calls, pluginOf, says, scripted, seenBy, start } from "./support.ts";

const tool = (name: string, more: Partial<Tool> = {}): Tool =>
  defineTool({
    name,
    description: `Does ${name}. And more.`,
    input: z.object({}),
    overlap: "shared",
    effects: () => [],
    run: () => name,
    ...more,
  });

describe("the pool of a session", () => {
  it("has no tool that says it is not enabled, neither in requests nor to be called", async () => {
    const asked: string[] = [];
    const isEnabled = (name: string, answer: boolean) => ({
      isEnabled: (session: Omit<SessionView, "messages">) => {
        asked.push(`${name} in ${session.cwd}, ${session.permissionMode}, ${session.model}`);
        return answer;
      },
    });
    const { candidate, requests } = scripted([calls("Off", {}), says("ok"), says("ok")]);
    const own = pluginOf("own", { tools: [tool("On", isEnabled("On", true)), tool("Off", isEnabled("Off", false)), tool("Plain")] });
    const { runtime } = await start([candidate, own]);
    const session = await runtime.open();
    const { messages } = await session.submit("go");
    session.setPermissionMode("plan");
    session.setModel("other");
    await session.submit("go on");
    expect(asked).toEqual(["On in /w, default, m", "Off in /w, default, m"]);
    expect(requests.map((r) => r.tools.map((t) => t.name))).toEqual([
      ["On", "Plain"],
      ["On", "Plain"],
      ["On", "Plain"],
    ]);
    expect(new Set(requests.map((r) => r.tools)).size).toBe(1);
    expect(messages.flatMap((m) => (m.role === "tool" ? [textOf(m.content)] : []))).toEqual([
      'There is no tool "Off". The tools are: On, Plain.',
    ]);
  });

  it("counts a failure as yes, and tells of it once", async () => {
    const broken = tool("Broken", {
      isEnabled: () => {
        throw new Error("no idea");
      },
    });
    const { candidate, requests } = scripted([says("ok"), says("ok")]);
    const { runtime } = await start([candidate, pluginOf("own", { tools: [broken] })]);
    const session = await runtime.open();
    const seen = seenBy(session);
    await session.submit("go");
    await session.submit("go on");
    expect(requests[0]!.tools.map((t) => t.name)).toEqual(["Broken"]);
    expect(seen.flatMap((e) => (e.type === "fault" ? [e.fault.message] : []))).toEqual([
      'plugin "own" (tools "Broken") could not say whether it is enabled, and counts as such: no idea',
    ]);
  });

  it("shows a tool that asks for the others those that are enabled", async () => {
    const lists: unknown[] = [];
    const asks = (name: string): Tool =>
      tool(name, {
        isEnabled: (session) => {
          lists.push([name, session.list("tools").map((t) => t.name)]);
          return true;
        },
      });
    const { candidate } = scripted([says("ok")]);
    const own = pluginOf("own", { tools: [asks("First"), tool("Off", { isEnabled: () => false }), asks("Last")] });
    const { runtime } = await start([candidate, own]);
    await (await runtime.open()).submit("go");
    expect(lists).toEqual([
      ["Last", ["First", "Last"]],
      ["First", ["First", "Last"]],
    ]);
  });

  it("is built in first and in its own order, then others by plugin and name, however they are installed", async () => {
    const builtIn = pluginOf("own", { tools: [tool("Zed"), tool("Alpha")] });
    const others = [pluginOf("zoo", { tools: [tool("B"), tool("A")] }), pluginOf("acme", { tools: [tool("C")] })];
    const foreign = others.map((c) => ({ ...c, dir: `/plugins/${c.id}` }));
    for (const list of [foreign, foreign.toReversed()]) {
      const { candidate, requests } = scripted([says("ok")]);
      const { runtime } = await start([...list, candidate, builtIn]);
      await (await runtime.open()).submit("go");
      expect(requests[0]!.tools.map((t) => t.name)).toEqual(["Zed", "Alpha", "C", "A", "B"]);
    }
  });

  it("marks deferred tools as such where something can load them", async () => {
    const listed: unknown[] = [];
    const look = pluginOf("look", {
      attachments: [
        {
          name: "look",
          when: "turn",
          schema: z.string(),
          render: (text) => String(text),
          collect: ({ session }) => {
            listed.push(session.list("tools"));
            return [];
          },
        },
      ],
    });
    const rare = pluginOf("rare", { tools: [tool("Rare", { deferred: true })] });
    const search = pluginOf("search", { tools: [tool("ToolSearch")] });
    const specs = [];
    for (const plugins of [[rare], [search, rare]]) {
      const { candidate, requests } = scripted([says("ok")]);
      const { runtime } = await start([candidate, look, ...plugins]);
      await (await runtime.open()).submit("go");
      specs.push(requests[0]!.tools.map((t) => [t.name, t.deferred]));
    }
    expect(specs).toEqual([
      [["Rare", undefined]],
      [
        ["ToolSearch", undefined],
        ["Rare", true],
      ],
    ]);
    expect(listed).toEqual([
      [{ plugin: "rare", name: "Rare", summary: "Does Rare." }],
      [
        { plugin: "search", name: "ToolSearch", summary: "Does ToolSearch." },
        { plugin: "rare", name: "Rare", summary: "Does Rare.", deferred: true },
      ],
    ]);
  });
});
