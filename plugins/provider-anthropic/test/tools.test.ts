/** Names and schemas of tools: legal on the way out, their own again on the way back. */
import type { Json } from "@heddle/kernel/plugin";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { toolsFor } from "../src/tools.ts";
import { call } from "./support/messages.ts";

const spec = (name: string, schema: Json = { type: "object" }) => ({ name, description: name, schema });
const schemaOf = (schema: Json) => toolsFor([spec("t", schema)]).wire[0]!.input_schema;
const wrapped = (input: object) => ({ type: "object", properties: { input }, required: ["input"] });

describe("names", () => {
  test("a legal one stays, any other gets one that leads back", () => {
    const names = ["read", "mcp:a/b", "mcp:a b", "x".repeat(65), "ü"];
    const tools = toolsFor(names.map((n) => spec(n)));
    const wire = tools.wire.map((t) => t.name);
    expect(wire[0]).toBe("read");
    expect(wire.every((n) => /^[a-zA-Z0-9_-]{1,64}$/.test(n))).toBe(true);
    expect(new Set(wire).size).toBe(names.length);
    expect(wire.map((n) => tools.read(n, {}).tool)).toEqual(names);
    expect(names.map((n) => tools.nameFor(n))).toEqual(wire);
  });
  test("a name that another tool already bears", () => {
    const taken = toolsFor([spec("a b")]).wire[0]!.name;
    const tools = toolsFor([spec("a b"), spec(taken)]);
    const [first, second] = tools.wire.map((t) => t.name);
    expect(second).toBe(taken);
    expect(first).not.toBe(taken);
    expect([first!, second!].map((n) => tools.read(n, {}).tool)).toEqual(["a b", taken]);
  });
  test("do not depend on what else is offered", () => {
    fc.assert(
      fc.property(fc.uniqueArray(fc.string({ minLength: 1 }), { minLength: 1, maxLength: 5 }), (names) => {
        const all = toolsFor(names.map((n) => spec(n)));
        for (const name of names) expect(all.nameFor(name)).toBe(toolsFor([]).nameFor(name));
      }),
    );
  });
  test("what the model invents stays as it is", () => {
    expect(toolsFor([spec("read")]).read("no_such_tool", { a: 1 })).toEqual({ tool: "no_such_tool", input: { a: 1 } });
  });
});

describe("schemas", () => {
  test.each<[string, Json, object]>([
    ["legal", { type: "object", properties: { a: { type: "string" } } }, { type: "object", properties: { a: { type: "string" } } }],
    ["with $schema", { $schema: "x", type: "object" }, { type: "object" }],
    ["without a type", { properties: {} }, { properties: {}, type: "object" }],
    ["nullable", { type: ["object", "null"] }, { type: "object" }],
    ["none", null, { type: "object" }],
    ["a list", { type: "array", items: { type: "number" } }, wrapped({ type: "array", items: { type: "number" } })],
    ["a choice", { type: "object", oneOf: [{ required: ["a"] }] }, wrapped({ type: "object", oneOf: [{ required: ["a"] }] })],
    [
      "with references",
      { $ref: "#/$defs/n", $defs: { n: { type: "object", properties: { next: { $ref: "#" }, doc: { $ref: "https://x.test/y" } } } } },
      wrapped({
        $ref: "#/properties/input/$defs/n",
        $defs: { n: { type: "object", properties: { next: { $ref: "#/properties/input" }, doc: { $ref: "https://x.test/y" } } } },
      }),
    ],
  ])("%s", (_, schema, expected) => {
    expect(schemaOf(schema)).toEqual(expected);
  });
  test.each<[string, Json]>([
    ["a property name the API refuses", { type: "object", properties: { "a[b]": {} } }],
    ["such a name further down", { type: "object", properties: { a: { type: "object", properties: { "x y": {} } } } }],
    ["draft 4", { type: "object", properties: { n: { minimum: 1, exclusiveMinimum: true } } }],
    ["draft 3", { type: "object", properties: { n: { required: true } } }],
    ["an unknown type", { type: "object", properties: { n: { type: "any" } } }],
    ["a list of items", { type: "object", properties: { n: { items: [{}] } } }],
    ["an empty choice", { type: "object", properties: { n: { anyOf: [] } } }],
  ])("in words: %s", (_, schema) => {
    expect(schemaOf(schema)).toEqual(
      wrapped({ type: "object", description: `A value that fits this JSON Schema: ${JSON.stringify(schema)}` }),
    );
  });
  test("a wrapped input is unwrapped, and wrapped again when it goes back", () => {
    const tools = toolsFor([spec("t", { type: "array" }), spec("u")]);
    expect(tools.read("t", { input: [1] })).toEqual({ tool: "t", input: [1] });
    expect(tools.read("t", { other: 1 })).toEqual({ tool: "t", input: { other: 1 } });
    expect(tools.read("u", { input: [1] })).toEqual({ tool: "u", input: { input: [1] } });
    expect(tools.inputFor(call("c", "t", [1]))).toEqual({ input: [1] });
    expect(tools.inputFor(call("c", "u", { input: [1] }))).toEqual({ input: [1] });
  });
});
