/** One model call: the request from the view, and the reply put together from its chunks. */
import { BadOutput } from "./guard.ts";
import type { ModelChunk, ModelRequest, ToolSpec } from "./plugin.ts";
import { z } from "./plugin.ts";
import type { AssistantMessage, AssistantPart, CallId, Draft, Fault, Json, Message, Prefix, StopReason, Usage } from "./protocol.ts";
import type { Entry } from "./registry.ts";
import { must, Returns } from "./returns.ts";
import { runOne, type StageEnv, sizeOf, total } from "./stages.ts";

export class ModelFailure extends Error {
  constructor(readonly fault: Fault) {
    super(fault.message);
  }
}

export type Target = { provider: Entry<"providers">; model: string };
/** `provider/model`, or a model of the session's provider. Throws {@link ModelFailure} when nothing serves it. */
export function targetOf(env: StageEnv): Target {
  const name = env.turn().controls.model ?? env.session.model;
  const slash = name.indexOf("/");
  const named = slash > 0 ? env.registry.find("providers", name.slice(0, slash)) : undefined;
  if (named) return { provider: named, model: name.slice(slash + 1) };
  const provider = env.registry.find("providers", env.session.provider);
  if (provider) return { provider, model: name };
  const known = env.registry
    .all("providers")
    .map((p) => p.name)
    .join(", ");
  const message = `there is no provider "${env.session.provider}" (there is: ${known || "none"})`;
  throw new ModelFailure({ code: "model-error", message });
}

/** The same array for as long as the registry is the same. A tool whose schema cannot be made is left out, and named. */
function toolsOf(env: StageEnv): readonly ToolSpec[] {
  return env.registry.memo("toolSpecs", () =>
    env.registry.all("tools").flatMap((e): ToolSpec[] => {
      try {
        const schema = e.it.jsonSchema ?? (z.toJSONSchema(e.it.input, { io: "input" }) as Json);
        return [{ name: e.name, description: e.it.description, schema }];
      } catch (error) {
        const message = `plugin "${e.plugin}" (tools "${e.name}") has an input schema that no model can read: ${String(error)}`;
        env.emit({ type: "fault", fault: { code: "plugin-bad-output", who: { plugin: e.plugin, point: "tools", name: e.name }, message } });
        return [];
      }
    }),
  );
}

export function requestOf(env: StageEnv, target: Target, prefix: Prefix, view: readonly Message[]): ModelRequest {
  const tools = toolsOf(env);
  const messages = view.filter((m) => m.role !== "system");
  const effort = env.turn().controls.effort ?? env.session.effort;
  const { system, context } = prefix;
  const size = { tools: sizeOf(env, tools), system: sizeOf(env, system), context: sizeOf(env, context), messages: total(env, messages) };
  const names = tools.map((t) => t.name);
  const { provider, model } = target;
  env.emit({ type: "model.requested", provider: provider.name, model, messages: messages.length, tools: names, size });
  return { model, prefix, messages, tools, sessionId: env.session.id, ...(effort ? { effort } : {}) };
}

/** A reply as it comes in. Text that arrived stays readable when the call is cut off. */
export class Reply {
  id: string;
  readonly #parts = new Map<number, AssistantPart>();
  readonly #origin: Extract<AssistantMessage["origin"], { by: "model" }>;
  readonly #started: number;
  #firstMs: number | undefined;
  stop: StopReason | undefined;
  usage: Usage | undefined;

  /** `taken`: call ids that the conversation has already used. */
  constructor(
    private readonly env: StageEnv,
    target: Target,
    private readonly taken: Set<CallId>,
  ) {
    this.#started = env.now();
    this.id = env.id("assistant");
    this.#origin = { by: "model", provider: target.provider.name, model: target.model };
  }
  /** Throws BadOutput for a chunk that does not fit. */
  take(chunk: ModelChunk): void {
    const c = must(Returns.chunk, chunk) as ModelChunk;
    if (this.stop !== undefined) throw new BadOutput("a chunk after the stop chunk");
    if (c.type === "ping") return;
    this.#firstMs ??= this.env.now() - this.#started;
    if (c.type === "stop") {
      this.stop = c.stop;
      this.usage = c.usage;
    } else if (c.type === "call.delta") this.#delta(c.part, "tool-call", c.text);
    else if (c.type === "call") {
      let callId = c.callId;
      for (let n = 2; this.taken.has(callId); n++) callId = `${c.callId}_${n}`; // some servers count from zero in each reply
      this.taken.add(callId);
      const malformed = c.malformed === undefined ? {} : { malformed: c.malformed };
      this.#parts.set(c.part, { type: "tool-call", callId, tool: c.tool, input: c.input, ...malformed });
    } else {
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
  #content(): AssistantPart[] {
    return [...this.#parts].sort(([a], [b]) => a - b).map(([, part]) => part);
  }
  #draft(content: AssistantPart[], stop: StopReason): Draft<AssistantMessage> {
    const usage = this.usage ? { usage: this.usage } : {};
    return { role: "assistant", id: this.id, at: this.env.now(), origin: this.#origin, content, stop, ...usage };
  }
}

/** Streams one reply. Throws {@link ModelFailure} for whatever the provider or its server did wrong. */
export async function stream(env: StageEnv, target: Target, request: ModelRequest, reply: Reply): Promise<void> {
  const ran = await runOne(env, target.provider, async (ctx, scope, saw) => {
    for await (const chunk of target.provider.it.stream(request, ctx)) {
      if (!scope.live() || ctx.signal.aborted) return;
      scope.touch();
      reply.take(chunk);
    }
    if (reply.stop === undefined && !ctx.signal.aborted) throw new BadOutput("a stream that ends without a stop chunk");
    saw({ note: `stop: ${reply.stop}` });
  });
  if (!ran.ok) throw new ModelFailure({ ...ran.fault, code: "model-error" });
}
