/** Switches a contribution off for the rest of the session after a run of failures. */
import type { Breaker, Who } from "@heddle/kernel";

export class FailureBreaker implements Breaker {
  readonly #failures = new Map<string, number>();
  readonly limit: number;

  constructor(limit = 3) {
    this.limit = limit;
  }
  isOpen(who: Who): boolean {
    return (this.#failures.get(key(who)) ?? 0) >= this.limit;
  }
  record(who: Who, ok: boolean): boolean {
    const n = ok ? 0 : (this.#failures.get(key(who)) ?? 0) + 1;
    this.#failures.set(key(who), n);
    return n === this.limit;
  }
}

const key = ({ plugin, point, name }: Who): string => JSON.stringify([plugin, point, name]);
