/** Hands events to subscribers, each at its own pace: a slow one makes nobody wait, and loses nothing but the seams between deltas. */
import type { RuntimeEvent } from "@heddle/kernel";

export type Listener = (event: RuntimeEvent) => void | Promise<void>;

export class Fanout {
  readonly #subscribers = new Set<Subscriber>();
  readonly #onThrow: (error: unknown) => void;

  /** `onThrow` is called for the first error of each subscriber. */
  constructor(onThrow: (error: unknown) => void) {
    this.#onThrow = onThrow;
  }
  add(listener: Listener): () => void {
    const subscriber = new Subscriber(listener, this.#onThrow);
    this.#subscribers.add(subscriber);
    return () => {
      this.#subscribers.delete(subscriber);
      subscriber.close();
    };
  }
  push(event: RuntimeEvent): void {
    for (const subscriber of this.#subscribers) subscriber.push(event);
  }
}

class Subscriber {
  /** What waits begins at `#next`; what is before it was handed over. */
  #events: RuntimeEvent[] = [];
  #next = 0;
  #running = false;
  #threw = false;
  readonly #listener: Listener;
  readonly #onThrow: (error: unknown) => void;

  constructor(listener: Listener, onThrow: (error: unknown) => void) {
    this.#listener = listener;
    this.#onThrow = onThrow;
  }
  push(event: RuntimeEvent): void {
    const last = this.#next < this.#events.length ? this.#events.at(-1) : undefined;
    const merged = last && merge(last, event);
    if (merged) this.#events[this.#events.length - 1] = merged;
    else this.#events.push(event);
    if (this.#running) return;
    this.#running = true;
    queueMicrotask(() => void this.#drain());
  }
  close(): void {
    this.#events = [];
    this.#next = 0;
  }
  /** A listener that answers at once is not waited for: all that waits is handed over before anything else happens. */
  async #drain(): Promise<void> {
    while (this.#next < this.#events.length) {
      try {
        const done: unknown = this.#listener(this.#take());
        if (isThenable(done)) await done;
      } catch (error) {
        if (!this.#threw) this.#onThrow(error);
        this.#threw = true;
      }
    }
    this.#running = false;
  }
  /** Lets go of what was handed over once it is the larger part, so that a backlog costs the same per event however long it is. */
  #take(): RuntimeEvent {
    const event = this.#events[this.#next++]!;
    if (this.#next * 2 >= this.#events.length) {
      this.#events.splice(0, this.#next);
      this.#next = 0;
    }
    return event;
  }
}

const isThenable = (value: unknown): boolean => typeof (value as { then?: unknown } | undefined)?.then === "function";

function merge(a: RuntimeEvent, b: RuntimeEvent): RuntimeEvent | undefined {
  if (a.type === "fork.event" && b.type === "fork.event" && a.fork === b.fork) {
    const event = merge(a.event, b.event);
    return event && { ...a, event };
  }
  if (a.type !== "message.delta" || b.type !== "message.delta") return undefined;
  if (a.id !== b.id || a.part !== b.part || a.of !== b.of || a.turn !== b.turn) return undefined;
  return { ...a, text: a.text + b.text };
}
