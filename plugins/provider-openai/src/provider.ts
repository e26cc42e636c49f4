/** One provider: a streamed call of its server for each request, and what its server can do without. */
import { type CallContext, type ModelChunk, ModelError, type ModelRequest, type Provider } from "@heddle/kernel/plugin";
import { createChatReply } from "./chat-reply.ts";
import { eventsOf, send } from "./client.ts";
import { createEncoder, type Encoded } from "./encode.ts";
import {
  connectionError,
  cutOff,
  type Failing,
  noCredential,
  noServer,
  notTheApi,
  readSaid,
  redacted,
  requestIdOf,
  rootOf,
  type Said,
  saidError,
  saidIn,
} from "./errors.ts";
import { asJson } from "./history.ts";
import { type ListedModel, listModels, type Talk } from "./list.ts";
import { merged } from "./merge.ts";
import { factsOf, infoOf } from "./models.ts";
import { hasCredential, type Server } from "./options.ts";
import type { Optional, Without } from "./parts.ts";
import { refusedOption } from "./refused.ts";
import type { Reply } from "./reply.ts";
import { createResponsesReply } from "./responses-reply.ts";
import { parseObject, snippet } from "./text.ts";

/** `models` lists what the server has; it throws ModelError when nothing answers. */
export type OpenAIProvider = Provider & { models(ctx: Talk): Promise<readonly ListedModel[]> };

export function createProvider(server: Server): OpenAIProvider {
  const encodeNext = createEncoder(server);
  /** What the server has refused, by model: not sent again. */
  const refused = new Map<string, Set<Optional>>();
  let answered = false;
  const withoutFor = (model: string): Without => refused.get(model) ?? new Set();

  async function open(request: ModelRequest, ctx: CallContext, failing: () => Failing): Promise<{ response: Response; encoded: Encoded }> {
    for (;;) {
      const without = withoutFor(request.model);
      const encoded = encodeNext(request, without);
      const response = await send(server, encoded.body, ctx.signal);
      answered = true;
      if (response.ok) return { response, encoded };
      const said: Said = await readSaid(response, server, failing().now);
      const option = refusedOption(said, encoded.body, without);
      if (option === undefined) throw saidError(said, failing());
      refused.set(request.model, new Set([...without, option]));
      ctx.log(`${request.model} takes no ${option} (${snippet(said.message)}): left out from now on`);
    }
  }

  async function* stream(request: ModelRequest, ctx: CallContext): AsyncIterable<ModelChunk> {
    const failing = (): Failing => ({ server, model: request.model, now: ctx.now(), answered });
    if (server.baseURL === undefined) throw noServer(failing());
    if (server.kind.keyName !== undefined && server.options.baseURL === undefined && !hasCredential(server)) throw noCredential(failing());
    try {
      const { response, encoded } = await open(request, ctx, failing);
      const reply = server.api === "chat" ? createChatReply(encoded.tools) : createResponsesReply(encoded.tools);
      yield* chunksOf(response, reply, failing);
    } catch (error) {
      if (!ctx.signal.aborted) throw connectionError(error, failing());
    }
  }
  return {
    name: server.kind.name,
    stream,
    encode: (request) => asJson(encodeNext(request, withoutFor(request.model)).body),
    window: (model) => factsOf(model, server).window,
    info: (model) => infoOf(model, server),
    models: (ctx) => listModels(server, ctx),
  };
}

/** Every piece of the body leads to a chunk, a ping if to nothing else, so that whoever waits sees signs of life. */
async function* chunksOf(response: Response, reply: Reply, failing: () => Failing): AsyncIterable<ModelChunk> {
  const type = response.headers.get("content-type") ?? "";
  const requestId = requestIdOf(response.headers);
  if (!response.body || /html|json/i.test(type)) return yield* wholeReply(response, reply, type, failing);
  let seen = 0;
  let finished = false;
  const one = (event: string | undefined, data: string): ModelChunk[] => {
    if (finished || data === "") return [];
    if (data === "[DONE]") {
      finished = true;
      return [];
    }
    const body = parseObject(data);
    const clean = (): string => redacted(data, failing().server);
    if (body === undefined) throw notTheApi(failing(), `"${snippet(clean())}"`, response.status);
    seen++;
    const failed = body["error"] || event === "error" || body["type"] === "error" || body["type"] === "response.failed";
    const said = failed ? saidIn(parseObject(clean()) ?? body) : undefined;
    if (said) throw saidError({ ...said, ...(requestId ? { requestId } : {}) }, failing());
    return reply.take(body);
  };
  function* read(events: readonly { event?: string | undefined; data: string }[]): Iterable<ModelChunk> {
    for (const { event, data } of events) yield* one(event, data);
  }
  try {
    for await (const events of eventsOf(response.body as unknown as AsyncIterable<Uint8Array>)) {
      let silent = true;
      for (const chunk of merged(read(events))) {
        silent = false;
        yield chunk;
      }
      if (silent) yield { type: "ping" };
      if (finished) break;
    }
  } catch (error) {
    // What breaks once the reply is complete takes nothing away from it.
    if (error instanceof ModelError) throw error;
    if (!reply.done) throw cutOff(failing(), rootOf(error).message, requestId);
  }
  const rest = reply.end(finished);
  if (rest) return yield* rest;
  if (seen === 0 && !finished) throw notTheApi(failing(), type.split(";")[0] ?? "", response.status);
  throw cutOff(failing(), "no end of the reply", requestId);
}

/** A success that is no stream: a reply in one piece, an error in disguise, or another kind of server. */
async function* wholeReply(response: Response, reply: Reply, type: string, failing: () => Failing): AsyncIterable<ModelChunk> {
  const text = await response.text();
  const body = parseObject(text);
  const clean = (): string => redacted(text, failing().server);
  const said = body?.["error"] ? saidIn(parseObject(clean()) ?? body) : undefined;
  if (said) throw saidError(said, failing());
  if (!body || (!Array.isArray(body["choices"]) && !Array.isArray(body["output"])))
    throw notTheApi(failing(), `${type.split(";")[0] || "something"} "${snippet(clean())}"`, response.status);
  yield* reply.whole(body);
  yield* reply.end(true) ?? [];
}
