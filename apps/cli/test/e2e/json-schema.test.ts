/** `heddle -p --json-schema` through the built program, against both kinds of servers. */
import type { ServerOptions } from "@heddle/anthropic-server";
import { startOpenAIServer } from "@heddle/openai-server";
import { describe, expect, it } from "vitest";
import { lines, world } from "./run.ts";

const schema = JSON.stringify({ type: "object", properties: { n: { type: "integer", minimum: 1 } }, required: ["n"] });
const call = (input: Record<string, number | string[]>) => ({ calls: [{ name: "StructuredOutput", input }] });
const flags = ["-p", "how many?", "--json-schema", schema];
const names = (body: unknown): unknown[] => ((body as { tools?: { name: string }[] }).tools ?? []).map((t) => t.name);

describe("--json-schema", () => {
  it("prints the JSON, and is an offer to the model in this run only", async () => {
    const w = await world({ script: [call({ n: 3 }), { text: "Done." }] });
    const ran = await w.run(flags);
    expect({ ...ran, ms: 0 }).toEqual({ code: 0, stdout: '{"n":3}\n', stderr: "", ms: 0 });
    await w.run(["-p", "hi"]);
    const [first, , other] = w.server.mainRequests();
    expect([names(first?.body), names(other?.body)].map((all) => all.includes("StructuredOutput"))).toEqual([true, false]);
  });

  it("asks again with what was wrong, and carries the answer in the result", async () => {
    const w = await world({ script: [{ text: "Three." }, call({ n: 0 }), call({ n: 3 }), { text: "Done." }] });
    const ran = await w.run([...flags, "--output-format", "json"]);
    expect([ran.code, JSON.parse(ran.stdout)]).toEqual([
      0,
      expect.objectContaining({ subtype: "success", is_error: false, result: "Done.", structured_output: { n: 3 } }),
    ]);
    expect(JSON.stringify(w.server.mainRequests()[2]?.body)).toContain("/n must be >= 1");
  });

  it.each([
    ["text", Array.from({ length: 6 }, () => ({ text: "Three." })), "it called no StructuredOutput"],
    ["calls", Array.from({ length: 6 }, () => call({ n: 0 })), "/n must be >= 1"],
  ])("gives up when asking three times does not help: %s", async (_, script, why) => {
    const w = await world({ script });
    const ran = await w.run([...flags, "--output-format", "json"]);
    const error = `No answer fits --json-schema, though it was asked for again 3 times: ${why}.`;
    const { result, structured_output, ...rest } = JSON.parse(ran.stdout) as Record<string, unknown>;
    expect([ran.code, w.server.mainRequests().length, result, structured_output]).toEqual([1, 4, undefined, undefined]);
    expect(rest).toMatchObject({
      subtype: "error_max_structured_output_retries",
      is_error: true,
      errors: [error],
      terminal_reason: "structured_output_retry_exhausted",
    });
    const text = await w.run(flags);
    expect({ ...text, ms: 0 }).toEqual({ code: 1, stdout: "", stderr: `heddle: ${error}\n`, ms: 0 });
  });

  it.each<[string, readonly string[], ServerOptions, string]>([
    ["the last call that was allowed", ["--max-turns", "1"], {}, ""],
    ["the end of the budget", ["--max-budget-usd", "0.0001"], {}, "The budget of "],
    ["an error of the server", [], { faults: [{ name: "400-other", at: 1 }] }, "will not accept"],
    ["an empty reply", [], { script: [call({ n: 3 }), { text: "" }, { text: "" }] }, "without any output"],
  ])("keeps an answer that was taken before %s", async (_, more, options, told) => {
    for (const format of ["text", "json"]) {
      const w = await world({ script: [call({ n: 3 })], ...options });
      const ran = await w.run([...flags, ...more, "--output-format", format]);
      expect([ran.code, ran.stderr]).toEqual([0, told === "" ? "" : expect.stringContaining(told)]);
      if (format === "text") expect(ran.stdout).toBe('{"n":3}\n');
      else expect(JSON.parse(ran.stdout)).toMatchObject({ subtype: "success", is_error: false, structured_output: { n: 3 } });
    }
  });

  it("holds for each message of stream-json", async () => {
    const w = await world({ script: [call({ n: 1 }), { text: "Done." }, call({ n: 2 }), { text: "Done." }] });
    const user = (content: string): string => `${JSON.stringify({ type: "user", message: { role: "user", content } })}\n`;
    const ran = await w.run(
      ["-p", "--json-schema", schema, "--input-format", "stream-json", "--output-format", "stream-json", "--verbose"],
      { stdin: user("one") + user("two") },
    );
    const results = lines(ran.stdout).filter((l) => l["type"] === "result");
    expect([ran.code, results.map((r) => r["structured_output"])]).toEqual([0, [{ n: 1 }, { n: 2 }]]);
  });

  it("takes any value, from a file, and from other servers", async () => {
    const w = await world({ script: [call({ input: ["a"] }), { text: "Done." }] });
    w.write(
      "project/list.json",
      JSON.stringify({ anyOf: [{ $ref: "#/$defs/names" }, { type: "null" }], $defs: { names: { type: "array" } } }),
    );
    expect((await w.run(["-p", "which?", "--json-schema", "list.json"])).stdout).toBe('["a"]\n');
    const server = await startOpenAIServer({
      flavour: "ollama",
      script: [call({ input: ["b"] }), { text: "Done." }],
      models: { qwen3: {} },
    });
    const settings = JSON.stringify({ provider: { options: { ollama: { baseURL: server.url } } } });
    const ran = await w.run(["-p", "which?", "--json-schema", "list.json", "--model", "ollama/qwen3", "--settings", settings]);
    await server.close();
    expect({ ...ran, ms: 0 }).toEqual({ code: 0, stdout: '["b"]\n', stderr: "", ms: 0 });
  });

  it.each(["plan", "bypassPermissions"])("asks for no permission: %s", async (mode) => {
    const w = await world({ script: [call({ n: 3 }), { text: "Done." }] });
    expect((await w.run([...flags, "--permission-mode", mode])).stdout).toBe('{"n":3}\n');
  });

  it("is not in the way of a command", async () => {
    const w = await world();
    const ran = await w.run(["-p", "/cost", "--json-schema", schema]);
    expect([ran.code, ran.stdout]).toEqual([0, "No model has been called yet.\n"]);
  });

  it.each([
    ['{ "type": "strnig" }', "--json-schema: /type must be equal to one of the allowed values"],
    ['{ "type" }', "--json-schema: "],
    ['{ "$ref": "#/nope" }', "--json-schema: can't resolve reference #/nope"],
    ['{ "$ref": "#" }', "--json-schema: # leads back to itself without an end"],
    [" [] ", '--json-schema: a JSON Schema is a JSON object such as {"type":"object"} here, and this is an array'],
    ["true", '--json-schema true: a JSON Schema is a JSON object such as {"type":"object"} here, and this is "true"'],
    ["5", '--json-schema 5: a JSON Schema is a JSON object such as {"type":"object"} here, and this is a number'],
    [".", "--json-schema .: it is a folder: name the file of the schema"],
    ["nowhere.json", "--json-schema nowhere.json: there is no such file, and it is no JSON object either"],
  ])("refuses what is no schema: %s", async (given, message) => {
    const w = await world();
    const ran = await w.run(["-p", "x", "--json-schema", given]);
    expect([ran.code, ran.stderr, w.server.requests.length]).toEqual([2, expect.stringContaining(`heddle: ${message}`), 0]);
  });
});
