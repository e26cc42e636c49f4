/** The HTTP server: endpoints, keys, the record, faults, and an orderly end. */

import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { chatBody, chatEvents } from "./chat-wire.ts";
import { Exchange, readText } from "./exchange.ts";
import { faultAt } from "./faults.ts";
import { overflowBody } from "./flavours.ts";
import { isObject, isString, type JsonObject, listOf, parse } from "./json.ts";
import { listing } from "./models.ts";
import type { RequestRecord, ServerOptions } from "./options.ts";
import { Refused } from "./refusal.ts";
import { replyOf } from "./reply.ts";
import { itemsOf, responsesBody, responsesEvents } from "./responses-wire.ts";
import { promptOf, type Script, stepAt, stepOf } from "./script.ts";
import { type Api, check, judgeOf } from "./validate.ts";

export interface OpenAIServer {
  /** The base URL to give to a client; ends in `/v1`. */
  url: string;
  /** Every request so far, oldest first. */
  requests: readonly RequestRecord[];
  refusals(): string[];
  setScript(script: Script): void;
  /** Breaks open connections and resolves when none is left; may be called again. */
  close(): Promise<void>;
}

export async function startOpenAIServer(options: ServerOptions = {}): Promise<OpenAIServer> {
  const judge = judgeOf(options);
  const { flavour, models } = judge;
  const following = judge.remembered.following as Map<string, string>;
  const requests: RequestRecord[] = [];
  const prompts: string[] = [];
  const open = new Set<Exchange>();
  let script: Script = options.script ?? [];

  const generate = async (api: Api, exchange: Exchange, text: string): Promise<void> => {
    const { record } = exchange;
    const body = check(api, parse(text), judge);
    const model = body["model"] as string;
    const prompt = promptOf(body);
    const fault = faultAt(options.faults ?? [], prompts.length);
    const shared = Math.max(0, ...prompts.map((old) => sharedLength(old, prompt)));
    const index = prompts.push(prompt) - 1;
    record.fault = fault?.name;
    record.step = stepOf(body);
    if (fault?.reset) return exchange.reset();
    if (fault?.hang) return undefined;
    const window = options.window ?? models[model]?.window ?? Number.POSITIVE_INFINITY;
    if (fault?.overflow || prompt.length / 4 > window) {
      const { status, body: answer } = overflowBody(flavour.name, Math.min(window, 8192), Math.ceil(prompt.length / 4) + 8192);
      return exchange.send(status, answer);
    }
    if (fault?.status !== undefined) return exchange.send(fault.status, fault.body ?? {}, fault.headers);
    const scripted = stepAt(script, record.step, body);
    const step = fault?.reply ? fault.reply(scripted) : scripted;
    const reply = replyOf(step, index, model, flavour, { size: prompt.length, shared });
    record.cached = reply.usage.cached;
    record.input = reply.usage.input;
    const streams = body["stream"] === true;
    if (api === "chat") {
      if (!streams) return exchange.send(200, chatBody(reply, flavour));
      const asked = isObject(body["stream_options"]) && body["stream_options"]["include_usage"] === true;
      return exchange.stream(chatEvents(reply, flavour, asked), fault, false);
    }
    const items = itemsOf(reply, { encrypted: includes(body), summary: isObject(body["reasoning"]) && "summary" in body["reasoning"] });
    items.forEach((item, i) => {
      const next = items[i + 1]?.["id"];
      if (item["type"] === "reasoning" && isString(next)) following.set(item["id"] as string, next);
    });
    return streams ? exchange.stream(responsesEvents(reply, items), fault, true) : exchange.send(200, responsesBody(reply, items));
  };

  const route = async (exchange: Exchange, request: IncomingMessage): Promise<void> => {
    const { record } = exchange;
    const text = await readText(request);
    const body = parse(text);
    record.body = isObject(body) ? body : undefined;
    const key = /^Bearer (.+)$/.exec(record.headers["authorization"] ?? "")?.[1];
    if (flavour.needsKey && (key === undefined || (options.keys && !options.keys.includes(key)))) return exchange.send(401, keyError(key));
    const path = record.path.split("?")[0];
    if (record.method === "GET" && path === "/v1/models") return exchange.send(200, listing(flavour.name, models));
    if (record.method === "POST" && path === "/v1/chat/completions") return generate("chat", exchange, text);
    if (record.method === "POST" && path === "/v1/responses" && flavour.responses) return generate("responses", exchange, text);
    const message = `Invalid URL (${record.method} ${path})`;
    return exchange.send(404, { error: { message, type: "invalid_request_error", param: null, code: null } });
  };

  const handle = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const record = newRecord(request);
    requests.push(record);
    const exchange = new Exchange(record, response);
    open.add(exchange);
    response.on("close", () => open.delete(exchange));
    try {
      await route(exchange, request);
    } catch (error) {
      if (!(error instanceof Refused)) return exchange.send(500, { error: { message: `The test server failed: ${String(error)}` } });
      record.refusal = error.refusal.error.message;
      exchange.send(error.refusal.status, { error: { ...error.refusal.error } });
    }
    return undefined;
  };

  const server = createServer((request, response) => void handle(request, response));
  server.keepAliveTimeout = 60_000;
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(options.port ?? 0, "127.0.0.1", resolve);
  });
  const { port } = server.address() as AddressInfo;
  let closing: Promise<void> | undefined;
  return {
    url: `http://127.0.0.1:${port}/v1`,
    requests,
    refusals: () => requests.flatMap(({ refusal }) => (refusal === undefined ? [] : [refusal])),
    setScript: (it) => {
      script = it;
    },
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

const includes = (body: JsonObject): boolean => (listOf(body["include"]) ?? []).includes("reasoning.encrypted_content");

function newRecord(request: IncomingMessage): RequestRecord {
  const headers: Record<string, string> = {};
  for (const [name, value] of Object.entries(request.headers))
    if (value !== undefined) headers[name] = Array.isArray(value) ? value.join(",") : value;
  const rest = { body: undefined, status: undefined, refusal: undefined, step: undefined, fault: undefined };
  return { method: request.method ?? "GET", path: request.url ?? "/", headers, ...rest, cached: 0, input: 0, closedByClient: false };
}

const keyError = (key: string | undefined): JsonObject => ({
  error: {
    message:
      key === undefined
        ? "You didn't provide an API key. You need to provide your API key in an Authorization header using Bearer auth (i.e. Authorization: Bearer YOUR_KEY)."
        : `Incorrect API key provided: ${key.slice(0, 5)}***. You can find your API key at https://platform.openai.com/account/api-keys.`,
    type: "invalid_request_error",
    param: null,
    code: key === undefined ? null : "invalid_api_key",
  },
});

function sharedLength(a: string, b: string): number {
  let n = 0;
  while (n < a.length && n < b.length && a.charCodeAt(n) === b.charCodeAt(n)) n++;
  return n;
}
