/** The server on the wire: replies in both APIs, flavours, faults, keys, the record. */
import { afterEach, describe, expect, test } from "vitest";
import { FAULT_NAMES, FLAVOUR_NAMES, type JsonObject, type OpenAIServer, type ServerOptions, startOpenAIServer } from "../src/index.ts";

let server: OpenAIServer;
afterEach(() => server.close());

const post = (path: string, body: object, headers: Record<string, string> = { authorization: "Bearer k" }): Promise<Response> =>
  fetch(`${server.url}${path}`, {
    method: "POST",
    headers: { "content-type": "application/json", ...headers },
    body: JSON.stringify(body),
  });
async function start(options: ServerOptions = {}): Promise<void> {
  server = await startOpenAIServer(options);
}
const user = { role: "user", content: "hi" };
const ask = { model: "gpt-5", messages: [user] };
const SCRIPT = [{ reasoning: "Hm.", text: "Look.", calls: [{ name: "read", input: { path: "/a" } }] }, { text: "Done." }];
const events = async (response: Response): Promise<string[]> => (await response.text()).trim().split("\n\n");
const json = async (response: Promise<Response>): Promise<JsonObject> => (await (await response).json()) as JsonObject;

describe("Chat Completions", () => {
  test("a reply in one piece, and the next step by the history", async () => {
    await start({ script: SCRIPT });
    const first = await json(post("/chat/completions", ask));
    const [choice] = first["choices"] as { message: JsonObject }[];
    expect(choice).toEqual({
      index: 0,
      logprobs: null,
      finish_reason: "tool_calls",
      message: {
        role: "assistant",
        content: "Look.",
        refusal: null,
        tool_calls: [{ id: "call_0000x0", type: "function", function: { name: "read", arguments: '{"path":"/a"}' } }],
      },
    });
    const { refusal: _, ...message } = choice!.message;
    const result = { role: "tool", tool_call_id: "call_0000x0", content: "x" };
    const second = await json(post("/chat/completions", { ...ask, messages: [user, message, result] }));
    expect(second["choices"]).toMatchObject([{ message: { content: "Done." }, finish_reason: "stop" }]);
    expect(server.requests.map((r) => [r.step, r.status, r.refusal])).toEqual([
      [0, 200, undefined],
      [1, 200, undefined],
    ]);
  });
  test.each(FLAVOUR_NAMES.map((flavour) => ({ flavour })))("the stream of $flavour", async ({ flavour }) => {
    await start({ flavour, script: SCRIPT, models: { m: {} } });
    const [plain, asked] = [{ ...ask, model: "m", stream: true }, { stream_options: { include_usage: true } }];
    const bare = await events(await post("/chat/completions", plain));
    const full = await events(await post("/chat/completions", { ...plain, ...asked }));
    expect(bare.some((e) => e.includes('"usage":{'))).toBe(flavour === "openrouter");
    expect(full.some((e) => e.includes('"usage":{'))).toBe(true);
    expect(full.at(-1)).toBe("data: [DONE]");
    expect(full[0] === ": OPENROUTER PROCESSING").toBe(flavour === "openrouter");
    const field = { openai: undefined, ollama: "reasoning", openrouter: "reasoning" }[flavour as string] ?? "reasoning_content";
    expect(full.some((e) => e.includes(`"${field}":"Hm."`))).toBe(flavour !== "openai");
  });
});

