/** A file for the whole of a long output, written while it comes. What waits to be written is bounded: whoever sends must hold back. */
import { createWriteStream, mkdirSync, rmSync, type WriteStream } from "node:fs";
import path from "node:path";

const MAX_FILE = 1024 ** 3;
/** Bytes that may wait for the disk. */
const QUEUE = 1024 * 1024;

export class Spool {
  readonly #path: string;
  readonly #after: number;
  readonly #max: number;
  #early: Buffer[] = [];
  #size = 0;
  #file: WriteStream | undefined;
  #over = false;
  #closed: Promise<void> | undefined;
  #onFree: (() => void)[] = [];

  /** There is no file before there are more than `after` bytes, and none at all when the disk refuses. Of `max` bytes the rest is dropped. */
  constructor(path: string, after: number, max: number = MAX_FILE) {
    this.#path = path;
    this.#after = after;
    this.#max = max;
  }
  /** True: send no more before `free` has called. */
  get full(): boolean {
    return this.#file !== undefined && !this.#over && this.#file.writableNeedDrain;
  }
  /** Calls once, when there is room: at once, if there is. */
  free(fn: () => void): void {
    if (this.full) this.#onFree.push(fn);
    else fn();
  }
  push(bytes: Buffer): void {
    if (this.#over) return;
    const room = this.#max - this.#size;
    this.#size += bytes.length;
    const part = bytes.length > room ? bytes.subarray(0, room) : bytes;
    if (!this.#file && this.#size <= this.#after) this.#early.push(part);
    else this.#open()?.write(part);
    if (part === bytes || !this.#file) return;
    this.#file.write("\n[The output goes on; no more of it is kept.]\n");
    void this.end();
  }
  /** Resolves when all is on the disk. */
  async end(): Promise<void> {
    this.#over = true;
    this.#early = [];
    const file = this.#file;
    if (!file) return;
    this.#closed ??= new Promise((resolve) => {
      if (file.closed) resolve();
      else file.once("close", resolve);
      file.end();
    });
    this.#freed();
    await this.#closed;
  }
  #open(): WriteStream | undefined {
    if (this.#file) return this.#file;
    try {
      mkdirSync(path.dirname(this.#path), { recursive: true, mode: 0o700 });
    } catch {
      this.#over = true;
      return undefined;
    }
    this.#file = createWriteStream(this.#path, { mode: 0o600, highWaterMark: QUEUE });
    this.#file.on("drain", () => this.#freed());
    this.#file.once("error", () => {
      this.#over = true;
      rmSync(this.#path, { force: true }); // half an output would be taken for the whole
      this.#freed();
    });
    for (const bytes of this.#early) this.#file.write(bytes);
    this.#early = [];
    return this.#file;
  }
  #freed(): void {
    for (const fn of this.#onFree.splice(0)) fn();
  }
}
