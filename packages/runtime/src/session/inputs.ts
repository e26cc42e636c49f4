/** Inputs that wait for a turn, or for the next step of the one that runs. Each is in the log before anything else happens. */
import type { Input } from "@heddle/kernel";
import type { LogLine } from "@heddle/sessions";
import type { TurnResult } from "../types.ts";

/** `logged`: its `input.queued` line is written and waits for an `input.taken`. */
export type Waiting = {
  readonly id: string;
  readonly input: Input;
  readonly logged: boolean;
  readonly settle?: (result: TurnResult) => void;
};

export const inputOf = (input: Input | string): Input =>
  typeof input === "string" ? { text: input.toWellFormed(), source: "sdk" } : { ...input, text: String(input.text).toWellFormed() };

export class Inputs {
  readonly #queue: Waiting[] = [];
  #steered: Waiting[] = [];
  #drained: Waiting[] = [];
  readonly #write: (line: LogLine) => void;
  readonly #now: () => number;

  constructor(write: (line: LogLine) => void, now: () => number) {
    this.#write = write;
    this.#now = now;
  }
  get size(): number {
    return this.#queue.length + this.#steered.length + this.#drained.length;
  }
  enqueue(w: Omit<Waiting, "logged">): void {
    this.#queue.push(this.#logged(w));
  }
  /** Before all others. */
  enqueueFirst(w: Omit<Waiting, "logged">): void {
    this.#queue.unshift(this.#logged(w));
  }
  steer(w: Omit<Waiting, "logged">): void {
    this.#steered.push(this.#logged(w));
  }
  #logged(w: Omit<Waiting, "logged">): Waiting {
    this.#write({ type: "input.queued", id: w.id, at: this.#now(), input: w.input });
    return { ...w, logged: true };
  }
  /** What was said to the running turn since the last time. It stays ours until `arrived` says that the history has it. */
  drain(): readonly Input[] {
    const fresh = this.#steered;
    this.#steered = [];
    this.#drained.push(...fresh);
    return fresh.map((w) => w.input);
  }
  arrived(): void {
    for (const w of this.#drained) this.#write({ type: "input.taken", id: w.id, at: this.#now() });
    this.#drained = [];
  }
  /** The turn is over: what it did not take becomes a turn of its own, before what was queued. */
  release(): void {
    this.#queue.unshift(...this.#drained, ...this.#steered);
    this.#drained = [];
    this.#steered = [];
  }
  next(): Waiting | undefined {
    return this.#queue.shift();
  }
  /** Forgets one that waits: nobody wants it any more. */
  drop(id: string): void {
    const at = this.#queue.findIndex((w) => w.id === id);
    if (at < 0) return;
    this.#queue.splice(at, 1);
    this.#write({ type: "input.taken", id, at: this.#now() });
  }
  /** Takes all; their lines stay open in the log, so that a resume reports them. */
  clear(): readonly Waiting[] {
    this.release();
    return this.#queue.splice(0);
  }
}
