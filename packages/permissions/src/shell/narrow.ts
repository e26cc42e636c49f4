/** The narrow reading of a shell command: its simple commands with exact words, or why there is any doubt about them. */
import { resolve } from "node:path";
import { isPlainGap, type Span, strangeGap } from "./gaps.ts";
import type { Assignment, Command, Grammar, Redirection, Statement, SyntaxNode, WordNode } from "./grammar.ts";
import { isHeredocPlain } from "./heredoc.ts";
import { hasUnseen, MAX_COMMAND } from "./text.ts";
import { readWord, type Word } from "./word.ts";

/** Every folder a command may start in; undefined where only the shell knows it. */
export type Folders = readonly string[] | undefined;
/** `to`: a file. What only copies or closes a descriptor, or reads text of the command itself, is no redirect here. */
export type Redirect = { readonly kind: "read" | "write"; readonly to: Word };
export type Part = {
  /** As it was written, with its assignments and redirections. */
  readonly source: string;
  readonly words: readonly Word[];
  readonly assigns: readonly { readonly name: string; readonly value: Word }[];
  readonly redirects: readonly Redirect[];
  readonly folders: Folders;
};
/** What stands in a command twice, in the same folders, stands in `parts` once. */
export type Narrow = { readonly parts: readonly Part[] } | { readonly doubt: string };
export type Start = { readonly home: string | undefined; readonly folders: Folders };

const MAX_FOLDERS = 32;
const MAX_DEPTH = 40;
/** They may move the shell to where nobody knows. */
const MOVERS: readonly string[] = ["pushd", "popd", "eval", "source", ".", "trap"];
const PREFIXES: readonly string[] = ["builtin", "command"];

/** A doubt is a sentence for the person. */
export function readNarrow(command: string, start: Start, grammar: Grammar): Narrow {
  if (command.length > MAX_COMMAND) return { doubt: `the command is longer than ${MAX_COMMAND} characters` };
  if (hasUnseen(command)) return { doubt: "the command holds characters that cannot be seen" };
  if (command.trim() === "") return { doubt: "there is nothing to run" };
  const parts: Part[] = [];
  try {
    new Walk(command, start.home, grammar, parts, 0).script(start.folders);
    const distinct = new Map(parts.map((p) => [`${p.folders?.join("\0")}\0\0${p.source}`, p]));
    return parts.length > 0 ? { parts: [...distinct.values()] } : { doubt: "there is nothing to run" };
  } catch (error) {
    if (error instanceof Doubt) return { doubt: error.message };
    return { doubt: "the command cannot be read" };
  }
}

class Doubt extends Error {}
const doubt = (why: string): never => {
  throw new Doubt(why);
};

/** Where the shell may be after a command that went well, and after one that failed. */
type Flow = { readonly ok: Folders; readonly failed: Folders };
const stay = (at: Folders): Flow => ({ ok: at, failed: at });
function either(a: Folders, b: Folders): Folders {
  const all = a && b && [...new Set([...a, ...b])];
  return all && all.length <= MAX_FOLDERS ? all : undefined;
}

class Walk {
  readonly #source: string;
  readonly #home: string | undefined;
  readonly #grammar: Grammar;
  readonly #parts: Part[];
  readonly #spans: Span[] = [];
  readonly #level: number;
  #depth = 0;
  #moves = 0;

  constructor(source: string, home: string | undefined, grammar: Grammar, parts: Part[], level: number) {
    this.#source = source;
    this.#home = home;
    this.#grammar = grammar;
    this.#parts = parts;
    this.#level = level;
  }

  script(folders: Folders): void {
    const script = this.#grammar.parse(this.#source);
    if (script.errors?.length || script.shebang !== undefined || script.source !== undefined)
      doubt(`the shell's grammar cannot read it: ${script.errors?.[0]?.message ?? "it is a script"}`);
    this.#list(script.commands, folders);
    this.#spans.sort((a, b) => a[0] - b[0] || a[1] - b[1]);
    const strange = strangeGap(this.#source, this.#spans);
    if (strange !== undefined) doubt(`it is written in a way that shells may read differently, near "${this.#near(strange)}"`);
  }

  #near(at: number): string {
    return this.#source.slice(at, at + 20).split("\n")[0]!;
  }

