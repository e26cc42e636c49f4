/** The wide reading of a shell command: everything in it that may run, for rules that forbid. Finds too much rather than too little. */

/** `unknown`: the shell decides at run time what this word is. */
export type WideWord = { readonly text: string; readonly unknown: boolean };
export type Simple = { readonly words: readonly WideWord[]; readonly opens: readonly WideWord[] };
/** `sure` is false where something may have been missed. */
export type Reading = { readonly simple: readonly Simple[]; readonly sure: boolean };

const LEADING: readonly string[] = "if then else elif do while until time coproc ! { }".split(" ");
const ENDS_WORD = " \t\n;&|()<>";
const ESCAPES: { readonly [c: string]: string } = { n: "\n", t: "\t", r: "\r", a: "\x07", b: "\b", e: "\x1b", E: "\x1b", f: "\f", v: "\v" };
const MAX_NESTING = 60;

export function readWide(script: string): Reading {
  const scanner = new Scanner(script, 0);
  scanner.script("");
  return { simple: scanner.found, sure: scanner.sure && !/\bcase\b/.test(script) };
}

class Scanner {
  readonly found: Simple[] = [];
  sure = true;
  readonly #text: string;
  #nesting: number;
  #at = 0;
  #heredocs: { end: string; dashed: boolean; quoted: boolean }[] = [];

  constructor(text: string, nesting: number) {
    this.#text = text;
    this.#nesting = nesting;
  }

