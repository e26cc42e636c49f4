/** One conversation that goes from Anthropic to Chat Completions, to Responses and back, each leg a process of its own. */
import { type OpenAIServer, startOpenAIServer } from "@heddle/openai-server";
import { afterEach, describe, expect, it } from "vitest";
import { png } from "./png.ts";
import { lines, type World, world } from "./run.ts";

const CLAUDE = "claude-opus-5-5";
const open: OpenAIServer[] = [];
afterEach(async () => void (await Promise.all(open.splice(0).map((s) => s.close()))));

const picture = (width: number): string => png(width, 1).toString("base64");

type Leg = { readonly name: string; readonly model: string; readonly settings: object };
const calls = (w: World, name: string) =>
  ["a", "b"].map((file) => ({ name: "Read", input: { file_path: `${w.cwd}/${file}-${name}.txt` } }));
/** Two calls at once, then an answer; both with thoughts. */
const steps = (w: World, name: string) => [
  { thinking: `${name} thinks.`, reasoning: `${name} thinks.`, text: "Reading.", calls: calls(w, name) },
  { thinking: `${name} is sure.`, reasoning: `${name} is sure.`, text: `${name} is done.` },
];

async function say(w: World, { name, model, settings }: Leg, n: number): Promise<void> {
  for (const file of ["a", "b"]) w.write(`project/${file}-${name}.txt`, `${file} of ${name}\n`);
  const image = { type: "image", source: { type: "base64", media_type: "image/png", data: picture(n + 1) } };
  const stdin = `${JSON.stringify({ type: "user", message: { content: [{ type: "text", text: `now ${name}` }, image] } })}\n`;
  const stream = ["--input-format", "stream-json", "--output-format", "stream-json"];
  const ran = await w.run([...(n === 0 ? [] : ["-c"]), "-p", ...stream, "--model", model, "--settings", JSON.stringify(settings)], {
    stdin,
  });
  expect([ran.stderr, lines(ran.stdout).at(-1)]).toEqual(["", expect.objectContaining({ is_error: false, result: `${name} is done.` })]);
}

const count = (body: unknown, what: RegExp): number => JSON.stringify(body).match(what)?.length ?? 0;
/** What `what` has in its brackets, in order. */
const all = (body: unknown, what: RegExp): string[] => [...JSON.stringify(body).matchAll(what)].map((m) => m[1]!);
/** The ids of the calls, and those of the results. */
const pairs = (body: unknown, call: RegExp, result: RegExp): [string[], string[]] => [all(body, call), all(body, result)];

describe("a conversation", () => {
  it("goes from Anthropic to Chat Completions, to Responses and back, and every server takes it", async () => {
    const w = await world();
    const start = async (options: Parameters<typeof startOpenAIServer>[0]): Promise<OpenAIServer> => {
      const server = await startOpenAIServer(options);
      open.push(server);
      return server;
    };
    // Their scripts go by the number of replies in the history, whoever made them.
    const chat = await start({ flavour: "ollama", script: [{}, {}, ...steps(w, "two")] });
    const responses = await start({ flavour: "openai", script: [{}, {}, {}, {}, ...steps(w, "three")] });
    w.server.setScript([
      { marker: "now one", script: steps(w, "one") },
      { marker: "now four", script: steps(w, "four") },
    ]);
    const own = { api: "responses", baseURL: responses.url, apiKey: "k", models: { "gpt-5.6": { reasoning: true } } };
    const legs: Leg[] = [
      { name: "one", model: CLAUDE, settings: {} },
      { name: "two", model: "ollama/qwen3-vl:8b", settings: { provider: { options: { ollama: { baseURL: chat.url } } } } },
      { name: "three", model: "openai/gpt-5.6", settings: { provider: { options: { openai: own } } } },
      { name: "four", model: CLAUDE, settings: {} },
    ];
    for (const [n, leg] of legs.entries()) await say(w, leg, n);

    expect([chat.refusals(), responses.refusals(), w.server.warnings()]).toEqual([[], [], []]);
    expect(w.server.requests.flatMap((r) => r.dropped)).toEqual([]);
    const bodies = (server: OpenAIServer): unknown[] => server.requests.filter((r) => r.method === "POST").map((r) => r.body);
    const [claude, qwen, gpt] = [w.server.mainRequests().map((r) => r.body), bodies(chat), bodies(responses)];
    expect([claude.length, qwen.length, gpt.length]).toEqual([4, 2, 2]);

    const images = [
      claude.map((body) => all(body, /"media_type":"image\/png","data":"([^"]+)"/g)),
      qwen.map((body) => all(body, /"image_url":\{"url":"data:image\/png;base64,([^"]+)"/g)),
      gpt.map((body) => all(body, /"type":"input_image","image_url":"data:image\/png;base64,([^"]+)"/g)),
    ];
    const sent = [1, 2, 3, 4].map(picture);
    const of = (...counts: number[]): string[][] => counts.map((n) => sent.slice(0, n));
    expect(images).toEqual([of(1, 1, 4, 4), of(2, 2), of(3, 3)]);

    const paired = [
      ...claude.map((body) => pairs(body, /"type":"tool_use","id":"([^"]+)"/g, /"tool_use_id":"([^"]+)"/g)),
      ...qwen.map((body) => pairs(body, /"id":"([^"]+)","type":"function"/g, /"tool_call_id":"([^"]+)"/g)),
      ...gpt.map((body) =>
        pairs(body, /"type":"function_call","call_id":"([^"]+)"/g, /"type":"function_call_output","call_id":"([^"]+)"/g),
      ),
    ];
    for (const [called, answered] of paired) expect(answered).toEqual(called);
    expect(paired.map(([called]) => called.length)).toEqual([0, 2, 6, 8, 2, 4, 4, 6]);

    // What each has thought goes back to it, and to nobody else.
    const thoughts = (list: unknown[], what: RegExp): number[] => list.map((body) => count(body, what));
    expect(thoughts(claude, /"type":"thinking","thinking"/g)).toEqual([0, 1, 2, 3]);
    expect(thoughts(gpt, /"encrypted_content":/g)).toEqual([0, 1]);
    expect(thoughts(qwen, /two thinks/g)).toEqual([0, 1]);
    expect(thoughts(claude, /encrypted_content|two thinks|three thinks/g)).toEqual([0, 0, 0, 0]);
    expect(thoughts(qwen, /"signature"|one thinks|encrypted/g)).toEqual([0, 0]);
    expect(thoughts(gpt, /"signature"|one thinks|two thinks/g)).toEqual([0, 0]);
  });
});
