/** Keeps checkpoints in the folder of a session: one line for each turn, and the contents that were there before under their hashes. */
import { posix } from "node:path";
import type { Storage } from "@heddle/sessions";
import * as z from "zod";
import { hashOf } from "./snapshot.ts";
import type { Checkpoint, Disk } from "./types.ts";

const State = z.union([z.null(), z.object({ kind: z.enum(["file", "link"]), mode: z.int(), hash: z.string().nullable() })]);
const Line = z.object({
  turn: z.string(),
  at: z.number(),
  changes: z.array(z.object({ path: z.string(), before: State, after: State, by: z.array(z.string()), mixed: z.literal(true).optional() })),
  partly: z.string().optional(),
});

export class Store {
  #known: Promise<Checkpoint[]> | undefined;
  readonly #kept = new Set<string>();

  /** `folder` is that of the session. */
  constructor(
    private readonly storage: Storage,
    private readonly disk: Disk,
    private readonly folder: string,
  ) {}

  list(): Promise<readonly Checkpoint[]> {
    return this.#list();
  }
  async add(checkpoint: Checkpoint): Promise<void> {
    const known = await this.#list();
    const file = this.storage.openAppend(this.#path("turns.jsonl")); // makes the folder, for its owner alone
    try {
      file.append(`${JSON.stringify(checkpoint)}\n`);
    } finally {
      file.close();
    }
    known.push(checkpoint);
  }
  async keep(bytes: Uint8Array): Promise<void> {
    const hash = hashOf(bytes);
    if (this.#kept.has(hash)) return;
    if (this.#kept.size === 0) this.storage.openAppend(this.#path("turns.jsonl")).close();
    await this.disk.put(this.#path(hash), "file", bytes, 0o600);
    this.#kept.add(hash);
  }
  /** Undefined when it is gone, or no longer what it was. */
  async content(hash: string): Promise<Uint8Array | undefined> {
    const [bytes] = await this.disk.read([this.#path(hash)]);
    return bytes && hashOf(bytes) === hash ? bytes : undefined;
  }

  #path(name: string): string {
    return posix.join(this.folder, "checkpoints", name);
  }
  #list(): Promise<Checkpoint[]> {
    this.#known ??= this.storage.read(this.#path("turns.jsonl")).then((bytes) =>
      new TextDecoder()
        .decode(bytes)
        .split("\n")
        .flatMap((line) => read(line) ?? []),
    );
    return this.#known;
  }
}

/** A line that was cut off when the process died is none. */
function read(line: string): Checkpoint | undefined {
  try {
    return Line.parse(JSON.parse(line)) as Checkpoint;
  } catch {
    return undefined;
  }
}
