/** The commands that run in the background, by session. They end with their session, with the plugin, and with the process. */
import { type Service, service } from "@heddle/kernel/plugin";
import type { ShellRun } from "./run.ts";

/** At one time in one session. */
const MAX_RUNNING = 32;
/** Ended ones of a session whose output can still be looked at. */
const KEEP_ENDED = 20;
const MAX_NAME = 80;

/** `ended` in words, null while it runs. Times in milliseconds since the epoch. */
export type BackgroundCommand = {
  readonly id: string;
  readonly command: string;
  readonly startedAt: number;
  readonly ended: string | null;
};
export interface Background {
  list(sessionId: string): readonly BackgroundCommand[];
  /** Comes back when nothing of it is left; false when there is no such command. */
  stop(sessionId: string, id: string): Promise<boolean>;
  /** For the end of a session or of a sub-agent. */
  stopAll(sessionId: string): Promise<void>;
}
export const BACKGROUND: Service<Background> = service<Background>("heddle.background");

export type Entry = { readonly id: string; readonly run: ShellRun; readonly startedAt: number; quiet: boolean };
type Session = { readonly entries: Map<string, Entry>; made: number };

export class BackgroundRuns implements Background {
  readonly #sessions = new Map<string, Session>();

  /** Why no more can be taken. */
  refusal(sessionId: string): string | undefined {
    if (this.#running(sessionId).length < MAX_RUNNING) return undefined;
    return `${MAX_RUNNING} commands run in the background already. Stop some with KillShell first.`;
  }
  /** `tell` is called once, when it has ended by itself. */
  add(sessionId: string, run: ShellRun, startedAt: number, tell: (text: string) => void): Entry {
    const session = this.#sessions.get(sessionId) ?? { entries: new Map(), made: 0 };
    this.#sessions.set(sessionId, session);
    const entry: Entry = { id: `bash_${++session.made}`, run, startedAt, quiet: false };
    session.entries.set(entry.id, entry);
    const over = (): void => {
      this.#forget(session);
      if (entry.quiet) return;
      const unseen = run.unseen > 0 ? ` ${run.unseen} characters of its output are unseen (BashOutput).` : "";
      this.tell(sessionId, tell, `[Background command ${entry.id}, ${nameOf(run)}: ${run.ended}.${unseen}]`);
    };
    run.done.then(over, over);
    return entry;
  }
  get(sessionId: string, id: string): Entry | undefined {
    return this.#sessions.get(sessionId)?.entries.get(id);
  }
  /** A session that cannot be told anything is over, and so are its commands. */
  tell(sessionId: string, tell: (text: string) => void, text: string): void {
    try {
      tell(text);
    } catch {
      void this.stopAll(sessionId);
    }
  }
  list(sessionId: string): readonly BackgroundCommand[] {
    return this.#entries(sessionId).map(({ id, run, startedAt }) => ({
      id,
      command: run.command,
      startedAt,
      ended: run.ended ?? null,
    }));
  }
  async stop(sessionId: string, id: string): Promise<boolean> {
    const entry = this.get(sessionId, id);
    if (!entry) return false;
    entry.quiet = true;
    await entry.run.stop();
    return true;
  }
  async stopAll(sessionId: string): Promise<void> {
    const entries = this.#entries(sessionId);
    this.#sessions.delete(sessionId);
    for (const entry of entries) entry.quiet = true;
    await Promise.all(entries.map(({ run }) => run.stop()));
  }
  async dispose(): Promise<void> {
    await Promise.all([...this.#sessions.keys()].map((id) => this.stopAll(id)));
  }
  #entries(sessionId: string): readonly Entry[] {
    return [...(this.#sessions.get(sessionId)?.entries.values() ?? [])];
  }
  #running(sessionId: string): readonly Entry[] {
    return this.#entries(sessionId).filter(({ run }) => run.ended === undefined);
  }
  #forget({ entries }: Session): void {
    const ended = [...entries.values()].filter(({ run }) => run.ended !== undefined);
    for (const { id } of ended.slice(0, -KEEP_ENDED)) entries.delete(id);
  }
}

/** Its first line, shortened. */
function nameOf(run: ShellRun): string {
  const [line = ""] = run.command.trim().split("\n", 1);
  return line.length > MAX_NAME || line !== run.command.trim() ? `${line.slice(0, MAX_NAME).toWellFormed()}…` : line;
}
