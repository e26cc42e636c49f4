/** Waits and alarms of a host that has none of its own. */
import type { Timers } from "../types.ts";

const { setTimeout: start, clearTimeout: end } = globalThis; // a test may put fake timers in its place
/** Milliseconds; a timer of more fires at once. */
const MAX = 2 ** 31 - 1;

/** `random`: from 0 up to 1; without it waits have no jitter. */
export function timersOf(random: () => number = () => 0.5): Timers {
  const alarm = (ms: number, fn: () => void): (() => void) => {
    const timer = start(fn, Math.min(ms, MAX));
    return () => end(timer);
  };
  return {
    random,
    alarm,
    sleep: (ms, signal) =>
      new Promise((resolve) => {
        if (signal.aborted) return resolve();
        const done = (): void => {
          cancel();
          signal.removeEventListener("abort", done);
          resolve();
        };
        const cancel = alarm(ms, done);
        signal.addEventListener("abort", done, { once: true });
      }),
  };
}
