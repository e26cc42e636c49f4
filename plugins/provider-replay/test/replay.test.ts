import { type AssistantPart, defineTool, type Message, unpaired, z } from "@heddle/kernel";
import { ownPlugin, pluginOf, type RunOptions, type RunResult, runTurnWith, startWith, testHost } from "@heddle/testkit";
import { describe, expect, it } from "vitest";
import packageJson from "../package.json" with { type: "json" };
import plugin from "../src/index.ts";

const echo = pluginOf("echo", {
  tools: [defineTool({ name: "Echo", description: "", input: z.looseObject({}), overlap: "shared", effects: () => [], run: () => "ok" })],
});
function under(tape: string | undefined, options: object = {}): RunOptions {
  const own = ownPlugin(plugin, packageJson, { tape: "tapes/t.jsonl", ...options });
  const host = testHost(tape === undefined ? {} : { files: { "/w/tapes/t.jsonl": tape } });
  return { plugins: [own, echo], provider: "replay", cwd: "/w", host };
}
const play = (tape: string | undefined, options?: object): Promise<RunResult> => runTurnWith(under(tape, options));
const replies = (messages: readonly Message[]): (readonly AssistantPart[])[] =>
  messages.flatMap((m) => (m.role === "assistant" ? [m.content] : []));
const faultOf = ({ outcome }: RunResult) => (outcome.kind === "failed" ? outcome.fault : undefined);
const lines = (...steps: unknown[]): string => steps.map((s) => JSON.stringify(s)).join("\n");

describe("a tape", () => {
  it("is played step by step, with placeholders filled in", async () => {
    const tape = lines(
      {
        reasoning: "look first",
        text: "Reading {{cwd}}/a and {{file}}; {{unknown}} stays.",
        calls: [
          { tool: "Echo", input: { path: "{{cwd}}/a", list: [1, null, "{{file}}"] } },
          { tool: "Echo", input: {} },
        ],
        usage: { input: 10, output: 5, cacheRead: 3 },
      },
      { text: "Done." },
    );
    const { outcome, messages } = await play(tape, { vars: { file: "b.ts" } });
    expect(outcome).toEqual({ kind: "completed" });
    expect(unpaired(messages)).toEqual({ open: [], orphan: [] });
    const assistants = messages.filter((m) => m.role === "assistant");
    expect(assistants.map(({ content, stop, usage }) => ({ content, stop, usage }))).toEqual([
      {
        content: [
          { type: "reasoning", text: "look first" },
          { type: "text", text: "Reading /w/a and b.ts; {{unknown}} stays." },
          { type: "tool-call", callId: "replay_0001_0", tool: "Echo", input: { path: "/w/a", list: [1, null, "b.ts"] } },
          { type: "tool-call", callId: "replay_0001_1", tool: "Echo", input: {} },
        ],
        stop: "tool-calls",
        usage: { input: 10, output: 5, cacheRead: 3 },
      },
      { content: [{ type: "text", text: "Done." }], stop: "end", usage: undefined },
    ]);
  });

  it("streams text in small pieces that part no character", async () => {
    const text = "😀".repeat(40);
    const { events } = await play(lines({ text }));
    const pieces = events.flatMap((e) => (e.type === "message.delta" ? [e.text] : []));
    expect(pieces.join("")).toBe(text);
    expect(pieces.map((p) => [...p].length)).toEqual([16, 16, 8]);
  });

  it("may come from an absolute path, with empty lines and a byte order mark", async () => {
    const { messages } = await play(`\uFEFF{"text":"one"}\r\n\r\n{"text":"two"}\r\n`, { tape: "/w/tapes/t.jsonl" });
    expect(replies(messages)).toEqual([[{ type: "text", text: "one" }]]);
  });

  it("plays a refusal, and a reply that was cut off at its limit", async () => {
    expect((await play(lines({ stop: "refusal" }))).outcome).toEqual({ kind: "refused" });
    const cut = await play(lines({ text: "half ", stop: "length" }, { text: "done" }));
    expect(replies(cut.messages)).toEqual([[{ type: "text", text: "half " }], [{ type: "text", text: "done" }]]);
  });

  it("shows what it would be sent, without playing it", async () => {
    const contributions = await plugin.setup({ options: {}, capability: () => testHost().fs } as never);
    const request = { model: "m", prefix: { system: [], context: [] }, messages: [], tools: [], sessionId: "s" };
    expect(contributions.providers![0]!.encode!(request)).toEqual({
      model: "m",
      prefix: { system: [], context: [] },
      messages: [],
      tools: [],
    });
  });
});