  #list(statements: readonly Statement[], from: Folders): Folders {
    let at = from;
    for (const { command, background } of statements) {
      const flow = this.#node(command, at);
      if (!background) at = either(flow.ok, flow.failed);
    }
    return at;
  }

  #node(node: SyntaxNode, at: Folders): Flow {
    if (++this.#depth > MAX_DEPTH) doubt("it is nested too deeply");
    const flow = this.#inner(node, at);
    this.#depth--;
    return flow;
  }

  #inner(node: SyntaxNode, at: Folders): Flow {
    switch (node.type) {
      case "Command":
        return this.#command(node, at);
      case "AndOr": {
        let flow = this.#node(node.commands[0]!, at);
        for (const [i, operator] of node.operators.entries()) {
          const next = this.#node(node.commands[i + 1]!, operator === "&&" ? flow.ok : flow.failed);
          flow =
            operator === "&&"
              ? { ok: next.ok, failed: either(flow.failed, next.failed) }
              : { ok: either(flow.ok, next.ok), failed: next.failed };
        }
        return flow;
      }
      case "Pipeline": {
        if (node.commands.length > 1) {
          for (const command of node.commands) this.#node(command, at);
          return stay(at);
        }
        const { ok, failed } = this.#node(node.commands[0]!, at);
        return stay(either(ok, failed));
      }
      case "Subshell":
        this.#list(node.body.commands, at);
        return stay(at);
      case "BraceGroup":
        return stay(this.#list(node.body.commands, at));
      case "If": {
        let left = this.#list(node.clause.commands, at);
        let end = this.#list(node.then.commands, left);
        for (const elif of node.elif) {
          left = this.#list(elif.clause.commands, left);
          end = either(end, this.#list(elif.then.commands, left));
        }
        return stay(either(end, node.else ? this.#list(node.else.commands, left) : left));
      }
      case "While":
        return this.#loop(at, (from) => this.#list(node.body.commands, this.#list(node.clause.commands, from)));
      case "For": {
        this.#plainVariable(node.name);
        for (const word of node.wordlist ?? doubt("a loop without a list")) this.#word(word, at);
        return this.#loop(at, (from) => this.#list(node.body.commands, from));
      }
      case "Redirected": {
        const redirects = node.redirects.flatMap((r) => this.#redirect(r, at));
        const source = this.#source.slice(node.redirects[0]?.pos, node.end);
        if (redirects.length > 0) this.#parts.push({ source, words: [], assigns: [], redirects, folders: at });
        return this.#node(node.command, at);
      }
      default:
        return doubt(`it is more than plain commands (${node.type})`);
    }
  }

  #loop(at: Folders, body: (from: Folders) => Folders): Flow {
    const before = this.#moves;
    const end = body(at);
    if (this.#moves > before) doubt("a loop moves the shell from folder to folder");
    return stay(end);
  }

  /** The shell reads these at run time, so a loop must not set them. */
  #plainVariable(name: WordNode): void {
    this.#spans.push([name.pos, name.end]);
    if (!/^[a-z]\w*$/.test(this.#source.slice(name.pos, name.end))) doubt("a loop sets a variable that may matter to the shell");
  }

  #command(node: Command, at: Folders): Flow {
    const items = [...node.prefix, ...(node.name ? [node.name] : []), ...node.suffix];
    const assigns = node.prefix.flatMap((p) => (p.type === "Assignment" ? [this.#assignment(p, at)] : []));
    const words = [...(node.name ? [node.name] : []), ...node.suffix.filter((s) => s.type === "Word" || s.type === "Assignment")].map((w) =>
      this.#word(w, at),
    );
    const redirects = [...node.prefix, ...node.suffix].flatMap((r) =>
      r.type === "Word" || r.type === "Assignment" ? [] : this.#redirect(r, at),
    );
    let last: { end: number; word: boolean } | undefined;
    for (const item of items) {
      const word = item.type === "Word" || item.type === "Assignment";
      if (last && (!isPlainGap(this.#source, last.end, item.pos) || (word && last.end === item.pos)))
        doubt(`it is written in a way that shells may read differently, near "${this.#near(item.pos)}"`);
      // `a 2>b` and `a2>b` are not the same
      if (last?.end === item.pos && /(^|[\s;&|(])(\d+|\{\w*\})$/.test(this.#source.slice(Math.max(0, item.pos - 40), item.pos)))
        doubt("a redirection that stands too close to a word");
      last = { end: item.type === "HereDoc" ? (item.delimiter?.end ?? item.end) : item.end, word };
    }
    const part: Part = { source: this.#source.slice(node.pos, node.end), words, assigns, redirects, folders: at };
    this.#parts.push(part);
    return this.#moved(part);
  }

  #moved({ words, folders: at }: Part): Flow {
    const [name, ...args] = words;
    if (name === undefined) return stay(at);
    if (MOVERS.includes(name.value) || (PREFIXES.includes(name.value) && args.some((a) => a.value === "cd" || MOVERS.includes(a.value)))) {
      this.#moves++;
      return stay(undefined);
    }
    if (name.value !== "cd") return stay(at);
    this.#moves++;
    const operands = args.filter((a, i) => !(a.value === "--" || (i === 0 && /^-[LP]$/.test(a.value))));
    const target = operands.length === 0 ? this.#home : cdTarget(operands);
    if (target === undefined) return stay(undefined);
    return { ok: target.startsWith("/") ? [resolve(target)] : at?.map((folder) => resolve(folder, target)), failed: at };
  }

  #word(node: WordNode | Assignment, at: Folders): Word {
    this.#spans.push([node.pos, node.end]);
    return this.#read(node.pos, node.end, at, false);
  }

  #read(start: number, end: number, at: Folders, assigned: boolean): Word {
    const folder = at?.length === 1 ? at[0] : undefined;
    const reading = readWord(this.#source.slice(start, end), { home: this.#home, folder }, assigned);
    if (!reading) return doubt(`only the shell can tell what "${this.#near(start).slice(0, end - start)}" becomes`);
    for (const { text } of reading.scripts) {
      if (this.#level > 2) doubt("it is nested too deeply");
      new Walk(text, this.#home, this.#grammar, this.#parts, this.#level + 1).script(at);
    }
    return reading.word;
  }

  #assignment(node: Assignment, at: Folders): { name: string; value: Word } {
    this.#spans.push([node.pos, node.end]);
    const plain = /^([A-Za-z_]\w*)=/.exec(this.#source.slice(node.pos, node.end)) ?? doubt("it sets an array");
    return { name: plain[1]!, value: this.#read(node.pos + plain[0].length, node.end, at, true) };
  }

  #redirect(node: Redirection, at: Folders): Redirect[] {
    const raw = this.#source.slice(node.pos, node.end);
    const head = /^(\d?)(<<<|<<-?|&>>?|>>|>\||>&|<&|[<>])[ \t]*/.exec(raw);
    if (!head || head[2] !== node.operator || String(node.descriptor?.type === "FileDescriptor" ? node.descriptor.value : "") !== head[1])
      return doubt(`a redirection that is not a plain one, near "${this.#near(node.pos)}"`);
    if (node.type === "HereDoc") {
      if (this.#level > 0 || !isHeredocPlain(this.#source, node)) doubt("a heredoc that shells may read differently");
      this.#spans.push([node.pos, node.delimiter!.end], [node.body.pos, node.closing!.end]);
      return [];
    }
    if (!node.target || node.target.pos !== node.pos + head[0].length || node.target.end !== node.end)
      return doubt("a redirection without a target");
    this.#spans.push([node.pos, node.end]);
    const to = this.#read(node.target.pos, node.end, at, false);
    if (node.type === "HereString") return to.unknown ? doubt(`only the shell knows what ${to.text} is`) : [];
    const copies = node.operator === ">&" || node.operator === "<&";
    if (copies && /^(\d|-)$/.test(this.#source.slice(node.target.pos, node.end))) return [];
    if (node.operator === "<&") return doubt("a redirection from a descriptor that only the shell knows");
    return [{ kind: node.operator === "<" ? "read" : "write", to }];
  }
}

/** What `cd` goes to; undefined where only the shell knows. */
function cdTarget(operands: readonly Word[]): string | undefined {
  const [target, ...more] = operands;
  return target && more.length === 0 && !target.glob && !target.unknown && target.value !== "" && !target.value.startsWith("-")
    ? target.value
    : undefined;
}
