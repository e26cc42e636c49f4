/** Drives the machine: does what the phase asks for, turns the answer into an event, yields what happened. The only loop there is. */
import { Calls, decide } from "./calls.ts";
import { initialTurn, type Limits, link, type TurnEvent, type TurnState, transition } from "./machine.ts";
import type { Classified, ModelRequest, Provider, SessionView, TurnView } from "./plugin.ts";
import type { CallId, Content, Draft, EventBody, Fault, Input, Message, Prefix, PrefixPart } from "./protocol.ts";
import { callsOf, type RuntimeEvent, type SystemMessage, type TurnId, textOf, type UserMessage } from "./protocol.ts";
import type { Entry } from "./registry.ts";
import { must, Returns } from "./returns.ts";
import { ModelFailure, Reply, requestOf, stream, targetOf } from "./sampling.ts";
import { admit, attachment, collect, first, pipe, runOne, type StageEnv, type TurnEnv } from "./stages.ts";

export type TurnOptions = {
  readonly turn: TurnId;
  readonly input: Input;
  /** Since the last clear. */
  readonly history: readonly Message[];
  /** What the session's first turn built; without it this turn builds it. */
  readonly prefix?: Prefix;
  readonly signal: AbortSignal;
  /** Takes what was said while the turn ran; drained before each model call. */
  readonly steering: () => readonly Input[];
  readonly limits?: Partial<Limits>;
  /** Stop before the model is called, and hand over what it would be sent. Local commands are named and not run. */
  readonly dry?: (request: ModelRequest, provider: Provider) => void;
};

