/** What stands in the way of undoing a turn, and the undoing: nothing that someone else has changed since is touched. */
import { posix } from "node:path";
import type { FileSystem } from "@heddle/kernel";
import { textOfError } from "../plugins/problem.ts";
import { fileOf, stateOf } from "./snapshot.ts";
import type { Store } from "./store.ts";
import { equal } from "./turn.ts";
import type { Checkpoint, Disk, FileChange, Planned, Standing, State } from "./types.ts";

export class Undo {
  constructor(
    private readonly disk: Disk,
    private readonly fs: Pick<FileSystem, "realpath">,
    private readonly store: Store,
  ) {}

  async plan(turn: string): Promise<readonly Planned[]> {
    const all = await this.store.list();
    return Promise.all(changesOf(all, turn).map(async (change) => ({ ...change, is: await this.#standing(change, laterThan(all, turn)) })));
  }
  async undo(turn: string): Promise<readonly Planned[]> {
    const all = await this.store.list();
    const done: Planned[] = [];
    for (const change of changesOf(all, turn)) {
      const later = laterThan(all, turn);
      const is = await this.#standing(change, later);
      const failed = is === "undo" ? await this.#apply(change).catch(textOfError) : undefined;
      done.push({ ...change, is: await this.#standing(change, later), ...(failed === undefined ? {} : { failed }) });
    }
    return done;
  }

  async #standing({ path, before, after, mixed }: FileChange, later: readonly FileChange[]): Promise<Standing> {
    if ((await this.fs.realpath(posix.dirname(path))) !== posix.dirname(path)) return "outside";
    const now = await this.#now(path);
    if (equal(now, before)) return "undone";
    if (!equal(now, after)) return later.some((c) => c.path === path && equal(c.after, now)) ? "later" : "touched";
    if (mixed) return "touched";
    return before === null || (before.hash !== null && (await this.store.content(before.hash))) ? "undo" : "unknown";
  }
  async #now(path: string): Promise<State> {
    const look = fileOf((await this.disk.look([path]))[0]);
    if (!look) return null;
    const [bytes] = await this.disk.read([path]);
    return stateOf({ look, bytes });
  }
  async #apply({ path, before }: FileChange): Promise<void> {
    if (before === null) return this.disk.remove(path);
    const bytes = await this.store.content(before.hash!);
    if (bytes) await this.disk.put(path, before.kind, bytes, before.mode);
  }
}

const changesOf = (all: readonly Checkpoint[], turn: string): readonly FileChange[] =>
  all.filter((c) => c.turn === turn).flatMap((c) => c.changes);
const laterThan = (all: readonly Checkpoint[], turn: string): readonly FileChange[] =>
  all.slice(all.findLastIndex((c) => c.turn === turn) + 1).flatMap((c) => c.changes);
