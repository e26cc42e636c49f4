/** Makes terminal output plain text while it streams: no escape sequences, no overwritten progress bars, no control characters. */

import { headOf } from "../text.ts";

/** A string sequence (title, clipboard, …) longer than this is no sequence. */
const MAX_SEQUENCE = 8192;
/** A line longer than this is passed on in parts; what has been passed on cannot be overwritten. */
const MAX_LINE = 16_384;
/** Made anew for each cleaner, since they remember a position. All but `control` are tried where a control character stands. */
const patterns = () => ({
  csi: /(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]/y,
  csiOpen: /(?:\x1b\[|\x9b)[0-?]*[ -/]*$/y,
  string: /(?:\x1b[\]PX^_]|[\x9d\x90\x98\x9e\x9f])([^\x07\x1b\x9c\n]*)(?:\x07|\x1b\\|\x9c)/y,
  stringOpen: /(?:\x1b[\]PX^_]|[\x9d\x90\x98\x9e\x9f])[^\x07\x1b\x9c\n]*\x1b?$/y,
  csiBroken: /(?:\x1b\[|\x9b)[0-?]*[ -/]*/y,
  short: /\x1b[ -/]*[0-~]/y,
  shortOpen: /\x1b[ -/]*$/y,
  special: /[\x01-\x08\x0b-\x1f\x7f-\x9f]/,
  control: /[\x01-\x08\x0a-\x1f\x7f-\x9f]/g,
});

export class Cleaner {
  readonly #sequence: (text: string) => void;
  readonly #is = patterns();
  #pending = "";
  #line = "";
  /** A carriage return was seen: the next text overwrites the line. */
  #back = false;

  /** `sequence` gets the text of each string sequence, such as `0;title`. */
  constructor(sequence: (text: string) => void = () => {}) {
    this.#sequence = sequence;
  }

  /** Takes the next piece; gives the lines that are complete now. Sequences may be split over pieces. */
  push(piece: string): string {
    const text = this.#pending + piece.replace(/\0+/g, (zeros) => "\u2400".repeat(zeros.length));
    this.#pending = "";
    if (!this.#is.special.test(text)) return this.#plain(text);
    let out = "";
    let at = 0;
    this.#is.control.lastIndex = 0;
    for (let found = this.#is.control.exec(text); found; found = this.#is.control.exec(text)) {
      out += this.#write(text.slice(at, found.index));
      at = found.index;
      if (text[at] === "\n") {
        out += `${this.#line}\n`;
        this.#line = "";
        this.#back = false;
        at++;
      } else if (text[at] === "\x1b" || text[at]! >= "\x80") {
        const length = this.#escape(text, at);
        if (length === undefined) {
          this.#pending = text.slice(at);
          return out;
        }
        at += length;
      } else {
        this.#control(text[at]!);
        at++;
      }
      this.#is.control.lastIndex = at;
    }
    return out + this.#write(text.slice(at));
  }
  /** The line that has no end yet, as it looks now; what comes later cannot overwrite it. */
  flush(): string {
    const line = this.#line;
    this.#line = "";
    return line;
  }
  /** The last line, when it has no end. */
  end(): string {
    this.#pending = "";
    return this.flush();
  }
  /** Much faster, for text without control characters other than line ends and tabs. */
  #plain(text: string): string {
    const first = text.indexOf("\n");
    if (first < 0) return this.#write(text);
    const end = text.lastIndexOf("\n") + 1;
    const start = this.#write(text.slice(0, first)) + this.flush();
    this.#back = false;
    return start + text.slice(first, end) + this.#write(text.slice(end));
  }
  #write(text: string): string {
    if (text === "") return "";
    this.#line = this.#back ? text : this.#line + text;
    this.#back = false;
    if (this.#line.length <= MAX_LINE) return "";
    const line = this.#line;
    this.#line = "";
    return line;
  }
  #control(char: string): void {
    if (char === "\r") this.#back = true;
    else if (char === "\b" && !this.#back) this.#line = headOf(this.#line, this.#line.length - 1);
  }
  /** Characters of the sequence at `at`; undefined when more must come to know. */
  #escape(text: string, at: number): number | undefined {
    const string = sticky(this.#is.string, text, at);
    if (string) {
      this.#sequence(string[1]!);
      return string[0].length;
    }
    if (
      text.length - at < MAX_SEQUENCE &&
      (sticky(this.#is.stringOpen, text, at) || sticky(this.#is.csiOpen, text, at) || sticky(this.#is.shortOpen, text, at))
    )
      return undefined;
    const found = sticky(this.#is.csi, text, at) ?? sticky(this.#is.csiBroken, text, at) ?? sticky(this.#is.short, text, at);
    return found ? found[0].length : 1;
  }
}

function sticky(pattern: RegExp, text: string, at: number): RegExpExecArray | null {
  pattern.lastIndex = at;
  return pattern.exec(text);
}
