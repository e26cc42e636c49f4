/** A session: takes inputs one turn at a time, drives the kernel's loop, writes the log before anyone sees an event. */
import {
  type Answer,
  type Effort,
  type EventBody,
  type ForkOptions,
  type Input,
  type Message,
  type ModelInfo,
  type Registry,
  type RuntimeEvent,
  runTurn,
  type TurnEnv,
  type Usage,
  type Watch,
} from "@heddle/kernel";
import { folderOf, interruptedText, isKept, type LogLine, mend, type SessionLog } from "@heddle/sessions";
import { CheckpointService } from "../checkpoints/service.ts";
import { beginningOf, type ForkLogs } from "../forks/beginning.ts";
import { type ForkParent, ForkSet } from "../forks/fork-set.ts";
import { stricter } from "../forks/mode.ts";
import { poolOf } from "../forks/pool.ts";
import { textOfError } from "../plugins/problem.ts";
import { type Keeping, withBudget } from "../tools/output.ts";
import { Pool } from "../tools/pool.ts";
import { type Checkpoints, type Host, type Session, SessionError, type TurnResult } from "../types.ts";
import { Asks, nobody } from "./asks.ts";
import { FailureBreaker } from "./breaker.ts";
import type { Catalog } from "./catalog.ts";
import { type Cost, RUNTIME } from "./cost.ts";
import type { DebugLog } from "./debug-log.ts";
import { dryRun } from "./dry.ts";
import { environmentOf } from "./environment.ts";
import { Fanout, type Listener } from "./fanout.ts";
import { Inputs, inputOf, type Waiting } from "./inputs.ts";
import { PluginStates } from "./plugin-states.ts";
import type { PrefixBreak } from "./prefix-watch.ts";
import { note, warning } from "./said.ts";
import { SessionProcesses } from "./session-processes.ts";
import { type Person, Spending } from "./spending.ts";
import type { SessionStart } from "./start.ts";
import { SessionState } from "./state.ts";
import { Tally } from "./tally.ts";

export type SessionDeps = {
  readonly host: Host;
  readonly registry: Registry;
  readonly catalog: Catalog;
  readonly watch: Watch | undefined;
  readonly debug: DebugLog;
  /** `onFailure` tells the session that its log cannot be written any more. Null keeps nothing. */
  readonly openLog: (onFailure: (message: string) => void) => SessionLog | null;
  readonly forkLogs: ForkLogs;
  /** Set for a fork. */
  readonly parent?: ForkParent;
  /** `copied`: the session whose history it begins with. */
  readonly onOpen: (session: Engine, copied?: string) => void;
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
  /** Who answers for the rest of the turn, once the model that was asked for does not. */
  fallback?: string;
  /** Stops the tools that run, where all of them allow it. */
  interrupt?: (why: string) => boolean;
};

export class Engine implements Session {
  readonly id: string;
  readonly pendingInputs: readonly Input[];
  readonly #start: SessionStart;
  readonly #deps: SessionDeps;
  readonly #log: SessionLog | null;
  readonly #inputs: Inputs;
  readonly #asks: Asks;
  readonly #fanout: Fanout;
  readonly forks: ForkSet;
  readonly #breaker = new FailureBreaker();
  readonly #sizes = new WeakMap<object, number>();
  readonly #spending: Spending;
  readonly #state: SessionState;
  readonly #states = new PluginStates();
  readonly #processes: SessionProcesses;
  readonly #checkpoints: CheckpointService | undefined;
  readonly #pool: Pool;
  readonly #notices: string[];
  readonly #onIdle: (() => void)[] = [];
  readonly #dryRuns = new AbortController();
  /** What the last request held of the history. */
  #view: readonly Message[] | undefined;
  #running: Running | undefined;
  /** From the end of a turn on, until what it did to files is known: what a person does then is no longer of the turn. */
  #held: RuntimeEvent[] | undefined;
  #ended: Promise<unknown> = Promise.resolve();
  #disposed: Promise<void> | undefined;
  #unsaid: string | undefined;
  #told = 0;
  #toldEffort: Effort | undefined;
  /** The id of an input that a turn has submitted and that has not begun yet. */
  #byItself: string | undefined;
  #inARow = 0;

