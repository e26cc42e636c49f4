/** Which step answers a request, and what side requests and compactions get. */

import { describe, expect, it } from "vitest";
import type { AnthropicServer, JsonObject, ServerOptions, Step } from "../src/index.ts";
import { ask, assistant, body, OLD, post, result, type SentMessage, TOOL, text, user, useServers } from "./helpers.ts";

const start = useServers();
const PROMPT = user("prompt");
const callStep = (name: string): Step => ({ calls: [{ name, input: {} }] });

const said = (message: SentMessage) =>
  message.content.map((block) => String(block["type"] === "text" ? block["text"] : block["name"])).join("+");

const idOf = (message: SentMessage) => String(message.content.find(({ type }) => type === "tool_use")?.["id"]);

const turn = (message: SentMessage): JsonObject[] => [
  assistant(message.content),
  user(message.content.filter(({ type }) => type === "tool_use").map(({ id }) => result(String(id)))),
];

const request = (messages: JsonObject[], more: Record<string, unknown> = {}) => body({ messages, ...more });

describe("steps", () => {
  const script = [callStep("one"), callStep("two"), { text: "end" }];

  it("follow the number in the call ids", async () => {
    const server = await start({ script });
    const first = await ask(server, request([PROMPT]));
    expect(idOf(first)).toMatch(/^toolu_01s0000x0[a-z0-9]+$/);
    const second = await ask(server, request([PROMPT, ...turn(first)]));
    expect(idOf(second)).toMatch(/^toolu_01s0001x0/);
    expect(said(await ask(server, request([PROMPT, ...turn(first), ...turn(second)])))).toBe("end");
    expect(server.requests.map(({ step }) => step)).toEqual([0, 1, 2]);
  });

  it("are the same for a retry and for a resumed process", async () => {
    const server = await start({ script });
    const first = await ask(server, request([PROMPT]));
    const history = request([PROMPT, ...turn(first)]);
    expect(said(await ask(server, history))).toBe("two");
    expect(said(await ask(server, history))).toBe("two");
    const later = await start({ script });
    expect(said(await ask(later, history))).toBe("two");
  });

  it("stay at the first one until it was delivered", async () => {
    const server = await start({
      script,
      faults: [
        { name: "cut-text", at: 0 },
        { name: "529", at: 1, times: 1 },
      ],
    });
    await (await post(server, { ...request([PROMPT]), stream: true })).text().catch(() => "");
    await post(server, request([PROMPT]));
    expect(said(await ask(server, request([PROMPT])))).toBe("one");
    expect(server.requests.map(({ delivered }) => delivered)).toEqual([false, false, true]);
  });

  it("go on behind the last delivered one when compaction took the calls away", async () => {
    const server = await start({ script });
    const first = await ask(server, request([PROMPT]));
    await ask(server, request([PROMPT, ...turn(first)]));
    expect(said(await ask(server, request([user("a summary of it all")])))).toBe("end");
  });

  it("never go past the end", async () => {
    const server = await start({ script: [{ text: "end" }] });
    expect(said(await ask(server, request([PROMPT])))).toBe("end");
    expect(said(await ask(server, request([PROMPT, assistant("end"), user("more")])))).toBe("end");
  });

  it("without calls count as played when their text is in the history", async () => {
    const server = await start({ script: [callStep("one"), { text: "first answer" }, { text: "second answer" }] });
    const first = await ask(server, request([PROMPT]));
    const history = [PROMPT, ...turn(first)];
    expect(said(await ask(server, request(history)))).toBe("first answer");
    const partly = [...history, assistant("first ans"), user("go on")];
    expect(said(await ask(server, request(partly)))).toBe("first answer");
    const wholly = [...history, assistant("first answer"), user("next")];
    expect(said(await ask(server, request(wholly)))).toBe("second answer");
  });

  it("number several calls of one step", async () => {
    const server = await start({ script: [{ text: "both", calls: [{ name: "a" }, { name: "b" }] }, {}] });
    const message = await ask(server, request([PROMPT]));
    const ids = message.content.filter(({ type }) => type === "tool_use").map(({ id }) => id);
    expect(ids).toEqual([expect.stringMatching(/^toolu_01s0000x0/), expect.stringMatching(/^toolu_01s0000x1/)]);
    expect(message.stop_reason).toBe("tool_use");
  });

  it("may be replaced while the server runs", async () => {
    const server = await start({ script: [{ text: "old" }, { text: "older" }] });
    await ask(server, request([PROMPT]));
    server.setScript([{ text: "new" }]);
    expect(said(await ask(server, request([PROMPT])))).toBe("new");
  });

  it("default to a single ok", async () => {
    expect(said(await ask(await start(), request([PROMPT])))).toBe("ok");
  });

  it("have the same ids in two runs of one seed", async () => {
    const ids = async (seed: number) => idOf(await ask(await start({ script, seed }), request([PROMPT])));
    expect(await ids(7)).toBe(await ids(7));
    expect(await ids(7)).not.toBe(await ids(8));
  });
});

