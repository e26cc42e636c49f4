/** What one turn does to files: what tools write is taken exactly, what commands do is found by a look before the first and after the last. */
import { type Moved, type Snapshot, stateOf } from "./snapshot.ts";
import type { FileChange, State } from "./types.ts";

/** `early`: before the first command of the turn. `since`: a command has run after it. `mixed`: as in {@link FileChange}. */
type Written = { readonly before: State; readonly early: boolean; readonly by: Set<string>; after: State; since: boolean; mixed: boolean };

/** `bytes`: what stood there before, where it is not kept yet. */
type Change = FileChange & { readonly bytes: Uint8Array | undefined };

export type Keep = (bytes: Uint8Array) => Promise<void>;

export class TurnFiles {
  readonly #written = new Map<string, Written>();
  readonly #commands = new Set<string>();
  #running = 0;
  #looked: ReturnType<Snapshot["look"]> | undefined;
  /** A call that may change files has been made. */
  began = false;
  /** Why what commands have changed is not known. */
  partly: string | undefined;

  constructor(
    readonly turn: string,
    private readonly snapshot: Snapshot,
  ) {}

  /** To be awaited before anything runs that does not say what it writes; `ended` is to be called when that is over. */
  async command(tool: string): Promise<void> {
    this.#commands.add(tool);
    this.#running++;
    for (const it of this.#written.values()) it.since = true;
    this.#looked ??= this.snapshot.look(); // what it finds is of someone else
    this.partly = "they could not be looked at"; // or what someone else has done before would seem to be of this turn
    const looked = await this.#looked;
    this.partly = "why" in looked ? looked.why : undefined;
  }
  ended(): void {
    this.#running--;
  }
  wrote(path: string, tool: string, before: State, after: State): void {
    const known = this.#written.get(path);
    const early = this.#commands.size === 0;
    const since = this.#running > 0;
    const none = !known || (early && equal(known.before, known.after)); // so far the turn has done nothing to it
    if (none) this.#written.set(path, { before, after, early, since, mixed: false, by: new Set([tool]) });
    else {
      const mixed = known.mixed || (!known.since && !equal(known.after, before));
      known.by.add(tool);
      Object.assign(known, { after, since, mixed });
    }
  }
  async end(keep: Keep): Promise<readonly FileChange[]> {
    const looked = this.#commands.size > 0 && this.partly === undefined ? await this.snapshot.look() : [];
    if ("why" in looked) this.partly = looked.why;
    const moved = new Map(("why" in looked ? [] : looked).map((it) => [it.path, it]));
    const written = [...this.#written].map(([path, it]) => this.#writtenChange(path, it, moved.get(path)));
    const others = [...moved.values()].filter(({ path }) => !this.#written.has(path)).map((it) => this.#commandChange(it));
    const changes = [...written, ...others].filter((c) => !equal(c.before, c.after));
    for (const { bytes } of changes) if (bytes) await keep(bytes);
    return changes.map(({ bytes: _, ...change }) => change).sort((a, b) => (a.path < b.path ? -1 : 1));
  }
  #commandChange({ path, before, after }: Moved): Change {
    return { path, before: stateOf(before), after: stateOf(after), by: [...this.#commands], bytes: before?.bytes };
  }
  /** Between a tool and the commands around it, whatever happened to the file is of this turn; beyond them it is of someone else. */
  #writtenChange(path: string, it: Written, moved: Moved | undefined): Change {
    const start = moved && !it.early && (!moved.before || moved.before.bytes) ? moved : undefined;
    const before = start ? stateOf(start.before) : it.before;
    const after = moved && it.since ? stateOf(moved.after) : it.after;
    const helped = !equal(before, it.before) || !equal(after, it.after);
    const by = [...it.by, ...(helped ? this.#commands : [])];
    return { path, before, after, by, ...(it.mixed ? { mixed: true } : {}), bytes: start?.before?.bytes };
  }
}

export const equal = (a: State, b: State): boolean =>
  a === null || b === null ? a === b : a.kind === b.kind && a.mode === b.mode && a.hash === b.hash && a.hash !== null;
