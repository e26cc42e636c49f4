/** The sub-agents of one session: each is a session of its own, whose events, cost and end are told to this one, and which ends with it. */
import type { Answer, Ask, EventBody, ForkEnd, ForkOptions, ForkState, Forks, Message, RuntimeEvent, SessionPort } from "@heddle/kernel";
import { textOf } from "@heddle/kernel";
import type { Cost } from "../session/cost.ts";
import { Tally } from "../session/tally.ts";
import { type Session, SessionError } from "../types.ts";

export const MAX_DEPTH = 3;
/** In a session and all its forks. */
export const MAX_RUNNING = 20;
const { setTimeout: later } = globalThis; // a test may put fake timers in its place

export type ForkSession = Pick<Session, "submit" | "steer" | "abort" | "idle" | "dispose" | "cost"> & { readonly forks: ForkSet };
/** What a session that is a fork asks of the one that it belongs to, and tells it. */
export type ForkParent = {
  readonly title: string;
  readonly depth: number;
  readonly permissionMode: string;
  /** What the person has allowed in answers. */
  readonly allowed: readonly string[];
  /** Of the whole session. */
  readonly count: { running: number };
  /** Its session is open, and the first event will come. */
  began(): void;
  saw(event: RuntimeEvent): void;
  ask(ask: Ask, signal: AbortSignal): Promise<Answer>;
  /** Why no model may be called now. */
  spent(signal: AbortSignal): Promise<string | undefined> | string | undefined;
  tell: SessionPort["tell"];
};
/** The session that forks belong to. `open` takes what it needs before it first waits, and may reject with a {@link SessionError}. */
export type ForkOwner = Omit<ForkParent, "title" | "began" | "saw"> & {
  id(): string;
  emit(body: EventBody): void;
  open(id: string, options: ForkOptions, parent: ForkParent): Promise<ForkSession>;
};

type Fork = Omit<ForkState, "steps" | "text"> & {
  readonly tally: Tally;
  running: boolean;
  readonly awaited: boolean;
  /** Why it was ended from outside. */
  reason?: string;
  session?: ForkSession;
  end: Promise<unknown>;
};

export class ForkSet implements Forks {
  readonly #owner: ForkOwner;
  readonly #forks = new Map<string, Fork>();
  #closed = false;

