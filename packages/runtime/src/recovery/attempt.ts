/** One try at a reply: passes its chunks on and keeps account of what of it would stand if it broke now. */
import type { Json, ModelChunk, Usage } from "@heddle/kernel";
import { prompts } from "../prompts.generated.ts";

export type StopChunk = Extract<ModelChunk, { type: "stop" }>;
export type CallChunk = Extract<ModelChunk, { type: "call" }>;

export class Attempt {
  /** Parts are numbered through over all tries of a reply: what was void may have had the same number. */
  readonly #base: number;
  readonly #ended = new Set<number>();
  readonly #said = new Set<number>();
  /**
   * A call waits until something comes behind it, since the end of the reply may say that it was cut off. One that cannot be read
   * waits for the end, which says why, and so do those behind it.
   */
  readonly #waiting: CallChunk[] = [];
  #passed = 0;
  #next: number;
  #shown = false;
  #told = false;
  usage: Usage | undefined;
  stop: StopChunk | undefined;

  constructor(base: number) {
    this.#base = base;
    this.#next = base;
  }
  /** Whether a person has seen anything of it. */
  get shown(): boolean {
    return this.#shown;
  }
  /** Whether it holds complete text or a complete call. */
  get stands(): boolean {
    return this.#passed + this.complete().length > 0 || [...this.#said].some((part) => this.#ended.has(part));
  }
  /** Whether a call was passed on, which is taken up at once: what goes wrong from now on ends the reply and not the turn. */
  get begun(): boolean {
    return this.#passed > 0;
  }
  get hasCalls(): boolean {
    return this.#passed + this.#waiting.length > 0;
  }
  /** Whether there is text or a call in it, complete or not. */
  get hasOutput(): boolean {
    return this.hasCalls || this.#said.size > 0;
  }
  /** What it has cost and no stop chunk has told of. */
  get untold(): Usage | undefined {
    return this.#told ? undefined : this.usage;
  }
  /** The first number for the parts of the next try. */
  get next(): number {
    return this.#next;
  }

  /** What is to be passed on now. What is no chunk is passed on too: the kernel says what is wrong with it. */
  take(chunk: ModelChunk): readonly ModelChunk[] {
    switch (chunk?.type) {
      case "stop":
        this.stop = chunk;
        this.usage = chunk.usage ?? this.usage;
        return [];
      case "usage":
        this.usage = chunk.usage;
        return [chunk];
      case "void":
        this.#forget();
        return [chunk];
      case "text":
      case "reasoning":
      case "call.delta":
      case "call":
      case "part.end":
        return this.#part(chunk);
      default:
        return [chunk];
    }
  }
  #part(given: Extract<ModelChunk, { type: "text" | "reasoning" | "call.delta" | "call" | "part.end" }>): readonly ModelChunk[] {
    const chunk = { ...given, part: given.part + this.#base };
    const before = chunk.part >= this.#next && this.#waiting.every((c) => c.malformed === undefined) ? this.#waiting.splice(0) : [];
    this.#passed += before.length;
    this.#next = Math.max(this.#next, chunk.part + 1);
    if (chunk.type === "part.end") this.#ended.add(chunk.part);
    else this.#shown = true;
    if (chunk.type === "text" && typeof chunk.text === "string" && chunk.text.trim() !== "") this.#said.add(chunk.part);
    if (chunk.type !== "call") return [...before, chunk];
    this.#waiting.push(chunk);
    return before;
  }
  /** The stop chunk that is passed on: what the reply has cost goes with it. */
  ends(stop: StopChunk): StopChunk {
    this.#told = true;
    return { ...stop, ...(this.usage ? { usage: this.usage } : {}) };
  }
  #forget(): void {
    this.#ended.clear();
    this.#said.clear();
    this.#waiting.length = 0;
    this.#passed = 0;
    this.#shown = false;
  }
  /** Of those that wait, the calls of a reply that broke. One without arguments may have lost them, unless something came behind it. */
  complete(): readonly CallChunk[] {
    return this.#waiting.filter((c) => c.malformed === undefined && !(this.#isLast(c) && isEmpty(c.input)));
  }
  /** Whether no call of the reply can be read. */
  get isUnreadable(): boolean {
    return this.#passed === 0 && this.#waiting.length > 0 && this.calls().every((c) => c.malformed !== undefined);
  }
  /** Those that wait, of a reply that came to its stop. The one that a limit fell into is not run, even if what there is of it can be read. */
  calls(): readonly CallChunk[] {
    const stop = this.stop?.stop;
    return this.#waiting.map((c) => {
      const isCut = (stop === "length" || stop === "overflow") && this.#isLast(c);
      const malformed = c.malformed ?? (isCut ? "the reply was cut off within them" : undefined);
      if (malformed === undefined) return c;
      return { ...c, malformed: stop === "length" ? `${malformed} (${prompts["write-less"]})` : malformed };
    });
  }
  #isLast({ part }: CallChunk): boolean {
    return part === this.#next - 1;
  }
}

const isEmpty = (input: Json): boolean => typeof input === "object" && input !== null && Object.keys(input).length === 0;
