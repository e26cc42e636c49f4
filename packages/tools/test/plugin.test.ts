import { readFileSync } from "node:fs";
import { Breaker, type Entry, type PointId, Registry, runTurn, type TurnEnv, textOf } from "@heddle/kernel";
import { FS, PROCESS } from "@heddle/kernel/plugin";
import { describe, expect, it } from "vitest";
import { kitOf } from "./support/harness.ts";
import { MemoryFs } from "./support/memory-fs.ts";

const manifest = JSON.parse(readFileSync(new URL("../package.json", import.meta.url), "utf8")).heddle;

describe("the plugin", () => {
  it("contributes what its manifest says, with the overlap that each tool bears", async () => {
    const { tools } = await kitOf({ fs: new MemoryFs() });
    expect(tools.map((t) => t.name)).toEqual(manifest.contributes.tools);
    expect(manifest.capabilities).toEqual([FS.id, PROCESS.id]);
    expect(Object.fromEntries(tools.map((t) => [t.name, t.overlap]))).toEqual({
      Read: "shared",
      Write: "exclusive",
      Edit: "exclusive",
      Glob: "shared",
      Grep: "shared",
      Bash: "exclusive",
    });
  });

  it("costs few tokens in each request", async () => {
    const { tools } = await kitOf({ fs: new MemoryFs() });
    const descriptions = tools.map((t) => t.description).join("").length / 3.6;
    const all = JSON.stringify(tools.map((t) => ({ name: t.name, description: t.description, schema: t.jsonSchema }))).length / 3.6;
    expect(descriptions).toBeLessThan(900);
    expect(all).toBeLessThan(2200);
  });

  it("tells what each call would touch, as absolute paths", async () => {
    const kit = await kitOf({ fs: new MemoryFs({ "/w/src/a.ts": "" }) });
    expect({
      read: await kit.effects("Read", { file_path: "src/../a.ts" }),
      home: await kit.effects("Read", { file_path: "~/x" }),
      write: await kit.effects("Write", { file_path: "/etc/../tmp/x", content: "" }),
      edit: await kit.effects("Edit", { file_path: "../x", old_string: "a", new_string: "b" }),
      glob: await kit.effects("Glob", { pattern: "**/*.ts" }),
      globInto: await kit.effects("Glob", { pattern: "../o/*.ts", path: "src" }),
      globAbsolute: await kit.effects("Glob", { pattern: "/etc/*.conf" }),
      grep: await kit.effects("Grep", { pattern: "x", path: "src/a.ts" }),
      bash: await kit.effects("Bash", { command: "rm -rf 'x y'" }),
    }).toEqual({
      read: [{ kind: "read", target: "/w/a.ts" }],
      home: [{ kind: "read", target: "/w/~/x" }],
      write: [{ kind: "write", target: "/tmp/x" }],
      edit: [{ kind: "write", target: "/x" }],
      glob: [{ kind: "read", target: "/w" }],
      globInto: [{ kind: "read", target: "/w/o" }],
      globAbsolute: [{ kind: "read", target: "/etc" }],
      grep: [{ kind: "read", target: "/w/src/a.ts" }],
      bash: [{ kind: "execute", target: "rm -rf 'x y'" }],
    });
  });

  it("reads numbers, booleans and nulls as they are meant, and names what is wrong", async () => {
    const fs = new MemoryFs({ "/w/a.txt": "x\nx\ny\n" });
    const kit = await kitOf({ fs });
    expect((await kit.call("Read", { file_path: "a.txt", offset: "3", limit: null })).text).toBe("     3\ty");
    const several = await kit.call("Edit", { file_path: "a.txt", old_string: "x", new_string: "z", replace_all: "false" });
    expect(several.isError).toBe(true);
    expect(fs.text("/w/a.txt")).toBe("x\nx\ny\n");
    expect(await kit.call("Edit", { file_path: "a.txt" })).toMatchObject({
      isError: true,
      text: expect.stringMatching(/old_string.*new_string/),
    });
    expect(await kit.call("Read", { file_path: "a.txt", offset: "three" })).toMatchObject({
      isError: true,
      text: expect.stringContaining("offset"),
    });
    expect((await kit.call("Edit", { file_path: "a.txt", old_string: "x", new_string: "10", replace_all: "TRUE" })).isError).toBe(false);
    expect(fs.text("/w/a.txt")).toBe("10\n10\ny\n");
  });

  it("keeps text that looks like a number as text", async () => {
    const fs = new MemoryFs();
    const kit = await kitOf({ fs });
    await kit.call("Write", { file_path: "n.txt", content: "10" });
    expect(fs.text("/w/n.txt")).toBe("10");
  });
});

describe("in a turn of the real loop", () => {
  it("applies two edits of one reply to one file, after the read of the same reply", async () => {
    const fs = new MemoryFs({ "/w/a.txt": "one\ntwo\n" });
    const kit = await kitOf({ fs });
    const entry = (point: PointId, it: unknown): Entry =>
      ({ plugin: "p", point, name: (it as { name: string }).name, options: {}, capabilities: ["fs", "process"], it }) as Entry;
    const replies = [
      [
        { tool: "Read", input: { file_path: "a.txt" } },
        { tool: "Edit", input: { file_path: "a.txt", old_string: "one", new_string: "1" } },
        { tool: "Edit", input: { file_path: "/w/a.txt", old_string: "two", new_string: "2" } },
      ],
      [],
    ];
    const provider = {
      name: "fake",
      async *stream() {
        const calls = replies.shift() ?? [];
        for (const [part, call] of calls.entries()) yield { type: "call" as const, part, callId: `c${part}`, ...call };
        yield { type: "stop" as const, stop: calls.length > 0 ? ("tool-calls" as const) : ("end" as const) };
      },
    };
    let n = 0;
    const env: TurnEnv = {
      registry: new Registry([entry("providers", provider), ...kit.tools.map((tool) => entry("tools", tool))]),
      breaker: new Breaker(),
      now: () => 0,
      id: (kind) => `${kind}-${++n}`,
      asker: async () => ({ kind: "allow" }),
      record: () => {},
      log: () => {},
      session: {
        id: "s",
        cwd: "/w",
        directories: [],
        provider: "fake",
        model: "m",
        permissionMode: "default",
        headless: false,
        list: () => [],
      },
      tools: kit.tools.map((t) => ({ name: t.name, description: t.description, schema: t.jsonSchema ?? {} })),
      target: () => ({ provider: "fake", model: "m" }),
      window: () => 200_000,
      capabilities: new Map<string, unknown>([["fs", fs]]),
      stateOf: () => new Map(),
      sizes: new WeakMap(),
    };
    const results: string[] = [];
    const options = {
      turn: "t",
      input: { text: "go", source: "sdk" as const },
      history: [],
      signal: new AbortController().signal,
      steering: () => [],
    };
    for await (const event of runTurn(env, options))
      if (event.type === "message.added" && event.message.role === "tool")
        results.push(`${event.message.outcome}: ${textOf(event.message.content).split("\n")[0]}`);
    expect(results).toEqual(["ok:      1\tone", "ok: Edited a.txt: +1 -1 lines.", "ok: Edited a.txt: +1 -1 lines."]);
    expect(fs.text("/w/a.txt")).toBe("1\n2\n");
  });
});