describe("dynamic steps", () => {
  it("fill placeholders from the variables", async () => {
    const step: Step = {
      text: "in {{cwd}} and {{unknown}}",
      calls: [{ name: "read", input: { path: "{{cwd}}/a", list: ["{{cwd}}"] } }],
    };
    const message = await ask(await start({ script: [step], vars: { cwd: "/tmp/x" } }), request([PROMPT]));
    expect(message.content[0]?.["text"]).toBe("in /tmp/x and {{unknown}}");
    expect(message.content[1]?.["input"]).toEqual({ path: "/tmp/x/a", list: ["/tmp/x"] });
  });

  it("compute inputs and texts from the request", async () => {
    const script: Step[] = [
      { calls: [{ name: "read", input: ({ userText }) => ({ asked: userText }) }] },
      { text: ({ results }) => `got ${results[0]?.text} (${results[0]?.isError})` },
    ];
    const server = await start({ script });
    const first = await ask(server, request([PROMPT]));
    expect(first.content[0]?.["input"]).toEqual({ asked: "prompt" });
    const failed = user([result(idOf(first), { content: "broken", is_error: true })]);
    expect(said(await ask(server, request([PROMPT, assistant(first.content), failed])))).toBe("got broken (true)");
  });

  it("come from a function of request and index, until it has no more", async () => {
    const server = await start({
      script: (_request, index) => (index < 2 ? { calls: [{ name: `step${index}` }] } : undefined),
    });
    const first = await ask(server, request([PROMPT]));
    const second = await ask(server, request([PROMPT, ...turn(first)]));
    expect(said(second)).toBe("step1");
    expect(said(await ask(server, request([PROMPT, ...turn(first), ...turn(second)])))).toBe("Done.");
  });
});

describe("several prompts", () => {
  const scripts = [
    { marker: "ALPHA", script: [callStep("a1"), callStep("a2"), { text: "alpha done" }] },
    { marker: "BETA", script: [callStep("b1"), { text: "beta done" }] },
  ];
  const alpha = user("do ALPHA please");
  const beta = user("now BETA");

  async function playAlpha(server: AnthropicServer): Promise<JsonObject[]> {
    const history = [alpha];
    for (let n = 0; n < 2; n++) history.push(...turn(await ask(server, request(history))));
    return [...history, assistant("alpha done")];
  }

  it("are told apart by the marker in the newest prompt", async () => {
    const server = await start({ scripts });
    const history = [...(await playAlpha(server)), beta];
    const first = await ask(server, request(history));
    expect(said(first)).toBe("b1");
    expect(said(await ask(server, request([...history, ...turn(first)])))).toBe("beta done");
    expect(server.requests.map(({ script, step }) => [script, step])).toEqual([
      [0, 0],
      [0, 1],
      [1, 0],
      [1, 1],
    ]);
  });

  it("are recognised by their calls when the marker was compacted away", async () => {
    const server = await start({ scripts });
    const first = await ask(server, request([alpha]));
    await ask(server, request([beta]));
    expect(said(await ask(server, request([user("a summary"), ...turn(first)])))).toBe("a2");
  });

  it("do not take a marker in a tool result for a prompt", async () => {
    const server = await start({ scripts });
    const first = await ask(server, request([alpha]));
    const results = user([result(idOf(first), { content: "BETA" })]);
    expect(said(await ask(server, request([alpha, assistant(first.content), results])))).toBe("a2");
  });
});

