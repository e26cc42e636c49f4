/** Headers, betas and raw bytes: what is refused before the body is looked at. */

import { describe, expect, it } from "vitest";
import { validate } from "../src/index.ts";
import { body, HEADERS, type Row, refusalOf } from "./helpers.ts";

const VERSION = { "anthropic-version": "2023-06-01" };

describe("keys, version and size", () => {
  it("wants a key", () => {
    expect(validate(body(), VERSION)).toEqual({
      status: 401,
      type: "authentication_error",
      message: "x-api-key header is required",
    });
  });

  it("takes the key as a bearer token as well", () => {
    expect(validate(body(), { ...VERSION, authorization: "Bearer k" }, { keys: ["k"] })).toBeUndefined();
    expect(validate(body(), { ...VERSION, "X-Api-Key": "k" }, { keys: ["k"] })).toBeUndefined();
    expect(validate(body(), new Headers({ ...VERSION, "x-api-key": "k" }))).toBeUndefined();
  });

  it.each([{ "x-api-key": "wrong" }, { authorization: "Bearer wrong" }, { authorization: "Basic abc" }])(
    "refuses a wrong key: %o",
    (headers) => {
      expect(validate(body(), { ...VERSION, ...headers }, { keys: ["k"] })).toEqual({
        status: 401,
        type: "authentication_error",
        message: "invalid x-api-key",
      });
    },
  );

  it("wants a version", () => {
    expect(validate(body(), { "x-api-key": "k" })).toEqual({
      status: 400,
      type: "invalid_request_error",
      message: "anthropic-version: header is required",
    });
  });

  it("refuses a body over 32 MB before anything else", () => {
    expect(validate("x".repeat(33_554_433), {})).toEqual({
      status: 413,
      type: "request_too_large",
      message: "Request exceeds the maximum size",
    });
  });

  it("lets the key be judged before the body", () => {
    expect(validate("{", VERSION)?.status).toBe(401);
  });
});

describe("betas", () => {
  const refused = (header: string, betas?: string[]) => validate(body(), { ...HEADERS, "anthropic-beta": header }, { betas })?.message;

  it("refuses an unknown value", () => {
    expect(refused("no-such-beta-2026-01-01")).toBe(
      "Unexpected value(s) `no-such-beta-2026-01-01` for the `anthropic-beta` header. Please consult our documentation at docs.anthropic.com or try again without the header.",
    );
  });

  it("refuses a malformed list", () => {
    expect(refused("claude-code-20250219,,effort-2025-11-24")).toMatch(/^Unexpected value\(s\) ``/);
  });

  it("takes known values, and further ones by option", () => {
    expect(refused("claude-code-20250219, interleaved-thinking-2025-05-14")).toBeUndefined();
    expect(refused("own-beta", ["own-beta"])).toBeUndefined();
  });
});

describe("JSON", () => {
  it.each(["", "{", '{"model":}', "nonsense"])("refuses what does not parse: %j", (raw) => {
    const refusal = validate(raw, HEADERS);
    expect(refusal?.status).toBe(400);
    expect(refusal?.message).toMatch(/^The request body is not valid JSON: ./);
  });

  it("refuses a lone surrogate, which JSON.parse lets pass", () => {
    const raw = JSON.stringify(body()).replace("hello", "\\ud83d!");
    expect(validate(raw, HEADERS)?.message).toBe("The request body is not valid JSON: no low surrogate in string");
    expect(validate(raw.replace("\\ud83d!", "\\ud83d\\ude00"), HEADERS)).toBeUndefined();
  });

  it("refuses a body that is no object", () => {
    expect(validate("[]", HEADERS)?.message).toBe("Input should be a valid dictionary or object to extract fields from");
  });
});

it("does not know every model", () => {
  expect(refusalOf({ body: { model: "claude-nonsense" } })).toEqual({
    status: 404,
    type: "not_found_error",
    message: "model: claude-nonsense",
  });
  expect(refusalOf({ body: { model: "my-model" }, options: { models: { "my-model": {} } } })).toBeUndefined();
});

const XI = "Extra inputs are not permitted";
const marked = (control: object) => [{ role: "user", content: [{ type: "text", text: "x", cache_control: control }] }];
const changed = (type: string, tool: object) => [
  { role: "user", content: "x" },
  { role: "system", content: [{ type, tool }] },
];
const reference = { type: "tool_reference", name: "read" };

