/** The wide reading of a shell command: everything in it that may run, for rules that forbid. Finds too much rather than too little. */
import type { Command, Grammar, ParsedScript, Redirection, SyntaxNode } from "./grammar.ts";

/** `unknown`: the shell decides at run time what this word is. */
export type WideWord = { readonly text: string; readonly unknown: boolean };
/** `words` without what is assigned before them. */
export type Simple = { readonly words: readonly WideWord[]; readonly opens: readonly Opened[] };
/** A file that is opened by a redirection. */
export type Opened = WideWord & { readonly write: boolean };
/** `sure` is false where something may have been missed. */
export type Wide = { readonly simple: readonly Simple[]; readonly sure: boolean };

/** What a longer text is nested in is looked at less deeply, as every level reads it again. */
const DEPTH = { short: 120, long: 12 };
const LONG = 10_000;
/** A word with nothing in it for the shell to do. */
const PLAIN = /^[\w./:@%+,-]*$/;
/** They evaluate what they are given, and so may run what a variable holds. */
const EVALUATES: readonly SyntaxNode["type"][] = ["ArithmeticExpansion", "ArithmeticCommand", "ArithmeticFor", "TestCommand"];

export function readWide(source: string, grammar: Grammar): Wide {
  const simple: Simple[] = [];
  let sure = true;
  const most = source.length > LONG ? DEPTH.long : DEPTH.short;
  const seen = new Set<string>();
  const visit = (node: SyntaxNode, depth: number, text: string): void => {
    if (depth > most) {
      sure = false;
      return;
    }
    if (node.type === "Word" && PLAIN.test(node.text)) return;
    if (node.type === "Command") {
      // the same text again says nothing new
      const written = text.slice(node.pos, node.end);
      if (seen.has(written)) return;
      if (!written.includes("<<")) seen.add(written);
      simple.push(simpleOf(node));
    } else if (node.type === "Script") sure &&= !(node as ParsedScript).errors?.length;
    else if (node.type === "Redirected") simple.push({ words: [], opens: opensOf(node.redirects) });
    else if (EVALUATES.includes(node.type)) sure = false;
    else if (node.type === "ParameterExpansion") sure &&= node.prefix === undefined && !node.index && !node.operation;
    grammar.forEachChild(node, (child) => visit(child, depth + 1, node.type === "Script" ? (node.source ?? text) : text));
  };
  try {
    visit(grammar.parse(source), 0, source);
  } catch {
    sure = false; // a text that the grammar breaks on
  }
  return { simple, sure };
}

const simpleOf = (node: Command): Simple => ({
  words: [...(node.name ? [node.name] : []), ...node.args].map(wordOf),
  opens: opensOf(node.redirects),
});

const opensOf = (redirects: readonly Redirection[]): Opened[] =>
  redirects.flatMap((r) =>
    r.type === "Redirect" && r.target && !/^(\d+|-)$/.test(r.target.text) ? [{ ...wordOf(r.target), write: r.operator !== "<" }] : [],
  );

/** The text of a word with the names of plain variables in it as `$NAME`, and nothing for what else the shell puts in. */
function wordOf(node: SyntaxNode): WideWord {
  if (node.type === "Assignment")
    return node.value.type === "Word" && !node.index
      ? withPrefix(`${node.name}${node.append ? "+" : ""}=`, wordOf(node.value))
      : { text: node.text, unknown: true };
  if (node.type !== "Word") return { text: "", unknown: true };
  if (PLAIN.test(node.text)) return { text: node.text, unknown: false };
  const tilde = node.text.startsWith("~");
  if (!node.parts) return { text: node.value, unknown: tilde };
  const pieces = node.parts.map(pieceOf);
  return { text: pieces.map((p) => p.text).join(""), unknown: tilde || pieces.some((p) => p.unknown) };
}

const withPrefix = (prefix: string, { text, unknown }: WideWord): WideWord => ({ text: prefix + text, unknown });

function pieceOf(part: SyntaxNode): WideWord {
  switch (part.type) {
    case "Literal":
    case "SingleQuoted":
    case "AnsiCQuoted":
      return { text: part.value, unknown: false };
    case "DoubleQuoted":
    case "LocaleString": {
      const pieces = part.parts.map(pieceOf);
      return { text: pieces.map((p) => p.text).join(""), unknown: pieces.some((p) => p.unknown) };
    }
    case "Glob":
    case "ExtendedGlob":
    case "BraceExpansion":
    case "SimpleExpansion":
      return { text: part.text, unknown: true };
    case "ParameterExpansion":
      return { text: part.operation || part.prefix || part.index ? "" : `$${part.parameter}`, unknown: true };
    default:
      return { text: "", unknown: true };
  }
}