describe("side requests", () => {
  const script = [callStep("one"), { text: "end" }];
  const side = async (more: Record<string, unknown>, options: ServerOptions = {}) => {
    const server = await start({ script, faults: [{ name: "500", at: 0 }], ...options });
    const message = await ask(server, request([user("what is up")], more));
    expect(server.requests[0]).toMatchObject({ kind: "side", step: undefined, fault: undefined });
    return message;
  };
  const schema = {
    type: "object",
    properties: {
      title: { type: "string" },
      ok: { type: "boolean" },
      kind: { enum: ["a", "b"] },
      n: { type: "integer", minimum: 3 },
      list: { type: "array", items: { type: "string" }, minItems: 1 },
    },
    required: ["title", "n"],
  };

  it("without tools get an ok or a title", async () => {
    expect(said(await side({ tools: undefined }))).toBe("ok");
    expect(said(await side({ tools: undefined, system: "Write a short title." }))).toBe("Scripted task");
  });

  it("with few tokens get an ok", async () => {
    expect(said(await side({ max_tokens: 64 }))).toBe("ok");
  });

  it("with an output format get JSON of its shape", async () => {
    const format = { type: "json_schema", schema };
    expect(JSON.parse(said(await side({ output_config: { format } })))).toEqual({
      title: "Scripted task",
      ok: false,
      kind: "a",
      n: 3,
      list: ["ok"],
    });
  });

  it("with a forced tool get that tool with the least input", async () => {
    const tools = [TOOL, { name: "answer", input_schema: schema }];
    const message = await side({ model: OLD, tools, tool_choice: { type: "tool", name: "answer" } });
    expect(message.content).toEqual([
      { type: "tool_use", id: expect.any(String), name: "answer", input: { title: "Scripted task", n: 3 } },
    ]);
  });

  it("may be answered by the test", async () => {
    expect(said(await side({ max_tokens: 10 }, { side: () => ({ text: "mine" }) }))).toBe("mine");
  });

  it("may be declared main", async () => {
    const server = await start({ script: [{ text: "main" }], classify: () => "main" });
    expect(said(await ask(server, request([PROMPT], { tools: undefined })))).toBe("main");
    expect(server.mainRequests()).toHaveLength(1);
  });
});

describe("compaction", () => {
  const ASK = `${"Please look back at everything. ".repeat(10)}Write a summary of the conversation so far.`;

  it("is answered by a summary and uses no step", async () => {
    const server = await start({ script: [callStep("one"), callStep("two"), { text: "end" }] });
    const first = await ask(server, request([PROMPT]));
    const compacted = await ask(server, request([PROMPT, ...turn(first), user([text(ASK)])]));
    expect(said(compacted)).toMatch(/^<summary>[\s\S]+<\/summary>$/);
    expect(server.requests[1]).toMatchObject({ kind: "compaction", step: undefined });
    expect(said(await ask(server, request([user(`${said(compacted)} Go on.`)])))).toBe("two");
  });

  it("is recognised without tools as well, and answered as the test wishes", async () => {
    const server = await start({ summary: "<summary>short</summary>" });
    expect(said(await ask(server, request([user(ASK)], { tools: undefined })))).toBe("<summary>short</summary>");
  });

  it.each([
    ["a short wish", "Write a summary of the conversation."],
    ["a quoted summary", `This session is continued from a previous conversation. ${ASK}`],
  ])("is not seen in %s", async (_name, asked) => {
    const server = await start();
    await ask(server, request([user(asked)]));
    expect(server.requests[0]?.kind).toBe("main");
  });

  it("may be recognised by a sentence of the client's own", async () => {
    const server = await start({ compactionMarker: "Fold the history." });
    await ask(server, request([user(ASK)]));
    await ask(server, request([user("Fold the history.")]));
    expect(server.requests.map(({ kind }) => kind)).toEqual(["main", "compaction"]);
  });
});
