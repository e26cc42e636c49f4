/** One model call: the request from the view, and the reply put together from its chunks. */
import type { Calls } from "./calls.ts";
import { BadOutput } from "./guard.ts";
import type { ModelChunk, ModelRequest } from "./plugin.ts";
import { type AssistantMessage, type AssistantPart, type CallId, type Draft, type Fault, frozen, type Json } from "./protocol.ts";
import type { Message, Prefix, StopReason, ToolCallPart, Usage } from "./protocol.ts";
import type { Entry } from "./registry.ts";
import { must, Returns } from "./returns.ts";
import { runOne, type StageEnv, sizeOf, total } from "./stages.ts";

export class ModelFailure extends Error {
  constructor(readonly fault: Fault) {
    super(fault.message);
  }
}

export type Target = { provider: Entry<"providers">; model: string };
/** Throws {@link ModelFailure} when the host knows no provider that serves the model. */
export function targetOf(env: StageEnv): Target {
  const { provider, model } = env.target(env.turn().controls.model);
  const entry = env.registry.find("providers", provider);
  if (entry) return { provider: entry, model };
  const known = env.registry.all("providers").map((p) => p.name);
  throw new ModelFailure({ code: "model-error", message: `there is no provider "${provider}" (there is: ${known.join(", ") || "none"})` });
}

export function requestOf(env: StageEnv, target: Target, prefix: Prefix, view: readonly Message[]): ModelRequest {
  const { tools } = env;
  const messages = view.filter((m) => m.role !== "system");
  const effort = env.turn().controls.effort ?? env.session.effort;
  const { system, context } = prefix;
  const size = { tools: sizeOf(env, tools), system: sizeOf(env, system), context: sizeOf(env, context), messages: total(env, messages) };
  const { provider, model } = target;
  env.emit({ type: "model.requested", provider: provider.name, model, messages: messages.length, tools: tools.map((t) => t.name), size });
  return { model, prefix, messages, tools, sessionId: env.session.id, ...(effort ? { effort } : {}) };
}

/** A reply as it comes in. Text that arrived stays readable when the call is cut off. */
export class Reply {
  id: string;
  readonly #parts = new Map<number, AssistantPart>();
  readonly #ended = new Set<number>();
  readonly #started: number;
  #firstMs: number | undefined;
  stop: StopReason | undefined;
  reminder: string | undefined;
  usage: Usage | undefined;

