import { type AssistantPart, defineTool, type Message, type ModelChunk, z } from "@heddle/kernel";
import { ownPlugin, pluginOf, type RunOptions, runTurnWith, startWith, testHost } from "@heddle/testkit";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import packageJson from "../package.json" with { type: "json" };
import plugin from "../src/index.ts";
import { abstract, fill } from "../src/placeholders.ts";

const echo = pluginOf("echo", {
  tools: [defineTool({ name: "Echo", description: "", input: z.looseObject({}), overlap: "shared", effects: () => [], run: () => "ok" })],
});
const under = (options: unknown, o: RunOptions): RunOptions => ({
  plugins: [ownPlugin(plugin, packageJson, options), echo],
  cwd: "/w",
  ...o,
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
    const host = testHost();
    await runTurnWith(under({ record: "out.jsonl" }, { host, replies: [CALLS, END] }));
    expect(
      host
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
    const host = testHost();
    const options = { tape: "/tape.jsonl", vars: { x: "wrong" } };
    const input = ["one", "two"];
    const record = under({ ...options, record: "/tape.jsonl" }, { host, replies: [CALLS, END, END], input });
    const said = contents((await runTurnWith(record)).messages);
    expect(said.length).toBe(3);
    for (const cwd of ["/w", "/else/where"]) {
      const { messages } = await runTurnWith(under(options, { host, provider: "replay", cwd, input }));
      const moved = JSON.parse(JSON.stringify(said).replaceAll(/\/w(?=[/"])/g, cwd));
      expect(contents(messages)).toEqual(moved);
    }
  });

  it("goes on with the tape of a session that is resumed", async () => {
    const host = testHost();
    const o = under({ record: "t.jsonl" }, { host, stateDir: "/state", replies: [END] });
    await runTurnWith(o);
    await runTurnWith({ ...o, resume: "latest" });
    expect(host.text("/w/t.jsonl")).toBe('{"text":"Done\\n— 😀"}\n{"text":"Done\\n— 😀"}\n');
  });

  it("gives another session of the same run a tape of its own", async () => {
    const host = testHost();
    const runtime = await startWith(under({ record: "t.jsonl" }, { host, replies: [END, "Other"] }));
    await (await runtime.open()).run();
    const sub = await runtime.open();
    await sub.run();
    expect([host.text("/w/t.jsonl"), host.text(`/w/t.jsonl.${sub.session.id}`)]).toEqual([
      '{"text":"Done\\n— 😀"}\n',
      '{"text":"Other"}\n',
    ]);
  });

  it("watches nothing without the option", async () => {
    const contributions = await plugin.setup({ options: { tape: "t" }, capability: () => testHost().fs } as never);
    expect(contributions.observers!.map((o) => o.on)).toEqual([[]]);
  });

  it("names itself when it cannot write, and goes on", async () => {
    let full = true;
    const host = testHost({ fails: (call) => (call === "writeFile" && full ? "ENOSPC" : undefined) });
    const session = await (await startWith(under({ record: "t.jsonl" }, { host, replies: [END, END] }))).open();
    const { outcome, events } = await session.run();
    expect(outcome).toEqual({ kind: "completed" });
    expect(events.flatMap((e) => (e.type === "fault" ? [e.fault.message] : []))).toEqual([
      'plugin "@heddle/provider-replay" (observers "recorder") threw: ENOSPC: writeFile "/w/t.jsonl"',
    ]);
    full = false;
    await session.run();
    expect(host.text("/w/t.jsonl")!.split("\n").length).toBe(3);
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