const GATED: (Omit<Row, "message"> & { path: string; granted: string })[] = [
  {
    rule: "context_management",
    body: { context_management: { edits: [] } },
    path: "context_management",
    granted: "context-management-2025-06-27",
  },
  {
    rule: "context_management by compaction",
    body: { context_management: { edits: [] } },
    path: "context_management",
    granted: "compact-2026-01-12",
  },
  { rule: "safeguards", body: { safeguards: {} }, path: "safeguards", granted: "dangerous-tool-use-2026-09-03" },
  { rule: "mcp_servers", body: { mcp_servers: [] }, path: "mcp_servers", granted: "mcp-client-2025-11-20" },
  { rule: "compaction", body: { compaction: {} }, path: "compaction", granted: "compact-2026-09-04" },
  { rule: "thread", body: { thread: {} }, path: "thread", granted: "message-threads-2026-08-12" },
  { rule: "fallbacks", body: { fallbacks: [] }, path: "fallbacks", granted: "server-side-fallback-2026-07-01" },
  {
    rule: "fallback_credit_token",
    body: { fallback_credit_token: "x" },
    path: "fallback_credit_token",
    granted: "fallback-credit-2026-07-01",
  },
  {
    rule: "output_format",
    body: { output_format: { type: "json_schema", schema: {} } },
    path: "output_format",
    granted: "structured-outputs-2025-11-13",
  },
  {
    rule: "output_config of a system message",
    body: {
      messages: [
        { role: "user", content: "x" },
        { role: "system", content: [], output_config: { effort: "low" } },
      ],
    },
    path: "messages.1.output_config",
    granted: "mid-conversation-output-config-2026-07-01",
  },
  {
    rule: "output_config by per-turn control",
    body: {
      messages: [
        { role: "user", content: "x" },
        { role: "system", content: [], output_config: { effort: "low" } },
      ],
    },
    path: "messages.1.output_config",
    granted: "per-turn-control-2026-07-01",
  },
  {
    rule: "clear_at",
    body: {
      messages: [
        { role: "user", content: "x" },
        { role: "system", content: "y", clear_at: "never" },
      ],
    },
    path: "messages.1.clear_at",
    granted: "mid-conversation-system-clear-at-2026-08-21",
  },
  {
    rule: "block_binding",
    body: { thinking: { type: "adaptive", block_binding: { prefix_mismatch_behavior: "drop_block" } } },
    path: "thinking.adaptive.block_binding",
    granted: "thinking-binding-controls-2026-08-01",
  },
  {
    rule: "display updates",
    body: { thinking: { type: "adaptive", display: "updates" } },
    path: "thinking.adaptive.display",
    granted: "thinking-display-updates-2026-08-18",
  },
  {
    rule: "scope of cache_control",
    body: { messages: marked({ type: "ephemeral", scope: "global" }) },
    path: "messages.0.content.0.text.cache_control.ephemeral.scope",
    granted: "prompt-caching-scope-2026-01-05",
  },
  {
    rule: "tool_addition",
    body: { messages: changed("tool_addition", reference) },
    path: "messages.1.content.0.tool_addition",
    granted: "mid-conversation-tool-changes-2026-07-01",
  },
  {
    rule: "tool_removal",
    body: { messages: changed("tool_removal", reference) },
    path: "messages.1.content.0.tool_removal",
    granted: "mid-conversation-tool-changes-2026-07-01",
  },
  {
    rule: "tool_addition by value",
    body: { messages: changed("tool_addition", { name: "write", input_schema: { type: "object" } }) },
    betas: "mid-conversation-tool-changes-2026-07-01",
    path: "messages.1.content.0.tool_addition.tool",
    granted: "inline-tools-2026-09-15",
  },
];

describe("fields that need a beta", () => {
  it.each(GATED)("$rule", (row) => {
    expect(refusalOf(row)).toEqual({
      status: 400,
      type: "invalid_request_error",
      message: `${row.path}: ${XI}`,
    });
    expect(refusalOf({ ...row, betas: row.granted })).toBeUndefined();
  });
});

describe("the API version of 2026-10-21", () => {
  const headers = { "anthropic-version": "2026-10-21" };
  const rows: Record<string, unknown>[] = [
    { model: "claude-sonnet-4-5", temperature: 1 },
    { model: "claude-sonnet-4-5", top_p: 1 },
    { model: "claude-sonnet-4-5", top_k: 1 },
    {
      messages: [
        {
          role: "user",
          content: [{ type: "text", text: "x", citations: [{ type: "char_location", cited_text: "x", document_index: 0 }] }],
        },
      ],
    },
  ];
  it.each(rows)("refuses %o", (more) => {
    expect(refusalOf({ body: more, headers })).toMatchObject({ status: 400, type: "invalid_request_error" });
    expect(refusalOf({ body: more })).toBeUndefined();
  });

  it("refuses a document directly in an assistant message", () => {
    const source = { type: "text", media_type: "text/plain", data: "x" };
    const messages = [
      { role: "user", content: "x" },
      { role: "assistant", content: [{ type: "document", source }] },
    ];
    expect(refusalOf({ body: { messages }, headers })).toMatchObject({ status: 400 });
  });
});