  /** `taken`: call ids that the conversation has already used. */
  constructor(
    private readonly env: StageEnv,
    private target: Target,
    private readonly taken: Set<CallId>,
  ) {
    this.#started = env.now();
    this.id = env.id("assistant");
  }
  /** Returns the call that the chunk completes. Throws BadOutput for a chunk that does not fit. */
  take(chunk: ModelChunk): ToolCallPart | undefined {
    const c = must(Returns.chunk, chunk) as ModelChunk;
    if (this.stop !== undefined) throw new BadOutput("a chunk after the stop chunk");
    if (c.type === "retry") this.env.emit({ ...c, type: "model.retry" });
    if (c.type === "retry" && c.model !== undefined) this.target = targetOf(this.env); // the host has heard who answers from now on
    if (c.type === "ping" || c.type === "retry") return undefined;
    if (c.type === "void") {
      for (const known of [this.#parts, this.#ended]) known.clear();
      return void this.env.emit({ type: "message.voided", id: this.id, why: c.why });
    }
    this.#firstMs ??= this.env.now() - this.#started;
    if (c.type === "stop" || c.type === "usage") this.usage = c.usage ?? this.usage;
    if (c.type === "stop") {
      this.stop = c.stop;
      this.reminder = c.reminder;
    } else if (c.type === "part.end") this.#ended.add(c.part);
    else if (c.type === "call") return this.#call(c);
    else if (c.type !== "usage") this.#grow(c);
    return undefined;
  }
  #call({ part, callId: given, tool, input, malformed }: Extract<ModelChunk, { type: "call" }>): ToolCallPart {
    let callId = given;
    for (let n = 2; this.taken.has(callId); n++) callId = `${given}_${n}`; // some servers count from zero in each reply
    this.taken.add(callId);
    const call = frozen({ type: "tool-call" as const, callId, tool, input, ...(malformed === undefined ? {} : { malformed }) });
    this.#parts.set(part, call);
    this.#ended.add(part);
    return call;
  }
  #grow(c: Extract<ModelChunk, { type: "text" | "reasoning" | "call.delta" }>): void {
    if (c.type === "call.delta") this.#delta(c.part, "tool-call", c.text);
    else {
      const old = this.#parts.get(c.part);
      if (old && old.type !== c.type) throw new BadOutput(`part ${c.part} was ${old.type} and is now ${c.type}`);
      const text = (old && "text" in old ? old.text : "") + c.text;
      const opaque = c.type === "reasoning" ? (c.opaque ?? (old as { opaque?: Json } | undefined)?.opaque) : undefined;
      this.#parts.set(c.part, { type: c.type, text, ...(opaque === undefined ? {} : { opaque }) } as AssistantPart);
      if (c.text !== "") this.#delta(c.part, c.type, c.text);
    }
  }
  #delta(part: number, of: AssistantPart["type"], text: string): void {
    this.env.emit({ type: "message.delta", id: this.id, part, of, text });
  }
  /** Ended here: only what is complete stands. */
  cut(): Draft<AssistantMessage> {
    [this.stop, this.reminder] = ["aborted", undefined];
    return this.message();
  }
  message(): Draft<AssistantMessage> {
    const { stop = "end", usage } = this;
    const ms = this.env.now() - this.#started;
    this.env.emit({ type: "model.replied", id: this.id, stop, ms, firstMs: this.#firstMs ?? ms, ...(usage ? { usage } : {}) });
    return this.#draft(this.#content(), stop);
  }
  /** What was said before the call was cut off; undefined when nothing was. Reasoning without its end is of no use to anyone. */
  partial(): Draft<AssistantMessage> | undefined {
    const said = this.#content().filter((p) => p.type === "text" && p.text.trim() !== "");
    return said.length > 0 ? this.#draft(said, "aborted") : undefined;
  }
  /** Whether there is anything that a person or a tool could take up. */
  get isEmpty(): boolean {
    return this.#content().every((p) => p.type === "reasoning" || (p.type === "text" && p.text.trim() === ""));
  }
  #content(): AssistantPart[] {
    const parts = [...this.#parts].filter(([n]) => this.stop !== "aborted" || this.#ended.has(n));
    const content = parts.sort(([a], [b]) => a - b).map(([, part]) => part);
    return this.stop === "aborted" ? content.slice(0, content.findLastIndex((p) => p.type !== "reasoning") + 1) : content;
  }
  #draft(content: AssistantPart[], stop: StopReason): Draft<AssistantMessage> {
    const usage = this.usage ? { usage: this.usage } : {};
    const origin = { by: "model" as const, provider: this.target.provider.name, model: this.target.model };
    return { role: "assistant", id: this.id, at: this.env.now(), origin, content, stop, ...usage };
  }
}

/**
 * Streams one reply; its calls are taken up as they come. Throws {@link ModelFailure} for whatever the provider or its server did
 * wrong, unless calls have begun: then the reply is left without a stop.
 */
export async function stream(env: StageEnv, target: Target, request: ModelRequest, reply: Reply, calls: Calls): Promise<void> {
  const ran = await runOne(env, target.provider, async (ctx, scope, saw) => {
    for await (const chunk of target.provider.it.stream(request, ctx)) {
      if (!scope.live() || ctx.signal.aborted) return;
      scope.touch();
      if (chunk?.type === "void" && calls.begun) return; // what runs cannot be void: the reply ends here
      const call = reply.take(chunk);
      if (call) calls.take(call);
    }
    if (reply.stop === undefined && !ctx.signal.aborted) throw new BadOutput("a stream that ends without a stop chunk");
    saw({ note: `stop: ${reply.stop}` });
  });
  if (!ran.ok && (ran.aborted || !calls.begun)) throw new ModelFailure({ ...ran.fault, code: "model-error" });
}
