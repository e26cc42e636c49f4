/** The provider `anthropic`: one call of the Messages API for each request, streamed unless the request wants it whole. */
import { type CallContext, type ModelChunk, ModelError, type ModelRequest, type Provider } from "@heddle/kernel/plugin";
import type { Connection } from "./client.ts";
import { createEncoder, type Encoded } from "./encode.ts";
import {
  cutOff,
  type Failing,
  isAnswer,
  isRefusedKey,
  noCredential,
  noKey,
  notTheApi,
  redacted,
  refusalIn,
  streamError,
  toModelError,
  windowFull,
} from "./errors.ts";
import { merged } from "./merge.ts";
import { factsOf, infoOf } from "./models.ts";
import { authHeader, type Options, type Ready } from "./options.ts";
import { isAboutThoughts, outputLeft, refusedField, type Without } from "./refused.ts";
import { createReply, type Reply } from "./reply.ts";
import { type SseEvent, sseDecoder } from "./sse.ts";
import { isObject, type JsonObject } from "./text.ts";
import { asJson } from "./wire.ts";

type Answer = { readonly response: Response; readonly encoded: Encoded };

export function createProvider(options: Options): Provider {
  const encodeNext = createEncoder(options.models, options.thinking);
  /** What the server has refused, by model: not sent again. */
  const refused = new Map<string, Without>();
  const withoutFor = (model: string): Without => refused.get(model) ?? { fields: new Set(), thoughts: new Set() };
  const { apiKey: given, ...others } = options;
  let ready: Ready = typeof given === "string" ? { ...others, apiKey: given } : others;
  let answered = false;
  let connection: Promise<Connection> | undefined;
  /** `fresh`: the key was refused. */
  async function connect(fresh: boolean): Promise<Connection> {
    if (typeof given === "object") {
      const apiKey = await given.get(fresh).catch((error: unknown) => {
        throw noKey(given.name, error instanceof Error ? error.message : String(error));
      });
      if (apiKey !== ready.apiKey) connection = undefined;
      ready = { ...others, apiKey, source: given.name };
    }
    connection ??= import("./client.ts").then((client) => client.connect(ready));
    return connection;
  }

  /** Sends the request, and again without what the server refuses and the request can do without: each such thing once. */
  async function open(request: ModelRequest, ctx: CallContext): Promise<Answer> {
    let { send } = await connect(false);
    const { model } = request;
    let asked = request;
    let isStripped = false;
    let isRenewed = false;
    for (;;) {
      const without = withoutFor(model);
      const encoded = encodeNext(asked, without);
      try {
        const response = await send(encoded.body, ctx.signal);
        answered = true;
        return { response, encoded };
      } catch (error) {
        answered ||= isAnswer(error);
        if (isRefusedKey(error) && typeof given === "object" && !isRenewed && !ctx.signal.aborted) {
          isRenewed = true;
          ctx.log(`the key of ${given.name} was refused: asked for a new one`);
          ({ send } = await connect(true));
          continue;
        }
        const refusal = ctx.signal.aborted ? undefined : refusalIn(error);
        const said = refusal === undefined ? undefined : redacted(refusal, ready);
        if (said === undefined) throw error;
        const field = refusedField(said);
        const left = outputLeft(said);
        if (field !== undefined && !without.fields.has(field)) {
          refused.set(model, { ...without, fields: new Set([...without.fields, field]) });
          ctx.log(`${model} takes no ${field} (${said}): left out from now on`);
        } else if (isAboutThoughts(said) && encoded.thoughts.length > 0 && !isStripped) {
          isStripped = true;
          refused.set(model, { ...without, thoughts: new Set([...without.thoughts, ...encoded.thoughts]) });
          ctx.log(`${model} does not take its thinking back (${said}): sent again without any`);
        } else if (left !== undefined && asked === request && left < encoded.body.max_tokens) {
          asked = { ...request, maxOutput: left };
          ctx.log(`${model} has room for ${left} tokens of output (${said}): sent again with that limit`);
        } else throw error;
      }
    }
  }

  async function* stream(request: ModelRequest, ctx: CallContext): AsyncIterable<ModelChunk> {
    if (given === undefined && options.authToken === undefined && !authHeader(options.headers)) throw noCredential();
    const failing = (): Failing => ({ options: ready, model: request.model, now: ctx.now(), answered });
    try {
      for await (const chunk of chunksOf(await open(request, ctx), failing)) yield chunk;
    } catch (error) {
      if (!ctx.signal.aborted) throw toModelError(error, failing());
    }
  }
  return {
    name: "anthropic",
    stream,
    encode: (request) => asJson(encodeNext(request, withoutFor(request.model)).body),
    window: (model) => factsOf(model, options.models, options.thinking).window,
    info: (model) => infoOf(model, options.models, options.thinking),
  };
}

