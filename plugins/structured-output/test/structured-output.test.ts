/** A turn that has to end with an answer that fits a schema, played by a scripted model. */
import { ownPlugin, type Reply, runTurnWith } from "@heddle/testkit";
import { describe, expect, it } from "vitest";
import packageJson from "../package.json" with { type: "json" };
import plugin, { checkOf, type Schema, standingOf } from "../src/index.ts";

const schema = { type: "object", properties: { n: { type: "integer", minimum: 1 } }, required: ["n"], additionalProperties: false };
const call = (input: unknown): Reply => ({ calls: [{ tool: "StructuredOutput", input: input as never }] });
const run = async (replies: readonly Reply[], of: Schema = schema) => {
  const ran = await runTurnWith({ plugins: [ownPlugin(plugin, packageJson, { schema: of })], replies });
  expect([ran.refused, ran.problems]).toEqual([[], []]);
  return { ...ran, standing: standingOf(ran.added) };
};
const resultsOf = (added: Awaited<ReturnType<typeof run>>["added"]): string[] =>
  added.flatMap((m) => (m.role === "tool" ? [`${m.outcome}: ${m.content.map((p) => (p.type === "text" ? p.text : "")).join("")}`] : []));

describe("a turn", () => {
  it("ends with the answer that fits, for which nobody is asked", async () => {
    const ran = await run([call({ n: 3 }), "Done."]);
    expect([ran.outcome, ran.text, ran.standing, ran.asks]).toEqual([{ kind: "completed" }, "Done.", { value: { n: 3 }, missed: 0 }, []]);
    expect(ran.requests[0]?.tools).toEqual([{ name: "StructuredOutput", description: expect.any(String), schema }]);
  });
  it("tells the model what does not fit", async () => {
    const ran = await run([call({ n: 0, m: 1 }), call({ n: 1 }), "Done."]);
    expect(ran.standing).toEqual({ value: { n: 1 }, missed: 1 });
    const [wrong, taken] = resultsOf(ran.added);
    expect(wrong).toMatch(/^error: Not taken[^\n]*\nthe answer must NOT have additional properties: "m"\n\/n must be >= 1$/);
    expect(taken).toMatch(/^ok: Taken\./);
  });
  it("asks for what was only written as text, and no more than three times", async () => {
    const ran = await run(["It is 1.", "It is 1!", "It is 1?", "I cannot."]);
    expect([ran.outcome, ran.requests.length, ran.standing]).toEqual([{ kind: "completed" }, 4, { missed: 3 }]);
    const late = await run(["It is 1.", call({ n: "1" }), call({ n: 1 }), "Done."]);
    expect(late.standing).toEqual({ value: { n: 1 }, missed: 2 });
    const both = await run(["It is 1.", call({}), call([]), "I cannot."]);
    expect([both.requests.length, both.standing]).toEqual([4, { missed: 3, wrong: "the answer must be object" }]);
  });
  it("keeps the last answer that fits, whatever follows", async () => {
    const ran = await run([call({ n: 1 }), call({ n: 2 }), call({ n: 0 }), "Done."]);
    expect(ran.standing).toEqual({ value: { n: 2 }, missed: 1 });
  });
  it("counts a call whose arguments could not be read", async () => {
    const broken = { calls: [{ tool: "StructuredOutput", input: {}, malformed: "cut off" }] };
    expect((await run([broken, call({ n: 1 }), "Done."])).standing).toEqual({ value: { n: 1 }, missed: 1 });
  });
  it("takes a value of any type", async () => {
    expect((await run([call([1, null]), "Done."], { type: "array" })).standing).toEqual({ value: [1, null], missed: 0 });
  });
  it("counts what it has added itself, and not the turn before", async () => {
    const plugins = [ownPlugin(plugin, packageJson, { schema })];
    const ran = await runTurnWith({ plugins, replies: [call({ n: 1 }), "Done.", "It is 2.", call({ n: 2 }), "Done."], input: ["a", "b"] });
    expect(standingOf(ran.added)).toEqual({ value: { n: 2 }, missed: 1 });
  });
});

