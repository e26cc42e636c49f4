/** The processes of one session: whoever has started them, none outlives it. */
import type { Processes, ProcessOptions, ProcessResult } from "@heddle/kernel";

/** What a port takes to end a process group, and some more. */
const PATIENCE_MS = 5_000;
const { setTimeout: later } = globalThis; // a test may put fake timers in its place

export class SessionProcesses implements Processes {
  readonly #port: Processes;
  readonly #running = new Map<Promise<ProcessResult>, () => void>();
  #over = false;

  constructor(port: Processes) {
    this.#port = port;
  }
  async sandboxProblem(): Promise<string | undefined> {
    return this.#port.sandboxProblem ? this.#port.sandboxProblem() : "this host has none";
  }
  async run(o: ProcessOptions): Promise<ProcessResult> {
    const stop = new AbortController();
    const abort = (): void => stop.abort();
    if (this.#over || o.signal?.aborted) abort();
    o.signal?.addEventListener("abort", abort, { once: true });
    const running = this.#port.run({ ...o, signal: stop.signal });
    this.#running.set(running, abort);
    try {
      return await running;
    } finally {
      o.signal?.removeEventListener("abort", abort);
      this.#running.delete(running);
    }
  }
  /** Comes back when none is left, or after some seconds when the port cannot end one; what is asked for later does not start. */
  async end(): Promise<void> {
    this.#over = true;
    const left = [...this.#running];
    for (const [, abort] of left) abort();
    let timer: ReturnType<typeof later> | undefined;
    const late = new Promise<void>((resolve) => {
      timer = later(resolve, PATIENCE_MS);
    });
    await Promise.race([Promise.allSettled(left.map(([running]) => running)), late]);
    clearTimeout(timer);
  }
}
