/** A provider that does not give up at the first failure: what `stream` of the wrapped ones becomes. */
import { type CallContext, type Entry, type ModelChunk, ModelError, type ModelFault, type ModelRequest, type Usage } from "@heddle/kernel";
import { prompts } from "../prompts.generated.ts";
import type { Timers } from "../types.ts";
import { Attempt, type CallChunk, type StopChunk } from "./attempt.ts";
import { isRetried, type Plan } from "./budget.ts";
import { contextOf } from "./context.ts";
import { NothingCame, pulse } from "./pulse.ts";
import type { RecoverySettings } from "./settings.ts";
import { type Shrink, sizeOf, slim, slimImages, slimMore } from "./slim.ts";
import type { SessionMemory, Target, TurnMemory } from "./turn.ts";

export type Recovering = {
  readonly settings: RecoverySettings;
  readonly timers: Timers;
  readonly memory: SessionMemory;
  readonly turn: TurnMemory;
  /** Told of tries that were paid for and brought no reply. */
  readonly billed: (by: Target, usage: Usage) => void;
  /** Told of tries that the server has taken up. */
  readonly answered: (by: Target, usage?: Usage) => void;
};

/** Tokens. */
const GROWN_OUTPUT = 64_000;
const LENGTHS = 3;
const PAUSES = 10;
const EMPTIES = 1;
const REFUSALS = 1;
/** Replies in a row whose calls could not be read. */
const UNREADABLE = 3;
/** In a row, before the next model is asked. */
const OVERLOADS = 3;
/** Until a reply that is asked for whole, which shows no sign of life before its end. */
const WHOLE_MS = 300_000;
/** The kernel counts the deadline of a provider from its last chunk, so a wait shows that it goes on. */
export const PING_MS = 30_000;

const CUT_OFF = "The reply was cut off.";
const GOES_ON = "What its calls did counts, and the model goes on from there.";
/** What no other try of the same model would change. */
const USELESS: readonly ModelFault["kind"][] = ["auth", "billing", "not-found", "invalid"];

type Retry = Exclude<Plan, { why: string }>;
type RetryChunk = Extract<ModelChunk, { type: "retry" }>;

/** A stream without a stop chunk. When it is given up, the kernel says whose mistake that is. */
class Unfinished extends ModelError {}

export class Recovery {
  readonly #o: Recovering;
  readonly #ctx: CallContext;
  readonly #first: Target;
  #request: ModelRequest;
  /** The next call asks for the reply as a whole. */
  #whole = false;
  #slimmed = false;