describe("the step", () => {
  const TAPE = lines({ text: "1" }, { calls: [{ tool: "Echo", input: { n: 2 } }] }, { text: "3" }, { text: "4" }, { text: "5" });
  const texts = (messages: readonly Message[]): string[] =>
    replies(messages).map((c) => c.map((p) => ("text" in p ? p.text : p.callId)).join());

  it("follows the conversation over turns and a restart", async () => {
    const o = { ...under(TAPE), stateDir: "/state" };
    await runTurnWith({ ...o, input: ["one", "two"] });
    const { messages } = await runTurnWith({ ...o, input: ["three", "four"], resume: "latest" });
    expect(texts(messages)).toEqual(["1", "replay_0002_0", "3", "4", "5"]);
  });

  it("is read from the call ids where the beginning is lost", async () => {
    const o = under(TAPE);
    const { added: history } = await runTurnWith({ ...o, input: ["one", "two"] });
    expect(texts((await runTurnWith({ ...o, history })).added)).toEqual(["4"]);
  });

  it("starts again with a new conversation", async () => {
    const runtime = await startWith(under(TAPE));
    for (let n = 0; n < 2; n++) expect(texts((await (await runtime.open()).run()).messages)).toEqual(["1"]);
  });

  it("does not count a reply that was interrupted", async () => {
    let interrupted = false;
    const onEvent: RunOptions["onEvent"] = (e, session) => {
      if (e.type !== "message.delta" || interrupted) return;
      interrupted = true;
      session.abort();
    };
    const { messages } = await runTurnWith({ ...under(TAPE), input: ["one", "two"], onEvent });
    expect(messages.flatMap((m) => (m.role === "assistant" ? [m.stop] : []))).toEqual(["aborted", "end"]);
    expect(texts(messages)).toEqual(["1", "1"]);
  });

  it("counts the replies of other providers", async () => {
    const { run, session } = await (await startWith({ ...under(TAPE), replies: ["ok"], model: "script/any" })).open();
    await run();
    session.setModel("replay/any");
    expect(texts((await run()).added)).toEqual(["replay_0002_0", "3"]);
  });
});

describe("what is wrong with a tape is said", () => {
  it.each([
    [undefined, "not-found", 'there is no tape at /w/tapes/t.jsonl: record one with the option "record", or correct the path'],
    ["", "invalid", 'the tape /w/tapes/t.jsonl is wrong: no steps in it; each line is one, such as {"text":"Hello."}'],
    ['{"text":"a"}\n\n{"txet":"b"}', "invalid", 'the tape /w/tapes/t.jsonl is wrong: line 3: the step: Unrecognized key: "txet"'],
    ['{"text":"a"}\n{}', "invalid", "the tape /w/tapes/t.jsonl is wrong: line 2: an empty step; give it text, calls or a stop"],
    ['{"text":1}', "invalid", "the tape /w/tapes/t.jsonl is wrong: line 1: text: Invalid input: expected string, received number"],
    ['{"calls":[{"input":{}}]}', "invalid", /line 1: calls\.0\.tool: /],
    ['{"text":"a"', "invalid", /^the tape \/w\/tapes\/t\.jsonl is wrong: line 1: not JSON \(/],
  ])("%j", async (tape, kind, message) => {
    const fault = faultOf(await play(tape))!;
    expect({ code: fault.code, kind: fault.model?.kind }).toEqual({ code: "model-error", kind });
    const said = fault.message.replace('plugin "@heddle/provider-replay" (providers "replay") ', "");
    if (typeof message === "string") expect(said).toBe(message);
    else expect(said).toMatch(message);
  });

  it("when it is at its end", async () => {
    const fault = faultOf(await play(lines({ calls: [{ tool: "Echo", input: {} }] })))!;
    expect(fault.message).toContain(
      "the tape /w/tapes/t.jsonl is at its end: it has 1 step, and this is model call 2 of the conversation. Add a line, or start a new session",
    );
  });

  it("when there is none", async () => {
    const fault = faultOf(await play(undefined, { tape: undefined }))!;
    expect(fault.message).toContain('there is no tape to play: set the option "tape" to the path of one');
  });

  it("when an option is misspelt", async () => {
    await expect(play(lines({ text: "a" }), { tapes: "x" })).rejects.toThrow(/tapes/);
  });
});
