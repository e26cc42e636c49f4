/** Keeps the beginning and the end of a stream within a bound, whatever comes in between. */

/** Both halves are cut between characters. */
export class HeadTail {
  readonly #head: Buffer[] = [];
  readonly #tail: Buffer[] = [];
  readonly #half: number;
  #headSize = 0;
  #tailSize = 0;
  dropped = 0;

  /** `max` in bytes, for both halves together. */
  constructor(max: number) {
    this.#half = Math.max(1, Math.floor(max / 2));
  }
  /** `piece` is kept, so it must not change; it holds whole characters. */
  push(piece: Buffer): void {
    let bytes = piece;
    const room = this.#half - this.#headSize;
    if (room > 0) {
      const at = bytes.length <= room ? bytes.length : boundaryBefore(bytes, room);
      this.#head.push(bytes.subarray(0, at));
      this.#headSize = bytes.length <= room ? this.#headSize + at : this.#half;
      bytes = bytes.subarray(at);
    }
    if (bytes.length === 0) return;
    this.#tail.push(bytes);
    this.#tailSize += bytes.length;
    while (this.#tailSize > this.#half) this.#shorten();
  }
  #shorten(): void {
    const first = this.#tail[0]!;
    const over = this.#tailSize - this.#half;
    const cut = over >= first.length ? first.length : boundaryAfter(first, over);
    if (cut >= first.length) this.#tail.shift();
    else this.#tail[0] = first.subarray(cut);
    this.#tailSize -= cut;
    this.dropped += cut;
  }
  text(): string {
    const gap = this.dropped > 0 ? `\n[${this.dropped} bytes left out]\n` : "";
    return Buffer.concat(this.#head).toString() + gap + Buffer.concat(this.#tail).toString();
  }
}

const inside = (bytes: Buffer, at: number): boolean => at < bytes.length && (bytes[at]! & 0xc0) === 0x80;

function boundaryBefore(bytes: Buffer, from: number): number {
  let at = from;
  while (at > 0 && inside(bytes, at)) at--;
  return at;
}
function boundaryAfter(bytes: Buffer, from: number): number {
  let at = from;
  while (inside(bytes, at)) at++;
  return at;
}