/** Every piece of the body leads to a chunk, a ping if to nothing else, so that whoever waits sees signs of life. */
async function* chunksOf({ response, encoded }: Answer, failing: () => Failing): AsyncIterable<ModelChunk> {
  const requestId = response.headers.get("request-id") ?? undefined;
  const type = response.headers.get("content-type") ?? "";
  const reply = createReply(encoded.tools, encoded.prefix, encoded.previous);
  const isStream = response.body !== null && !/html|json/i.test(type);
  for await (const chunk of isStream
    ? streamed(response, reply, type, failing, requestId)
    : whole(response, reply, type, failing, requestId)) {
    if (chunk.type === "stop" && chunk.stop === "overflow") throw windowFull(failing(), requestId);
    yield chunk;
  }
}

async function* streamed(
  response: Response,
  reply: Reply,
  type: string,
  failing: () => Failing,
  requestId?: string,
): AsyncIterable<ModelChunk> {
  const decoder = sseDecoder();
  let seen = 0;
  function* read(events: readonly SseEvent[]): Iterable<ModelChunk> {
    for (const { event, data } of events) {
      if (reply.done || event === "ping" || data === "") continue;
      seen++;
      const it = parse(data);
      if (it === undefined) {
        const shown = `"${redacted(data, failing().options).slice(0, 80)}"`;
        if (seen === 1) throw notTheApi(failing(), shown, response.status, requestId);
        throw new ModelError(`The reply holds an event that is no JSON: ${shown}.`, { kind: "protocol" });
      }
      const named = typeof it["type"] === "string" ? it : { ...it, type: event };
      if (named["type"] === "error") throw streamError(named, failing(), requestId);
      yield* reply.take(named);
    }
  }
  try {
    for await (const bytes of response.body!) {
      let silent = true;
      for (const chunk of merged(read(decoder.push(bytes)))) {
        silent = false;
        yield chunk;
      }
      if (reply.done) return;
      if (silent) yield { type: "ping" };
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

/** A success that is no stream: a reply in one piece, an error in disguise, or another kind of server. */
async function* whole(
  response: Response,
  reply: Reply,
  type: string,
  failing: () => Failing,
  requestId?: string,
): AsyncIterable<ModelChunk> {
  let text: string;
  try {
    text = await response.text();
  } catch (error) {
    throw cutOff(failing(), reasonOf(error), requestId);
  }
  const body = parse(text);
  if (body?.["type"] === "error") throw streamError(body, failing(), requestId);
  if (!body || !Array.isArray(body["content"])) {
    const said = `${type.split(";")[0] || "something"} "${redacted(text, failing().options).replace(/\s+/g, " ").slice(0, 80)}"`;
    throw notTheApi(failing(), said, response.status, requestId);
  }
  yield* reply.whole(body);
}

function parse(data: string): JsonObject | undefined {
  try {
    const it: unknown = JSON.parse(data);
    return isObject(it) ? it : undefined;
  } catch {
    return undefined;
  }
}
