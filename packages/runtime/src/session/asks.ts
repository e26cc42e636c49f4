/** Questions to the person that are open, and the answers that close them. */
import type { Answer, Ask, EventBody } from "@heddle/kernel";

/** The answer where nobody can be asked: the model reads it for a call, a plugin for a question of its own. */
export const nobody = (ask: Ask): Answer => ({
  kind: "deny",
  reason: `nobody can be asked; ${ask.kind === "permission" ? "a rule has to allow it beforehand" : "the session is headless"}`,
});

/** `decides`: somebody answers asks for permission; `headless`: nobody answers questions. */
type Who = { readonly headless: boolean; readonly decides: boolean };
type Pose = (ask: Ask, signal: AbortSignal) => Promise<Answer>;

export class Asks {
  readonly #open = new Map<string, (answer: Answer) => void>();
  readonly #end = new AbortController();
  readonly #there: Who;
  /** Where a fork asks. */
  readonly #parent: Pose | undefined;
  readonly #emit: (event: EventBody) => void;

  constructor(there: Who, emit: (event: EventBody) => void, parent?: Pose) {
    this.#there = there;
    this.#parent = parent;
    this.#emit = emit;
  }
  /** Rejects when the signal fires, and at once when it has fired before; also at the end of the session. */
  async ask(ask: Ask, signal: AbortSignal): Promise<Answer> {
    const { headless, decides } = this.#there;
    if (ask.kind === "permission" ? !decides : headless) return nobody(ask);
    return this.#parent ? this.#parent(ask, signal) : this.#wait(ask, signal);
  }
  /** The same for what nobody else tells of: a question of the session itself, or what a fork asks, so that faces need know of no fork. */
  async pose(ask: Ask, signal: AbortSignal): Promise<Answer> {
    if (this.#parent) return this.#parent(ask, signal);
    let answer: Answer = { kind: "deny", reason: "the turn was aborted" };
    this.#emit({ type: "ask.opened", ask });
    try {
      answer = await this.ask(ask, signal);
      return answer;
    } finally {
      this.#emit({ type: "ask.closed", id: ask.id, answer });
    }
  }
  #wait(ask: Ask, turn: AbortSignal): Promise<Answer> {
    const signal = AbortSignal.any([turn, this.#end.signal]);
    return new Promise((resolve, reject) => {
      const aborted = (): void => {
        this.#open.delete(ask.id);
        reject(new Error("the turn was aborted"));
      };
      if (signal.aborted) return aborted();
      signal.addEventListener("abort", aborted, { once: true });
      this.#open.set(ask.id, (answer) => {
        signal.removeEventListener("abort", aborted);
        resolve(answer);
      });
    });
  }
  /** False when no such ask is open: it was answered before, or its turn is over. */
  answer(id: string, answer: Answer): boolean {
    const open = this.#open.get(id);
    this.#open.delete(id);
    open?.(answer);
    return open !== undefined;
  }
  /** The session is over: observers may still wait for an answer. */
  end(): void {
    this.#end.abort();
  }
}