  constructor(o: Recovering, entry: Entry<"providers">, request: ModelRequest, ctx: CallContext) {
    this.#o = o;
    this.#ctx = ctx;
    this.#first = { entry, model: request.model };
    this.#request = request;
  }
  get #target(): Target {
    return this.#o.turn.fallback ?? this.#first;
  }

  /** Throws the {@link ModelError} of the failure that was the last straw; ends at once, and silently, when the turn is aborted. */
  async *stream(): AsyncGenerator<ModelChunk> {
    const { turn } = this.#o;
    const { signal } = this.#ctx;
    const { debt, tooLong, unreadable } = turn;
    turn.debt = undefined;
    await this.#fit();
    if (signal.aborted) return;
    if (tooLong && sizeOf(this.#request.messages) >= tooLong.size)
      throw new ModelError(`${tooLong.message} Nothing more of it can be left out.`, tooLong.fault);
    if (unreadable && unreadable.times >= UNREADABLE)
      throw new ModelError(
        `The model called tools with arguments that cannot be read, ${UNREADABLE} times running (${unreadable.last}). Ask for it in smaller steps, or ask another model.`,
        { kind: "protocol" },
      );
    if (debt) yield* this.#wait(debt.fault, debt.message, debt, debt.next);
    for (let base = 0; !signal.aborted; ) {
      const attempt = new Attempt(base);
      const again = yield* this.#attempt(attempt);
      if (!again) return;
      base = attempt.next;
    }
  }
  /** Returns true to ask again. Whatever ends it, what it has cost is told. */
  async *#attempt(attempt: Attempt): AsyncGenerator<ModelChunk, boolean> {
    const by = this.#target;
    let failure: { readonly error: unknown } | undefined;
    try {
      try {
        yield* this.#try(attempt);
      } catch (error) {
        failure = { error };
      }
      if (attempt.usage) this.#o.memory.cached.note(by.model, attempt.usage, this.#ctx.now());
      if (this.#ctx.signal.aborted) return false;
      if (!failure) return yield* this.#ended(attempt, attempt.stop!);
      return yield* this.#tellingOf(attempt, failure.error, this.#failed(attempt, failure.error));
    } finally {
      if (attempt.usage || attempt.stop) this.#o.answered(by, attempt.usage);
      if (attempt.untold) this.#o.billed(by, attempt.untold);
    }
  }

  /** When it is given up after calls have begun, the turn goes on with them: the person hears of it here, or never. */
  async *#tellingOf(attempt: Attempt, error: unknown, failed: AsyncGenerator<ModelChunk, boolean>): AsyncGenerator<ModelChunk, boolean> {
    if (!attempt.begun) return yield* failed;
    const told = this.#goesOn(faultOf(error) ?? { kind: "protocol" }, error instanceof Error ? error.message : CUT_OFF);
    try {
      for (let step = await failed.next(); ; step = await failed.next()) {
        if (step.done ? !step.value && !this.#o.turn.debt : step.value.type === "void") yield told;
        if (step.done) return step.value;
        yield step.value;
      }
    } catch (thrown) {
      yield told;
      throw thrown;
    }
  }
  #goesOn(fault: ModelFault, message: string): RetryChunk {
    return retry(fault, `${message} ${GOES_ON}`, this.#o.turn.budget.now);
  }

  /** Replaces what no server would take. */
  async #fit(): Promise<void> {
    const { images, slimmed } = this.#o.memory;
    const messages = await images.fit(slim(this.#request.messages, slimmed), this.#ctx.signal);
    if (this.#ctx.signal.aborted) return;
    await slimImages(messages, slimmed, this.#shrink);
    this.#request = { ...this.#request, messages: slim(messages, slimmed) };
  }
  readonly #shrink: Shrink = (part) => this.#o.memory.images.shrink(part);

  async *#try(attempt: Attempt): AsyncGenerator<ModelChunk> {
    const { settings, timers, memory } = this.#o;
    const { entry, model } = this.#target;
    const { signal } = this.#ctx;
    const own = new AbortController();
    const ctx = contextOf(this.#ctx, this.#first.entry, entry, AbortSignal.any([signal, own.signal]));
    const whole = this.#whole;
    this.#whole = false;
    const given = entry.it.deadlineMs;
    const patience = (usual: number): number => (whole ? Math.max(WHOLE_MS, given ?? 0) : (given ?? usual));
    const request = this.#asked(entry, model, whole);
    const readingMs = given === undefined ? memory.cached.readingMs(request, this.#ctx.now()) : 0;
    const chunks = pulse<ModelChunk>({
      items: entry.it.stream(request, ctx),
      limits: { firstMs: patience(settings.firstByteMs) + readingMs, idleMs: patience(settings.idleMs), nothingMs: settings.nothingMs },
      timers,
      now: this.#ctx.now,
      empty: (chunk) => chunk?.type === "ping",
      signal,
      end: (why) => own.abort(why),
    });
    for await (const chunk of chunks) {
      if (chunk?.type === "void" && attempt.begun) yield this.#goesOn({ kind: "protocol" }, chunk.why);
      yield* attempt.take(chunk);
      if (attempt.stop) return;
    }
    if (!attempt.stop && !signal.aborted) throw new Unfinished("The reply ended before it was complete.", { kind: "network" });
  }
  #asked(entry: Entry<"providers">, model: string, whole: boolean): ModelRequest {
    const request = { ...this.#request, model };
    if (whole) request.streaming = false;
    if (!this.#o.turn.grown) return request;
    const grown = Math.min(limitOf(entry, model), GROWN_OUTPUT);
    return grown > (request.maxOutput ?? 0) ? { ...request, maxOutput: grown } : request;
  }

  /** Returns true to ask again. */
  async *#failed(attempt: Attempt, error: unknown): AsyncGenerator<ModelChunk, boolean> {
    const { turn, memory } = this.#o;
    const fault = faultOf(error);
    if (!fault) throw error;
    const { message } = error as ModelError;
    if (fault.kind === "overflow") {
      turn.tooLong = { size: sizeOf(this.#request.messages), message, fault };
      if (attempt.shown) yield { type: "void", why: "The model's window is full." };
      throw error;
    }
    if (fault.kind === "too-large") {
      const slimmer = !this.#slimmed && (await slimMore(this.#request.messages, memory.slimmed, this.#shrink));
      this.#slimmed = true;
      const plan = slimmer ? turn.budget.atOnce() : { why: "" };
      if ("why" in plan) throw error;
      this.#request = { ...this.#request, messages: slim(this.#request.messages, memory.slimmed) };
      if (attempt.stands) return yield* this.#leave(attempt, fault, message, plan);
      if (attempt.shown) yield { type: "void", why: CUT_OFF };
      yield retry(fault, message, plan);
      return true;
    }
    const by = this.#target;
    const isUseless = by !== this.#first && USELESS.includes(fault.kind);
    if ((!isRetried(fault) && !isUseless) || error instanceof NothingCame) throw error;
    turn.overloads = fault.kind === "overloaded" ? turn.overloads + 1 : 0;
    const spare = isUseless || turn.overloads >= OVERLOADS ? turn.nextFallback(by) : undefined;
    if (spare && by === this.#first) turn.left = { fault, message };
    if (isUseless && !spare) turn.fallback = undefined;
    const next = isUseless ? (spare ?? this.#first) : spare;
    const plan = spare ? turn.budget.atOnce() : turn.budget.after(isUseless ? (turn.left?.fault ?? fault) : fault, this.#ctx.now());
    if ("why" in plan && error instanceof Unfinished) return false;
    if ("why" in plan) throw this.#lastStraw(by, error as ModelError, fault, plan.why);
    if (attempt.stands) return yield* this.#leave(attempt, fault, message, { ...plan, ...(next ? { next } : {}) });
    if (attempt.shown) yield { type: "void", why: CUT_OFF };
    this.#whole = !turn.wholeTried && isInStream(fault);
    turn.wholeTried ||= this.#whole;
    yield* this.#wait(fault, message, plan, next);
    return true;
  }

  /** Where another model was asked in the end, the failure of the one that was meant is told too. */
  #lastStraw(by: Target, error: ModelError, fault: ModelFault, why: string): ModelError {
    const { left } = this.#o.turn;
    const meant = left && by !== this.#first ? `${nameOf(this.#first)} failed: ${left.message} And so did ${nameOf(by)}:` : "";
    const message = [meant, error.message, why].filter(Boolean).join(" ");
    return message === error.message ? error : new ModelError(message, meant ? left!.fault : fault);
  }

  /** Ends the reply with what stands of it: the next call, which is to tell of the retry, asks for the rest. */
  async *#leave(
    attempt: Attempt,
    fault: ModelFault,
    message: string,
    plan: Retry & { readonly next?: Target },
  ): AsyncGenerator<ModelChunk, false> {
    this.#o.turn.debt = { ...plan, fault, message };
    yield* attempt.complete();
    yield attempt.ends({ type: "stop", stop: "aborted", reminder: prompts["cut-off"] });
    return false;
  }
  /** A reply came to its stop. Returns true to ask again. */
  async *#ended(attempt: Attempt, stop: StopChunk): AsyncGenerator<ModelChunk, boolean> {
    const { turn } = this.#o;
    turn.budget.succeeded();
    turn.overloads = 0;
    turn.tooLong = undefined;
    if (stop.stop === "refusal") return yield* this.#refused(attempt, stop);
    const calls = attempt.calls();
    turn.unreadable = attempt.isUnreadable ? { times: (turn.unreadable?.times ?? 0) + 1, last: lastOf(calls) } : undefined;
    yield* calls;
    yield attempt.ends({ ...stop, ...this.#reminder(attempt, stop) });
    return false;
  }
  /** What the model is told to go on with; nothing when the reply is the last word. */
  #reminder(attempt: Attempt, { stop, reminder }: StopChunk): { readonly reminder?: string } {
    const { turn } = this.#o;
    const once = (say: boolean, text: string): { readonly reminder?: string } => (say ? { reminder: text } : {});
    if (stop === "aborted" || reminder !== undefined) return {};
    if (stop === "length") turn.grown ||= (attempt.usage?.output ?? 0) < GROWN_OUTPUT;
    if (attempt.hasCalls) return {};
    if ((stop === "length" || stop === "overflow") && turn.lengths++ < LENGTHS) return { reminder: prompts["output-limit"] };
    if (stop === "pause") return once(turn.pauses++ < PAUSES, prompts.continue);
    if (attempt.hasOutput) return {};
    if (turn.empties++ < EMPTIES) return { reminder: prompts.empty };
    throw new ModelError(
      `The model ended its reply without any output (${stop}), also when it was asked again: put the question another way.`,
      {
        kind: "protocol",
      },
    );
  }
  async *#refused(attempt: Attempt, stop: StopChunk): AsyncGenerator<ModelChunk, boolean> {
    const { turn } = this.#o;
    const why = "A safety filter stopped the reply.";
    if (attempt.begun) yield { ...this.#goesOn({ kind: "invalid" }, why), cause: "refusal" };
    if (attempt.shown) yield { type: "void", why };
    const first = turn.refusals++ < REFUSALS;
    const plan = first ? turn.budget.atOnce() : undefined;
    const next = plan && "attempt" in plan ? turn.nextFallback(this.#target) : undefined;
    if (next && plan && "attempt" in plan) {
      yield { ...retry({ kind: "invalid" }, why, plan), cause: "refusal", model: nameOf(next) };
      return true;
    }
    yield attempt.ends({ ...stop, ...(first ? { reminder: prompts.refused } : {}) });
    return false;
  }

  /** Tells of a retry and lets its time pass. */
  async *#wait(fault: ModelFault, message: string, plan: Retry, next?: Target): AsyncGenerator<ModelChunk> {
    const { signal } = this.#ctx;
    yield { ...retry(fault, message, plan), ...(next ? { model: nameOf(next) } : {}) };
    for (let left = plan.waitMs; left > 0 && !signal.aborted; left -= PING_MS) {
      await this.#o.timers.sleep(Math.min(left, PING_MS), signal);
      if (left > PING_MS && !signal.aborted) yield { type: "ping" };
    }
  }
}

const retry = (fault: ModelFault, message: string, { attempt, of, waitMs }: Retry): RetryChunk => ({
  type: "retry",
  cause: fault.kind,
  attempt,
  of,
  waitMs,
  message,
  ...(fault.status === undefined ? {} : { status: fault.status }),
});
const lastOf = (unread: readonly CallChunk[]): string =>
  unread
    .slice(-1)
    .map((c) => `${c.tool}: ${c.malformed}`)
    .join();
const nameOf = ({ entry, model }: Target): string => `${entry.name}/${model}`;

/** An `error` event of a stream that had begun: an answer that failed as a whole has a status. */
const isInStream = ({ kind, status }: ModelFault): boolean =>
  status === undefined && (kind === "overloaded" || kind === "protocol" || kind === "server" || kind === "rate-limit");

/** Known by its name, so that a provider with its own copy of the kernel works too. An error is foreign, and its getters may throw. */
function faultOf(error: unknown): ModelFault | undefined {
  try {
    const { name, model } = error as ModelError;
    return error instanceof Error && name === "ModelError" && typeof model?.kind === "string" ? model : undefined;
  } catch {
    return undefined;
  }
}

/** Tokens. A model that nobody knows may have more than it is asked for. */
function limitOf({ it }: Entry<"providers">, model: string): number {
  try {
    const known = it.info?.(model).maxOutput;
    return typeof known === "number" && known > 0 ? known : GROWN_OUTPUT;
  } catch {
    return GROWN_OUTPUT;
  }
}