  constructor(owner: ForkOwner) {
    this.#owner = owner;
  }
  start(options: ForkOptions, signal?: AbortSignal): ReturnType<Forks["start"]> {
    const { depth, count } = this.#owner;
    if (this.#closed) throw new SessionError("the session is closed; no sub-agent can be started");
    if (depth >= MAX_DEPTH) throw new SessionError(`sub-agents may be ${MAX_DEPTH} deep; do it here`);
    if (count.running >= MAX_RUNNING) throw new SessionError(`${MAX_RUNNING} sub-agents are running; wait for one to end`);
    const id = options.from.kind === "resume" ? options.from.id : this.#owner.id();
    if (this.#forks.get(id)?.running) throw new SessionError(`the sub-agent "${id}" is still running; wait for its end`);
    const fork: Fork = {
      id,
      title: options.title,
      depth: depth + 1,
      running: true,
      awaited: signal !== undefined,
      tally: new Tally({ kind: "aborted", reason: "it did not begin" }),
      end: Promise.resolve(),
    };
    this.#forks.set(id, fork);
    count.running++;
    const onAbort = (): void => this.#end(fork, String(signal?.reason ?? "interrupted"));
    if (signal?.aborted) onAbort();
    signal?.addEventListener("abort", onAbort, { once: true });
    const end = this.#run(fork, options).finally(() => {
      count.running--;
      fork.running = false;
      delete fork.session;
      signal?.removeEventListener("abort", onAbort);
    });
    fork.end = end.catch(() => {}); // whoever starts one need not wait for it
    return { id, end };
  }
  tell(id: string, text: string): boolean {
    const fork = this.#forks.get(id);
    if (!fork?.session || fork.reason !== undefined) return false;
    fork.session.steer({ text, source: "agent", isMeta: true });
    return true;
  }
  list(): readonly ForkState[] {
    return [...this.#forks.values()].map(({ id, title, depth, running, tally }) => {
      const { steps, messages } = tally.result(id, 0);
      return { id, title, depth, running, steps, text: said(messages)?.text ?? "" };
    });
  }
  stop(id: string): void {
    const fork = this.#forks.get(id);
    if (fork?.running) this.#end(fork, "stopped");
  }
  /** What those have cost so far whose end has not been told. */
  get costs(): readonly Cost[] {
    return [...this.#forks.values()].flatMap((f) => (f.session ? [f.session.cost] : []));
  }
  /** Ends all; resolves when none runs. */
  async stopAll(reason: string): Promise<void> {
    const running = this.#running;
    for (const fork of running) this.#end(fork, reason);
    await Promise.all(running.map((f) => f.end));
  }
  /** As `stopAll`, and none can be started any more. Gives those whose end nobody was waiting for. */
  async close(reason: string): Promise<readonly Pick<ForkState, "id" | "title">[]> {
    this.#closed = true;
    const left = this.#running.filter((f) => !f.awaited);
    await this.stopAll(reason);
    return left;
  }
  /** Resolves when one of them has ended; undefined when none runs. */
  get next(): Promise<unknown> | undefined {
    const running = this.#running;
    return running.length > 0 ? Promise.race(running.map((f) => f.end)) : undefined;
  }
  get #running(): Fork[] {
    return [...this.#forks.values()].filter((f) => f.running);
  }

  #end(fork: Fork, reason: string): void {
    fork.reason ??= reason;
    fork.session?.abort(fork.reason);
    void fork.session?.dispose();
  }
  async #run(fork: Fork, options: ForkOptions): Promise<ForkEnd> {
    const { id, title, tally } = fork;
    const { callId, prompt } = options;
    const owner = this.#owner;
    const session = await owner.open(id, options, {
      title,
      depth: fork.depth,
      count: owner.count,
      get permissionMode() {
        return owner.permissionMode;
      },
      get allowed() {
        return owner.allowed;
      },
      began: () => owner.emit({ type: "fork.started", fork: id, title, ...(callId === undefined ? {} : { callId }) }),
      saw(event) {
        tally.take(event);
        owner.emit({ type: "fork.event", fork: id, event });
      },
      ask: (ask, signal) => owner.ask({ ...ask, agent: ask.agent ?? title }, signal),
      spent: (signal) => owner.spent(signal),
      tell: (text, how) => owner.tell(text, how),
    });
    if (fork.reason === undefined) {
      fork.session = session;
      await this.#work(fork, session, prompt);
    }
    fork.reason ??= "ended"; // from here on it hears nothing more
    await session.dispose();
    const { outcome, steps, usage, messages } = tally.result(id, 0);
    const { models } = session.cost;
    delete fork.session;
    owner.emit({ type: "fork.ended", fork: id, outcome, models });
    const last = said(messages);
    const answered = outcome.kind === "completed" && last?.final === true;
    return { id, outcome, text: last?.text ?? "", answered, steps, usage };
  }
  /** Its own forks are waited for, and what they tell it is answered; unless its turn did not come to a good end. */
  async #work(fork: Fork, session: ForkSession, prompt: string): Promise<void> {
    void session.submit({ text: prompt, source: "agent" });
    for (;;) {
      await session.idle();
      const left = session.forks.next;
      if (fork.reason !== undefined || !left || fork.tally.ended?.outcome.kind !== "completed") return;
      await left;
      await new Promise((resolve) => later(resolve, 0)); // what its end is told with is on its way
    }
  }
}

/** The last text of the model. `final`: its last reply holds it. */
function said(messages: readonly Message[]): { readonly text: string; readonly final: boolean } | undefined {
  const replies = messages.flatMap((m) => (m.role === "assistant" ? [textOf(m.content)] : []));
  const at = replies.findLastIndex((text) => text.trim() !== "");
  return at < 0 ? undefined : { text: replies[at]!, final: at === replies.length - 1 };
}
