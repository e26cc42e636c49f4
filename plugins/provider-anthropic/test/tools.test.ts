/** Names and schemas of tools: legal on the way out, their own again on the way back. */

import { validate } from "@heddle/anthropic-server";
import type { Json } from "@heddle/kernel/plugin";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { createEncoder, encode } from "../src/encode.ts";
import { toolsFor } from "../src/tools.ts";
import { assistant, call, HEADERS, MODEL, READ, request, result, user } from "./support/messages.ts";

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

describe("deferred tools", () => {
  const late = (name: string) => ({ ...spec(name), deferred: true as const });
  const tools = [READ, late("mcp:a/b"), late("other")];
  const loading = (loads: readonly string[], outcome: "ok" | "error" = "ok") => [
    user("go"),
    assistant([call("c1"), call("c2")]),
    { ...result("c1", "Found them.", outcome), tool: "ToolSearch", loads },
    result("c2", "the file"),
  ];
  const namesIn = (body: ReturnType<typeof encode>) => body.tools?.map((t) => `${t.name}${t.defer_loading ? " deferred" : ""}`);
  const legal = toolsFor(tools).nameFor("mcp:a/b");

  test("are sent by name only, and a result that loads some refers to those that are there", () => {
    const before = encode(request([user("go")], { tools }));
    const after = encode(request(loading(["other", "gone", "read", "mcp:a/b", "other"]), { tools }));
    expect([before, after].map((body) => validate(body, HEADERS))).toEqual([undefined, undefined]);
    expect(namesIn(before)).toEqual(["read", `${legal} deferred`, "other deferred"]);
    expect(JSON.stringify(after.tools)).toBe(JSON.stringify(before.tools));
    const [answers] = after.messages.slice(-1);
    expect(answers!.content).toEqual([
      {
        type: "tool_result",
        tool_use_id: "c1",
        content: [
          { type: "tool_reference", tool_name: "other" },
          { type: "tool_reference", tool_name: legal },
        ],
      },
      { type: "tool_result", tool_use_id: "c2", content: [{ type: "text", text: "the file" }] },
      {
        type: "text",
        text: "<system-reminder>\nAlso the result of ToolSearch: Found them.\n</system-reminder>",
        cache_control: { type: "ephemeral" },
      },
    ]);
  });
  test("a failed result, and one that loads nothing that is there, is text", () => {
    for (const messages of [loading(["other"], "error"), loading(["gone"])]) {
      const body = encode(request(messages, { tools }));
      expect(validate(body, HEADERS)).toBeUndefined();
      expect(JSON.stringify(body.messages)).not.toContain("tool_reference");
      expect(JSON.stringify(body.messages)).toContain("Found them.");
    }
  });
  test("are never all that there is", () => {
    const body = encode(request([user("go")], { tools: [late("a"), late("b")] }));
    expect(namesIn(body)).toEqual(["a", "b"]);
    expect(validate(body, HEADERS)).toBeUndefined();
  });
  test.each(["claude-3-5-haiku-20241022", "glm-9"])("come when they are loaded, behind the others, on %s", (model) => {
    const encoder = createEncoder();
    const bodyOf = (messages: Parameters<typeof request>[0]) => encoder(request(messages, { tools, model })).body;
    const bodies = [bodyOf([user("go")]), bodyOf(loading(["other"])), bodyOf([...loading(["other"]), assistant("ok"), user("more")])];
    expect(bodies.map(namesIn)).toEqual([["read"], ["read", "other"], ["read", "other"]]);
    expect(JSON.stringify(bodies[2]!.tools)).toBe(JSON.stringify(bodies[1]!.tools));
    expect(JSON.stringify(bodies)).not.toMatch(/tool_reference|defer_loading/);
    expect(JSON.stringify(bodies[1]!.messages)).toContain("Found them.");
  });
  test("a model of generation 4 takes them as deferred", () => {
    for (const model of [MODEL, "claude-sonnet-4-20250514", "claude-haiku-4-5"])
      expect(namesIn(encode(request([user("go")], { tools, model })))).toEqual(["read", `${legal} deferred`, "other deferred"]);
  });
});