describe("a schema", () => {
  const node = { type: "object", properties: { v: { type: "number" }, next: { $ref: "#" } }, required: ["v"] };
  const named = (at: string): Schema => ({ type: "object", properties: { a: { $ref: `#/${at}/x` } }, [at]: { x: { type: "string" } } });
  const rows: readonly (readonly [string, Schema, readonly unknown[], readonly unknown[]])[] = [
    ["$ref to itself", node, [{ v: 1, next: { v: 2 } }], [{ v: 1, next: {} }]],
    ["$defs", named("$defs"), [{ a: "x" }], [{ a: 1 }]],
    ["definitions", named("definitions"), [{ a: "x" }], [{ a: 1 }]],
    ["an older draft", { $schema: "http://json-schema.org/draft-07/schema#", type: "string" }, ["x"], [1]],
    ["enum", { enum: ["a", 1, null] }, ["a", null], ["b"]],
    ["const", { const: { a: 1 } }, [{ a: 1 }], [{ a: 2 }]],
    ["anyOf beside properties", { type: "object", anyOf: [{ required: ["a"] }, { required: ["b"] }] }, [{ a: 1 }], [{}]],
    ["oneOf", { oneOf: [{ minimum: 5 }, { maximum: 10 }] }, [3, 12], [7]],
    ["allOf", { allOf: [{ required: ["a"] }, { required: ["b"] }] }, [{ a: 1, b: 1 }], [{ a: 1 }]],
    ["not", { not: { type: "string" } }, [1], ["a"]],
    ["if and else", { if: { required: ["a"] }, else: { required: ["b"] } }, [{ a: 1 }, { b: 1 }], [{}]],
    ["pattern", { type: "string", pattern: "^a+$" }, ["aa"], ["b"]],
    ["format", { type: "string", format: "date" }, ["2026-01-31"], ["2026-02-31"]],
    ["a format that nobody knows", { type: "string", format: "shoe-size" }, ["x"], [1]],
    ["numbers", { type: "integer", minimum: 1, exclusiveMaximum: 5, multipleOf: 2 }, [2, 4], [0, 3, 6]],
    ["arrays", { type: "array", items: { type: "string" }, minItems: 1, maxItems: 2, uniqueItems: true }, [["a"]], [[], ["a", "a"], [1]]],
    ["additionalProperties", { type: "object", additionalProperties: { type: "number" } }, [{ a: 1 }], [{ a: "x" }]],
    ["a list of types", { type: ["string", "null"] }, ["a", null], [1]],
    ["nullable", { type: "string", nullable: true }, ["a", null], [1]],
    ["$async", { $async: true, type: "string" }, ["a"], [1]],
  ];
  it.each(rows)("knows %s", (_, of, good, bad) => {
    const fits = (value: unknown): boolean => checkOf(of)(value as never).length === 0;
    expect([good.map(fits), bad.map(fits)]).toEqual([good.map(() => true), bad.map(() => false)]);
  });
  it.each([
    [{ type: "object", properties: { a: { type: "strnig" } } }, /^\/properties\/a\/type must be equal to one of the allowed values/],
    [{ $ref: "#/$defs/nope" }, /can't resolve reference #\/\$defs\/nope/],
    [{ $ref: "https://example.com/other.json" }, /can't resolve reference https:/],
    [{ pattern: "(" }, /Invalid regular expression/],
    [{ required: "a" }, /^\/required must be array/],
    [{ $ref: "#" }, /^# leads back to itself without an end/],
    [
      { properties: { a: { $ref: "#/$defs/b" } }, $defs: { b: { anyOf: [{ type: "string" }, { $ref: "#/$defs/b" }] } } },
      /^#\/\$defs\/b leads/,
    ],
    [{ $defs: { a: { $anchor: "me", not: { $ref: "#me" } } } }, /^#\/\$defs\/a leads/],
  ])("that is none is refused with what is wrong: %j", async (of, message) => {
    expect(() => checkOf(of)).toThrow(message);
    await expect(run([], of)).rejects.toThrow("@heddle/structured-output");
  });
  it("may go on for as long as the value does", () => {
    const tree = { type: "object", properties: { next: { $ref: "#" }, all: { items: { $ref: "#" } } }, required: ["n"], const: undefined };
    expect(checkOf(tree as never)({ n: 1, next: { n: 2, all: [{ n: 3 }, {}] } })).toEqual(["/next/all/1 must have required property 'n'"]);
    expect(checkOf({ enum: [{ $ref: "#" }] })({ $ref: "#" })).toEqual([]);
  });
  it("with many mistakes in an answer tells of ten", () => {
    const wrong = checkOf({ items: { type: "string" } })(Array.from({ length: 12 }, () => 1));
    expect([wrong.length, wrong[0], wrong.at(-1)]).toEqual([11, "/0 must be string", "and 2 more"]);
  });
});
