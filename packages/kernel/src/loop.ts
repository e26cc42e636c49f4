/** Drives the machine: does what the phase asks for, turns the answer into an event, yields what happened. The only loop there is. */
import { Calls } from "./calls.ts";
import { initialTurn, type Limits, link, type TurnEvent, type TurnState, transition } from "./machine.ts";
import type { SessionView } from "./plugin.ts";
import type { CallId, Content, Draft, EventBody, Fault, Input, Json, Message, Phase, Prefix, PrefixPart } from "./protocol.ts";
import { type AssistantMessage, callsOf, frozen, type RuntimeEvent, type TurnId, type UserMessage } from "./protocol.ts";
import type { Entry } from "./registry.ts";
import { must, Returns } from "./returns.ts";
import { ModelFailure, Reply, requestOf, stream, targetOf } from "./sampling.ts";
import { attachment, collect, noteOf, runOne, type StageEnv, type TurnEnv } from "./stages.ts";

export type TurnOptions = {
  turn: TurnId;
  input: Input;
  /** Since the last clear. */
  history: readonly Message[];
  /** What the session's first turn built; without it this turn builds it. */
  prefix?: Prefix;
  signal: AbortSignal;
  /** Takes what was said while the turn ran; drained before each model call. */
  steering: () => readonly Input[];
  /** Is given what stops the running tools when new input came; it returns false, and does nothing, when one of them may not be stopped. */
  interrupter?: (interrupt: (why: string) => boolean) => void;
  limits?: Partial<Limits>;
};

export const CHARS_PER_TOKEN = 3.6;
export async function* runTurn(base: TurnEnv, o: TurnOptions): AsyncGenerator<RuntimeEvent, TurnState> {
  const driver = new Driver(base, o);
  try {
    yield* driver.run();
    return driver.state;
  } finally {
    driver.stop.abort("the consumer stopped reading");
  }
}

class Driver {
  readonly stop = new AbortController();
  state: TurnState;
  readonly #env: StageEnv;
  readonly #queue = new Queue<RuntimeEvent>();
  readonly #callIds: Set<CallId>;
  #prefix: Prefix | undefined;
  #view: readonly Message[] = [];
  #reply: Reply | undefined;
  readonly #calls: Calls;

