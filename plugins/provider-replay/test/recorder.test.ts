import { type AssistantPart, defineTool, type Message, type ModelChunk, type Provider, z } from "@heddle/kernel";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import manifest from "../package.json" with { type: "json" };
import plugin from "../src/index.ts";
import { abstract, fill } from "../src/placeholders.ts";
import { entry, host, memoryFs } from "./harness.ts";

const Echo = defineTool({
  name: "Echo",
  description: "",
  input: z.looseObject({}),
  overlap: "shared",
  effects: () => [],
  run: () => "ok",
});
/** A provider that says what it is told to, reply by reply. */
const scripted = (script: (readonly ModelChunk[])[]): Provider => ({
  name: "live",
  async *stream() {
    yield* script.shift()!;
  },
});
const contents = (messages: readonly Message[]): (readonly AssistantPart[])[] =>
  messages.flatMap((m) => (m.role === "assistant" ? [m.content.map((p) => ("callId" in p ? { ...p, callId: "any" } : p))] : []));

const CALLS: ModelChunk[] = [
  { type: "reasoning", part: 0, text: "hm" },
  { type: "text", part: 1, text: "In /w/a, not /w2 or {{cwd}}." },
  { type: "call", part: 2, callId: "live-1", tool: "Echo", input: { path: "/w/a.ts", "/w": ["{{x}}", 1.5, null, { deep: "/w" }] } },
  { type: "call", part: 3, callId: "live-2", tool: "Echo", input: "raw", malformed: "no object" },
  { type: "stop", stop: "tool-calls", usage: { input: 7, output: 3 } },
];
const END: ModelChunk[] = [
  { type: "text", part: 0, text: "Done\n— 😀" },
  { type: "stop", stop: "end" },
];

describe("the recorder", () => {
  it("writes each reply as a line, with the working directory as a placeholder", async () => {
    const fs = memoryFs({});
    const play = await host({ plugin, manifest: manifest.heddle, fs, options: { record: "out.jsonl" }, provider: "live" });
    await play({ more: [entry("providers", scripted([CALLS, END])), entry("tools", Echo)] });
    expect(
      fs
        .text("/w/out.jsonl")!
        .split("\n")
        .map((l) => (l === "" ? l : JSON.parse(l))),
    ).toEqual([
      {
        reasoning: "hm",
        text: "In {{cwd}}/a, not /w2 or {{open}}cwd}}.",
        calls: [
          { tool: "Echo", input: { path: "{{cwd}}/a.ts", "{{cwd}}": ["{{open}}x}}", 1.5, null, { deep: "{{cwd}}" }] } },
          { tool: "Echo", input: "raw", malformed: "no object" },
        ],
        usage: { input: 7, output: 3 },
      },
      { text: "Done\n— 😀" },
      "",
    ]);
  });

  it("makes a tape that gives the same replies, here and in another folder", async () => {
    const fs = memoryFs({});
    const options = { record: "/tape.jsonl", tape: "/tape.jsonl", vars: { x: "wrong" } };
    const record = await host({ plugin, manifest: manifest.heddle, fs, options, provider: "live" });
    const tools = [entry("tools", Echo)];
    const live = scripted([CALLS, END, END]);
    const one = (await record({ more: [entry("providers", live), ...tools] })).state.added;
    const two = (await record({ more: [entry("providers", live), ...tools], history: one })).state.added;
    const said = contents([...one, ...two]);
    expect(said.length).toBe(3);
    for (const cwd of ["/w", "/else/where"]) {
      const play = await host({
        plugin,
        manifest: manifest.heddle,
        fs,
        options: { ...options, record: undefined },
        provider: "replay",
        cwd,
      });
      const first = (await play({ more: tools })).state.added;
      const second = (await play({ more: tools, history: first })).state.added;
      const moved = JSON.parse(JSON.stringify(said).replaceAll(/\/w(?=[/"])/g, cwd));
      expect(contents([...first, ...second])).toEqual(moved);
    }
  });

  it("goes on with the tape of a session that is resumed", async () => {
    const fs = memoryFs({});
    const session = { plugin, manifest: manifest.heddle, fs, options: { record: "t.jsonl" }, provider: "live" };
    const history = (await (await host(session))({ more: [entry("providers", scripted([END]))] })).state.added;
    await (await host({ ...session, ids: { n: 100 } }))({ more: [entry("providers", scripted([END]))], history });
    expect(fs.text("/w/t.jsonl")).toBe('{"text":"Done\\n— 😀"}\n{"text":"Done\\n— 😀"}\n');
  });

  it("gives another session of the same run a tape of its own", async () => {
    const fs = memoryFs({});
    const play = await host({ plugin, manifest: manifest.heddle, fs, options: { record: "t.jsonl" }, provider: "live" });
    await play({ more: [entry("providers", scripted([END]))], sessionId: "main" });
    await play({ more: [entry("providers", scripted([[{ type: "stop", stop: "refusal" }]]))], sessionId: "sub" });
    expect([fs.text("/w/t.jsonl"), fs.text("/w/t.jsonl.sub")]).toEqual(['{"text":"Done\\n— 😀"}\n', '{"stop":"refusal"}\n']);
  });

  it("watches nothing without the option", async () => {
    const contributions = await plugin.setup({ options: { tape: "t" }, capability: () => memoryFs({}) } as never);
    expect(contributions.observers!.map((o) => o.on)).toEqual([[]]);
  });

  it("names itself when it cannot write, and goes on", async () => {
    const memory = memoryFs({});
    let full = true;
    const fs = {
      ...memory,
      async writeFile(path: string, bytes: Uint8Array) {
        if (full) throw new Error("ENOSPC: the disk is full");
        await memory.writeFile(path, bytes);
      },
    };
    const play = await host({ plugin, manifest: manifest.heddle, fs, options: { record: "t.jsonl" }, provider: "live" });
    const { state } = await play({ more: [entry("providers", scripted([END]))] });
    expect(state.outcome).toEqual({ kind: "completed" });
    full = false;
    await play({ more: [entry("providers", scripted([END]))], history: state.added });
    expect(fs.text("/w/t.jsonl")!.split("\n").length).toBe(3);
  });
});

describe("placeholders", () => {
  it("are the reverse of one another", () => {
    const piece = fc.constantFrom("{", "{{", "}", "}}", "cwd", "open", "x", "/w", "/w/a", "/w2", " ", "é", "$&", "a/w", ".", "-", "\n");
    const text = fc.array(piece, { maxLength: 14 }).map((l) => l.join(""));
    fc.assert(
      fc.property(text, fc.constantFrom("/w", "/", "/w/{{x}}", "C:\\w", "/w (1)", "/$&"), (it, cwd) => {
        const whole = it.replaceAll("/w", () => cwd);
        const vars = new Map([
          ["cwd", cwd],
          ["x", "wrong"],
        ]);
        expect(fill(abstract(whole, cwd), vars)).toBe(whole);
      }),
      { numRuns: 2_000 },
    );
  });
  it.each([
    ["in /w.", "in {{cwd}}."],
    ["file:///w/a", "file://{{cwd}}/a"],
    ["/w-old /w.old /w_ /home/w", "/w-old /w.old /w_ /home/w"],
    ["cd /w && ls '/w'", "cd {{cwd}} && ls '{{cwd}}'"],
  ])("%s", (text, expected) => expect(abstract(text, "/w")).toBe(expected));
});
