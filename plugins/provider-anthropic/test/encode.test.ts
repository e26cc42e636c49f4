/** One case for each rule of the encoding. */
import { validate } from "@heddle/anthropic-server";
import type { Message, ModelRequest } from "@heddle/kernel/plugin";
import { describe, expect, test } from "vitest";
import { createEncoder, encode } from "../src/encode.ts";
import { assistant, attachment, call, HEADERS, MODEL, png, READ, request, result, system, user } from "./support/messages.ts";

const MARK = { cache_control: { type: "ephemeral" } };
const text = (it: string, mark: object = {}) => ({ type: "text", text: it, ...mark });
const said = (it: string, mark: object = {}) => text(`<system-reminder>\n${it}\n</system-reminder>`, mark);
const use = (id: string, input: object = {}, name = "read") => ({ type: "tool_use", id, name, input });
const done = (tool_use_id: string, content: object[] | undefined = [text("done")], more: object = {}) => ({
  type: "tool_result",
  tool_use_id,
  ...(content.length > 0 ? { content } : {}),
  ...more,
});

/** The messages of the body, checked by the rules of the API; `mark: false` leaves the breakpoints out. */
function messages(history: readonly Message[], more: Partial<ModelRequest> = {}): unknown {
  const body = encode(request(history, more));
  expect(validate(JSON.stringify(body), HEADERS)).toBeUndefined();
  return body.messages.map(({ role, content }) => ({
    role,
    content: content.map((block) => {
      const { cache_control: _, ...rest } = block as { cache_control?: object };
      return rest;
    }),
  }));
}
const u = (...content: object[]) => ({ role: "user", content });
const a = (...content: object[]) => ({ role: "assistant", content });
const thinking = (it: string, signature = `sig-${it}`) => ({
  part: { type: "reasoning" as const, text: it, opaque: { type: "thinking", signature } },
  block: { type: "thinking", thinking: it, signature },
});

describe("the body", () => {
  test("as a whole", () => {
    const prefix = {
      system: [
        { plugin: "p", name: "a", text: "You are heddle." },
        { plugin: "p", name: "b", text: "  " },
        { plugin: "p", name: "c", text: "Be brief." },
      ],
      context: [
        { plugin: "p", name: "d", text: "Rules." },
        { plugin: "p", name: "e", text: "Date." },
      ],
    };
    const body = encode(request([user("hi")], { prefix, tools: [READ], effort: "high" }));
    expect(body).toEqual({
      model: MODEL,
      max_tokens: 32_000,
      stream: true,
      system: [text("You are heddle.\n\nBe brief.", MARK)],
      tools: [{ name: "read", description: "Reads a file.", input_schema: READ.schema }],
      thinking: { type: "adaptive", display: "summarized" },
      output_config: { effort: "high" },
      messages: [u(said("Rules."), said("Date."), text("hi", MARK))],
    });
    expect(Object.keys(body)).toEqual(["model", "max_tokens", "stream", "system", "tools", "thinking", "output_config", "messages"]);
  });
  test.each([
    ["claude-opus-5-5", 32_000, true, true],
    ["claude-fable-5", 32_000, true, true],
    ["claude-opus-6", 32_000, true, true],
    ["claude-opus-4-7", 32_000, true, true],
    ["claude-opus-4-6", 32_000, false, true],
    ["claude-opus-4-5-20251101", 32_000, false, true],
    ["claude-sonnet-4-5-20250929", 32_000, false, false],
    ["claude-opus-4-20250514", 32_000, false, false],
    ["claude-3-5-haiku-latest", 8192, false, false],
    ["some-model-of-a-gateway", 32_000, false, true],
  ])("%s: %i tokens, thinking %s, effort %s", (model, max, thinks, effort) => {
    const body = encode(request([user("hi")], { model, effort: "low" }));
    expect({ max: body.max_tokens, thinks: body.thinking !== undefined, effort: body.output_config !== undefined }).toEqual({
      max,
      thinks,
      effort,
    });
  });
});

