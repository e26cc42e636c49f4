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
  #waiting: RuntimeEvent[] = [];
  #running = false;
  #threw = false;
  #closed = false;
  readonly #listener: Listener;
  readonly #onThrow: (error: unknown) => void;

  constructor(listener: Listener, onThrow: (error: unknown) => void) {
    this.#listener = listener;
    this.#onThrow = onThrow;
  }
  push(event: RuntimeEvent): void {
    const last = this.#waiting.at(-1);
    const merged = last && merge(last, event);
    if (merged) this.#waiting[this.#waiting.length - 1] = merged;
    else this.#waiting.push(event);
    if (this.#running) return;
    this.#running = true;
    queueMicrotask(() => void this.#drain());
  }
  close(): void {
    this.#closed = true;
    this.#waiting = [];
  }
  /** A listener that answers at once is not waited for: all that waits is handed over before anything else happens. */
  async #drain(): Promise<void> {
    while (this.#waiting.length > 0) {
      const batch = this.#waiting;
      this.#waiting = [];
      for (let i = 0; i < batch.length && !this.#closed; i++) {
        try {
          const done: unknown = this.#listener(batch[i]!);
          if (!isThenable(done)) continue;
          this.#waiting = [...batch.splice(i + 1), ...this.#waiting]; // so that deltas can join what is left
          await done;
        } catch (error) {
          if (!this.#threw) this.#onThrow(error);
          this.#threw = true;
        }
      }
    }
    this.#running = false;
  }
}

const isThenable = (value: unknown): boolean => typeof (value as { then?: unknown } | undefined)?.then === "function";

function merge(a: RuntimeEvent, b: RuntimeEvent): RuntimeEvent | undefined {
  if (a.type !== "message.delta" || b.type !== "message.delta") return undefined;
  if (a.id !== b.id || a.part !== b.part || a.of !== b.of || a.turn !== b.turn) return undefined;
  return { ...a, text: a.text + b.text };
}