  /** Reads commands up to an unmatched `)` (when `until` is that) or the end. */
  script(until: ")" | ""): void {
    if (++this.#nesting > MAX_NESTING) {
      this.sure = false;
      this.#at = this.#text.length;
    }
    let words: WideWord[] = [];
    let opens: WideWord[] = [];
    let groups = 0;
    const end = (): void => {
      const from = words.findIndex((w) => w.unknown || !LEADING.includes(w.text));
      const left = from < 0 ? [] : words.slice(from);
      if (left.length > 0 || opens.length > 0) this.found.push({ words: left, opens });
      words = [];
      opens = [];
    };
    while (this.#at < this.#text.length) {
      const c = this.#text[this.#at]!;
      const next = this.#text[this.#at + 1];
      if (c === " " || c === "\t") this.#at++;
      else if (c === "\\" && next === "\n") this.#at += 2;
      else if (c === "\n") {
        end();
        this.#at++;
        this.#skipHeredocs();
      } else if (c === "#") {
        this.sure = false; // where a comment starts is what parsers differ on
        const line = this.#text.indexOf("\n", this.#at);
        this.#at = line < 0 ? this.#text.length : line;
      } else if ((c === "<" || c === ">") && next === "(") {
        this.#at += 2;
        this.script(")");
        words.push({ text: "", unknown: true });
      } else if (c === "<" || c === ">" || (c === "&" && next === ">")) {
        if (/^\d+$/.test(words.at(-1)?.text ?? "") && /\d/.test(this.#text[this.#at - 1] ?? "")) words.pop();
        const target = this.#redirect();
        if (target) opens.push(target);
      } else if (c === "(") {
        end();
        groups++;
        this.#at++;
      } else if (c === ")") {
        end();
        this.#at++;
        if (groups === 0 && until === ")") break;
        if (--groups < 0) this.sure = false;
        groups = Math.max(0, groups);
      } else if (c === ";" || c === "&" || c === "|") {
        end();
        this.#at++;
      } else {
        const raw = this.#at;
        const word = this.#word();
        const brace = this.#text.slice(raw, this.#at);
        if (brace === "{" || brace === "}") end();
        else words.push(word);
      }
    }
    end();
    this.#nesting--;
  }

  #redirect(): WideWord | undefined {
    const op = /^(&>>|&>|<<<|<<-|<<|<>|<&|>&|>>|>\||>|<)/.exec(this.#text.slice(this.#at, this.#at + 3))![0];
    this.#at += op.length;
    while (this.#text[this.#at] === " " || this.#text[this.#at] === "\t") this.#at++;
    const raw = this.#at;
    const word = this.#word();
    if (op === "<<" || op === "<<-") {
      const quoted = /['"\\]/.test(this.#text.slice(raw, this.#at));
      this.#heredocs.push({ end: word.text, dashed: op === "<<-", quoted });
      return undefined;
    }
    return op === "<<<" || /^\d+$|^-$/.test(word.text) ? undefined : word;
  }

  #skipHeredocs(): void {
    for (const doc of this.#heredocs) {
      let body = "";
      for (let closed = false; !closed; ) {
        if (this.#at >= this.#text.length) {
          this.sure = false;
          break;
        }
        const stop = this.#text.indexOf("\n", this.#at);
        const line = this.#text.slice(this.#at, stop < 0 ? undefined : stop);
        this.#at = stop < 0 ? this.#text.length : stop + 1;
        closed = (doc.dashed ? line.replace(/^\t+/, "") : line) === doc.end;
        if (!closed) body += `${line}\n`;
      }
      if (!doc.quoted) this.#inner(body, (s) => s.quoted(""));
    }
    this.#heredocs = [];
  }

  /** Reads another text with a scanner of its own and keeps what it finds. */
  #inner(text: string, read: (s: Scanner) => void): void {
    if (this.#nesting >= MAX_NESTING) {
      this.sure = false;
      return;
    }
    const inner = new Scanner(text, this.#nesting + 1);
    read(inner);
    this.found.push(...inner.found);
    this.sure &&= inner.sure;
  }

  #word(): WideWord {
    let text = "";
    let unknown = this.#text[this.#at] === "~";
    const start = this.#at;
    while (this.#at < this.#text.length) {
      const c = this.#text[this.#at]!;
      if (ENDS_WORD.includes(c)) break;
      if (c === "\\") {
        const next = this.#text[this.#at + 1] ?? "";
        this.#at += 2;
        if (next !== "\n") text += next;
      } else if (c === "'") {
        text += this.#until("'");
      } else if (c === '"' || (c === "$" && this.#text[this.#at + 1] === '"')) {
        this.#at += c === "$" ? 2 : 1;
        const piece = this.quoted('"');
        text += piece.text;
        unknown ||= piece.unknown;
      } else if (c === "$" && this.#text[this.#at + 1] === "'") {
        this.#at++;
        text += this.#ansi();
      } else if (c === "$" || c === "`") {
        text += this.#expansion();
        unknown = true;
      } else {
        if ("*?[{".includes(c)) unknown ||= c !== "{" || this.#at > start || !ENDS_WORD.includes(this.#text[this.#at + 1] ?? " ");
        text += c;
        this.#at++;
      }
    }
    return { text, unknown };
  }

  /** Up to the closing `quote`, or to the end for the body of a heredoc. */
  quoted(quote: '"' | ""): WideWord {
    let text = "";
    let unknown = false;
    while (this.#at < this.#text.length) {
      const c = this.#text[this.#at]!;
      if (c === quote) {
        this.#at++;
        return { text, unknown };
      }
      if (c === "\\") {
        const next = this.#text[this.#at + 1] ?? "";
        if (next !== "\n") text += '$`"\\'.includes(next) ? next : c + next;
        this.#at += 2;
      } else if (c === "`" || (c === "$" && /[\w({[@*#?!$-]/.test(this.#text[this.#at + 1] ?? ""))) {
        text += this.#expansion();
        unknown = true;
      } else {
        text += c;
        this.#at++;
      }
    }
    if (quote) this.sure = false;
    return { text, unknown };
  }

  #until(quote: string): string {
    const end = this.#text.indexOf(quote, this.#at + 1);
    if (end < 0) this.sure = false;
    const text = this.#text.slice(this.#at + 1, end < 0 ? undefined : end);
    this.#at = end < 0 ? this.#text.length : end + 1;
    return text;
  }

  /** `$'...'`, the position on the quote. */
  #ansi(): string {
    let text = "";
    for (this.#at++; this.#at < this.#text.length; ) {
      const rest = this.#text.slice(this.#at, this.#at + 12);
      if (rest[0] === "'") {
        this.#at++;
        return text;
      }
      const code = /^\\(?:x\{?([0-9a-fA-F]{1,2})\}?|u([0-9a-fA-F]{1,4})|U([0-9a-fA-F]{1,8})|([0-7]{1,3}))/.exec(rest);
      const hex = code?.[1] ?? code?.[2] ?? code?.[3];
      const point = code && (hex === undefined ? Number.parseInt(code[4]!, 8) : Number.parseInt(hex, 16));
      if (code && point !== null && point !== undefined && point <= 0x10ffff) {
        text += String.fromCodePoint(point);
        this.#at += code[0].length;
      } else if (rest[0] === "\\") {
        text += ESCAPES[rest[1] ?? ""] ?? rest[1] ?? "";
        this.#at += 2;
      } else {
        text += rest[0];
        this.#at++;
      }
    }
    this.sure = false;
    return text;
  }

  /** What stands behind `$` or in backticks is read for the commands in it. Returns the name of a plain variable as `$NAME`. */
  #expansion(): string {
    const text = this.#text;
    if (text[this.#at] === "`") {
      let body = "";
      for (this.#at++; this.#at < text.length && text[this.#at] !== "`"; this.#at++) {
        if (text[this.#at] === "\\") this.#at++;
        body += text[this.#at] ?? "";
      }
      this.#at++;
      this.#inner(body, (s) => s.script(""));
      return "";
    }
    const next = text[++this.#at];
    if (next === "(") {
      this.#at++;
      this.script(")");
      return "";
    }
    if (next === "{") {
      const name = /^\{([A-Za-z_]\w*)\}/.exec(text.slice(this.#at, this.#at + 80));
      if (name) {
        this.#at += name[0].length;
        return `$${name[1]}`;
      }
      return this.#braces();
    }
    const name = /^(?:[A-Za-z_]\w*|[0-9@*#?!$-])/.exec(text.slice(this.#at, this.#at + 80))?.[0] ?? "";
    this.#at += name.length;
    return `$${name}`;
  }

  /** `${...}` with more than a name in it can run what a variable holds. */
  #braces(): string {
    this.sure = false;
    let depth = 0;
    const start = this.#at;
    while (this.#at < this.#text.length) {
      const c = this.#text[this.#at]!;
      if (c === "\\") this.#at++;
      else if (c === "{") depth++;
      else if (c === "}" && --depth === 0) break;
      this.#at++;
    }
    this.#at++;
    this.#inner(this.#text.slice(start + 1, this.#at - 1), (s) => s.quoted(""));
    return "";
  }
}
