/** Names and schemas of tools on their way to a server, and back. */

import type { Json } from "@heddle/kernel/plugin";
import { validate } from "@heddle/openai-server";
import { describe, expect, test } from "vitest";
import { createEncoder } from "../src/encode.ts";
import { toolsFor } from "../src/tools.ts";
import { assistant, call, READ, request, result, user } from "./support/messages.ts";
import { serverWith } from "./support/talk.ts";

const spec = (name: string, schema: Json = { type: "object", properties: {} }) => ({ name, description: "d", schema });
const only = (schema: Json) => {
  const tools = toolsFor([spec("t", schema)]);
  const body = {
    model: "gpt-5",
    messages: [{ role: "user", content: "a" }],
    tools: tools.functions.map((fn) => ({ type: "function", function: fn })),
  };
  expect(validate("chat", body)).toBeUndefined();
  return { tools, parameters: tools.functions[0]!.parameters };
};

describe("names", () => {
  test("are made legal, stay apart, and lead back", () => {
    const names = ["read", "a.b", "a_b", "a/b", "x".repeat(65), ""];
    const tools = toolsFor(names.map((name) => spec(name)));
    const wire = tools.functions.map((fn) => fn.name);
    expect(wire.every((name) => /^[a-zA-Z0-9_-]{1,64}$/.test(name))).toBe(true);
    expect(new Set(wire).size).toBe(names.length);
    expect(wire.map((name) => tools.read(name, "{}").tool)).toEqual(names);
    expect(wire.slice(0, 1)).toEqual(["read"]);
  });
  test("a name that is another one's legal form", () => {
    const [taken] = toolsFor([spec("a.b")]).functions;
    const tools = toolsFor([spec("a.b"), spec(taken!.name)]);
    expect(tools.functions.map((fn) => tools.read(fn.name, "{}").tool)).toEqual(["a.b", taken!.name]);
  });
});

describe("schemas", () => {
  test.each<[string, Json, Json]>([
    ["an object", { type: "object", properties: { a: { type: "string" } } }, { type: "object", properties: { a: { type: "string" } } }],
    ["no properties", { type: "object" }, { type: "object", properties: {} }],
    ["no type", { $schema: "x", properties: {} }, { type: "object", properties: {} }],
    ["or null", { type: ["object", "null"] }, { type: "object", properties: {} }],
    [
      "arrays without items",
      { type: "object", properties: { items: { type: ["array", "null"] }, b: { anyOf: [{ type: "array" }] } } },
      { type: "object", properties: { items: { type: ["array", "null"], items: {} }, b: { anyOf: [{ type: "array", items: {} }] } } },
    ],
    [
      "data that looks like a schema",
      { type: "object", properties: { a: { enum: [{ type: "array" }], default: { type: "array" } } } },
      { type: "object", properties: { a: { enum: [{ type: "array" }], default: { type: "array" } } } },
    ],
  ])("%s", (_, schema, expected) => {
    expect(only(schema).parameters).toEqual(expected);
  });
  test.each<[string, Json]>([
    ["a union", { anyOf: [{ type: "string" }, { $ref: "#/$defs/x" }], $defs: { x: { type: "number" } } }],
    ["a reference", { $ref: "#/$defs/x", $defs: { x: { type: "object", properties: {} } } }],
    ["a list", { type: "array" }],
    ["nonsense", { type: "any", properties: 5 }],
  ])("%s travels as one property", (_, schema) => {
    const { tools, parameters } = only(schema);
    expect(parameters).toMatchObject({ type: "object", required: ["input"] });
    expect(tools.argumentsFor(call("c", "t", [1]))).toBe('{"input":[1]}');
    expect(tools.read("t", '{"input":[1]}')).toEqual({ tool: "t", input: [1] });
    expect(tools.read("t", "[1]")).toEqual({ tool: "t", input: [1] });
  });
  test("references follow it", () => {
    const { parameters } = only({ anyOf: [{ $ref: "#/$defs/x" }], $defs: { x: { type: "number" } } });
    expect((parameters["properties"] as { input: Json }).input).toEqual({
      anyOf: [{ $ref: "#/properties/input/$defs/x" }],
      $defs: { x: { type: "number" } },
    });
  });
});

describe("arguments", () => {
  const tools = toolsFor([spec("t")]);
  test.each<[string, object]>([
    ["", { input: {} }],
    ['{"a":1}', { input: { a: 1 } }],
    ["null", { input: null }],
    ["[]", { input: [] }],
    ['"x"', { input: "x" }],
    ['{"a":1,}', { input: { raw: '{"a":1,}' }, malformed: expect.any(String) }],
    ['{"a":', { input: { raw: '{"a":' }, malformed: expect.any(String) }],
  ])("%j", (args, expected) => {
    expect(tools.read("t", args)).toEqual({ tool: "t", ...expected });
  });
});

describe("deferred tools", () => {
  const late = (name: string) => ({ ...spec(name), deferred: true as const });
  const tools = [late("a"), READ, late("b")];
  const loaded = (callId: string, loads: readonly string[], outcome: "ok" | "error" = "ok") => [
    assistant([call(callId)]),
    { ...result(callId, "Found.", outcome), loads },
  ];
  test.each(["chat", "responses"] as const)("come behind the others once a result has loaded them: %s", (api) => {
    const encoder = createEncoder(serverWith("openai", { api }));
    const first = [user("go")];
    const second = [...first, ...loaded("c1", ["b", "gone", "read"])];
    const third = [...second, ...loaded("c2", ["a"], "error")];
    const fourth = [...third, ...loaded("c3", ["a", "b"])];
    const bodies = [first, second, third, fourth].map((messages) => encoder(request(messages, { model: "gpt-5", tools })).body);
    for (const body of bodies) expect(validate(api, body)).toBeUndefined();
    type Wire = { readonly name?: string; readonly function?: { readonly name: string } };
    const names = bodies.map((body) => (body["tools"] as unknown as Wire[]).map((t) => t.name ?? t.function?.name));
    expect(names).toEqual([["read"], ["read", "b"], ["read", "b"], ["read", "b", "a"]]);
    expect(JSON.stringify(bodies)).not.toContain("deferred");
  });
});
