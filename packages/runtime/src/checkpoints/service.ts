/** The checkpoints of a session: watches what its tools are about to do, and can undo what a turn has done to files. */
import { posix } from "node:path";
import type { Effect, Entry, Tool } from "@heddle/kernel";
import { textOfError } from "../plugins/problem.ts";
import { around } from "../tools/around.ts";
import { type Host, SessionError } from "../types.ts";
import { listFiles } from "./listing.ts";
import { fileOf, Snapshot, stateOf } from "./snapshot.ts";
import { Store } from "./store.ts";
import { TurnFiles } from "./turn.ts";
import type { Checkpoint, Checkpoints, Disk, Planned, State } from "./types.ts";
import { Undo } from "./undo.ts";

/** Bytes of a file that a tool writes, up to which it can be undone. */
const MAX_WRITTEN = 64 * 1024 * 1024;

export type ServiceOptions = {
  readonly host: Pick<Host, "fs" | "processes" | "storage" | "now">;
  readonly disk: Disk;
  readonly folder: string;
  /** The folders of the workspace. */
  readonly roots: readonly string[];
  /** Called once, when not all can be undone. */
  readonly say: (text: string) => void;
};

export class CheckpointService implements Checkpoints {
  readonly #snapshot: Snapshot;
  readonly #store: Store;
  readonly #undo: Undo;
  #roots: Promise<readonly string[]> | undefined;
  #turn: TurnFiles | undefined;
  #said = false;

  constructor(private readonly o: ServiceOptions) {
    const { host, disk, folder } = o;
    const list = async () => listFiles(host, await this.#workspace());
    this.#snapshot = new Snapshot(disk, list, () => host.now());
    this.#store = new Store(host.storage, disk, folder);
    this.#undo = new Undo(disk, host.fs, this.#store);
  }

  list(): Promise<readonly Checkpoint[]> {
    return this.#store.list();
  }
  plan(turn: string): Promise<readonly Planned[]> {
    return this.#undo.plan(turn);
  }
  async undo(turn: string): Promise<readonly Planned[]> {
    if (this.began) throw new SessionError("nothing can be undone while tools of a turn change files; abort it or wait for its end");
    return this.#undo.undo(turn);
  }

  /** The turn has made a call that may change files. */
  get began(): boolean {
    return this.#turn?.began ?? false;
  }
  begin(turn: string): void {
    this.#turn = new TurnFiles(turn, this.#snapshot);
  }
  async end(): Promise<void> {
    const turn = this.#turn;
    this.#turn = undefined;
    if (!turn) return;
    await this.#trying(async () => {
      const changes = await turn.end((bytes) => this.#store.keep(bytes));
      const { partly } = turn;
      if (partly !== undefined) this.#say(`What commands change cannot be undone, only what tools write themselves: ${partly}.`);
      if (changes.length === 0) return;
      await this.#store.add({ turn: turn.turn, at: this.o.host.now(), changes, ...(partly === undefined ? {} : { partly }) });
    });
  }
  /** The same tool; what it may do to files is looked at before and after. */
  around(entry: Entry<"tools">): Entry<"tools"> {
    const { it, name } = entry;
    const seen = new WeakMap<object, readonly Effect[]>();
    const effects: Tool["effects"] = async (input, ctx) => {
      const said = await it.effects(input, ctx);
      if (typeof input === "object" && input !== null) seen.set(input, said);
      return said;
    };
    const run: Tool["run"] = async (input, ctx) => {
      const said = (typeof input === "object" && input !== null ? seen.get(input) : undefined) ?? (await it.effects(input, ctx));
      const after = await this.#before(name, said);
      try {
        if (ctx.signal.aborted) throw new Error("aborted before it began");
        return await it.run(input, ctx);
      } finally {
        await after();
      }
    };
    return { ...entry, it: around(it, { effects, run }) };
  }

  /** Returns what is to be done when the call is over. */
  async #before(tool: string, effects: readonly Effect[]): Promise<() => Promise<void>> {
    const turn = this.#turn;
    const nothing = async (): Promise<void> => {};
    if (!turn || !effects.some((e) => e.kind === "write" || e.kind === "execute" || e.kind === "other")) return nothing;
    turn.began = true;
    const writes = await this.#trying(() => this.#filesOf(effects));
    if (writes === undefined || writes === "unclear") {
      await this.#trying(() => turn.command(tool));
      return async () => turn.ended();
    }
    const before = new Map<string, State>();
    await this.#trying(async () => {
      for (const path of writes) before.set(path, await this.#state(path, true));
    });
    return async () => {
      await this.#trying(async () => {
        for (const [path, was] of before) turn.wrote(path, tool, was, await this.#state(path, false));
      });
    };
  }
  /** The files that are written, where the effects name them all; what lies outside the workspace is nobody's to undo. */
  async #filesOf(effects: readonly Effect[]): Promise<readonly string[] | "unclear"> {
    if (effects.some((e) => e.kind === "execute" || e.kind === "other")) return "unclear";
    const roots = await this.#workspace();
    const paths = await Promise.all(effects.filter((e) => e.kind === "write").map((e) => this.o.host.fs.realpath(e.target)));
    const inside = paths.filter((path) => roots.some((root) => path.startsWith(root === "/" ? root : `${root}/`)));
    const looks = await this.o.disk.look(inside);
    return looks.some((look) => look && !fileOf(look)) || paths.some((path) => !posix.isAbsolute(path)) ? "unclear" : inside;
  }
  async #state(path: string, keep: boolean): Promise<State> {
    const look = fileOf((await this.o.disk.look([path]))[0]);
    if (!look) return null;
    const [bytes] = look.size <= MAX_WRITTEN ? await this.o.disk.read([path]) : [undefined];
    if (bytes && keep) await this.#store.keep(bytes);
    return stateOf({ look, bytes });
  }
  #workspace(): Promise<readonly string[]> {
    this.#roots ??= Promise.all(this.o.roots.map((root) => this.o.host.fs.realpath(root)));
    return this.#roots;
  }
  /** Whatever fails here costs no more than the checkpoint. */
  async #trying<T>(work: () => Promise<T>): Promise<T | undefined> {
    try {
      return await work();
    } catch (error) {
      this.#say(`What this session does to files can be undone only in part: ${textOfError(error)}`);
      return undefined;
    }
  }
  #say(text: string): void {
    if (!this.#said) this.o.say(text);
    this.#said = true;
  }
}