describe("Responses", () => {
  test("a stream", async () => {
    await start({ script: SCRIPT });
    const body = { model: "gpt-5", input: "hi", stream: true, store: false, include: ["reasoning.encrypted_content"] };
    const all = await events(await post("/responses", body));
    const types = all.map((e) => e.split("\n")[0]!.slice("event: ".length));
    expect([...new Set(types)]).toEqual([
      "response.created",
      "response.in_progress",
      "response.output_item.added",
      "response.output_item.done",
      "response.content_part.added",
      "response.output_text.delta",
      "response.output_text.done",
      "response.content_part.done",
      "response.function_call_arguments.delta",
      "response.function_call_arguments.done",
      "response.completed",
    ]);
    const last = JSON.parse(all.at(-1)!.split("\ndata: ")[1]!);
    expect(last.response.output).toEqual([
      { id: "rs_000000x0", type: "reasoning", summary: [], encrypted_content: expect.stringMatching(/^gAAAA/) },
      expect.objectContaining({ id: "msg_000000x1", type: "message" }),
      expect.objectContaining({ id: "fc_000000x2", type: "function_call", arguments: '{"path":"/a"}' }),
    ]);
  });
  test("items with ids belong together", async () => {
    await start({ script: SCRIPT });
    const ask = { model: "gpt-5", store: false, include: ["reasoning.encrypted_content"] };
    const { output } = (await json(post("/responses", { ...ask, input: "hi" }))) as { output: JsonObject[] };
    const [rs, msg, fc] = output as [JsonObject, JsonObject, JsonObject];
    const result = { type: "function_call_output", call_id: fc["call_id"]!, output: "x" };
    const clean = { ...msg, content: [{ type: "output_text", text: "Look." }] };
    const refusal = async (...input: JsonObject[]): Promise<unknown> => {
      const answer = (await json(post("/responses", { ...ask, input }))) as { error: { message?: string } | null };
      return answer.error?.message;
    };
    expect(await refusal(user, rs, clean, fc, result)).toBeUndefined();
    expect(await refusal(user, rs, fc, result)).toBe(
      `Item 'rs_000000x0' of type 'reasoning' was provided without its required following item.`,
    );
    expect(await refusal(user, clean, fc, result)).toBe(
      "Item 'msg_000000x1' of type 'message' was provided without its required 'reasoning' item: 'rs_000000x0'.",
    );
    const { id: _, ...nameless } = rs;
    const { id: __, ...bare } = clean as JsonObject;
    expect(await refusal(user, nameless, bare, fc, result)).toBeUndefined();
  });
  test("not on every server", async () => {
    await start({ flavour: "llama.cpp" });
    expect((await post("/responses", { model: "qwen3:8b", input: "hi" })).status).toBe(404);
  });
});

test("a prompt cache in blocks of 128 tokens", async () => {
  await start();
  const long = (more: string): object => ({ ...ask, messages: [{ role: "user", content: "word ".repeat(1000) + more }] });
  await post("/chat/completions", long(""));
  const second = await json(post("/chat/completions", long("and more")));
  expect(second["usage"]).toMatchObject({ prompt_tokens: 1255, prompt_tokens_details: { cached_tokens: 1152 } });
});

test("keys", async () => {
  await start({ keys: ["right"] });
  for (const headers of [{}, { authorization: "Bearer wrong" }]) {
    const response = await post("/chat/completions", ask, headers as Record<string, string>);
    expect([response.status, Object.keys((await response.json()) as object)]).toEqual([401, ["error"]]);
  }
  expect((await post("/chat/completions", ask, { authorization: "Bearer right" })).status).toBe(200);
});

test("a window that is too small", async () => {
  await start({ window: 100 });
  const response = await post("/chat/completions", { ...ask, messages: [{ role: "user", content: "word ".repeat(100) }] });
  expect([response.status, ((await response.json()) as { error: object }).error]).toEqual([
    400,
    {
      message: expect.stringMatching(
        /^This model's maximum context length is 100 tokens\. However, your messages resulted in \d+ tokens\./,
      ),
      type: "invalid_request_error",
      param: "messages",
      code: "context_length_exceeded",
    },
  ]);
});

describe("faults", () => {
  test.each(FAULT_NAMES.filter((name) => name !== "hang" && name !== "stall"))(
    "%s strikes once, and the next request is served",
    async (name) => {
      await start({ script: SCRIPT, faults: [name] });
      const stream = { ...ask, stream: true };
      const struck = await post("/chat/completions", stream).then(
        async (response) => [response.status, await response.text().catch(() => "cut")],
        () => ["no answer"],
      );
      const normal = await (await post("/chat/completions", stream)).text();
      expect(struck).not.toEqual([200, normal]);
      expect(normal).toContain("[DONE]");
      expect(server.requests.map((r) => r.fault)).toEqual([name, undefined]);
    },
  );
  test.each(["hang", "stall"] as const)("%s lasts until the client leaves", async (name) => {
    await start({ script: SCRIPT, faults: [name] });
    const stop = new AbortController();
    const body = JSON.stringify({ ...ask, stream: true });
    const reading = fetch(`${server.url}/chat/completions`, {
      method: "POST",
      headers: { authorization: "Bearer k" },
      body,
      signal: stop.signal,
    })
      .then((response) => response.text())
      .catch(() => "left");
    await expect.poll(() => server.requests[0]?.fault).toBe(name);
    stop.abort();
    expect(await reading).toBe("left");
    await expect.poll(() => server.requests[0]!.closedByClient).toBe(true);
  });
});

test("rubbish", async () => {
  await start();
  const response = await fetch(`${server.url}/chat/completions`, { method: "POST", headers: { authorization: "Bearer k" }, body: "{" });
  expect([response.status, await response.json()]).toEqual([
    400,
    {
      error: {
        message: "We could not parse the JSON body of your request.",
        type: "invalid_request_error",
        param: null,
        code: null,
      },
    },
  ]);
  expect((await post("/completions", ask)).status).toBe(404);
});
