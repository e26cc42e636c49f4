/** A provider that plays a script, keeps every request, and refuses what a real model API would refuse. */
import {
  type CallContext,
  type Content,
  type Json,
  type Message,
  type ModelChunk,
  ModelError,
  type ModelFault,
  type ModelRequest,
  type StopReason,
  textOf,
  type Usage,
  unpaired,
} from "@heddle/kernel";
import type { Candidate } from "@heddle/runtime";
import { plugin } from "./plugin.ts";

export type ScriptedCall = {
  readonly tool: string;
  readonly input: Json;
  /** Default `call-1`, `call-2`, … over the whole script. */
  readonly callId?: string;
  readonly malformed?: string;
};
/**
 * One reply, streamed in this order: reasoning, text, calls, and then its end. The end is a stop chunk (`stop`, by default
 * `tool-calls` when there are calls and `end` otherwise), or the first of these faults that is set.
 */
export type ScriptedReply = {
  readonly reasoning?: string;
  readonly text?: string;
  readonly calls?: readonly ScriptedCall[];
  readonly stop?: Exclude<StopReason, "aborted">;
  readonly usage?: Usage;
  /** What a server would answer: thrown as a `ModelError`. */
  readonly fails?: ModelFault & { readonly message?: string };
  /** A bug of the provider: thrown as a plain error with this message. */
  readonly throws?: string;
  /** Nothing more comes until the call is aborted. */
  readonly hangs?: true;
  /** The stream ends without a stop chunk. */
  readonly cut?: true;
};
/** A text alone is a reply of that text. A function sees the request; what it returns is played. */
export type Reply = string | ScriptedReply | readonly ModelChunk[] | ((request: ModelRequest, ctx: CallContext) => Reply | Promise<Reply>);

export type ScriptedModel = {
  /** Its id and the name of its provider are both `script`. */
  readonly candidate: Candidate;
  /** In the order they came, also those that were refused. */
  readonly requests: readonly ModelRequest[];
  /** What no real API would have taken, one line each. A test should expect it to be empty. */
  readonly refused: readonly string[];
  /** Replies that were not asked for yet. */
  readonly left: number;
};

/** `windowTokens`: what `window()` says of every model, default 200,000. */
export function scriptedModel(replies: readonly Reply[], o: { readonly windowTokens?: number } = {}): ScriptedModel {
  const requests: ModelRequest[] = [];
  const refused: string[] = [];
  const queue = [...replies];
  let calls = 0;

  async function* stream(request: ModelRequest, ctx: CallContext): AsyncGenerator<ModelChunk> {
    requests.push(request);
    const wrong = refusal(request);
    if (wrong) {
      refused.push(`request ${requests.length}: ${wrong}`);
      throw new ModelError(wrong, { kind: "invalid", status: 400 });
    }
    let reply = queue.shift();
    if (reply === undefined) throw new Error(`the script has ${replies.length} replies, and this is request ${requests.length}: add one`);
    while (typeof reply === "function") reply = await reply(request, ctx);
    if (Array.isArray(reply)) yield* reply as readonly ModelChunk[];
    else yield* play(typeof reply === "string" ? { text: reply } : (reply as ScriptedReply), ctx, () => `call-${++calls}`);
  }
  const provider = { name: "script", stream, encode, window: () => o.windowTokens ?? 200_000 };
  return {
    candidate: plugin("script", { providers: ["script"] }, () => ({ providers: [provider] })),
    requests,
    refused,
    get left() {
      return queue.length;
    },
  };
}

/** Why a model API would not take this request; undefined when it would. */
function refusal({ messages, tools }: ModelRequest): string | undefined {
  const { open, orphan } = unpaired(messages);
  if (open.length > 0) return `calls without a result right after them: ${open.join(", ")}`;
  if (orphan.length > 0) return `results without their call right before them: ${orphan.join(", ")}`;
  const spoken = messages.filter((m) => m.role !== "attachment" && m.role !== "system");
  if (spoken.length === 0) return "there is no message";
  if (spoken[0]?.role !== "user") return `the first message is of role ${spoken[0]?.role}`;
  if (messages.at(-1)?.role === "assistant") return "the last message is the model's own";
  const empty = messages.find((m) => m.role === "user" && isEmpty(m.content));
  if (empty) return `user message "${empty.id}" is empty`;
  const twice = tools.find((t, i) => tools.findIndex((u) => u.name === t.name) !== i);
  return twice && `tool "${twice.name}" is in the list twice`;
}
const isEmpty = (content: Content): boolean => textOf(content).trim() === "" && !content.some((p) => p.type === "image");

async function* play(reply: ScriptedReply, ctx: CallContext, callId: () => string): AsyncGenerator<ModelChunk> {
  const { reasoning, text, calls = [], fails, usage } = reply;
  let part = 0;
  if (reasoning !== undefined) yield { type: "reasoning", part: part++, text: reasoning };
  if (text !== undefined) yield { type: "text", part: part++, text };
  for (const c of calls) {
    const malformed = c.malformed === undefined ? {} : { malformed: c.malformed };
    yield { type: "call", part: part++, callId: c.callId ?? callId(), tool: c.tool, input: c.input, ...malformed };
  }
  if (fails) {
    const { message = `the server failed (${fails.kind})`, ...fault } = fails;
    throw new ModelError(message, fault);
  }
  if (reply.throws !== undefined) throw new Error(reply.throws);
  if (reply.hangs) return hang(ctx.signal);
  if (reply.cut) return;
  yield { type: "stop", stop: reply.stop ?? (calls.length > 0 ? "tool-calls" : "end"), ...(usage ? { usage } : {}) };
}

const hang = (signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener("abort", () => resolve(), { once: true });
  });

/** The request as plain data, which is what a dry run shows. */
function encode(request: ModelRequest): Json {
  const messages = request.messages.map((m: Message) => ("content" in m ? { role: m.role, content: m.content } : { role: m.role }));
  return JSON.parse(JSON.stringify({ model: request.model, prefix: request.prefix, tools: request.tools, messages })) as Json;
}
