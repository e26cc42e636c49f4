/** One session's log, open for its one writer. A write is with the operating system before `append` returns, and never throws. */

import type { ModelCost, RuntimeEvent } from "@heddle/kernel/protocol";
import { SessionLogError } from "./error.ts";
import { findSession, type Place, projectDir, type SessionFile } from "./folder.ts";
import type { Header, LogLine } from "./lines.ts";
import { isEvent, readLog, refusalOf } from "./read.ts";
import { interruptedForks, type Recovered, recover } from "./recover.ts";
import type { AppendFile, Storage } from "./storage.ts";

export type SessionLog = {
  readonly id: string;
  readonly path: string;
  /** Writes the lines together. After the first failure nothing is written any more. */
  append(...lines: readonly LogLine[]): void;
  close(): void;
};
/** `onFailure` is called once, with a sentence for the person. `costOf` prices what a fork did that a killed process left behind. */
export type LogOptions = Place & {
  readonly now: () => number;
  readonly version: string;
  readonly onFailure: (message: string) => void;
  readonly costOf?: (events: readonly RuntimeEvent[]) => readonly ModelCost[];
};
export type OpenedLog = { readonly log: SessionLog; readonly recovered: Recovered; readonly notices: readonly string[] };

/** For whatever else belongs to the session of this log. */
export const folderOf = (path: string): string => path.replace(/\.jsonl$/, "");
/** Where the session of the log at `path` keeps the log of its fork. */
export const forkPath = (path: string, fork: string): string => `${folderOf(path)}/forks/${fork}.jsonl`;

/**
 * A new session, in its project's folder unless there is a `path`. Its file and its lock are made by the first append, so that a
 * session without a turn leaves nothing behind.
 */
export function createLog(o: LogOptions & { readonly id: string; readonly path?: string }): SessionLog {
  const path = o.path ?? `${projectDir(o.stateDir, o.cwd)}/${o.id}.jsonl`;
  return new Writer(o, o.id, path, [headerOf(o, o.id)], false, undefined);
}

/**
 * Takes up a session where its log ends. Reads only; what the log lacks is written with the first append.
 * Throws {@link SessionLogError} when there is none, when another process writes it, or when the file is no session or of a later format.
 */
export async function openLog(o: LogOptions, which: string): Promise<OpenedLog> {
  return openFile(o, await findSession(o, which));
}

/** The same for a log whose place is known. */
export async function openFile(o: LogOptions, file: Pick<SessionFile, "id" | "path">): Promise<OpenedLog> {
  const lock = take(o.storage, file.path, file.id);
  try {
    const bytes = await o.storage.read(file.path);
    if (!bytes) throw new SessionLogError(`session "${file.id}" is gone: ${file.path} was removed; choose another`);
    const contents = readLog(bytes);
    const refusal = refusalOf(contents, file.id);
    if (refusal !== undefined) throw new SessionLogError(refusal);
    if (!contents.lines.some((line) => line.type === "session" || isEvent(line)) && bytes.length > 0)
      throw new SessionLogError(
        `${file.path} is not a session log, or nothing of it can be read; choose another session, or move the file away`,
      );
    const recovered = recover(contents, await forkCosts(o, file.path, contents.lines));
    const moved = contents.header && contents.header.cwd !== o.cwd ? [`this session was made in ${contents.header.cwd}`] : [];
    const first = bytes.length === 0 ? [headerOf(o, file.id)] : recovered.append;
    const log = new Writer(o, file.id, file.path, first, contents.torn, lock.release);
    return { log, recovered, notices: [...lock.notices, ...moved, ...recovered.notices] };
  } catch (error) {
    lock.release();
    if (error instanceof SessionLogError) throw error;
    throw new SessionLogError(`session "${file.id}" cannot be read (${text(error)}); check ${file.path}`);
  }
}

/** What interrupted forks have cost, by their ids, as far as their own logs tell. */
async function forkCosts(o: LogOptions, path: string, lines: readonly LogLine[]): Promise<ReadonlyMap<string, readonly ModelCost[]>> {
  const costs = new Map<string, readonly ModelCost[]>();
  for (const { id: fork, at } of o.costOf ? interruptedForks(lines) : []) {
    const bytes = isForkId(fork) ? await o.storage.read(forkPath(path, fork)).catch(() => undefined) : undefined;
    if (bytes) costs.set(fork, o.costOf!(readLog(bytes).lines.filter((line): line is RuntimeEvent => isEvent(line) && line.at >= at)));
  }
  return costs;
}
/** A fork's id is part of a path, and may come from a model. */
export const isForkId = (id: string): boolean => /^[a-z0-9-]+$/.test(id);

const headerOf = (o: LogOptions, id: string): Header => ({ type: "session", v: 1, id, cwd: o.cwd, at: o.now(), version: o.version });
const text = (error: unknown): string => (error instanceof Error ? error.message : String(error));

function take(storage: Storage, path: string, id: string): { release: () => void; notices: readonly string[] } {
  let lock: ReturnType<Storage["lock"]>;
  try {
    lock = storage.lock(`${path}.lock`);
  } catch (error) {
    return { release: () => {}, notices: [`the session cannot be locked (${text(error)}); do not open it twice`] };
  }
  if ("release" in lock) return { release: lock.release, notices: [] };
  throw new SessionLogError(`session "${id}" is in use by ${lock.holder}; go on there, end that process, or start a new session`);
}

class Writer implements SessionLog {
  readonly id: string;
  readonly path: string;
  readonly #o: LogOptions;
  #release: (() => void) | undefined;
  #first: readonly LogLine[];
  #torn: boolean;
  #file: AppendFile | undefined;
  #over = false;

  constructor(o: LogOptions, id: string, path: string, first: readonly LogLine[], torn: boolean, release: (() => void) | undefined) {
    this.#o = o;
    this.id = id;
    this.path = path;
    this.#first = first;
    this.#torn = torn;
    this.#release = release;
  }
  append(...lines: readonly LogLine[]): void {
    if (this.#over || lines.length === 0) return;
    try {
      this.#release ??= take(this.#o.storage, this.path, this.id).release;
      this.#file ??= this.#o.storage.openAppend(this.path);
      const all = [...this.#first, ...lines].map((line) => `${JSON.stringify(line)}\n`);
      this.#file.append((this.#torn ? "\n" : "") + all.join(""));
      this.#first = [];
      this.#torn = false;
    } catch (error) {
      this.close();
      this.#o.onFailure(
        `The session is no longer saved: ${this.path} cannot be written (${text(error)}). It goes on in memory; make room or check the permissions, then start anew.`,
      );
    }
  }
  close(): void {
    if (this.#over) return;
    this.#over = true;
    try {
      this.#file?.close();
    } catch {
      // what was appended is with the system already
    }
    this.#release?.();
  }
}
