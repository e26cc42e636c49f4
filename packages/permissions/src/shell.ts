/** The narrow reading of a shell command: a list of plain simple commands, or nothing when there is any doubt. */

/** `text` is what the program receives. `glob` and `tilde`: the shell would make something else of it first. */
export type Word = { readonly text: string; readonly glob: boolean; readonly tilde: boolean };
/** `source` is the command as it was written, `then` what joins it to the next. */
export type Part = { readonly source: string; readonly words: readonly Word[]; readonly then: "&&" | "||" | ";" | "|" | "" };

export const MAX_COMMAND = 10_000;

/** What a person would not see on the screen, or what the shell and we might read differently. */
const UNSEEN = /\p{C}|\p{Zl}|\p{Zp}|(?! )\p{Zs}|\u115f|\u1160|\u3164|\uffa0|[\ufe00-\ufe0f]/u;
const META = "&<>$`(){}\n";
const ASSIGNMENT = /^[A-Za-z_][A-Za-z0-9_]*(\[|\+?=)/;
const RESERVED: readonly string[] = "if then else elif fi do done case esac while until for select in function time coproc [[ ]] !".split(
  " ",
);

export const hasUnseen = (command: string): boolean => UNSEEN.test(command.replaceAll("\n", "").replaceAll("\t", ""));

/** Joins words so that two lists of words give one text only when they are the same list. */
export const canonical = (words: readonly string[]): string =>
  words.map((w) => (w === "" || /[\s'"]/.test(w) ? `'${w.replaceAll("'", "'\\''")}'` : w)).join(" ");

/**
 * Undefined for whatever is more than simple commands joined by `&&`, `||`, `;` or `|`: expansions, redirections, groups,
 * assignments, comments, reserved words, line breaks outside quotes, text longer than {@link MAX_COMMAND}.
 */
export function split(command: string): readonly Part[] | undefined {
  if (command.length > MAX_COMMAND || hasUnseen(command)) return undefined;
  const text = command.trim();
  const parts: Part[] = [];
  let words: Word[] = [];
  let word: { text: string; glob: boolean; tilde: boolean } | undefined;
  const endWord = (): void => {
    if (word) words.push(word);
    word = undefined;
  };
  let start = 0;
  const endPart = (then: Part["then"], end: number): boolean => {
    endWord();
    const name = words[0]?.text;
    if (name === undefined || name === "" || RESERVED.includes(name) || ASSIGNMENT.test(name) || words[0]!.glob) return false;
    parts.push({ source: text.slice(start, end).trim(), words, then });
    words = [];
    start = end + then.length;
    return true;
  };
  for (let i = 0; i < text.length; ) {
    const c = text[i]!;
    if (c === " " || c === "\t") {
      endWord();
      i++;
    } else if (c === ";" || c === "|" || (c === "&" && text[i + 1] === "&")) {
      const doubled = text[i + 1] === c;
      if (c === ";" && doubled) return undefined;
      if (!endPart(doubled ? (`${c}${c}` as "&&" | "||") : (c as ";" | "|"), i)) return undefined;
      i += doubled ? 2 : 1;
    } else if (META.includes(c) || (c === "#" && !word)) {
      return undefined;
    } else {
      word ??= { text: "", glob: false, tilde: c === "~" };
      const quoted = c === "'" || c === '"' || c === "\\" ? readQuoted(text, i) : { text: c, end: i + 1 };
      if (!quoted) return undefined;
      if (c === "*" || c === "?" || c === "[") word.glob = true;
      word.text += quoted.text;
      i = quoted.end;
    }
  }
  endWord();
  if (words.length > 0 ? !endPart("", text.length) : parts.at(-1)?.then !== ";") return undefined;
  return parts;
}

/** A quoted piece that starts at `at`; undefined where it is not closed or holds an expansion. */
function readQuoted(text: string, at: number): { text: string; end: number } | undefined {
  const quote = text[at]!;
  if (quote === "\\") {
    const next = text[at + 1];
    return next === undefined || next === "\n" ? undefined : { text: next, end: at + 2 };
  }
  if (quote === "'") {
    const end = text.indexOf("'", at + 1);
    return end < 0 ? undefined : { text: text.slice(at + 1, end), end: end + 1 };
  }
  let out = "";
  for (let i = at + 1; i < text.length; i++) {
    const c = text[i]!;
    if (c === '"') return { text: out, end: i + 1 };
    if (c === "$" || c === "`") return undefined;
    if (c === "\\") {
      const next = text[i + 1];
      if (next === undefined || next === "\n") return undefined;
      if (next === "$" || next === "`" || next === '"' || next === "\\") i++;
    }
    out += text[i];
  }
  return undefined;
}
