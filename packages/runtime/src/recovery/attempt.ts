/** One try at a reply: passes its chunks on and keeps account of what of it would stand if it broke now. */
import type { ModelChunk, Usage } from "@heddle/kernel";
import { prompts } from "../prompts.generated.ts";

export type StopChunk = Extract<ModelChunk, { type: "stop" }>;
type CallChunk = Extract<ModelChunk, { type: "call" }>;

export class Attempt {
  /** Parts are numbered through over all tries of a reply: what was void may have had the same number. */
  readonly #base: number;
  readonly #ended = new Set<number>();
  readonly #said = new Set<number>();
  /** Calls that cannot be read wait for the stop, which says whether the output limit is why. */
  readonly #held: CallChunk[] = [];
  #calls = 0;
  #next: number;
  #shown = false;
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
    return this.#calls > 0 || [...this.#said].some((part) => this.#ended.has(part));
  }
  get hasCalls(): boolean {
    return this.#calls + this.#held.length > 0;
  }
  /** Whether there is text or a call in it, complete or not. */
  get hasOutput(): boolean {
    return this.hasCalls || this.#said.size > 0;
  }
  /** The first number for the parts of the next try. */
  get next(): number {
    return this.#next;
  }

  /** What is to be passed on for it now. What is no chunk is passed on too: the kernel says what is wrong with it. */
  take(chunk: ModelChunk): ModelChunk | undefined {
    switch (chunk?.type) {
      case "stop":
        this.stop = chunk;
        this.usage = chunk.usage ?? this.usage;
        return undefined;
      case "usage":
        this.usage = chunk.usage;
        return chunk;
      case "void":
        this.#forget();
        return chunk;
      case "text":
      case "reasoning":
      case "call.delta":
      case "call":
      case "part.end":
        return this.#part(chunk);
      default:
        return chunk;
    }
  }
  #part(given: Extract<ModelChunk, { type: "text" | "reasoning" | "call.delta" | "call" | "part.end" }>): ModelChunk | undefined {
    const chunk = { ...given, part: given.part + this.#base };
    this.#next = Math.max(this.#next, chunk.part + 1);
    if (chunk.type === "part.end") this.#ended.add(chunk.part);
    else this.#shown = true;
    if (chunk.type === "text" && typeof chunk.text === "string" && chunk.text.trim() !== "") this.#said.add(chunk.part);
    if (chunk.type !== "call") return chunk;
    if (chunk.malformed !== undefined) return void this.#held.push(chunk);
    this.#calls++;
    return chunk;
  }
  #forget(): void {
    this.#ended.clear();
    this.#said.clear();
    this.#held.length = 0;
    this.#calls = 0;
    this.#shown = false;
  }
  /** The calls that cannot be read, once the reply is whole. */
  held(): readonly ModelChunk[] {
    if (this.stop?.stop !== "length") return this.#held;
    return this.#held.map((c) => ({ ...c, malformed: `${c.malformed} (${prompts["write-less"]})` }));
  }
}
