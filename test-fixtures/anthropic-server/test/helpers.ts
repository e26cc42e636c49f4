/** Requests, servers and stream readers that the tests share. */

import { afterEach } from "vitest";
import {
  type AnthropicServer,
  type JsonObject,
  type ServerOptions,
  startAnthropicServer,
  type ValidateOptions,
  validate,
} from "../src/index.ts";

export const NEW = "claude-opus-5-5";
export const OLD = "claude-sonnet-4-5";
export const HEADERS = { "x-api-key": "a key", "anthropic-version": "2023-06-01" } as const;

export const TOOL: JsonObject = { name: "read", input_schema: { type: "object", properties: {} } };

export function user(content: unknown): JsonObject {
  return { role: "user", content } as JsonObject;
}

export function assistant(content: unknown): JsonObject {
  return { role: "assistant", content } as JsonObject;
}

export function system(content: unknown, more: JsonObject = {}): JsonObject {
  return { role: "system", content, ...more } as JsonObject;
}

export const text = (value: string, more: JsonObject = {}): JsonObject => ({ type: "text", text: value, ...more });
export const call = (id: string, more: JsonObject = {}): JsonObject => ({
  type: "tool_use",
  id,
  name: "read",
  input: {},
  ...more,
});
export const result = (id: string, more: JsonObject = {}): JsonObject => ({
  type: "tool_result",
  tool_use_id: id,
  content: "done",
  ...more,
});

export function body(more: Record<string, unknown> = {}): JsonObject {
  return { model: NEW, max_tokens: 1000, messages: [user("hello")], tools: [TOOL], ...more } as JsonObject;
}

export interface Row {
  rule: string;
  body: Record<string, unknown>;
  betas?: string;
  headers?: Record<string, string>;
  options?: ValidateOptions;
  message: string | RegExp;
  status?: number;
  type?: string;
}

export function refusalOf(row: Pick<Row, "body" | "betas" | "headers" | "options">) {
  const headers = { ...HEADERS, ...(row.betas ? { "anthropic-beta": row.betas } : {}), ...row.headers };
  return validate(body(row.body), headers, row.options);
}

export function useServers(): (options?: ServerOptions) => Promise<AnthropicServer> {
  const open: AnthropicServer[] = [];
  afterEach(async () => {
    await Promise.all(open.splice(0).map((server) => server.close()));
  });
  return async (options = {}) => {
    const server = await startAnthropicServer(options);
    open.push(server);
    return server;
  };
}

export function post(
  server: AnthropicServer,
  content: unknown,
  headers: Record<string, string> = {},
  path = "/v1/messages",
): Promise<Response> {
  return fetch(server.url + path, {
    method: "POST",
    headers: { ...HEADERS, "content-type": "application/json", ...headers },
    body: typeof content === "string" ? content : JSON.stringify(content),
  });
}

export interface SentMessage {
  id: string;
  content: JsonObject[];
  stop_reason: string;
  usage: {
    input_tokens: number;
    cache_creation_input_tokens: number;
    cache_read_input_tokens: number;
    cache_creation: { ephemeral_5m_input_tokens: number; ephemeral_1h_input_tokens: number };
    output_tokens: number;
  };
  input_transformations?: JsonObject[];
}

export async function ask(server: AnthropicServer, content: unknown, headers: Record<string, string> = {}): Promise<SentMessage> {
  const response = await post(server, content, headers);
  const answer: unknown = await response.json();
  if (!response.ok) throw new Error(JSON.stringify(answer));
  return answer as SentMessage;
}

export interface SentEvent {
  event: string;
  data: JsonObject & { delta?: JsonObject; content_block?: JsonObject; message?: JsonObject; usage?: JsonObject };
}

export function parseEvents(stream: string): SentEvent[] {
  return stream
    .split("\n\n")
    .filter((part) => part !== "")
    .map((part) => {
      const match = /^event: (.+)\ndata: (.+)$/.exec(part);
      if (!match) throw new Error(`No event of the usual frame: ${part}`);
      return { event: match[1] ?? "", data: JSON.parse(match[2] ?? "") };
    });
}

/** What arrived, and whether the connection broke before the end. */
export async function readStream(response: Response): Promise<{ text: string; broke: boolean; chunks: Uint8Array[] }> {
  const chunks: Uint8Array[] = [];
  let broke = false;
  try {
    for await (const chunk of response.body as unknown as AsyncIterable<Uint8Array>) chunks.push(chunk);
  } catch {
    broke = true;
  }
  return { text: Buffer.concat(chunks).toString(), broke, chunks };
}