  constructor(
    base: TurnEnv,
    private readonly o: TurnOptions,
  ) {
    this.#prefix = frozen(o.prefix);
    for (const message of o.history) frozen(message);
    this.state = initialTurn({ tail: o.history.at(-1)?.id ?? null, ...(o.limits ? { limits: o.limits } : {}) });
    this.#callIds = new Set(o.history.flatMap((m) => (m.role === "assistant" ? callsOf(m).map((c) => c.callId) : [])));
    const emit = (body: EventBody): void => this.#emit(body);
    const turn = () => ({ id: o.turn, step: this.state.step, input: o.input, controls: this.state.controls });
    this.#env = { ...base, signal: this.stop.signal, emit, view: () => this.#session(), turn };
    this.#calls = new Calls(this.#env);
    o.interrupter?.((why) => this.#calls.interrupt(why));
    const onAbort = (): void => this.stop.abort(o.signal.reason);
    if (o.signal.aborted) onAbort();
    else o.signal.addEventListener("abort", onAbort, { once: true, signal: this.stop.signal });
  }

  async *run(): AsyncGenerator<RuntimeEvent, void> {
    const { model, permissionMode } = this.#env.session;
    this.#emit({ type: "turn.started", input: this.o.input, model, permissionMode });
    for (let { phase } = this.state; phase !== "done"; { phase } = this.state) {
      const work = this.#perform[phase]().catch((error: unknown) => (this.stop.signal.aborted ? undefined : this.#fault(error)));
      yield* this.#queue.until(work);
      const event = await work;
      if (event) this.#apply(event);
      if (this.stop.signal.aborted) await this.#end();
    }
    const { outcome = { kind: "completed" }, step, controls } = this.state;
    const next = controls.nextInput === undefined ? {} : { next: { text: controls.nextInput, submit: controls.submitNextInput ?? false } };
    this.#emit({ type: "turn.ended", outcome, steps: step, ...next });
    yield* this.#queue.until(Promise.resolve());
  }

  #apply(event: TurnEvent): void {
    const before = this.state;
    this.state = transition(before, event);
    for (const message of this.state.added.slice(before.added.length)) this.#emit({ type: "message.added", message });
    if (this.state.phase !== before.phase) this.#emit({ type: "turn.phase", from: before.phase, to: this.state.phase });
  }
  /** After an abort: what is finished is kept, and nothing else happens. */
  async #end(): Promise<void> {
    if (this.state.phase === "sampling" && this.#calls.begun) {
      const message = this.#reply!.cut();
      this.#reply = undefined;
      this.#apply({ type: "model.replied", message });
    }
    if (this.state.phase === "gating") this.#apply(await this.#judge());
    if (this.state.phase === "executing") this.#apply(await this.#execute());
    if (this.state.phase !== "done")
      this.#apply({ type: "abort", reason: String(this.stop.signal.reason ?? "interrupted"), ...this.#cut() });
  }
  /** The stamp of what the machine has to invent, and what a reply that was cut off had said. */
  #cut(): { id: string; at: number; partial?: Draft<AssistantMessage> } {
    const partial = this.#reply?.partial();
    return { id: this.#env.id("tool"), at: this.#env.now(), ...(partial ? { partial } : {}) };
  }
  #fault(error: unknown): TurnEvent {
    const bug = error instanceof Error ? (error.stack ?? error.message) : String(error);
    const fault: Fault = error instanceof ModelFailure ? error.fault : { code: "kernel-bug", message: `kernel bug: ${bug}` };
    if (fault.model?.kind === "overflow" && this.state.phase === "sampling") return { type: "model.overflow", fault };
    this.#emit({ type: "fault", fault });
    return { type: "fault", fault, ...this.#cut() };
  }

  #emit(body: EventBody): void {
    const event: RuntimeEvent = { ...body, at: this.#env.now(), turn: this.o.turn, step: this.state.step };
    this.#env.record(event);
    this.#queue.push(event);
    if (body.type === "stage.ran" || (body.type === "fault" && body.fault.who?.point === "observers")) return; // observing observers would never end
    for (const e of this.#env.registry.all("observers")) {
      const signal = new AbortController().signal; // an observer outlives the turn that it saw
      if (e.it.on.includes(body.type)) void runOne(this.#env, e, (ctx) => e.it.observe(event, ctx), { quiet: true, signal });
    }
  }
  #session(): SessionView {
    const { session } = this.#env;
    const { added } = this.state;
    const history = this.o.history;
    const prefix = this.#prefix ? { prefix: this.#prefix } : {};
    return {
      ...session,
      ...prefix,
      get messages() {
        return [...history, ...added];
      },
    };
  }

  /** What to do next is a function of the phase and nothing else. */
  readonly #perform: { readonly [P in Exclude<Phase, "done">]: () => Promise<TurnEvent | undefined> } = {
    input: () => this.#env.read(this.#env, this.o.input),
    context: () => this.#gather(),
    sampling: () => this.#sample(),
    gating: () => this.#judge(),
    executing: () => this.#execute(),
    closing: () => this.#close(),
  };

  async #gather(): Promise<TurnEvent> {
    const env = this.#env;
    const firstStep = this.state.step === 0 && this.state.overflows === 0;
    const kinds = env.registry.all("attachments").filter((e) => firstStep || e.it.when === "step");
    const memory = firstStep ? env.registry.all("memory") : [];
    const steered = this.o.steering().map((i) => userMessage(env, typed(i), i.isMeta));
    const recalled = (texts: readonly string[], e: Entry<"memory">) =>
      must(Returns.texts, texts).map((text) => attachment(env, e, "memory", [{ type: "text", text }]));
    const rendered = (list: readonly unknown[], e: Entry<"attachments">) =>
      must(Returns.list, list).map((data) => {
        const valid = must(e.it.schema, data);
        const text = must(Returns.rendered, e.it.render(valid));
        const content: Content = typeof text === "string" ? [{ type: "text", text }] : text;
        return attachment(env, e, e.name, content, must(Returns.json, valid as Json));
      });
    const [, memories, attached] = await Promise.all([
      this.#buildPrefix(),
      collect(env, memory, (it, ctx) => it.recall(ctx), recalled),
      collect(env, kinds, (it, ctx) => it.collect(ctx), rendered),
    ]);
    const messages = link(this.state.tail, [...memories, ...attached, ...steered]);
    const log = [...this.o.history, ...this.state.added, ...messages];
    this.#view = await env.pack(env, log, this.state.overflows > 0);
    return { type: "context.ready", messages };
  }
  async #buildPrefix(): Promise<void> {
    if (this.#prefix) return;
    const env = this.#env;
    const all = env.registry.all("systemPrompt");
    const made = (said: string | undefined, e: Entry<"systemPrompt">): (PrefixPart & { placement: string })[] => {
      const text = must(Returns.text, said);
      return text ? [{ plugin: e.plugin, name: e.name, text, placement: e.it.placement }] : [];
    };
    const parts = await collect(env, all, (it, ctx) => it.build(ctx), made);
    const of = (wanted: string): PrefixPart[] => parts.flatMap(({ placement, ...part }) => (placement === wanted ? [part] : []));
    if (env.signal.aborted) return; // half a prefix would stay for the session
    this.#prefix = frozen({ system: of("system"), context: of("context") });
    env.emit({ type: "prefix.built", prefix: this.#prefix });
  }

  async #sample(): Promise<TurnEvent> {
    const env = this.#env;
    const target = targetOf(env);
    const request = requestOf(env, target, this.#prefix!, this.#view);
    const reply = new Reply(env, target, this.#callIds);
    this.#reply = reply;
    await stream(env, target, request, reply, this.#calls);
    if (this.stop.signal.aborted) throw new Error("aborted");
    const broken = reply.stop === undefined || (reply.stop === "refusal" && this.#calls.begun);
    const { reminder } = reply;
    const message = broken ? reply.cut() : reply.message();
    this.#reply = undefined;
    if (reminder === undefined) return { type: "model.replied", message };
    const kept = reply.isEmpty || reply.stop === "refusal" ? {} : { message };
    return { type: "model.truncated", ...kept, reminder: userMessage(env, [{ type: "text", text: reminder }], true) };
  }

  async #judge(): Promise<TurnEvent> {
    for (const call of this.state.open) this.#calls.take(call);
    return { type: "gates.decided", approved: await this.#calls.judged() };
  }
  async #execute(): Promise<TurnEvent> {
    return { type: "tools.settled", ...(await this.#calls.next()) };
  }

  async #close(): Promise<TurnEvent> {
    const env = this.#env;
    const closers = env.registry.all("closers");
    const messages = await collect(env, closers, (it, ctx) => it.close(this.state.added, ctx), noteOf(env));
    return messages.length > 0 ? { type: "closing.continued", messages } : { type: "closing.accepted" };
  }
}

export const typed = ({ text, images = [] }: Input): Content => (text === "" ? images : [{ type: "text", text }, ...images]);

export function userMessage(env: TurnEnv, content: Content, isMeta?: boolean): Draft<UserMessage> {
  return { role: "user", id: env.id("user"), at: env.now(), origin: { by: "user" }, content, ...(isMeta ? { isMeta } : {}) };
}
/** Events pushed from anywhere, pulled in order by the one consumer of the turn. */
class Queue<T> {
  #items: T[] = [];
  #wake: (() => void) | undefined;
  push(item: T): void {
    this.#items.push(item);
    this.#wake?.();
  }
  async *until(work: Promise<unknown>): AsyncGenerator<T, void> {
    let over = false;
    const end = (): void => {
      over = true;
      this.#wake?.();
    };
    work.then(end, end);
    for (;;) {
      const items = this.#items;
      this.#items = [];
      yield* items;
      if (this.#items.length > 0) continue;
      if (over) return;
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
  }
}
