/** The HTTP server: endpoints, request ids, the record, and an orderly end. */

import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { Exchange, readBytes } from "./exchange.ts";
import { checkHeaders } from "./headers.ts";
import { LISTED_MODELS, modelRules } from "./models.ts";
import type { ServerOptions } from "./options.ts";
import { randomText, seededRandom } from "./random.ts";
import { newRecord, type RequestRecord } from "./record.ts";
import { Refused, refuse } from "./refusal.ts";
import type { MarkedScript, Script } from "./script.ts";
import { Simulator } from "./simulator.ts";

export interface AnthropicServer {
  /** Without a slash at the end: the base URL to give to a client. */
  url: string;
  port: number;
  /** Every request so far, oldest first. */
  requests: readonly RequestRecord[];
  /** Requests of the main conversation, refused ones included. */
  mainRequests(): RequestRecord[];
  refusals(): RequestRecord[];
  warnings(): string[];
  /** Cache-weighted input cost of main and compaction requests over the ideal one. */
  costRatio(): number;
  /** Starts another script at its first step. */
  setScript(script: Script | readonly MarkedScript[]): void;
  /** Breaks open connections and resolves when none is left; may be called again. */
  close(): Promise<void>;
}

function headersOf(request: IncomingMessage): Record<string, string> {
  const headers: Record<string, string> = {};
  for (const [name, value] of Object.entries(request.headers))
    if (value !== undefined) headers[name] = Array.isArray(value) ? value.join(",") : value;
  return headers;
}

function modelEntry(id: string, options: ServerOptions) {
  const rules = modelRules(id, options.models) ?? refuse(`model: ${id}`, "not_found_error");
  const words = id
    .replace(/^claude-/, "")
    .replace(/-\d{8}$/, "")
    .split("-");
  const [family = "", ...version] = words;
  return {
    type: "model",
    id,
    display_name: `Claude ${family.charAt(0).toUpperCase()}${family.slice(1)} ${version.join(".")}`.trim(),
    created_at: "2026-01-01T00:00:00Z",
    max_input_tokens: options.window ?? rules.window,
    max_tokens: rules.maxOutput,
  };
}

function sendModels(exchange: Exchange, path: string, options: ServerOptions): void {
  exchange.record.kind = "models";
  checkHeaders(exchange.record.headers, options);
  const id = path.slice("/v1/models/".length);
  if (id !== "") {
    exchange.sendJson(200, modelEntry(decodeURIComponent(id), options));
    return;
  }
  const ids = [...new Set([...LISTED_MODELS, ...Object.keys(options.models ?? {})])];
  const data = ids.map((listed) => modelEntry(listed, options));
  exchange.sendJson(200, { data, has_more: false, first_id: ids[0], last_id: ids.at(-1) });
}

async function route(exchange: Exchange, simulator: Simulator, options: ServerOptions, all: readonly RequestRecord[]) {
  const { method, path } = exchange.record;
  const pathname = path.split("?")[0] ?? "";
  const bytes = await readBytes(exchange.request);
  exchange.record.bytes = bytes.length;
  if (method === "POST" && pathname === "/v1/messages") await simulator.messages(exchange, bytes);
  else if (method === "POST" && pathname === "/v1/messages/count_tokens") simulator.countTokens(exchange, bytes);
  else if (method === "GET" && /^\/v1\/models(?:\/[^/]+)?$/.test(pathname)) sendModels(exchange, pathname, options);
  else if (method === "HEAD" && pathname === "/") {
    exchange.record.kind = "head";
    exchange.sendText(200, "", {});
  } else if (options.inspect && method === "GET" && pathname === "/__requests") exchange.sendJson(200, all);
  else refuse("Not found", "not_found_error");
}

export async function startAnthropicServer(options: ServerOptions = {}): Promise<AnthropicServer> {
  const clock = options.clock ?? Date.now;
  const random = seededRandom(options.seed ?? 1);
  const simulator = new Simulator(options, random);
  const requests: RequestRecord[] = [];
  const open = new Set<Exchange>();

  const handle = async (request: IncomingMessage, response: ServerResponse) => {
    const record = newRecord({
      index: requests.length,
      requestId: `req_011C${randomText(random, 20)}`,
      method: request.method ?? "GET",
      path: request.url ?? "/",
      headers: headersOf(request),
      kind: "other",
      receivedAt: clock(),
    });
    const exchange = new Exchange(request, response, record, clock);
    open.add(exchange);
    response.on("close", () => open.delete(exchange));
    if (!(options.inspect && record.path === "/__requests")) requests.push(record);
    try {
      await route(exchange, simulator, options, requests);
    } catch (error) {
      if (error instanceof Refused) exchange.refuse(error.refusal);
      else exchange.sendError(500, { type: "api_error", message: `The test server failed: ${String(error)}` });
    }
  };

  const server = createServer((request, response) => void handle(request, response));
  // A client that sends no request for a while must not see its connection closed in the middle of a test.
  server.keepAliveTimeout = 60_000;
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(options.port ?? 0, "127.0.0.1", resolve);
  });
  const { port } = server.address() as AddressInfo;
  let closing: Promise<void> | undefined;

  return {
    url: `http://127.0.0.1:${port}`,
    port,
    requests,
    mainRequests: () => requests.filter(({ kind }) => kind === "main"),
    refusals: () => requests.filter(({ refusal }) => refusal !== undefined),
    warnings: () => requests.flatMap(({ warnings }) => warnings),
    costRatio: () => simulator.costRatio(),
    setScript: (script) => simulator.setScript(script),
    close: () => {
      closing ??= new Promise((resolve, reject) => {
        for (const exchange of open) exchange.disown();
        server.close((error) => (error ? reject(error) : resolve()));
        server.closeAllConnections();
      });
      return closing;
    },
  };
}