describe("limits and effort", () => {
  test.each([
    ["claude-opus-5-5", 64_000, 64_000],
    ["claude-opus-5-5", 500_000, 128_000],
    ["claude-opus-4-1", 64_000, 32_000],
    ["claude-3-5-haiku-latest", 64_000, 8192],
    ["some-model-of-a-gateway", 64_000, 64_000],
    ["claude-opus-5-5", 100, 100],
  ])("%s asked for %i tokens gives at most %i", (model, maxOutput, expected) => {
    expect(encode(request([user("hi")], { model, maxOutput })).max_tokens).toBe(expected);
  });
  test.each([
    ["claude-opus-5-5", "max", "max"],
    ["claude-opus-4-7", "xhigh", "xhigh"],
    ["claude-opus-4-6", "xhigh", "high"],
    ["claude-sonnet-4-6", "max", "max"],
    ["claude-opus-4-5-20251101", "max", "high"],
    ["claude-haiku-4-5-20251001", "high", undefined],
    ["claude-3-5-sonnet-20241022", "low", undefined],
    ["some-model-of-a-gateway", "xhigh", "high"],
  ] as const)("%s asked for effort %s gets %s", (model, effort, expected) => {
    expect(encode(request([user("hi")], { model, effort })).output_config?.effort).toBe(expected);
  });
  test.each([
    ["claude-fable-5-2", "adaptive", "max", "adaptive"],
    ["claude-opus-5-5", "adaptive", "max", "adaptive"],
    ["claude-sonnet-5-5", "between_tools", "max", "adaptive"],
    ["claude-haiku-5-5", "disabled", "high", "adaptive"],
    ["claude-opus-5", "disabled", "high", "adaptive"],
    ["claude-opus-4-7", "disabled", "max", "adaptive"],
    ["claude-opus-4-6", undefined, "max", "adaptive"],
    ["claude-haiku-4-5", undefined, undefined, undefined],
    ["some-model-of-a-gateway", undefined, "high", undefined],
  ])("%s where nothing shall think: %s with effort %s; where all shall: %s", (model, off, effort, on) => {
    const body = (think: boolean) => createEncoder({}, think)(request([user("hi")], { model, effort: "max" })).body;
    expect([body(false).thinking?.type, body(false).output_config?.effort, body(true).thinking?.type]).toEqual([off, effort, on]);
  });
  test("no stream where none is wanted", () => {
    const { stream: _, ...rest } = encode(request([user("hi")]));
    expect(encode(request([user("hi")], { streaming: false }))).toEqual(rest);
  });
  test("what the person has set about a model", () => {
    const own = {
      m: { reasoning: true, maxOutput: 9 },
      "claude-opus-5-5": { reasoning: false, images: false },
      "claude-opus-4-6": { reasoning: true },
      "claude-haiku-4-5": { reasoning: true },
    };
    const body = (model: string) =>
      createEncoder(own)(request([user([{ type: "image", mimeType: "image/png", data: png(9) }])], { model, effort: "max" })).body;
    expect(body("m")).toMatchObject({ max_tokens: 9, thinking: { type: "adaptive" }, output_config: { effort: "high" } });
    expect(body("claude-opus-4-6")).toMatchObject({ thinking: { type: "adaptive" }, output_config: { effort: "max" } });
    expect(body("claude-haiku-4-5")).not.toHaveProperty("thinking");
    expect(body("claude-opus-5-5")).toEqual({
      model: "claude-opus-5-5",
      max_tokens: 32_000,
      stream: true,
      messages: [u(text("[image left out: this model takes no images]", MARK))],
    });
  });
});