  constructor(start: SessionStart, deps: SessionDeps) {
    this.id = start.id;
    this.pendingInputs = start.pending;
    this.#start = start;
    this.#deps = deps;
    this.#processes = new SessionProcesses(deps.host.processes);
    this.#state = new SessionState(start, (model) => deps.catalog.named(model));
    this.#asks = new Asks(start, (body) => this.#emit(body), deps.parent?.ask);
    const person: Person = {
      ask: async (text, choices, signal) => {
        const answer = await this.#asks.pose({ kind: "question", id: deps.host.id("ask"), from: RUNTIME, text, choices }, signal);
        return start.headless ? undefined : answer;
      },
      stop: (why) => {
        this.abort(why);
        void this.forks.stopAll(why);
      },
    };
    const info = (provider: string, model: string): ModelInfo => deps.catalog.info({ provider, model });
    this.#spending = new Spending(start, info, person, () => this.forks.costs);
    this.#toldEffort = start.toldEffort;
    this.#notices = [...start.notices];
    this.#log = deps.openLog((message) => {
      this.#unsaid = message;
    });
    for (const event of start.spent) {
      this.#spending.take(event);
      if (event.type !== "ask.closed") this.#state.take(event); // what was allowed for that session ended with it
    }
    const keeping = (): Keeping => ({ fs: deps.host.fs, folder: this.#folder });
    this.#checkpoints = deps.parent ? undefined : this.#checkpointsOf(deps.host);
    this.#pool = new Pool(deps, deps.parent ? undefined : (entry) => withBudget(this.#checkpoints?.around(entry) ?? entry, keeping));
    this.#inputs = new Inputs((line) => this.#write(line), deps.host.now);
    this.#fanout = new Fanout((error) => {
      const message = `a subscriber of the session threw: ${textOfError(error)}; its events go on`;
      this.#deps.debug.write("runtime", message);
      this.#emit({ type: "fault", fault: { code: "plugin-threw", message } });
    });
    const self = this;
    this.forks = new ForkSet({
      depth: deps.parent?.depth ?? 0,
      count: deps.parent?.count ?? { running: 0 },
      get permissionMode() {
        return self.permissionMode;
      },
      get allowed() {
        return self.allowed;
      },
      id: () => deps.host.id("fork"),
      emit: (body) => this.#emit(body),
      ask: (ask, signal) => this.#asks.pose(ask, signal),
      spent: (signal) => this.spent(signal),
      tell: (text, how) => this.#tell(text, how),
      open: (id, options, parent) => this.#fork(id, options, parent),
    });
    deps.onOpen(this);
  }

  get path(): string | null {
    return this.#log?.path ?? null;
  }
  /** For files of this session. */
  get #folder(): string | null {
    return this.path === null ? null : folderOf(this.path);
  }
  get messages(): readonly Message[] {
    return this.#state.messages;
  }
  get checkpoints(): Checkpoints | null {
    return this.#checkpoints ?? null;
  }
  get model(): string {
    return this.#state.model;
  }
  get effort(): Effort | undefined {
    return this.#state.effort;
  }
  get permissionMode(): string {
    const { parent } = this.#deps;
    return parent ? stricter(this.#state.permissionMode, parent.permissionMode) : this.#state.permissionMode;
  }
  get allowed(): readonly string[] {
    return this.#deps.parent?.allowed ?? this.#state.allowed;
  }
  get lines(): Session["lines"] {
    return this.#state.lines;
  }
  get cost(): Cost {
    return this.#spending.cost;
  }
  /** Why no model may be called now. May ask the person. */
  spent(signal: AbortSignal): ReturnType<Spending["refusal"]> {
    const { parent } = this.#deps;
    return parent ? parent.spent(signal) : this.#spending.refusal(signal);
  }
  /** From the watch of the request: it is paid for anew. */
  prefixBroke({ cause, tokens }: PrefixBreak): void {
    const usd = this.#spending.breakPrice(tokens);
    this.#emit({ type: "prefix.broken", cause, tokens, ...(usd === undefined ? {} : { usd }) });
  }
  /** A call was paid for and brought no reply. Its turn may be over. */
  billed({ id: turn, step }: { readonly id: string; readonly step: number }, by: { provider: string; model: string }, usage: Usage): void {
    this.#record({ type: "model.billed", ...by, usage, at: this.#deps.host.now(), turn, step });
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
  steer(input: Input | string, { now = false }: { readonly now?: boolean } = {}): void {
    if (this.#disposed) throw new SessionError(`session "${this.id}" is closed; open it again to go on`);
    const waiting = { id: this.#deps.host.id("input"), input: inputOf(input) };
    if (this.busy) this.#inputs.steer(waiting);
    else this.#begin({ ...waiting, logged: false });
    if (now) this.#running?.interrupt?.("Stopped, because the user has said something new.");
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
    const states = this.#states.copy();
    const env: TurnEnv = {
      ...this.#env(),
      breaker: new FailureBreaker(),
      asker: async (ask) => nobody(ask),
      stateOf: (plugin) => states.of(plugin),
    };
    // while a turn runs, the calls of its last step have no results yet
    const history = mend(this.#state.messages).messages;
    return dryRun(env, { input: inputOf(input), history, prefix: this.#state.prefix, signal: this.#dryRuns.signal });
  }
  setModel(model: string): void {
    if (this.#deps.catalog.named(model) !== this.model) this.#emit({ type: "session.changed", change: { model } });
  }
  setEffort(effort: Effort): void {
    if (effort !== this.effort) this.#emit({ type: "session.changed", change: { effort } });
  }
  setPermissionMode(permissionMode: string): void {
    if (permissionMode !== this.permissionMode) this.#emit({ type: "session.changed", change: { permissionMode } });
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
    const [lost] = await Promise.all([this.forks.close("the session was closed"), this.#ended]);
    for (const fork of lost) this.#note(interruptedText(fork));
    await this.#processes.end();
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
    const behind = this.#state.messages.length;
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
      const { prefix, effort } = this.#state;
      const base = this.#env(turn);
      const pack: TurnEnv["pack"] = async (...a) => {
        this.#view = await base.pack(...a);
        return this.#view;
      };
      const env = { ...base, pack };
      this.#checkpoints?.begin(turn.id);
      this.#tellFaults();
      if (effort && effort !== this.#toldEffort) this.#emit({ type: "session.changed", change: { effort } }); // a resume must find it in the log
      const events = runTurn(env, {
        turn: turn.id,
        input: turn.from.input,
        history: this.#state.messages,
        signal: turn.controller.signal,
        steering: () => this.#inputs.drain(),
        interrupter: (interrupt) => {
          turn.interrupt = interrupt;
        },
        ...(prefix ? { prefix } : {}),
        ...(maxSteps === undefined ? {} : { limits: { steps: maxSteps } }),
      });
      while (!(await events.next()).done);
      this.#tellFaults();
    } catch (error) {
      const message = `kernel bug: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`;
      const fault = { code: "kernel-bug" as const, message };
      this.#emit({ type: "fault", fault });
      for (const result of mend(this.#state.messages).closing) this.#emit({ type: "message.added", message: result });
      this.#emit({ type: "turn.ended", outcome: { kind: "failed", fault }, steps: turn.step });
    }
    await this.#checkpoints?.end();
    for (const event of this.#held?.splice(0) ?? []) this.#fanout.push(event);
    this.#held = undefined;
    return turn.tally.result(turn.id, now() - started);
  }
  /** What the catalog and the pool have found since the last time. */
  #tellFaults(): void {
    for (const fault of this.#pool.faults.splice(0)) this.#emit({ type: "fault", fault });
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

  #env(turn?: Running): TurnEnv {
    const surroundings = {
      ...{ deps: this.#deps, provider: this.#start.provider, session: this.#session(), folder: this.#folder },
      ...{ pool: this.#pool, state: this.#state, states: this.#states, breaker: this.#breaker, sizes: this.#sizes },
      ...{ asks: this.#asks, forks: this.forks, processes: this.#processes },
      cost: () => this.cost,
      tell: (text: string, how?: { isMeta?: boolean }) => this.#tell(text, how),
      record: (event: RuntimeEvent) => this.#record(event),
    };
    return environmentOf(surroundings, () => turn?.fallback);
  }
  /** For the running turn, or a turn of its own. Of a fork that has ended, it goes to its session. */
  #tell(text: string, { isMeta }: { isMeta?: boolean } = {}): void {
    const { parent } = this.#deps;
    if (!this.#disposed) this.steer({ text, source: "agent", ...(isMeta ? { isMeta } : {}) });
    else if (parent) parent.tell(`For the sub-agent "${parent.title}", which has ended: ${text}`, { isMeta: true });
    else this.#deps.debug.write("runtime", `told to session "${this.id}", which is closed: ${text}`);
  }
  async #fork(id: string, o: ForkOptions, parent: ForkParent): Promise<Engine> {
    const { messages: history, prefix: known } = this.#state;
    const owned = { path: this.path, view: this.#view, history, prefix: known };
    const { messages, prefix, own, openLog, ...was } = await beginningOf(id, o, owned, this.#deps.forkLogs);
    const start: SessionStart = {
      ...this.#start,
      ...{ id, messages, prefix, pending: [], notices: [], spent: [] },
      model: o.model ?? was.model ?? this.model,
      effort: o.effort ?? was.effort ?? this.effort,
      toldEffort: was.effort,
      permissionMode: o.permissionMode ?? "",
      maxSteps: o.maxSteps ?? this.#start.maxSteps,
    };
    const fork = new Engine(start, { ...this.#deps, ...poolOf(o, this.#pool.for(this.#session())), openLog, parent });
    if (o.from.kind === "fork") this.#deps.onOpen(fork, this.id);
    parent.began();
    if (own) fork.#emit({ type: "prefix.built", prefix: prefix! });
    return fork;
  }

  #session(): TurnEnv["session"] {
    const list: TurnEnv["session"]["list"] = (point) => this.#pool.for(this.#session()).catalog.list(point);
    return this.#state.view(this.#start, list, this);
  }
  /** What sub-agents do to files is of the turn of their session. */
  #checkpointsOf(host: Host): CheckpointService | undefined {
    const folder = this.#folder;
    if (!host.disk || folder === null) return undefined;
    return new CheckpointService({
      ...{ host, disk: host.disk, folder },
      roots: [this.#start.cwd, ...this.#start.directories],
      say: (text) => this.#say("checkpoints", text),
    });
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
      if (event.type === "model.retry" && event.model !== undefined) turn.fallback = event.model;
    }
    this.#spending.take(event);
    this.#state.take(event);
    if (event.type === "session.changed") this.#toldEffort = event.change.effort ?? this.#toldEffort;
    if (event.type === "history.dropped") this.#view = undefined;
    if (event.type === "session.changed" && event.change.clear) {
      this.#view = undefined;
      void this.forks.stopAll("the conversation was cleared");
    }
    if (event.type === "turn.phase" && event.from === "context" && event.to === "sampling") this.#inputs.arrived();
    if (event.type === "turn.ended" && this.#checkpoints?.began) this.#held = [];
    (this.#held ?? this.#fanout).push(event);
    this.#deps.parent?.saw(event);
    this.#sayLost();
  }
  /** What was refused once would be refused with every later request too. */
  #dropTurn(turn: Running): void {
    const ids = this.#state.messages.slice(turn.behind).flatMap((m) => (m.role === "system" ? [] : [m.id]));
    if (ids.length > 0) this.#emit({ type: "history.dropped", ids, why: "the model refused this turn" });
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
  #note(text: string): void {
    this.#emit({ type: "message.added", message: note({ host: this.#deps.host, after: this.messages.at(-1) }, text) });
  }
  #say(subtype: string, text: string): void {
    this.#emit({ type: "message.added", message: warning({ host: this.#deps.host, after: this.messages.at(-1) }, subtype, text) });
  }
}
