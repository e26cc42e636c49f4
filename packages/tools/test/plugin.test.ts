import { FORKS, FS, IMAGES, NETWORK, PROCESS, SESSION, textOf } from "@heddle/kernel/plugin";
import { ownPlugin, runTurnWith, testHost } from "@heddle/testkit";
import { describe, expect, it } from "vitest";
import packageJson from "../package.json" with { type: "json" };
import plugin from "../src/index.ts";
import { kitOf } from "./support/harness.ts";
import { MemoryFs } from "./support/memory-fs.ts";

const manifest = packageJson.heddle;

describe("the plugin", () => {
  it("contributes what its manifest says, with the overlap that each tool bears", async () => {
    const { tools } = await kitOf({ fs: new MemoryFs() });
    expect(tools.map((t) => t.name)).toEqual(manifest.contributes.tools);
    expect(manifest.capabilities).toEqual([FS.id, PROCESS.id, SESSION.id, IMAGES.id, FORKS.id, NETWORK.id]);
    expect(Object.fromEntries(tools.map((t) => [t.name, t.overlap]))).toEqual({
      Read: "shared",
      Write: "exclusive",
      Edit: "exclusive",
      NotebookEdit: "exclusive",
      Glob: "shared",
      Grep: "shared",
      Bash: "exclusive",
      BashOutput: "shared",
      KillShell: "shared",
      Monitor: "shared",
      Task: "shared",
      TaskOutput: "shared",
      TaskStop: "shared",
      WebFetch: "shared",
      TodoWrite: "exclusive",
      AskUserQuestion: "exclusive",
      EnterPlanMode: "exclusive",
      ExitPlanMode: "exclusive",
      ToolSearch: "shared",
    });
    expect(tools.find((t) => t.name === "EnterPlanMode")?.deferred).toBe(true);
  });

  it("costs few tokens in each request", async () => {
    const { tools: all } = await kitOf({ fs: new MemoryFs() });
    const tools = all.filter((t) => !t.deferred);
    const descriptions = tools.map((t) => t.description).join("").length / 3.6;
    const size = JSON.stringify(tools.map((t) => ({ name: t.name, description: t.description, schema: t.jsonSchema }))).length / 3.6;
    expect(descriptions).toBeLessThan(900);
    expect(size).toBeLessThan(2200);
  });

  it("tells what each call would touch, as absolute paths", async () => {
    const kit = await kitOf({ fs: new MemoryFs({ "/w/src/a.ts": "" }) });
    expect({
      read: await kit.effects("Read", { file_path: "src/../a.ts" }),
      home: await kit.effects("Read", { file_path: "~/x" }),
      write: await kit.effects("Write", { file_path: "/etc/../tmp/x", content: "" }),
      edit: await kit.effects("Edit", { file_path: "../x", old_string: "a", new_string: "b" }),
      edits: await kit.effects("Edit", { file_path: "x", edits: [{ old_string: "a", new_string: "b" }] }),
      notebook: await kit.effects("NotebookEdit", { notebook_path: "n.ipynb", cell_id: "a" }),
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
      edits: [{ kind: "write", target: "/w/x" }],
      notebook: [{ kind: "write", target: "/w/n.ipynb" }],
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
    const host = testHost({ files: { "/w/a.txt": "one\ntwo\n" } });
    const edit = (file_path: string, old_string: string, new_string: string) => ({
      tool: "Edit",
      input: { file_path, old_string, new_string },
    });
    const calls = [{ tool: "Read", input: { file_path: "a.txt" } }, edit("a.txt", "one", "1"), edit("/w/a.txt", "two", "2")];
    const { added } = await runTurnWith({
      host,
      cwd: "/w",
      plugins: [ownPlugin(plugin, packageJson)],
      replies: [{ calls }, "done"],
      answers: () => ({ kind: "allow" }),
    });
    const results = added.flatMap((m) => (m.role === "tool" ? [`${m.outcome}: ${textOf(m.content).split("\n")[0]}`] : []));
    expect(results).toEqual(["ok:      1\tone", "ok: Edited a.txt: +1 -1 lines.", "ok: Edited a.txt: +1 -1 lines."]);
    expect(new TextDecoder().decode(await host.fs.readFile("/w/a.txt"))).toBe("1\n2\n");
  });
});
