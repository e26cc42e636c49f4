/** Finds tools by words: how well a name and its summary fit a query. */

export type Known = { readonly name: string; readonly summary?: string };

/** `mcp__files__readFile` is mcp, files, read, file. */
const wordsOf = (text: string): string[] =>
  text
    .replace(/(\p{Ll}|\p{N})(\p{Lu})/gu, "$1 $2")
    .toLowerCase()
    .split(/[^\p{L}\p{N}]+/u)
    .filter((word) => word !== "");

/** A name says more than a sentence, and a whole word more than a part of one. */
const IN_NAME = { whole: 8, part: 4 } as const;
const IN_SUMMARY = { whole: 2, part: 1 } as const;

/** Letters of a word that says something only as a whole word of a name. */
const SHORT = 2;

/** Best first, ties by name; without those that no word fits. */
export function ranked<T extends Known>(tools: readonly T[], query: string): readonly T[] {
  const wanted = [...new Set(wordsOf(query))];
  const scored = tools.map((tool) => ({ tool, score: wanted.reduce((sum, word) => sum + scoreOf(tool, word), 0) }));
  return scored
    .filter(({ score }) => score > 0)
    .sort((a, b) => b.score - a.score || (a.tool.name < b.tool.name ? -1 : 1))
    .map(({ tool }) => tool);
}

function scoreOf({ name, summary = "" }: Known, word: string): number {
  if (word.length <= SHORT) return wordsOf(name).includes(word) ? IN_NAME.whole : 0;
  return fit(name, word, IN_NAME) + fit(summary, word, IN_SUMMARY);
}

function fit(text: string, wanted: string, points: { readonly whole: number; readonly part: number }): number {
  if (wordsOf(text).includes(wanted)) return points.whole;
  return text.toLowerCase().includes(wanted) ? points.part : 0;
}
