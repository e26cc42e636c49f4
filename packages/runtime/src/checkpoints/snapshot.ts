/** What the files of a workspace hold, as of the last look: finds what has changed since, and what was there before. */
import { Buffer } from "node:buffer";
import { createHash } from "node:crypto";
import type { Disk, Look, State } from "./types.ts";

/** Bytes of one file, and of all, whose content is remembered. */
export const MAX_FILE = 4 * 1024 * 1024;
export const MAX_ALL = 48 * 1024 * 1024;
/** Milliseconds that the first look may take before it leaves content out. */
const MAX_MS = 1_500;
/** Files at a time. */
const BATCH = 500;
/** Milliseconds within which a file may be written again without its times telling of it. */
const TICK = 25;

/** `bytes` is undefined where the content is not known. */
export type Held = { readonly look: Look & { readonly kind: "file" | "link" }; readonly bytes: Uint8Array | undefined };
export type Moved = { readonly path: string; readonly before: Held | undefined; readonly after: Held | undefined };

export type List = () => Promise<ReadonlySet<string> | { readonly why: string }>;

export class Snapshot {
  readonly #held = new Map<string, Held>();
  #size = 0;
  #at: number | undefined;
  #off: { readonly why: string } | undefined;

  constructor(
    private readonly disk: Disk,
    private readonly list: List,
    private readonly now: () => number,
  ) {}

  /** Since the look before; nothing at the first. Or why nobody can tell. */
  async look(): Promise<readonly Moved[] | { readonly why: string }> {
    const since = this.#at;
    const at = this.now();
    const listed = this.#off ?? (await this.list());
    if ("why" in listed) {
      this.#off = listed; // what is too much is so for the session
      return listed;
    }
    const inodes = new Map([...this.#held.values()].map(({ look }) => [look.inode, look]));
    const paths = [...new Set([...listed, ...this.#held.keys()])];
    const moved: Moved[] = [];
    for (let n = 0; n < paths.length; n += BATCH) {
      const some = paths.slice(n, n + BATCH);
      const late = since === undefined && this.now() - at > MAX_MS;
      const found = await this.#compare(some, since, late);
      if (since === undefined) continue;
      for (const it of found) {
        // What was not listed before may have been there all the same, and nobody knows what it held.
        const unlisted = !it.before && it.after && !isNew(it.after, since, inodes);
        moved.push(unlisted ? { ...it, before: { look: it.after!.look, bytes: undefined } } : it);
      }
    }
    this.#at = at;
    return moved;
  }

  async #compare(paths: readonly string[], since: number | undefined, late: boolean): Promise<Moved[]> {
    const looks = await this.disk.look(paths);
    const differs = paths.flatMap((path, n) => {
      const look = fileOf(looks[n]);
      const before = this.#held.get(path);
      if (look && before && same(look, before.look) && look.changed < (since ?? 0) - TICK) return [];
      return look || before ? [{ path, look, before }] : [];
    });
    const wanted = differs.filter(({ look }) => look && !late && look.size <= MAX_FILE).map(({ path }) => path);
    const contents = new Map((await this.disk.read(wanted)).map((bytes, n) => [wanted[n]!, bytes]));
    return differs.flatMap(({ path, look, before }): Moved[] => {
      const after = look && { look, bytes: contents.get(path) };
      this.#hold(path, after);
      return before && after && alike(before, after) ? [] : [{ path, before, after }];
    });
  }
  #hold(path: string, it: Held | undefined): void {
    this.#size -= this.#held.get(path)?.bytes?.length ?? 0;
    if (!it) this.#held.delete(path);
    else {
      const fits = this.#size + (it.bytes?.length ?? 0) <= MAX_ALL;
      this.#held.set(path, fits ? it : { look: it.look, bytes: undefined });
      this.#size += fits ? (it.bytes?.length ?? 0) : 0;
    }
  }
}

export const fileOf = (look: Look | undefined): Held["look"] | undefined =>
  look?.kind === "file" || look?.kind === "link" ? (look as Held["look"]) : undefined;

const same = (a: Look, b: Look): boolean =>
  a.size === b.size && a.mtimeMs === b.mtimeMs && a.changed === b.changed && a.inode === b.inode && a.mode === b.mode;

function alike(a: Held, b: Held): boolean {
  if (a.look.kind !== b.look.kind || a.look.mode !== b.look.mode || a.look.size !== b.look.size) return false;
  if (a.bytes && b.bytes) return Buffer.compare(a.bytes, b.bytes) === 0;
  return a.look.mtimeMs === b.look.mtimeMs && a.look.inode === b.look.inode;
}

/** Made since, or brought from a place where it was watched. */
function isNew({ look }: Held, since: number, inodes: ReadonlyMap<string, Look>): boolean {
  return look.born >= since - TICK || inodes.has(look.inode);
}

export const hashOf = (bytes: Uint8Array): string => createHash("sha256").update(bytes).digest("hex");
export const stateOf = (held: Held | undefined): State =>
  held ? { kind: held.look.kind, mode: held.look.mode, hash: held.bytes ? hashOf(held.bytes) : null } : null;
