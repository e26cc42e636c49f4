/** One row for each rule about cache_control. */

import { describe, expect, it } from "vitest";
import { assistant, call, type Row, refusalOf, result, TOOL, text, user } from "./helpers.ts";

const mark = (more: object = {}) => ({ cache_control: { type: "ephemeral", ...more } });
const marked = (control: unknown) => ({ messages: [user([text("x", { cache_control: control } as never)])] });
const PATH = "messages.0.content.0.text.cache_control";
const four = [1, 2, 3, 4].map((n) => text(`s${n}`, mark()));
const late = (path: string) =>
  `${path}.cache_control.ttl: a ttl='1h' cache_control block must not come after a ttl='5m' cache_control block. Note that blocks are processed in the following order: \`tools\`, \`system\`, \`messages\`.`;
const ephemeral = (tag: string) => `Input tag '${tag}' found using 'type' does not match any of the expected tags: 'ephemeral'`;

const rows: Row[] = [
  { rule: "type", body: marked({ type: "permanent" }), message: `${PATH}: ${ephemeral("permanent")}` },
  { rule: "type missing", body: marked({}), message: `${PATH}.type: Field required` },
  {
    rule: "no object",
    body: marked("ephemeral"),
    message: `${PATH}: Input should be a valid dictionary or object to extract fields from`,
  },
  {
    rule: "ttl",
    body: marked({ type: "ephemeral", ttl: "10m" }),
    message: `${PATH}.ephemeral.ttl: Input should be '5m' or '1h'`,
  },
  {
    rule: "key",
    body: marked({ type: "ephemeral", age: 5 }),
    message: `${PATH}.ephemeral.age: Extra inputs are not permitted`,
  },
  {
    rule: "on a tool",
    body: { tools: [{ ...TOOL, cache_control: { type: "no" } }] },
    message: `tools.0.cache_control: ${ephemeral("no")}`,
  },
  {
    rule: "on a system block",
    body: { system: [text("x"), text("y", { cache_control: { type: "no" } })] },
    message: `system.1.cache_control: ${ephemeral("no")}`,
  },
  {
    rule: "at the top",
    body: { cache_control: { type: "no" } },
    message: `cache_control: ${ephemeral("no")}`,
  },
  {
    rule: "more than 4",
    body: { system: four, messages: [user([text("x", mark())])] },
    message: "A maximum of 4 blocks with cache_control may be provided. Found 5.",
  },
  {
    rule: "the automatic one counts",
    body: { system: four, ...mark() },
    message: "A maximum of 4 blocks with cache_control may be provided. Found 5.",
  },
  {
    rule: "those inside results count",
    body: {
      system: four,
      messages: [user("x"), assistant([call("a")]), user([result("a", { content: [text("y", mark())] })])],
    },
    message: "A maximum of 4 blocks with cache_control may be provided. Found 5.",
  },
  {
    rule: "1h behind 5m in one list",
    body: { system: [text("x", mark()), text("y", mark({ ttl: "1h" }))] },
    message: late("system.1"),
  },
  {
    rule: "1h behind 5m across lists",
    body: { tools: [{ ...TOOL, ...mark({ ttl: "5m" }) }], messages: [user([text("x", mark({ ttl: "1h" }))])] },
    message: late("messages.0.content.0.text"),
  },
];

describe("cache_control", () => {
  it.each(rows)("$rule", (row) => {
    expect(refusalOf(row)).toEqual({ status: 400, type: "invalid_request_error", message: row.message });
  });

  it("refuses an automatic mark on a block with another lifetime", () => {
    const messages = [user([text("x", mark({ ttl: "1h" }))])];
    expect(refusalOf({ body: { messages, ...mark() } })).toMatchObject({ status: 400, type: "invalid_request_error" });
    expect(refusalOf({ body: { messages, ...mark({ ttl: "1h" }) } })).toBeUndefined();
  });

  it.each([
    { system: four },
    { system: four.slice(1), ...mark() },
    { system: [text("x", mark({ ttl: "1h" })), text("y", mark())] },
    marked(null),
  ])("takes %o", (more) => {
    expect(refusalOf({ body: more })).toBeUndefined();
  });
});
