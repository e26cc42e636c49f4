/** Reads a stream under a watchdog: whoever says nothing for too long is ended, whether it heeds its signal or not. */
import { ModelError } from "@heddle/kernel";
import type { Timers } from "../types.ts";

/** Milliseconds: until the first item, between two, and without one that says more than that the other side is alive. */
export type Limits = { readonly firstMs: number; readonly idleMs: number; readonly nothingMs: number };

export type Watched<T> = {
  readonly items: AsyncIterable<T>;
  readonly limits: Limits;
  readonly timers: Timers;
  readonly now: () => number;
  /** Whether an item is only a sign of life. */
  readonly empty: (item: T) => boolean;
  /** From outside: ends the reading without an error. */
  readonly signal: AbortSignal;
  /** Ends the stream's own call. */
  readonly end: (why: string) => void;
};

/** No answer and no progress until the limit: asking again is of no use. */
export class NothingCame extends ModelError {}

/** Throws what the stream throws, and a {@link ModelError} of kind `stall`. */
export async function* pulse<T>(o: Watched<T>): AsyncGenerator<T> {
  const { limits, timers, now, signal } = o;
  const iterator = o.items[Symbol.asyncIterator]();
  let seen = now();
  let said = seen;
  let any = false;
  let over = false;
  let waiting = false;
  let giveUp: ((error: unknown) => void) | undefined;
  let stalled: ModelError | undefined;
  let cancel: () => void = () => {};
  const due = (): number => Math.min(seen + (any ? limits.idleMs : limits.firstMs), said + limits.nothingMs);
  const check = (): void => {
    if (over) return;
    const at = now();
    if (!waiting || at < due()) return void watch(waiting ? due() - at : limits.idleMs);
    const quiet = at - said >= limits.nothingMs;
    const Stall = quiet ? NothingCame : ModelError;
    stalled = new Stall(
      quiet ? `The model sent nothing but signs of life for ${secondsOf(limits.nothingMs)}: try again later.` : silence(),
      {
        kind: "stall",
      },
    );
    o.end(stalled.message);
    giveUp?.(stalled);
  };
  const silence = (): string =>
    any ? `The model stopped sending for ${secondsOf(limits.idleMs)}.` : `The model sent nothing for ${secondsOf(limits.firstMs)}.`;
  const watch = (ms: number): void => {
    cancel = timers.alarm(ms, check);
  };
  const onAbort = (): void => giveUp?.(undefined);
  signal.addEventListener("abort", onAbort, { once: true });
  watch(due() - seen);
  let finished = false;
  try {
    while (!signal.aborted) {
      // its own promise for each item: a race with one that lasts would keep them all
      waiting = true;
      const next = await new Promise<IteratorResult<T>>((resolve, reject) => {
        giveUp = reject;
        if (stalled) return reject(stalled);
        iterator.next().then(resolve, reject);
      });
      waiting = false;
      finished = next.done === true;
      if (next.done) return;
      seen = now();
      if (!o.empty(next.value)) said = seen;
      if (!any) {
        any = true;
        cancel();
        watch(due() - seen);
      }
      yield next.value;
      seen = now(); // the time that the reader took is not the other side's
    }
  } catch (error) {
    finished = error !== stalled;
    if (!signal.aborted) throw error;
  } finally {
    over = true;
    cancel();
    signal.removeEventListener("abort", onAbort);
    if (!finished) {
      o.end("nobody reads it any more");
      void close(iterator);
    }
  }
}

const secondsOf = (ms: number): string => (ms < 120_000 ? `${Math.round(ms / 1000)} s` : `${Math.round(ms / 60_000)} min`);

/** It may hang for ever, so nobody waits for it; and what it throws interests nobody any more. */
async function close(iterator: AsyncIterator<unknown>): Promise<void> {
  try {
    await iterator.return?.();
  } catch {
    // the stream was given up
  }
}