const CHARS_PER_TOKEN = 3.6;
const DEFAULT_WINDOW = 200_000;
const GO_ON = "The reply was cut off at the output limit. Resume directly where it stopped, without an apology or a recap.";

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
  readonly #o: TurnOptions;
  readonly #env: StageEnv;
  readonly #queue = new Queue<RuntimeEvent>();
  readonly #watching = new Set<Promise<unknown>>();
  readonly #callIds: Set<CallId>;
  #prefix: Prefix | undefined;
  #view: readonly Message[] = [];
  #reply: Reply | undefined;
  #calls: Calls;

  constructor(base: TurnEnv, o: TurnOptions) {
    this.#o = o;
    this.#prefix = o.prefix;
    this.state = initialTurn({ tail: o.history.at(-1)?.id ?? null, ...(o.limits ? { limits: o.limits } : {}) });
    this.#callIds = new Set(o.history.flatMap((m) => (m.role === "assistant" ? callsOf(m).map((c) => c.callId) : [])));
    const emit = (body: EventBody): void => this.#emit(body);
    this.#env = { ...base, signal: this.stop.signal, emit, view: () => this.#session(), turn: () => this.#turn() };
    this.#calls = new Calls(this.#env);
    const onAbort = (): void => this.stop.abort(o.signal.reason);
    if (o.signal.aborted) onAbort();
    else o.signal.addEventListener("abort", onAbort, { once: true, signal: this.stop.signal });
  }

  async *run(): AsyncGenerator<RuntimeEvent, void> {
    const { model, permissionMode } = this.#env.session;
    this.#emit({ type: "turn.started", input: this.#o.input, model, permissionMode });
    while (this.state.phase !== "done") {
      const work = this.#perform().catch((error: unknown) => (this.stop.signal.aborted ? this.#abort() : this.#fault(error)));
      yield* this.#queue.until(work);
      this.#apply(await work);
      if (this.stop.signal.aborted && this.#phase() !== "done") this.#apply(this.#abort()); // what was finished is kept
      if (this.#o.dry && this.#phase() === "sampling") break;
    }
    if (this.#o.dry && this.#phase() === "sampling") {
      const target = targetOf(this.#env);
      this.#o.dry(requestOf(this.#env, target, this.#prefix!, this.#view), target.provider.it);
    }
    const { outcome = { kind: "completed" }, step, controls } = this.state;
    const next = controls.nextInput === undefined ? {} : { next: { text: controls.nextInput, submit: controls.submitNextInput ?? false } };
    this.#emit({ type: "turn.ended", outcome, steps: step, ...next });
    yield* this.#queue.until(Promise.resolve());
  }

  #phase(): TurnState["phase"] {
    return this.state.phase;
  }
  #apply(event: TurnEvent): void {
    const before = this.state;
    this.state = transition(before, event);
    for (const message of this.state.added.slice(before.added.length)) this.#emit({ type: "message.added", message });
    if (this.state.phase !== before.phase) this.#emit({ type: "turn.phase", from: before.phase, to: this.state.phase });
  }
  #abort(): TurnEvent {
    const partial = this.state.phase === "sampling" ? this.#reply?.partial() : undefined;
    const reason = String(this.stop.signal.reason ?? "interrupted");
    return { type: "abort", reason, id: this.#env.id("tool"), at: this.#env.now(), ...(partial ? { partial } : {}) };
  }
  #fault(error: unknown): TurnEvent {
    const bug = error instanceof Error ? (error.stack ?? error.message) : String(error);
    const fault: Fault = error instanceof ModelFailure ? error.fault : { code: "kernel-bug", message: `kernel bug: ${bug}` };
    if (fault.model?.kind === "overflow" && this.state.phase === "sampling") return { type: "model.overflow", fault };
    this.#emit({ type: "fault", fault });
    return { type: "fault", fault, id: this.#env.id("tool"), at: this.#env.now() };
  }

  #emit(body: EventBody): void {
    const event: RuntimeEvent = { ...body, at: this.#env.now(), turn: this.#o.turn, step: this.state.step };
    this.#env.record(event);
    this.#queue.push(event);
    if (body.type === "stage.ran" || (body.type === "fault" && body.fault.who?.point === "observers")) return; // observing observers would never end
    for (const e of this.#env.registry.all("observers")) {
      if (!e.it.on.includes(body.type)) continue;
      const run = runOne(
        this.#env,
        e,
        (ctx) => e.it.observe(event, ctx),
        () => ({}),
      ).finally(() => this.#watching.delete(run));
      this.#watching.add(run);
    }
  }
  #session(): SessionView {
    const { registry, session } = this.#env;
    const { added } = this.state;
    const history = this.#o.history;
    const prefix = this.#prefix ? { prefix: this.#prefix } : {};
    return {
      ...session,
      ...prefix,
      list: (point) => registry.list(point),
      get messages() {
        return [...history, ...added];
      },
    };
  }
  #turn(): TurnView {
    return { id: this.#o.turn, step: this.state.step, input: this.#o.input, controls: this.state.controls };
  }

  /** What to do next is a function of the phase and nothing else. */
  #perform(): Promise<TurnEvent> {
    switch (this.state.phase) {
      case "input":
        return this.#readInput();
      case "context":
        return this.#gather();
      case "sampling":
        return this.#sample();
      case "gating":
        return this.#judge();
      case "executing":
        return this.#calls.next().then((settled) => ({ type: "tools.settled", ...settled }));
      case "closing":
        return this.#close();
      case "done":
        throw new Error("nothing to do in phase done");
    }
  }

  async #readInput(): Promise<TurnEvent> {
    const env = this.#env;
    const { input } = this.#o;
    const typed: Content = [...(input.text === "" ? [] : [{ type: "text" as const, text: input.text }]), ...(input.images ?? [])];
    const show = (v: { as: string; command?: string } | undefined): string | undefined => v && (v.command ? `command ${v.command}` : v.as);
    const what = await first(
      env,
      async (it, ctx) => must(Returns.classified, await it.classify(input, ctx)) as Classified | undefined,
      show,
    );
    if (what?.as !== "command") {
      const meta = what?.isMeta ?? input.isMeta;
      return this.#admit(userMessage(env, what?.content ?? typed, meta), what?.controls);
    }
    const command = env.registry.find("commands", what.command);
    const handled = (text: string, level: SystemMessage["level"]): TurnEvent => {
      const messages = text ? [systemMessage(env, "command-output", level, text)] : [];
      return { type: "input.handled", command: what.command, messages };
    };
    if (!command) return handled(`There is no command "/${what.command}".`, "error");
    if (this.#o.dry && command.it.kind === "local") return handled(`/${command.name} runs without the model.`, "info");
    const ran = await runOne(
      env,
      command,
      (ctx) => command.it.run(what.args, ctx),
      (r) => ({ note: must(Returns.command, r).kind }),
    );
    if (!ran.ok) {
      if (ran.aborted) throw new Error("aborted");
      return handled(ran.fault.message, "error");
    }
    const done = ran.value;
    if (done.kind === "prompt") {
      const { point, plugin, name } = command;
      return this.#admit({ ...userMessage(env, done.content), origin: { by: "plugin", plugin, point, name } }, done.controls);
    }
    const shown = done.show ? [systemMessage(env, "command-output", done.level ?? "info", done.show)] : [];
    const kept = done.context ? [userMessage(env, [{ type: "text", text: done.context }], true)] : [];
    const { controls, change } = done;
    if (change) env.emit({ type: "session.changed", change });
    return {
      ...handled("", "info"),
      messages: [...kept, ...shown],
      ...(controls ? { controls } : {}),
      ...(change ? { change } : {}),
    } as TurnEvent;
  }

  async #admit(message: Draft<UserMessage>, controls?: TurnState["controls"]): Promise<TurnEvent> {
    const env = this.#env;
    const blocked = (why: string, kept: readonly Draft[]): TurnEvent => {
      return { type: "input.blocked", why, messages: [...kept, systemMessage(env, "prompt-blocked", "warning", why)] };
    };
    if (textOf(message.content).trim() === "" && !message.content.some((p) => p.type === "image"))
      return blocked("The prompt is empty.", []);
    const { verdict, notes } = await admit(env, message.content);
    if (verdict.say !== "pass") return blocked(verdict.why, verdict.say === "stop" ? [message] : []);
    return { type: "input.ready", messages: [message, ...notes], ...(controls ? { controls } : {}) };
  }

  async #gather(): Promise<TurnEvent> {
    const env = this.#env;
    const firstStep = this.state.step === 0 && this.state.overflows === 0;
    const wanted = env.registry.all("attachments").filter((e) => firstStep || e.it.when === "step");
    const steered = this.#o.steering().map((i) => userMessage(env, [{ type: "text", text: i.text }, ...(i.images ?? [])], i.isMeta));
    const [, memories, attached] = await Promise.all([
      this.#buildPrefix(),
      collect(
        env,
        firstStep ? env.registry.all("memory") : [],
        (it, ctx) => it.recall(ctx),
        (texts, e) => must(Returns.texts, texts).map((text) => attachment(env, e, "memory", [{ type: "text", text }])),
      ),
      collect(
        env,
        wanted,
        (it, ctx) => it.collect(ctx),
        (list, e) =>
          must(Returns.list, list).map((data) => {
            const valid = must(e.it.schema, data);
            const rendered = must(Returns.rendered, e.it.render(valid));
            const content: Content = typeof rendered === "string" ? [{ type: "text", text: rendered }] : rendered;
            return attachment(env, e, e.name, content, must(Returns.json, valid));
          }),
      ),
    ]);
    const messages = link(this.state.tail, [...memories, ...attached, ...steered]);
    const all = [...this.#o.history, ...this.state.added, ...messages];
    const target = targetOf(env);
    const limit = (target.provider.it.window?.(target.model) ?? DEFAULT_WINDOW) * CHARS_PER_TOKEN;
    this.#view = await pipe(env, all, limit, this.state.overflows > 0);
    return { type: "context.ready", messages };
  }
  async #buildPrefix(): Promise<void> {
    if (this.#prefix) return;
    const env = this.#env;
    const parts = async (placement: "system" | "context"): Promise<PrefixPart[]> =>
      collect(
        env,
        env.registry.all("systemPrompt").filter((e: Entry<"systemPrompt">) => e.it.placement === placement),
        (it, ctx) => it.build(ctx),
        (text, e) => (must(Returns.text, text) ? [{ plugin: e.plugin, name: e.name, text: text! }] : []),
      );
    const [system, context] = await Promise.all([parts("system"), parts("context")]);
    this.#prefix = { system, context };
    env.emit({ type: "prefix.built", prefix: this.#prefix });
  }

  async #sample(): Promise<TurnEvent> {
    const env = this.#env;
    const target = targetOf(env);
    const request = requestOf(env, target, this.#prefix!, this.#view);
    const reply = new Reply(env, target, this.#callIds);
    this.#reply = reply;
    await stream(env, target, request, reply);
    if (this.stop.signal.aborted) return this.#abort();
    const message = reply.message();
    if (callsOf(message).length === 0 && (reply.stop === "length" || reply.stop === "pause")) {
      const reminder = userMessage(env, [{ type: "text", text: reply.stop === "length" ? GO_ON : "Continue." }], true);
      return { type: "model.truncated", message, reminder };
    }
    return { type: "model.replied", message };
  }

  async #judge(): Promise<TurnEvent> {
    this.#calls = new Calls(this.#env);
    const approved: CallId[] = [];
    const decided: [TurnState["open"][number], Awaited<ReturnType<typeof decide>>][] = [];
    for (const call of this.state.open) {
      const it = await decide(this.#env, call);
      if (!("role" in it)) approved.push(call.callId);
      decided.push([call, it]);
    }
    for (const [call, it] of decided) this.#calls.add(call, it);
    return { type: "gates.decided", approved };
  }

  async #close(): Promise<TurnEvent> {
    const env = this.#env;
    const messages = await collect(
      env,
      env.registry.all("closers"),
      (it, ctx) => it.close(this.state.added, ctx),
      (text, e) => (must(Returns.text, text) ? [attachment(env, e, e.name, [{ type: "text", text: text! }])] : []),
    );
    return messages.length > 0 ? { type: "closing.continued", messages } : { type: "closing.accepted" };
  }
}

function userMessage(env: TurnEnv, content: Content, isMeta?: boolean): Draft<UserMessage> {
  return { role: "user", id: env.id("user"), at: env.now(), origin: { by: "user" }, content, ...(isMeta ? { isMeta } : {}) };
}
function systemMessage(env: TurnEnv, subtype: string, level: SystemMessage["level"], text: string): Draft<SystemMessage> {
  return { role: "system", id: env.id("system"), at: env.now(), origin: { by: "kernel" }, subtype, level, text };
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
