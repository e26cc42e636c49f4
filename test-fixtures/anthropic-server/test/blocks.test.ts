/** One row for each rule about content blocks, images and documents. */

import { describe, expect, it } from "vitest";
import { assistant, call, OLD, type Row, refusalOf, result, system, text, user } from "./helpers.ts";
import { gif, jpeg, pdf, png, webp } from "./media.ts";

const AT = "messages.0.content.0";
const XI = "Extra inputs are not permitted";
const OBJ = "Input should be a valid dictionary or object to extract fields from";
const EMPTY = "messages: text content blocks must be non-empty";
const BLANK = "messages: text content blocks must contain non-whitespace text";

const said = (...blocks: unknown[]) => ({ messages: [user(blocks)] });
const replied = (...blocks: unknown[]) => ({ messages: [user("x"), assistant(blocks), user("y")] });
const called = (more: object) => replied(call("a", more as never));
const answered = (more: object) => ({
  messages: [user("x"), assistant([call("a")]), user([result("a", more as never)])],
});
const RESULT = "messages.2.content.0.tool_result";
const image = (data: string, media_type = "image/png") => ({
  type: "image",
  source: { type: "base64", media_type, data },
});
const S = `${AT}.image.source`;

const rows: Row[] = [
  {
    rule: "block type",
    body: said({ type: "audio" }),
    message:
      /^messages\.0\.content\.0: Input tag 'audio' found using 'type' does not match any of the expected tags: 'advisor_tool_result', .*'text'/,
  },
  { rule: "block type missing", body: said({ text: "x" }), message: `${AT}.type: Field required` },
  { rule: "block no object", body: said("x"), message: `${AT}: ${OBJ}` },
  { rule: "key of text", body: said(text("x", { id: "1" })), message: `${AT}.text.id: ${XI}` },
  { rule: "key of tool_use", body: called({ index: 0 }), message: `messages.1.content.0.tool_use.index: ${XI}` },
  { rule: "key of tool_result", body: answered({ name: "x" }), message: `${RESULT}.name: ${XI}` },
  {
    rule: "cache_control on thinking",
    body: replied({ type: "thinking", thinking: "x", signature: "y", cache_control: { type: "ephemeral" } }, text("z")),
    message: `messages.1.content.0.thinking.cache_control: ${XI}`,
  },
  { rule: "text missing", body: said({ type: "text" }), message: `${AT}.text.text: Field required` },
  { rule: "text no string", body: said({ type: "text", text: 5 }), message: `${AT}.text.text: Input should be a valid string` },
  {
    rule: "signature missing",
    body: replied({ type: "thinking", thinking: "x" }),
    message: "messages.1.content.0.thinking.signature: Field required",
  },
  { rule: "source missing", body: said({ type: "image" }), message: `${S}: Field required` },
  {
    rule: "input missing",
    body: called({ input: undefined }),
    message: "messages.1.content.0.tool_use.input: Field required",
  },
  {
    rule: "tool_use in user",
    body: said(call("a")),
    message: `${AT}: \`tool_use\` blocks can only be in \`assistant\` messages`,
  },
  {
    rule: "thinking in user",
    body: said({ type: "thinking", thinking: "x", signature: "y" }),
    message: `${AT}: \`thinking\` blocks can only be in \`assistant\` messages`,
  },
  ...[result("a"), image(png(1, 1)), { type: "document", source: { type: "text", data: "x" } }].map((block) => ({
    rule: `${block["type"]} in assistant`,
    body: replied(block),
    message: `messages.1.content.0: \`${block["type"]}\` blocks can only be in \`user\` messages`,
  })),
  {
    rule: "image in system",
    body: { messages: [user("x"), system([image(png(1, 1))])] },
    message: "messages.1.content.0: `image` blocks are not permitted in `system` messages",
  },
  {
    rule: "tool_addition in user",
    body: said({ type: "tool_addition", tool: { type: "tool_reference", name: "x" } }),
    betas: "mid-conversation-tool-changes-2026-07-01",
    message: `${AT}: \`tool_addition\` blocks can only be in \`system\` messages`,
  },
  { rule: "text empty", body: said(text("")), message: EMPTY },
  { rule: "text blank", body: said(text(" \t\n")), message: BLANK },
  { rule: "text empty inside a result", body: answered({ content: [text("")] }), message: EMPTY },
  {
    rule: "cache_control on empty text",
    body: said(text("", { cache_control: { type: "ephemeral" } })),
    message: `${AT}.text: cache_control cannot be set for empty text blocks`,
  },
  {
    rule: "call id",
    body: called({ id: "a b" }),
    message: "messages.1.content.0.tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'",
  },
  {
    rule: "call name empty",
    body: called({ name: "" }),
    message: "messages.1.content.0.tool_use.name: String should have at least 1 character",
  },
  {
    rule: "call name long",
    body: called({ name: "x".repeat(201) }),
    message: "messages.1.content.0.tool_use.name: String should have at most 200 characters",
  },
  {
    rule: "call input",
    body: called({ input: "{}" }),
    message: "messages.1.content.0.tool_use.input: Input should be a valid dictionary",
  },
  { rule: "result content", body: answered({ content: {} }), message: `${RESULT}.content: Input should be a valid list` },
  {
    rule: "result item",
    body: answered({ content: [text("x"), { type: "thinking" }] }),
    message: `${RESULT}.content.1: Input tag 'thinking' found using 'type' does not match any of the expected tags: 'document', 'image', 'search_result', 'text', 'tool_reference'`,
  },
  { rule: "result item no object", body: answered({ content: ["x"] }), message: `${RESULT}.content.0: ${OBJ}` },
  {
    rule: "result item key",
    body: answered({ content: [text("x", { id: 1 })] }),
    message: `${RESULT}.content.0.text.id: ${XI}`,
  },
  {
    rule: "tool_reference key missing",
    body: answered({ content: [{ type: "tool_reference" }] }),
    message: `${RESULT}.content.0.tool_reference.tool_name: Field required`,
  },
  {
    rule: "tool_reference to no tool of the request",
    body: answered({ content: [{ type: "tool_reference", tool_name: "gone" }] }),
    message: "Tool reference 'gone' not found in available tools",
  },
  {
    rule: "tool_reference beside text",
    body: answered({ content: [text("x"), { type: "tool_reference", tool_name: "read" }] }),
    message: `${RESULT}: tool_reference blocks cannot be mixed with other content`,
  },
  ...["", [], undefined].map((content) => ({
    rule: `error without content: ${JSON.stringify(content)}`,
    body: answered({ content, is_error: true }),
    message: `${RESULT}: content cannot be empty if \`is_error\` is true`,
  })),
  {
    rule: "error with an image",
    body: answered({ content: [text("x"), image(png(1, 1))], is_error: true }),
    message: `${RESULT}: all content must be type \`text\` if \`is_error\` is true`,
  },
  {
    rule: "is_error",
    body: answered({ is_error: "yes" }),
    message: `${RESULT}.is_error: Input should be a valid boolean`,
  },
  {
    rule: "image source type",
    body: said({ type: "image", source: { type: "path" } }),
    message: `${S}: Input tag 'path' found using 'type' does not match any of the expected tags: 'base64', 'file', 'url'`,
  },
  {
    rule: "image media type",
    body: said(image(png(1, 1), "image/bmp")),
    message: `${S}.base64.media_type: Input should be 'image/jpeg', 'image/png', 'image/gif' or 'image/webp'`,
  },
  { rule: "image base64", body: said(image("%%%%")), message: `${S}.base64.data: Invalid base64 data` },
  {
    rule: "image size",
    body: said(image("A".repeat(5_242_884))),
    message: `${S}.base64: image exceeds 5 MB maximum: 5242884 bytes > 5242880 bytes`,
  },
  { rule: "image bytes", body: said(image("AAAA")), message: "Could not process image" },
  {
    rule: "image of another type",
    body: said(image(png(1, 1), "image/jpeg")),
    message: `${S}.base64.data: The image was specified using the image/jpeg media type, but the image appears to be a image/png image`,
  },
  ...[png(8001, 1), png(1, 8001)].map((data) => ({
    rule: "image side",
    body: said(image(data)),
    message: `${S}.base64.data: At least one of the image dimensions exceed max allowed size: 8000 pixels`,
  })),
  {
    rule: "image inside a result",
    body: answered({ content: [text("x"), image("AAA")] }),
    message: `${RESULT}.content.1.image.source.base64.data: Invalid base64 data`,
  },
  {
    rule: "many images",
    body: said(...Array.from({ length: 20 }, () => image(png(10, 10))), image(png(2001, 10))),
    message:
      "messages.0.content.20.image.source.base64.data: At least one of the image dimensions exceed max allowed size for many-image requests: 2000 pixels",
  },
  {
    rule: "too many images and documents",
    body: {
      model: OLD,
      ...said(...Array.from({ length: 104 }, () => image(png(10, 10))), {
        type: "document",
        source: { type: "base64", media_type: "application/pdf", data: pdf(1) },
      }),
    },
    message: "too many images and documents: 104 + 1 > 100",
  },
  {
    rule: "too many pages",
    body: {
      model: OLD,
      ...said({ type: "document", source: { type: "base64", media_type: "application/pdf", data: pdf(101) } }),
    },
    message: `${AT}.pdf.source.base64.data: A maximum of 100 PDF pages may be provided.`,
  },
  {
    rule: "too many pages of a large window",
    body: said({ type: "document", source: { type: "base64", media_type: "application/pdf", data: pdf(601) } }),
    message: `${AT}.pdf.source.base64.data: A maximum of 600 PDF pages may be provided.`,
  },
];