describe("messages", () => {
  test.each<[string, Message[], unknown[]]>([
    ["nothing at all", [], [u(text("Continue."))]],
    ["system messages are dropped", [system("x"), user("hi"), system("y")], [u(text("hi"))]],
    ["a meta user is a user", [user("hi", true)], [u(text("hi"))]],
    ["one role after another merges", [user("a"), attachment("b"), user("c")], [u(text("a"), said("b"), text("c"))]],
    ["an attachment before any user", [attachment("b"), assistant("x"), user("c")], [u(said("b")), a(text("x")), u(text("c"))]],
    ["an attachment behind a reply", [user("a"), assistant("x"), attachment("b")], [u(text("a")), a(text("x")), u(said("b"))]],
    ["a reply first", [assistant("x"), user("c")], [u(text("Continue.")), a(text("x")), u(text("c"))]],
    ["a reply last", [user("a"), assistant("x")], [u(text("a")), a(text("x")), u(text("Continue."))]],
    [
      "two replies in a row",
      [user("a"), assistant("x"), assistant("y"), user("c")],
      [u(text("a")), a(text("x")), u(text("Continue.")), a(text("y")), u(text("c"))],
    ],
    ["blank text", [user(" \n"), attachment("\u200b"), user("a"), assistant("\n\n"), user("\u001c")], [u(text("a"))]],
    ["lone surrogates and NUL", [user("a\ud83d b\udc00 c\u0000 😀")], [u(text("a\uFFFD b\uFFFD c\uFFFD 😀"))]],
    ["a reminder cannot be ended early", [attachment("x</system-reminder>y")], [u(said("x<\\/system-reminder>y"))]],
    ["a refused reply", [user("a"), assistant("no", { stop: "refusal" }), user("b")], [u(text("a"), text("b"))]],
    [
      "a refused reply with calls",
      [user("a"), assistant([call("c1")], { stop: "refusal" }), result("c1"), user("b")],
      [u(text("a"), text("b"))],
    ],
    ["an interrupted reply", [user("a"), assistant("half", { stop: "aborted" }), user("b")], [u(text("a")), a(text("half")), u(text("b"))]],
  ])("%s", (_, history, expected) => {
    expect(messages(history)).toEqual(expected);
  });
});

describe("calls and results", () => {
  test("results come first in their turn, whatever was said meanwhile", () => {
    const history = [
      user("go"),
      assistant([{ type: "text", text: "Both." }, call("c1", "read", { path: "/a" }), call("c2", "read", { path: "/b" })]),
      result("c1"),
      result("c2", "Denied.", "denied"),
      attachment("changed"),
      user("do that instead"),
    ];
    expect(messages(history)).toEqual([
      u(text("go")),
      a(text("Both."), use("c1", { path: "/a" }), use("c2", { path: "/b" })),
      u(done("c1"), done("c2", [text("Denied.")], { is_error: true }), said("changed"), text("do that instead")),
    ]);
  });
  test.each<[string, Message, object]>([
    ["empty", result("c", ""), done("c", [])],
    ["blank", result("c", " \n"), done("c", [])],
    [
      "with an image",
      result("c", [{ type: "image", mimeType: "image/jpeg", data: png(9) }]),
      done("c", [{ type: "image", source: { type: "base64", media_type: "image/png", data: png(9) } }]),
    ],
    ["error without a word", result("c", "", "error"), done("c", [text("The call failed and said nothing.")], { is_error: true })],
    [
      "timeout without a word",
      result("c", [], "timeout"),
      done("c", [text("The call took too long and was stopped.")], { is_error: true }),
    ],
    ["aborted", result("c", "Interrupted.", "aborted"), done("c", [text("Interrupted.")], { is_error: true })],
    [
      "error with an image",
      result("c", [{ type: "image", mimeType: "image/png", data: png(9) }], "error"),
      done("c", [text("[image left out: a failed call may answer in text only]")], { is_error: true }),
    ],
  ])("a result that is %s", (_, it, block) => {
    expect(messages([user("go"), assistant([call("c")]), it])).toEqual([u(text("go")), a(use("c")), u(block)]);
  });
  test.each<[string, ReturnType<typeof call>, object]>([
    ["a list", call("c", "read", [1]), use("c", { value: [1] })],
    ["null", call("c", "read", null), use("c", { value: null })],
    ["malformed", call("c", "read", { raw: '{"a' }, "cut"), use("c", { raw: '{"a' })],
    ["malformed text", call("c", "read", '{"a', "cut"), use("c", { raw: '{"a' })],
    ["not well-formed", call("c", "read", { a: ["\ud800", { "k\u0000": 1 }] }), use("c", { a: ["\uFFFD", { "k\uFFFD": 1 }] })],
    ["written with escapes", call("c", "read", { a: "\\ud800 \\u0000" }), use("c", { a: "\\ud800 \\u0000" })],
  ])("input that is %s", (_, it, block) => {
    expect(messages([user("go"), assistant([it]), result("c")])).toEqual([u(text("go")), a(block), u(done("c"))]);
  });
  test("a tool that is gone keeps its calls, and ids of other servers become legal", () => {
    const history = [user("go"), assistant([call("functions.x:0", "gone tool")]), result("functions.x:0")];
    const [, reply, last] = messages(history) as { content: { id: string; name: string; tool_use_id: string }[] }[];
    expect(reply!.content[0]!.name).toMatch(/^gone_tool_[\w-]{12}$/);
    expect(reply!.content[0]!.id).toMatch(/^call_[\w-]+$/);
    expect(last!.content[0]!.tool_use_id).toBe(reply!.content[0]!.id);
  });
  test("a history that breaks the rule is mended", () => {
    const history = [
      user("go"),
      result("x"),
      assistant([call("c1"), call("c2")]),
      result("c2"),
      user("on"),
      assistant([call("c1"), call("c3")]),
    ];
    const missing = (id: string) => done(id, [text("There is no record of a result of this call.")], { is_error: true });
    expect(messages(history)).toEqual([
      u(text("go")),
      a(use("c1"), use("c2")),
      u(done("c2"), missing("c1"), text("on")),
      a(use("c3")),
      u(missing("c3")),
    ]);
  });
});

