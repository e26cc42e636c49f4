/** Reads one word of a command exactly, or not at all: whatever bash and a parser could see differently is no word here. */

/** What the shell puts in place of `~`, `$HOME` and `$PWD`; undefined where that is not known. */
export type Known = { readonly home: string | undefined; readonly folder: string | undefined };
/** `text` is as it was written, without quotes; `value` is what the program receives. */
export type Word = {
  readonly text: string;
  readonly value: string;
  /** The shell makes names of files of it; then `value` is the pattern. */
  readonly glob: boolean;
  /** Only the shell knows what it is: from a variable, or from what commands print. `one`: that stays a single word. */
  readonly unknown?: { readonly from: "variable" | "output"; readonly one: boolean };
};
export type Reading = { readonly word: Word; readonly scripts: readonly Script[] };
/** A script inside a word; `at` is where it stands in the text of the word. */
type Script = { readonly text: string; readonly at: number };

/** `$(...)` with nothing in it that could make its end a matter of opinion. */
const SIMPLE_OUTPUT = /^\$\(([^()'"`\\$#\n<{}]+)\)/;
const KNOWN_VARIABLE = /^\$(?:(HOME|PWD)(?![\w[])|\{(HOME|PWD)\})/;
const VARIABLE = /^\$(?:[A-Za-z_]\w*(?![\w[])|[0-9@*#?!$-]|\{[A-Za-z_]\w*\})/;
const ASSIGNS = /^[A-Za-z_]\w*\+?=/;
const ANSI: { readonly [c: string]: string } = { n: "\n", t: "\t", "\\": "\\", "'": "'", '"': '"' };

/** Undefined when the text is not read exactly. `assigned`: it is the value of an assignment. */
export function readWord(raw: string, known: Known, assigned = false): Reading | undefined {
  if (raw.startsWith("#")) return undefined;
  const scanner = new Scanner(raw, known, assigned || ASSIGNS.test(raw));
  return scanner.read() ? scanner : undefined;
}

class Scanner implements Reading {
  readonly scripts: Script[] = [];
  #text = "";
  #value = "";
  #glob = false;
  #unknown: Word["unknown"];
  #at = 0;
  readonly #raw: string;
  readonly #known: Known;
  readonly #assigns: boolean;

  constructor(raw: string, known: Known, assigns: boolean) {
    this.#raw = raw;
    this.#known = known;
    this.#assigns = assigns;
  }

  get word(): Word {
    return { text: this.#text, value: this.#value, glob: this.#glob, ...(this.#unknown ? { unknown: this.#unknown } : {}) };
  }

  read(): boolean {
    const raw = this.#raw;
    while (this.#at < raw.length) {
      const c = raw[this.#at]!;
      if (/[\s;&|<>()`]/.test(c)) return false;
      if (c === "'") {
        const end = raw.indexOf("'", this.#at + 1);
        if (end < 0) return false;
        this.#put(raw.slice(this.#at + 1, end), end + 1);
      } else if (c === '"') {
        if (!this.#quoted()) return false;
      } else if (c === "\\") {
        const next = raw[this.#at + 1];
        if (next === undefined || next === "\n") return false;
        this.#put(next, this.#at + 2);
      } else if (c === "$") {
        if (raw[this.#at + 1] === "'" ? !this.#ansi() : !this.#dollar(false)) return false;
      } else if (c === "~") {
        if (!this.#tilde()) return false;
      } else if (c === "{") {
        const literal = /^\{[\w-]*\}/.exec(raw.slice(this.#at));
        if (!literal) return false;
        this.#put(literal[0], this.#at + literal[0].length);
      } else {
        if (c === "*" || c === "?" || (c === "[" && raw.includes("]", this.#at))) this.#glob = true;
        this.#put(c, this.#at + 1);
      }
    }
    return true;
  }

  #put(text: string, next: number, value = text): void {
    this.#text += text;
    this.#value += value;
    this.#at = next;
  }

  #quoted(): boolean {
    const raw = this.#raw;
    for (this.#at++; this.#at < raw.length; ) {
      const c = raw[this.#at]!;
      if (c === '"') {
        this.#at++;
        return true;
      }
      if (c === "`") return false;
      if (c === "$") {
        if (!this.#dollar(true)) return false;
      } else if (c === "\\") {
        const next = raw[this.#at + 1];
        if (next === undefined || next === "\n") return false;
        this.#put('$`"\\'.includes(next) ? next : c + next, this.#at + 2);
      } else this.#put(c, this.#at + 1);
    }
    return false;
  }

  #ansi(): boolean {
    const raw = this.#raw;
    for (this.#at += 2; this.#at < raw.length; ) {
      const c = raw[this.#at]!;
      if (c === "'") {
        this.#at++;
        return true;
      }
      if (c === "\\") {
        const escaped = ANSI[raw[this.#at + 1] ?? ""];
        if (escaped === undefined) return false;
        this.#put(escaped, this.#at + 2);
      } else this.#put(c, this.#at + 1);
    }
    return false;
  }

  #tilde(): boolean {
    if (this.#assigns) return false;
    if (this.#at > 0) this.#put("~", this.#at + 1);
    else {
      const { home } = this.#known;
      if (home === undefined || !/^~(\/|$)/.test(this.#raw)) return false;
      this.#put("~", 1, home);
    }
    return true;
  }

  #dollar(quoted: boolean): boolean {
    const rest = this.#raw.slice(this.#at);
    const known = KNOWN_VARIABLE.exec(rest);
    const value = known && (known[1] ?? known[2]) === "HOME" ? this.#known.home : this.#known.folder;
    // unquoted, a value with blanks or wildcards in it becomes other words
    if (known && value !== undefined && (quoted || /^[\w./-]*$/.test(value))) {
      this.#put(known[0], this.#at + known[0].length, value);
      return true;
    }
    const variable = VARIABLE.exec(rest);
    const output = SIMPLE_OUTPUT.exec(rest);
    const found = variable ?? output;
    if (found) {
      if (output) this.scripts.push({ text: output[1]!, at: this.#at + 2 });
      const number = /^\$[?#]$/.test(found[0]);
      const from = (variable && !number) || this.#unknown?.from === "variable" ? "variable" : "output";
      const one = quoted && !/^\$(@|\*)/.test(rest) && this.#unknown?.one !== false;
      this.#unknown = { from, one };
      this.#put(found[0], this.#at + found[0].length);
      return true;
    }
    if (!/^\$([|)./,:% "]|$)/.test(rest) || (!quoted && rest.startsWith('$"'))) return false;
    this.#put("$", this.#at + 1);
    return true;
  }
}
