/** A session: takes inputs one turn at a time, drives the kernel's loop, writes the log before anyone sees an event. */
import {
  type Answer,
  type Ask,
  Breaker,
  type Effort,
  type EventBody,
  type Input,
  type Message,
  type PluginId,
  type Prefix,
  type Registry,
  type RuntimeEvent,
  runTurn,
  type SessionChange,
  type SessionPort,
  type SystemMessage,
  type TurnEnv,
  type Watch,
} from "@heddle/kernel";
import { isKept, type LogLine, mend, type SessionLog } from "@heddle/sessions";
import { textOfError } from "../plugins/problem.ts";
import { type Host, type Session, SessionError, type TurnResult } from "../types.ts";
import { Asks, nobody } from "./asks.ts";
import type { Catalog } from "./catalog.ts";
import { type Cost, CostMeter } from "./cost.ts";
import type { DebugLog } from "./debug-log.ts";
import { dryRun } from "./dry.ts";
import { Fanout, type Listener } from "./fanout.ts";
import { Inputs, inputOf, type Waiting } from "./inputs.ts";
import type { PrefixBreak } from "./prefix-watch.ts";
import { Tally } from "./tally.ts";
import { windowOf } from "./window.ts";

/** What a session starts with: from the options of the runtime, or from a log that is resumed. */
export type SessionStart = {
  readonly id: string;
  readonly cwd: string;
  readonly directories: readonly string[];
  readonly provider: string;
  readonly model: string;
  readonly effort: Effort | undefined;
  readonly permissionMode: string;
  readonly headless: boolean;
  readonly maxSteps: number | undefined;
  readonly maxBudgetUsd: number | undefined;
  readonly messages: readonly Message[];
  readonly prefix: Prefix | undefined;
  readonly pending: readonly Input[];
  readonly notices: readonly string[];
  /** What a resumed session has cost before. */
  readonly spent: readonly RuntimeEvent[];
};
export type SessionDeps = {
  readonly host: Host;
  readonly registry: Registry;
  readonly catalog: Catalog;
  readonly watch: Watch | undefined;
  readonly debug: DebugLog;
  /** `onFailure` tells the session that its log cannot be written any more. Null keeps nothing. */
  readonly openLog: (onFailure: (message: string) => void) => SessionLog | null;
  readonly onDispose: (session: Engine) => void;
};

/** Turns in a row that may be submitted by the turn before them. */
const MAX_BY_ITSELF = 25;
const { setTimeout: later } = globalThis; // a test may put fake timers in its place

type Running = {
  readonly id: string;
  readonly controller: AbortController;
  readonly tally: Tally;
  readonly from: Waiting;
  readonly behind: number;
  step: number;
};

export class Engine implements Session {
  readonly id: string;
  readonly pendingInputs: readonly Input[];
  readonly #start: SessionStart;
  readonly #deps: SessionDeps;
  readonly #log: SessionLog | null;
  readonly #inputs: Inputs;
  readonly #asks = new Asks();
  readonly #fanout: Fanout;
  readonly #breaker = new Breaker();
  readonly #sizes = new WeakMap<object, number>();
  readonly #meter: CostMeter;
  readonly #states = new Map<PluginId, Map<string, unknown>>();
  readonly #notices: string[];
  readonly #onIdle: (() => void)[] = [];
  readonly #dryRuns = new AbortController();
  #history: Message[];
  #prefix: Prefix | undefined;
  #model: string;
  #effort: Effort | undefined;
  #permissionMode: string;
  #running: Running | undefined;
  #ended: Promise<unknown> = Promise.resolve();
  #disposed: Promise<void> | undefined;
  #unsaid: string | undefined;
  #told = 0;
  /** The id of an input that a turn has submitted and that has not begun yet. */
  #byItself: string | undefined;
  #inARow = 0;

