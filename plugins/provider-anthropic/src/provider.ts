/** The provider `anthropic`: one streamed call of the Messages API for each request. */
import { type CallContext, type ModelChunk, ModelError, type ModelRequest, type Provider } from "@heddle/kernel/plugin";
import type { Connection } from "./client.ts";
import { createEncoder, type Encoded } from "./encode.ts";
import { cutOff, type Failing, noCredential, notTheApi, streamError, toModelError } from "./errors.ts";
import { factsOf } from "./models.ts";
import { hasAuthHeader, type Options } from "./options.ts";
import { createReply } from "./reply.ts";
import { type SseEvent, sseDecoder } from "./sse.ts";
import { isObject, type JsonObject } from "./text.ts";
import { asJson } from "./wire.ts";

export function createProvider(options: Options): Provider {
  const encodeNext = createEncoder();
  let connection: Promise<Connection> | undefined;
  const connect = (): Promise<Connection> => {
    connection ??= import("./client.ts").then((client) => client.connect(options));
    return connection;
  };

  async function* stream(request: ModelRequest, ctx: CallContext): AsyncIterable<ModelChunk> {
    if (options.apiKey === undefined && options.authToken === undefined && !hasAuthHeader(options.headers)) throw noCredential();
    const failing = (): Failing => ({ options, model: request.model, now: ctx.now() });
    try {
      const encoded = encodeNext(request);
      const response = await (await connect()).send(encoded.body, ctx.signal);
      yield* chunksOf(response, encoded, failing);
    } catch (error) {
      if (!ctx.signal.aborted) throw toModelError(error, failing());
    }
  }
  return {
    name: "anthropic",
    stream,
    encode: (request) => asJson(encodeNext(request).body),
    window: (model) => factsOf(model).window,
  };
}

/** Every piece of the body leads to a chunk, a ping if to nothing else, so that whoever waits sees signs of life. */
async function* chunksOf(response: Response, encoded: Encoded, failing: () => Failing): AsyncIterable<ModelChunk> {
  const requestId = response.headers.get("request-id") ?? undefined;
  const type = response.headers.get("content-type") ?? "";
  if (!response.body || /html|json/i.test(type)) throw await insteadOfStream(response, type, failing(), requestId);
  const reply = createReply(encoded.tools, encoded.prefix, encoded.previous);
  const decoder = sseDecoder();
  let seen = 0;
  const read = (events: readonly SseEvent[]): ModelChunk[] =>
    events.flatMap(({ event, data }) => {
      if (reply.done || event === "ping" || data === "") return [];
      seen++;
      const it = parse(data);
      if (it === undefined && seen === 1) throw notTheApi(failing(), `"${data.slice(0, 80)}"`, response.status, requestId);
      if (it === undefined) throw new ModelError(`The reply holds an event that is no JSON: "${data.slice(0, 80)}".`, { kind: "protocol" });
      const named = typeof it["type"] === "string" ? it : { ...it, type: event };
      if (named["type"] === "error") throw streamError(named, failing(), requestId);
      return reply.take(named);
    });
  try {
    for await (const bytes of response.body) {
      const chunks = read(decoder.push(bytes));
      yield* chunks.length > 0 ? chunks : [{ type: "ping" as const }];
      if (reply.done) return;
    }
  } catch (error) {
    throw error instanceof ModelError ? error : cutOff(failing(), reasonOf(error), requestId);
  }
  yield* read(decoder.end());
  if (reply.done) return;
  throw seen === 0 ? notTheApi(failing(), type, response.status, requestId) : cutOff(failing(), "no message_stop", requestId);
}

const reasonOf = (error: unknown): string => {
  const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
  return cause instanceof Error ? cause.message : String(cause);
};

/** A success that is no stream: an error in disguise, or another kind of server. */
async function insteadOfStream(response: Response, type: string, failing: Failing, requestId?: string): Promise<ModelError> {
  const text = await response.text();
  const body = parse(text);
  if (body && body["type"] === "error") return streamError(body, failing, requestId);
  return notTheApi(failing, `${type.split(";")[0] || "something"} "${text.replace(/\s+/g, " ").slice(0, 80)}"`, response.status, requestId);
}

function parse(data: string): JsonObject | undefined {
  try {
    const it: unknown = JSON.parse(data);
    return isObject(it) ? it : undefined;
  } catch {
    return undefined;
  }
}