describe("content blocks", () => {
  it.each(rows)("$rule", (row) => {
    const refusal = refusalOf(row);
    expect(refusal).toMatchObject({ status: 400, type: "invalid_request_error" });
    if (typeof row.message === "string") expect(refusal?.message).toBe(row.message);
    else expect(refusal?.message).toMatch(row.message);
  });

  it.each([
    { rule: "an empty result", body: answered({ content: "" }) },
    { rule: "a result without content", body: answered({ content: undefined }) },
    { rule: "blank text inside a result", body: answered({ content: [text(" ")] }) },
    { rule: "an error text", body: answered({ content: "no such file", is_error: true }) },
    { rule: "a tool reference", body: answered({ content: [{ type: "tool_reference", tool_name: "read" }] }) },
    { rule: "server blocks unchecked", body: replied({ type: "server_tool_use", whatever: 1 }, text("x")) },
    { rule: "an image of 8000 pixels", body: said(image(png(8000, 8000))) },
    { rule: "a url", body: said({ type: "image", source: { type: "url", url: "https://example.com/x.png" } }) },
    { rule: "jpeg", body: said(image(jpeg(20, 10), "image/jpeg")) },
    { rule: "gif", body: said(image(gif(20, 10), "image/gif")) },
    { rule: "webp", body: said(image(webp(20, 10), "image/webp")) },
    { rule: "600 pages in a large window", body: said({ type: "document", source: { type: "base64", data: pdf(600) } }) },
  ])("takes $rule", (row) => {
    expect(refusalOf(row)).toBeUndefined();
  });
});
