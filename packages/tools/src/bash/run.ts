/** One command from its start to its end: what it has written since somebody last looked, how it ended, and how to end it. */
import type { ProcessOptions, ProcessResult } from "@heddle/kernel/plugin";
import { Cleaner } from "./clean.ts";
import { endingOf } from "./ending.ts";
import { HeadTail } from "./output.ts";
import { type Report, reportOf } from "./script.ts";

/** Gets all plain text as it comes; `end` is awaited before anyone hears of the end. Neither may throw. */
export type Watcher = { push(text: string): void; end(): Promise<void> };
type OnOutput = NonNullable<ProcessOptions["onOutput"]>;
/** Rejects when the command cannot be started. */
export type Start = (onOutput: OnOutput, signal: AbortSignal) => Promise<ProcessResult>;
/** `marker` is what the script signs its report with, `limit` the characters kept between two looks. */
export type RunOptions = { readonly command: string; readonly marker: string; readonly limit: number; readonly spool: string | undefined };

export class ShellRun {
  readonly command: string;
  readonly spool: string | undefined;
  readonly watchers = new Set<Watcher>();
  /** Settles when the command has ended and its output is complete; rejects when it could not be started. */
  readonly done: Promise<ProcessResult>;
  readonly #stop = new AbortController();
  readonly #limit: number;
  readonly #cleaner: Cleaner;
  /** For what the script and its sandbox say beside the command. */
  readonly #beside: Cleaner;
  #unseen: HeadTail;
  #looked = false;
  #report: Report | undefined;
  #ended: string | undefined;

  constructor(o: RunOptions, start: Start) {
    this.command = o.command;
    this.spool = o.spool;
    this.#limit = o.limit;
    this.#unseen = new HeadTail(o.limit);
    const report = (sequence: string): void => {
      this.#report = reportOf(sequence, o.marker) ?? this.#report;
    };
    this.#cleaner = new Cleaner(report);
    this.#beside = new Cleaner(report);
    this.done = this.#run(start);
    this.done.catch(() => {}); // whoever waits for it hears of it
  }
  /** In words; undefined while it runs. */
  get ended(): string | undefined {
    return this.#ended;
  }
  /** Where its shell stood at the end, and what it left running. */
  get report(): Report | undefined {
    return this.#report;
  }
  /** Characters that nobody has looked at. */
  get unseen(): number {
    return this.#unseen.size;
  }
  /** What a look would show now, without counting as one. */
  waiting(): string {
    return this.#unseen.text();
  }
  /** The output since the last look, head and tail of it. */
  look(): HeadTail {
    if (this.#ended === undefined) this.#take(this.#cleaner.flush());
    const seen = this.#unseen;
    this.#unseen = new HeadTail(this.#limit, this.#looked ? "the new output" : undefined);
    this.#looked = true;
    return seen;
  }
  /** Comes back when nothing of the command is left. */
  async stop(): Promise<void> {
    this.#stop.abort();
    await this.done.catch(() => {});
  }
  async #run(start: Start): Promise<ProcessResult> {
    let streamed = false;
    const onOutput: OnOutput = (chunk, stream) => {
      streamed = true;
      this.#take((stream === "stderr" ? this.#beside : this.#cleaner).push(chunk));
    };
    try {
      const result = await start(onOutput, this.#stop.signal);
      if (!streamed) this.#take(this.#cleaner.push(result.output));
      this.#take(this.#cleaner.end() + this.#beside.end());
      this.#ended = endingOf(result);
      return result;
    } catch (error) {
      this.#ended = `not started: ${error instanceof Error ? error.message : String(error)}`;
      throw error;
    } finally {
      await Promise.all([...this.watchers].map((watcher) => watcher.end()));
    }
  }
  #take(text: string): void {
    if (text === "") return;
    this.#unseen.push(text);
    for (const watcher of this.watchers) watcher.push(text);
  }
}
