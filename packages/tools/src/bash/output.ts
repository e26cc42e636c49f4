/** Keeps the start and the end of an output of any length, and says what it left out. */
import { plural } from "../answer.ts";

export class HeadTail {
  readonly #half: number;
  readonly #noun: string;
  #head = "";
  #tail = "";
  #size = 0;
  #breaks = 0;

  /** `limit` in characters. `noun`: what it is that has been shortened. */
  constructor(limit: number, noun = "the whole output") {
    this.#half = Math.floor(limit / 2);
    this.#noun = noun;
  }
  get size(): number {
    return this.#size;
  }
  /** Whether `text` is without something. */
  get cut(): boolean {
    return this.#size > 2 * this.#half;
  }
  push(text: string): void {
    this.#size += text.length;
    this.#breaks += breaksIn(text);
    const room = this.#half - this.#head.length;
    this.#head += text.slice(0, Math.max(0, room));
    const rest = text.slice(Math.max(0, room));
    this.#tail = rest.length > this.#half ? rest.slice(-this.#half) : this.#tail + rest;
    if (this.#tail.length > 4 * this.#half) this.#tail = this.#tail.slice(-this.#half);
  }
  /** All of it when it fits; else whole lines from both ends, or parts of lines that are too long, never half a code point. `file` has all of it. */
  text(file?: string): string {
    if (!this.cut) return this.#head + this.#tail;
    const head = wholeHead(this.#head.replace(/[\ud800-\udbff]$/, ""));
    const tail = wholeTail(this.#tail.slice(-this.#half).replace(/^[\udc00-\udfff]/, ""));
    const lines = this.#breaks - breaksIn(head) - breaksIn(tail);
    const characters = this.#size - head.length - tail.length;
    const where = file === undefined ? "" : `, in ${file}`;
    const total = `${this.#noun} has ${plural(this.#breaks + 1, "line")}, ${this.#size} characters${where}`;
    const glue = head.endsWith("\n") ? "" : "\n";
    return `${head}${glue}[... ${plural(lines, "line")}, ${characters} characters left out; ${total} ...]\n${tail}`;
  }
}

function breaksIn(text: string): number {
  let n = 0;
  for (let i = text.indexOf("\n"); i >= 0; i = text.indexOf("\n", i + 1)) n++;
  return n;
}

/** To the last line end, unless that would drop more than half. */
function wholeHead(text: string): string {
  const end = text.lastIndexOf("\n") + 1;
  return end > text.length / 2 ? text.slice(0, end) : text;
}

function wholeTail(text: string): string {
  const start = text.indexOf("\n") + 1;
  return start > 0 && start < text.length / 2 ? text.slice(start) : text;
}
