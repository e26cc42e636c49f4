/** The grammar of bash, which is loaded with the first command that is judged and not before. */
import type { ParsedScript, SyntaxNode } from "unbash";

export type { Assignment, Command, ParsedScript, Redirection, Statement, SyntaxNode, Word as WordNode } from "unbash";

/** `parse` never gives up: what it could not read stands in `errors` of the script, also of a nested one. */
export type Grammar = {
  parse(source: string): ParsedScript;
  forEachChild(node: SyntaxNode, visit: (child: SyntaxNode) => void): void;
};

export const loadGrammar = (): Promise<Grammar> => import("unbash");