describe("images", () => {
  const shown = (data: string, mimeType = "image/png") => messages([user([{ type: "image", mimeType, data }])]);
  const bytes = (...parts: (string | number[])[]) =>
    Buffer.concat(parts.map((p) => (typeof p === "string" ? Buffer.from(p, "latin1") : Buffer.from(p)))).toString("base64");
  const JPEG = bytes([0xff, 0xd8, 0xff, 0xe0, 0, 4, 0, 0, 0xff, 0xff, 0xc2, 0, 11, 8, 0, 50, 0, 60, 1, 1]);
  const GIF = bytes("GIF89a", [10, 0, 20, 0]);
  const webp = (kind: string, ...rest: number[]) => bytes("RIFF", [0, 0, 0, 0], "WEBP", kind, [...rest, ...Array<number>(30).fill(0)]);
  test.each([
    ["image/png", png(5)],
    ["image/jpeg", JPEG],
    ["image/gif", GIF],
    ["image/webp", webp("VP8X", 0, 0, 0, 0, 0, 0, 0, 0, 9, 0, 0, 9, 0, 0)],
    ["image/webp", webp("VP8L", 0, 0, 0, 0, 0x2f, 9, 0, 0, 0)],
    ["image/webp", webp("VP8 ", 0, 0, 0, 0, 0, 0, 0, 0x9d, 1, 0x2a, 9, 0, 9, 0)],
  ])("%s, whatever it is called", (media_type, data) => {
    expect(shown(data, "image/x")).toEqual([u({ type: "image", source: { type: "base64", media_type, data } })]);
  });
  test.each([
    ["no image", bytes("<svg/>"), "it is no readable PNG, JPEG, GIF or WebP image"],
    ["nothing", "", "it is no readable PNG, JPEG, GIF or WebP image"],
    ["a PNG cut in its head", bytes("\x89PNG\r\n\x1a\n"), "it is no readable PNG, JPEG, GIF or WebP image"],
    ["a JPEG without a frame", bytes([0xff, 0xd8, 0xff, 0xd9, 0, 2, 0, 0, 0, 0, 0, 0]), "it is no readable PNG, JPEG, GIF or WebP image"],
    ["too wide", png(8001, 4), "a side of 8001 pixels is over 8000"],
    ["too heavy", Buffer.concat([Buffer.from(png(5), "base64"), Buffer.alloc(4_000_000)]).toString("base64"), "3907 KB is over 3840 KB"],
  ])("%s becomes a note", (_, data, why) => {
    expect(shown(data)).toEqual([u(text(`[image left out: ${why}]`))]);
  });
  test("base64 in lines, and in an attachment", () => {
    const data = png(5);
    const image = { type: "image", source: { type: "base64", media_type: "image/png", data } };
    const lines = { type: "image" as const, mimeType: "image/png", data: `${data.slice(0, 10)}\n${data.slice(10)}` };
    expect(messages([attachment([{ type: "text", text: "see" }, lines])])).toEqual([u(said("see"), image)]);
  });
});

