/** The part of what Grep has found that goes into the answer. */
import { plural } from "../answer.ts";
import type { Searched } from "../ripgrep.ts";
import { DEFAULT_LIMIT, type Input, type Mode } from "./input.ts";

/** Characters of one answer. */
const MAX_CHARS = 30_000;

export class Page {
  readonly #mode: Mode;
  readonly #show: (path: string) => string;
  readonly #skip: number;
  readonly #limit: number;
  /** Context lines are told by the mark after their number. */
  readonly #marked: boolean;
  readonly #entries: string[] = [];
  /** Of all entries, where it is known. */
  total: number | undefined;
  #size = 0;
  #seen = 0;
  #sum = 0;
  #full = false;

  constructor(mode: Mode, i: Input, show: (path: string) => string) {
    this.#mode = mode;
    this.#show = show;
    this.#marked = mode === "content" && i["-n"] !== false;
    this.#skip = Math.trunc(i.offset ?? 0);
    this.#limit = Math.trunc(i.head_limit ?? DEFAULT_LIMIT) || Number.POSITIVE_INFINITY;
  }
  /** False once nothing more is needed. Counts go on to the end, for their sum. */
  readonly take = (record: string): boolean => {
    this.#seen++;
    if (this.#mode === "count") this.#sum += Number(record.slice(record.indexOf("\0") + 1)) || 0;
    if (this.#seen <= this.#skip) return true;
    const entry = this.#full ? "" : this.#entry(record);
    if (this.#full || this.#entries.length >= this.#limit || this.#size + entry.length > MAX_CHARS) {
      this.#full = true;
      return this.#mode === "count";
    }
    this.#entries.push(entry);
    this.#size += entry.length + 1;
    return true;
  };
  #entry(record: string): string {
    const zero = record.indexOf("\0");
    if (this.#mode === "files_with_matches") return this.#show(record);
    if (zero < 0) return record.replace(/^\.\//, "").replace(/\r$/, "");
    const path = this.#show(record.slice(0, zero));
    const rest = record.slice(zero + 1).replace(/\r$/, "");
    return `${path}${this.#marked && /^\d+-/.test(rest) ? "-" : ":"}${rest.replaceAll("\0", "\uFFFD")}`;
  }
  text(searched: Searched, where: string): string {
    if (!searched.found) return `No matches in ${where}.`;
    if (this.#entries.length === 0) return `Nothing beyond offset ${this.#skip}: there are only ${this.#seen}.`;
    const next = this.#skip + this.#entries.length;
    const notes = [
      ...(this.#mode === "count" ? [`[${plural(this.#sum, "matching line")} in ${plural(this.#seen, "file")}]`] : []),
      ...(this.#full
        ? [`[There is more${this.total === undefined ? "" : ` (${this.total} in all)`}: go on with offset ${next}, or narrow the search.]`]
        : []),
    ];
    return [...this.#entries, ...notes].join("\n");
  }
}
