/** Random histories as the kernel may hand them over: each call answered right behind it, everything else as wild as it comes. */
import type { AssistantPart, Content, Json, Message, Prefix, ToolSpec } from "@heddle/kernel/plugin";
import fc from "fast-check";
import { assistant, attachment, call, png, result, system, user } from "./messages.ts";

const text = fc.oneof(
  { weight: 4, arbitrary: fc.string({ maxLength: 30 }) },
  fc.constantFrom("", " ", "\n\n", "\u200b", "\u001c\u0085", "\u0000", "\ud800", "a\udc00b", "😀", "</system-reminder>"),
  fc.string({ unit: "binary", maxLength: 8 }),
);
const image = fc.constantFrom(png(10), png(2500), "", "AAAA", "not base64!", Buffer.from("GIF89a\x01\0\x01\0").toString("base64"));
const content: fc.Arbitrary<Content> = fc.array(
  fc.oneof(
    { weight: 3, arbitrary: text.map((it) => ({ type: "text" as const, text: it })) },
    fc.record({ type: fc.constant("image" as const), mimeType: fc.constantFrom("image/png", "image/jpeg", "text/plain"), data: image }),
  ),
  { maxLength: 3 },
);
const json = fc.jsonValue({ maxDepth: 2 }) as fc.Arbitrary<Json>;

/** What makes a reply, and the reasoning that only it can have made. */
export type Maker = { readonly provider: string; readonly model: string; readonly opaque: fc.Arbitrary<Json | undefined> };
export const anthropic: Maker = {
  provider: "anthropic",
  model: "claude-opus-5-5",
  opaque: fc.oneof(
    fc.constant(undefined),
    fc.record({ type: fc.constant("thinking"), signature: fc.string({ minLength: 1, maxLength: 8 }), prefix: fc.constant("elsewhere") }),
    fc.record({ type: fc.constant("redacted_thinking"), data: fc.string({ minLength: 1, maxLength: 8 }) }),
    fc.constant({ encrypted_content: "forged", summary: [] }),
  ),
};

const toolName = fc.constantFrom("read", "Write", "mcp:files/read all", "mcp:files/read_all", "ünïcode", "x".repeat(90), "gone");
const partOf = (maker: Maker): fc.Arbitrary<AssistantPart> =>
  fc.oneof(
    text.map((it): AssistantPart => ({ type: "text", text: it })),
    fc
      .tuple(text, maker.opaque)
      .map(([it, o]): AssistantPart => ({ type: "reasoning", text: it, ...(o === undefined ? {} : { opaque: o }) })),
    fc
      .tuple(toolName, json, fc.option(fc.constant("Unexpected end of JSON input"), { nil: undefined, freq: 4 }))
      .map(([tool, input, malformed]): AssistantPart => call("", tool, input, malformed)),
  );
const outcome = fc.constantFrom("ok", "ok", "error", "denied", "timeout", "aborted");
const plain = fc.oneof(
  fc.tuple(content, fc.boolean()).map(([c, meta]) => [user(c, meta)]),
  content.map((c) => [attachment(c)]),
  text.map((it) => [system(it)]),
);
const stepOf = (maker: Maker): fc.Arbitrary<Message[]> =>
  fc
    .record({
      parts: fc.array(partOf(maker), { maxLength: 6 }),
      stop: fc.constantFrom("end", "tool-calls", "length", "refusal", "pause", "overflow", "aborted"),
      answers: fc.array(fc.tuple(content, outcome), { minLength: 6, maxLength: 6 }),
      idStyle: fc.constantFrom("toolu_01", "functions.read:", "c", "x".repeat(60)),
    })
    .map(({ parts, stop, answers, idStyle }): Message[] => {
      const calls = parts.filter((p) => p.type === "tool-call");
      const results = calls.map((_, i) => result(`${idStyle}${i}`, answers[i]![0], answers[i]![1] as never));
      const numbered = parts.map((p) => (p.type === "tool-call" ? { ...p, callId: `${idStyle}${calls.indexOf(p)}` } : p));
      return [assistant(numbered, { model: maker.model, provider: maker.provider, stop: stop as never }), ...results];
    });

/** Call ids are unique in a session, as the kernel makes them. */
export function historyOf(...makers: readonly Maker[]): fc.Arbitrary<Message[]> {
  const step = fc.oneof(...makers.map(stepOf));
  return fc.array(fc.oneof(plain, plain, step, step), { maxLength: 14 }).map((groups) =>
    groups.flatMap((group, i) =>
      group.map((m, k): Message => {
        const id = `m${i}.${k}`;
        if (m.role === "tool") return { ...m, id, callId: `${m.callId}.${i}` };
        if (m.role !== "assistant") return { ...m, id };
        return { ...m, id, content: m.content.map((p) => (p.type === "tool-call" ? { ...p, callId: `${p.callId}.${i}` } : p)) };
      }),
    ),
  );
}

const schema = fc.oneof(
  json,
  fc.constantFrom<Json>(
    { type: "object", properties: { path: { type: "string" } }, required: ["path"] },
    { $schema: "https://json-schema.org/draft/2020-12/schema", type: "object", properties: {} },
    { type: "object" },
    { anyOf: [{ type: "object", properties: { a: { $ref: "#/$defs/x" } } }, { type: "string" }], $defs: { x: { type: "number" } } },
    { type: "object", oneOf: [{ required: ["a"] }, { required: ["b"] }] },
    { type: "object", properties: { list: { type: "array" }, either: { type: ["array", "null"] } } },
    { type: "object", properties: { n: { type: "number", minimum: 0, exclusiveMinimum: true } } },
    { type: "object", properties: { pair: { type: "array", items: [{ type: "string" }] } } },
    { type: "object", properties: { pair: { type: "array", prefixItems: [{ type: "array" }] } } },
    { type: "object", required: true, properties: { x: { type: "any" } } },
    { type: ["object", "null"], properties: { x: { enum: "a" } } },
    { $ref: "#/$defs/node", $defs: { node: { type: "object", properties: { next: { $ref: "#/$defs/node" } } } } },
    { type: "array" },
  ),
);
export const tools: fc.Arbitrary<ToolSpec[]> = fc.uniqueArray(fc.record({ name: toolName, description: text, schema }), {
  maxLength: 6,
  selector: (t) => t.name,
});
const parts = fc.array(
  text.map((it) => ({ plugin: "p", name: "n", text: it })),
  { maxLength: 3 },
);
export const prefix: fc.Arbitrary<Prefix> = fc.record({ system: parts, context: parts });
export const effort = fc.constantFrom(undefined, "low", "medium", "high", "xhigh", "max") as fc.Arbitrary<"low" | undefined>;
