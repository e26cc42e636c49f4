/** Tools of others in the built program: many that are loaded only when they are wanted, and one that says too much. */
import { readFileSync } from "node:fs";
import type { Script, ScriptRequest } from "@heddle/anthropic-server";
import { describe, expect, it } from "vitest";
import { type World, world } from "./run.ts";

const NAMES = Array.from({ length: 40 }, (_, n) => `tracker_action_${n}`);

function add(w: World): void {
  const heddle = { manifest: 1, api: "^1.0.0", main: "./index.js", contributes: { tools: [...NAMES, "Flood"] } };
  w.write("home/.heddle/plugins/many/package.json", JSON.stringify({ name: "many", version: "1.0.0", type: "module", heddle }));
  const code = `
    const parse = (data) => ({ success: true, data });
    const input = { safeParse: parse, safeParseAsync: async (data) => parse(data) };
    const properties = Object.fromEntries(Array.from({ length: 20 }, (_, n) => ["field" + n, { type: "string", description: "one of many" }]));
    const tool = (name, more) => ({ name, description: "Does " + name + ".", input, overlap: "shared", effects: () => [], jsonSchema: { type: "object" }, ...more });
    const late = (name) => tool(name, { deferred: true, jsonSchema: { type: "object", properties }, run: () => "did " + name });
    const flood = tool("Flood", { run: () => Array.from({ length: 20000 }, (_, n) => "line " + (n + 1)).join("\\n") });
    export default { setup: () => ({ tools: [${JSON.stringify(NAMES)}.map(late), flood].flat() }) };`;
  w.write("home/.heddle/plugins/many/index.js", code);
}
type Body = { tools: { name: string; defer_loading?: boolean }[]; messages: { content: unknown }[] };
const said = (w: World): Body[] => w.server.mainRequests().map((r) => r.body as unknown as Body);

describe("tools that wait to be loaded", () => {
  const script = [
    { calls: [{ name: "ToolSearch", input: { query: "select:tracker_action_7" } }] },
    { calls: [{ name: "tracker_action_7", input: {} }] },
    { text: "Done." },
  ];

  it("cost the first request little, and no byte of what was sent changes when one is loaded", async () => {
    const w = await world({ script });
    add(w);
    expect(await w.run(["-p", "go"])).toMatchObject({ code: 0, stdout: "Done.\n" });
    expect(w.server.refusals()).toEqual([]);
    const [first, second, third] = said(w);
    const { usage } = w.server.mainRequests()[0]!;
    expect(usage!.input_tokens + usage!.cache_creation_input_tokens).toBeLessThan(3_000);
    expect(first!.tools.flatMap((t) => (t.defer_loading && t.name.startsWith("tracker") ? [t.name] : []))).toEqual([...NAMES].sort());
    expect([JSON.stringify(second!.tools), JSON.stringify(third!.tools)]).toEqual([
      JSON.stringify(first!.tools),
      JSON.stringify(first!.tools),
    ]);
    expect(JSON.stringify(second!.messages)).toContain('{"type":"tool_reference","tool_name":"tracker_action_7"}');
    expect(JSON.stringify(third!.messages)).toContain("did tracker_action_7");
    const again = await w.run(["-c", "-p", "more"]);
    expect(again.code).toBe(0);
    expect(JSON.stringify(said(w).at(-1)!.messages).split("to be loaded with ToolSearch").length).toBe(2);
  });

  it("are all there from the start where nothing may load them", async () => {
    const w = await world({ script: [{ text: "Done." }] });
    add(w);
    expect((await w.run(["-p", "go", "--disallowedTools", "ToolSearch"])).code).toBe(0);
    const [first] = said(w);
    expect(first!.tools.map((t) => t.name)).toEqual(expect.arrayContaining(NAMES));
    expect(JSON.stringify(first)).not.toMatch(/defer_loading|ToolSearch/);
  });
});

describe("a tool that says too much", () => {
  it("is cut, and all it said is in the file that the result names", async () => {
    const w = await world({ script: [{ calls: [{ name: "Flood", input: {} }] }, { text: "Done." }] });
    add(w);
    expect((await w.run(["-p", "go"])).code).toBe(0);
    const result = JSON.stringify(said(w)[1]!.messages);
    expect(result.length).toBeLessThan(40_000);
    const [, path = ""] = /The whole output is in (\S+?)\. Read it from offset/.exec(result) ?? [];
    const lines = readFileSync(path, "utf8").split("\n");
    expect([lines.length, lines[0], lines.at(-1)]).toEqual([20_000, "line 1", "line 20000"]);
  });

  it("can be read on in that file without anybody being asked, and nothing beside it can", async () => {
    const of = /The whole output is in (\S+?)\. Read it from offset/;
    const read = (request: ScriptRequest, at: (path: string) => string) => ({
      file_path: at(of.exec(request.results[0]!.text)![1]!),
      offset: 9000,
      limit: 1,
    });
    const script: Script = (request, n) => {
      if (n === 0) return { calls: [{ name: "Flood", input: {} }] };
      if (n === 2) return { text: request.results.map((r) => r.text).join(" / ") };
      return {
        calls: [
          { name: "Read", input: read(request, (path) => path) },
          { name: "Read", input: read(request, (path) => path.replace(/\/outputs\/.*/, ".jsonl")) },
        ],
      };
    };
    const w = await world({ script });
    add(w);
    const ran = await w.run(["-p", "go"]);
    expect(ran.stdout).toMatch(/line 9000.* \/ Denied: nobody can be asked/s);
  });
});