describe("thinking", () => {
  const one = thinking("one");
  const two = thinking("two");
  const redacted = {
    part: { type: "reasoning" as const, text: "", opaque: { type: "redacted_thinking", data: "xx" } },
    block: { type: "redacted_thinking", data: "xx" },
  };
  const step = (parts: Parameters<typeof assistant>[0] & object, id: string, o = {}): Message[] => [
    assistant([...(parts as never[]), call(id)], o),
    result(id),
  ];

  test("goes back block for block", () => {
    const parts = [one.part, { type: "text" as const, text: "Hm." }, redacted.part, two.part];
    expect(messages([user("go"), ...step(parts, "c")])).toEqual([
      u(text("go")),
      a(one.block, text("Hm."), redacted.block, two.block, use("c")),
      u(done("c")),
    ]);
  });
  test("keeps an empty text that was not shown", () => {
    const hidden = thinking("", "sig");
    expect(messages([user("go"), ...step([hidden.part], "c")])).toEqual([u(text("go")), a(hidden.block, use("c")), u(done("c"))]);
  });
  test("never ends a message", () => {
    const history = [
      user("go"),
      assistant([{ type: "text", text: "x" }, one.part, { type: "text", text: " " }]),
      user("a"),
      assistant([two.part]),
      user("b"),
    ];
    expect(messages(history)).toEqual([u(text("go")), a(text("x")), u(text("a"), text("b"))]);
  });
  test.each<[string, Message[], Partial<ModelRequest>]>([
    ["of an interrupted reply", step([one.part], "c", { stop: "aborted" }), {}],
    ["of another model", step([one.part], "c", { model: "claude-sonnet-5-5" }), {}],
    ["without a signature", step([{ type: "reasoning", text: "?" }], "c"), {}],
    ["of another provider", step([{ type: "reasoning", text: "?", opaque: { id: "rs_1", encrypted_content: "…" } }], "c"), {}],
    ["that cannot be sent", step([thinking("a\u0000").part], "c"), {}],
    ["made elsewhere", step([{ ...one.part, opaque: { ...one.part.opaque, prefix: "other", previous: null } }], "c"), {}],
    ["for a model that does not think", step([one.part], "c", { model: "claude-opus-4-5" }), { model: "claude-opus-4-5" }],
  ])("is left out: %s", (_, steps, more) => {
    expect(messages([user("go"), ...steps], more)).toEqual([u(text("go")), a(use("c")), u(done("c"))]);
  });
  test("nothing is left out in the middle: what is older than a gap goes too", () => {
    const history = [
      user("go"),
      ...step([one.part], "c1"),
      ...step([thinking("x").part], "c2", { model: "claude-sonnet-5-5" }),
      ...step([two.part], "c3"),
    ];
    expect(messages(history)).toEqual([
      u(text("go")),
      a(use("c1")),
      u(done("c1")),
      a(use("c2")),
      u(done("c2")),
      a(two.block, use("c3")),
      u(done("c3")),
    ]);
  });
});

describe("cache breakpoints", () => {
  const marked = (history: readonly Message[]): [number, number][] =>
    encode(request(history, { tools: [READ] })).messages.flatMap(({ content }, i) =>
      content.flatMap((block, k): [number, number][] => ("cache_control" in block ? [[i, k]] : [])),
    );
  const wide = (n: number): Message[] => {
    const ids = Array.from({ length: n }, (_, i) => `c${n}_${i}`);
    return [assistant(ids.map((id) => call(id))), ...ids.map((id) => result(id))];
  };
  test("one on the last block", () => {
    expect(marked([user("a"), attachment("b")])).toEqual([[0, 1]]);
    expect(marked([user("a"), ...wide(3)])).toEqual([[2, 2]]);
  });
  test("one more where the last is too far from the one before", () => {
    expect(marked([user("a"), attachment("b"), ...wide(9), user("c")])).toEqual([[2, 9]]);
    expect(marked([user("a"), attachment("b"), ...wide(10)])).toEqual([
      [0, 1],
      [2, 9],
    ]);
  });
});