  constructor(start: SessionStart, deps: SessionDeps) {
    this.id = start.id;
    this.pendingInputs = start.pending;
    this.#start = start;
    this.#deps = deps;
    this.#history = [...start.messages];
    this.#prefix = start.prefix;
    this.#model = deps.catalog.named(start.model);
    this.#effort = start.effort;
    this.#permissionMode = start.permissionMode;
    this.#notices = [...start.notices];
    this.#log = deps.openLog((message) => {
      this.#unsaid = message;
    });
    this.#meter = new CostMeter((provider, model) => deps.catalog.info({ provider, model }));
    for (const event of start.spent) this.#meter.take(event);
    this.#inputs = new Inputs((line) => this.#write(line), deps.host.now);
    this.#fanout = new Fanout((error) => {
      const message = `a subscriber of the session threw: ${textOfError(error)}; its events go on`;
      this.#deps.debug.write("runtime", message);
      this.#emit({ type: "fault", fault: { code: "plugin-threw", message } });
    });
  }

  get path(): string | null {
    return this.#log?.path ?? null;
  }
  get messages(): readonly Message[] {
    return [...this.#history];
  }
  get model(): string {
    return this.#model;
  }
  get permissionMode(): string {
    return this.#permissionMode;
  }
  get cost(): Cost {
    return this.#meter.cost;
  }
  /** Why no model may be called any more. */
  spent(): string | undefined {
    const { maxBudgetUsd: most } = this.#start;
    if (most === undefined) return undefined;
    const { usd, unpriced } = this.#meter.cost;
    if (unpriced.length > 0)
      return `The budget cannot be kept, because the price of ${unpriced.join(", ")} is not known. Leave the budget out, or choose another model.`;
    if (usd < most) return undefined;
    return `The budget of $${most} is spent: the session has cost $${usd.toFixed(4)}. Raise it to go on.`;
  }
  /** From the watch of the request: it is paid for anew. */
  prefixBroke({ cause, tokens }: PrefixBreak): void {
    this.#emit({ type: "prefix.broken", cause, tokens });
  }
  imagesUnfit(why: string): void {
    this.#say("images-unfit", `Images that servers do not take are sent as they are, and may be left out or refused: ${why}.`);
  }
  get busy(): boolean {
    return this.#running !== undefined || this.#inputs.size > 0;
  }
  get notices(): readonly string[] {
    return [...this.#notices];
  }

  submit(input: Input | string): Promise<TurnResult> {
    if (this.#disposed) return Promise.reject(new SessionError(`session "${this.id}" is closed; open it again to go on`));
    return new Promise((settle) => {
      const waiting = { id: this.#deps.host.id("input"), input: inputOf(input), settle };
      if (this.busy) this.#inputs.enqueue(waiting);
      else this.#begin({ ...waiting, logged: false });
    });
  }
  steer(input: Input | string): void {
    if (this.#disposed) throw new SessionError(`session "${this.id}" is closed; open it again to go on`);
    const waiting = { id: this.#deps.host.id("input"), input: inputOf(input) };
    if (this.busy) this.#inputs.steer(waiting);
    else this.#begin({ ...waiting, logged: false });
  }
  answer(askId: string, answer: Answer): void {
    if (!this.#asks.answer(askId, answer)) this.#deps.debug.write("runtime", `an answer to "${askId}", which is not open, was dropped`);
  }
  abort(reason = "interrupted"): void {
    if (this.#running) this.#running.controller.abort(reason);
    else if (this.#byItself !== undefined) this.#inputs.drop(this.#byItself);
  }
  subscribe(listener: Listener): () => void {
    return this.#fanout.add(listener);
  }
  idle(): Promise<void> {
    return this.busy ? new Promise((resolve) => this.#onIdle.push(resolve)) : Promise.resolve();
  }
  dry(input: Input | string): ReturnType<Session["dry"]> {
    const states = new Map([...this.#states].map(([plugin, state]) => [plugin, new Map(state)]));
    const env: TurnEnv = {
      ...this.#env(),
      breaker: new Breaker(),
      asker: async (ask) => nobody(ask),
      stateOf: (plugin) => stateOf(states, plugin),
    };
    // while a turn runs, the calls of its last step have no results yet
    const history = mend(this.#history).messages;
    return dryRun(env, { input: inputOf(input), history, prefix: this.#prefix, signal: this.#dryRuns.signal });
  }
  setModel(model: string): void {
    if (this.#deps.catalog.named(model) !== this.#model) this.#emit({ type: "session.changed", change: { model } });
  }
  setPermissionMode(permissionMode: string): void {
    if (permissionMode !== this.#permissionMode) this.#emit({ type: "session.changed", change: { permissionMode } });
  }
  dispose(): Promise<void> {
    this.#disposed ??= this.#close();
    return this.#disposed;
  }
  async #close(): Promise<void> {
    const left = this.#inputs.clear();
    this.abort("the session was closed");
    this.#dryRuns.abort("the session was closed");
    this.#asks.end();
    await this.#ended;
    for (const w of [...left, ...this.#inputs.clear()])
      w.settle?.(new Tally({ kind: "aborted", reason: "the session was closed" }).result(w.id, 0));
    for (const resolve of this.#onIdle.splice(0)) resolve();
    this.#log?.close();
    this.#deps.onDispose(this);
  }

  /** Starts a turn at once: its input is in the log when this returns. */
  #begin(from: Waiting): void {
    this.#inARow = from.id === this.#byItself ? this.#inARow + 1 : 0;
    this.#byItself = undefined;
    const behind = this.#history.length;
    const turn: Running = { id: this.#deps.host.id("turn"), controller: new AbortController(), tally: new Tally(), from, behind, step: 0 };
    this.#running = turn;
    this.#ended = this.#run(turn).then((result) => {
      this.#running = undefined;
      this.#after(turn, result);
      from.settle?.(result);
    });
  }
  async #run(turn: Running): Promise<TurnResult> {
    const { now } = this.#deps.host;
    const started = now();
    try {
      const { maxSteps } = this.#start;
      const env = this.#env();
      this.#tellFaults();
      const events = runTurn(env, {
        turn: turn.id,
        input: turn.from.input,
        history: this.#history.slice(),
        signal: turn.controller.signal,
        steering: () => this.#inputs.drain(),
        ...(this.#prefix ? { prefix: this.#prefix } : {}),
        ...(maxSteps === undefined ? {} : { limits: { steps: maxSteps } }),
      });
      while (!(await events.next()).done);
      this.#tellFaults();
    } catch (error) {
      const message = `kernel bug: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`;
      const fault = { code: "kernel-bug" as const, message };
      this.#emit({ type: "fault", fault });
      for (const result of mend(this.#history).closing) this.#emit({ type: "message.added", message: result });
      this.#emit({ type: "turn.ended", outcome: { kind: "failed", fault }, steps: turn.step });
    }
    return turn.tally.result(turn.id, now() - started);
  }
  /** What the catalog has found since the last time. */
  #tellFaults(): void {
    const { faults } = this.#deps.catalog;
    for (const fault of faults.slice(this.#told)) this.#emit({ type: "fault", fault });
    this.#told = faults.length;
  }
  #after(turn: Running, result: TurnResult): void {
    this.#inputs.release();
    const { kind } = result.outcome;
    const next = turn.tally.ended?.next;
    const went = (kind === "completed" || kind === "handled") && !turn.controller.signal.aborted;
    if (!next?.submit || !went || this.#disposed) this.#goOn();
    else if (this.#inARow >= MAX_BY_ITSELF) {
      this.#say(
        "submit-limit",
        `stopped: ${MAX_BY_ITSELF} turns in a row were submitted by the one before. Send it yourself to go on: ${next.text}`,
      );
      this.#goOn();
    } else {
      this.#byItself = this.#deps.host.id("input");
      this.#inputs.enqueueFirst({ id: this.#byItself, input: { text: next.text, source: "queue" } });
      later(() => this.#goOn(), 0); // turns that wait for nothing would leave no time for anything else, such as an abort
    }
  }
  #goOn(): void {
    if (this.#disposed) return;
    this.#inputs.release();
    const waiting = this.#inputs.next();
    if (waiting) this.#begin(waiting);
    else for (const resolve of this.#onIdle.splice(0)) resolve();
  }

  #env(): TurnEnv {
    const { host, registry, catalog, watch, debug } = this.#deps;
    const session = this.#start;
    const self = this;
    const target = (model = this.#model) => catalog.target(session.provider, model);
    const port: SessionPort = { window: () => windowOf(catalog, target(), this.#prefix, this.#history), cost: () => this.#meter.cost };
    return {
      registry,
      breaker: this.#breaker,
      now: host.now,
      id: (kind) => host.id(kind),
      asker: (ask, signal) => this.#ask(ask, signal),
      record: (event) => this.#record(event),
      log: (plugin, text) => debug.write(plugin, text),
      session: {
        id: this.id,
        cwd: session.cwd,
        directories: session.directories,
        provider: session.provider,
        headless: session.headless,
        list: (point) => catalog.list(point),
        get model() {
          return self.#model;
        },
        get permissionMode() {
          return self.#permissionMode;
        },
        get effort() {
          return self.#effort as Effort;
        },
      },
      capabilities: new Map<string, unknown>([
        ["fs", host.fs],
        ["process", host.processes],
        ["session", port],
      ]),
      stateOf: (plugin) => stateOf(this.#states, plugin),
      sizes: this.#sizes,
      target,
      window: () => catalog.window(target()),
      tools: catalog.tools,
      ...(watch ? { watch } : {}),
    };
  }
  #ask(ask: Ask, signal: AbortSignal): Promise<Answer> {
    return this.#start.headless ? Promise.resolve(nobody(ask)) : this.#asks.ask(ask, signal);
  }

  /** An event of the runtime itself, in the running turn or between turns. */
  #emit(body: EventBody): void {
    const turn = this.#running;
    this.#record({ ...body, at: this.#deps.host.now(), turn: turn?.id ?? null, step: turn?.step ?? 0 });
  }
  /** Log first, then this session's own state, then everyone else. */
  #record(event: RuntimeEvent): void {
    const turn = event.turn !== null && event.turn === this.#running?.id ? this.#running : undefined;
    if (turn && event.type === "turn.ended" && event.outcome.kind === "refused") this.#dropTurn(turn);
    if (isKept(event)) {
      const { from } = turn ?? {};
      const taken = event.type === "turn.started" && from?.logged;
      this.#write(event, ...(taken ? [{ type: "input.taken" as const, id: from.id, at: event.at }] : []));
    }
    if (turn) {
      turn.step = event.step;
      turn.tally.take(event);
    }
    this.#meter.take(event);
    if (event.type === "message.added") this.#history.push(event.message);
    else if (event.type === "history.dropped") this.#history = this.#history.filter((m) => !event.ids.includes(m.id));
    else if (event.type === "prefix.built") this.#prefix = event.prefix;
    else if (event.type === "session.changed") this.#change(event.change);
    else if (event.type === "turn.phase" && event.from === "context" && event.to === "sampling") this.#inputs.arrived();
    this.#fanout.push(event);
    this.#sayLost();
  }
  /** What was refused once would be refused with every later request too. */
  #dropTurn(turn: Running): void {
    const ids = this.#history.slice(turn.behind).flatMap((m) => (m.role === "system" ? [] : [m.id]));
    if (ids.length > 0) this.#emit({ type: "history.dropped", ids, why: "the model refused this turn" });
  }
  #change(change: SessionChange): void {
    if (change.model !== undefined) this.#model = this.#deps.catalog.named(change.model);
    this.#effort = change.effort ?? this.#effort;
    this.#permissionMode = change.permissionMode ?? this.#permissionMode;
    if (!change.clear) return;
    this.#history = [];
    this.#prefix = undefined;
  }
  #write(...lines: readonly LogLine[]): void {
    this.#log?.append(...lines);
  }
  #sayLost(): void {
    const text = this.#unsaid;
    if (text === undefined) return;
    this.#unsaid = undefined;
    this.#notices.push(text);
    this.#say("log-failed", text);
  }
  /** A warning for the person and the log. */
  #say(subtype: string, text: string): void {
    const { host } = this.#deps;
    const message: SystemMessage = {
      role: "system",
      id: host.id("system"),
      parentId: this.#history.at(-1)?.id ?? null,
      at: host.now(),
      origin: { by: "kernel" },
      subtype,
      level: "warning",
      text,
    };
    this.#emit({ type: "message.added", message });
  }
}

function stateOf(states: Map<PluginId, Map<string, unknown>>, plugin: PluginId): Map<string, unknown> {
  const known = states.get(plugin);
  if (known) return known;
  const made = new Map<string, unknown>();
  states.set(plugin, made);
  return made;
}
