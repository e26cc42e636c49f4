/** Why a text was not found: what in the file comes close, in words from which the next attempt succeeds. */
import { cutLine, lineAt, numbered } from "../text.ts";

const PREFIX = /^ *\d+\t/;
const SHOWN_LINES = 12;
/** Files with more lines than this are not searched for near misses. */
const SEARCHED_LINES = 50_000;

/** `text` and `wanted` have LF line ends. */
export function whyNotFound(text: string, wanted: string): string {
  const bare = withoutPrefixes(wanted);
  if (bare !== undefined && bare !== "" && text.includes(bare))
    return "It was not found because its lines begin with the line numbers that Read shows. Leave the numbers and the tab out.";
  const lines = text.split("\n");
  if (lines.length > SEARCHED_LINES) return HELP;
  const wantedLines = wanted.replace(/^\n+|\n+$/g, "").split("\n");
  for (const [same, cause] of LOOSE) {
    const at = findLines(lines, wantedLines, same);
    if (at !== undefined) return `It was not found, but this differs only in ${cause}:\n${part(lines, at, wantedLines.length)}`;
  }
  const at = closest(lines, wantedLines);
  return at === undefined ? HELP : `It was not found. The nearest lines are:\n${part(lines, at, wantedLines.length)}`;
}

const HELP = "It was not found, nor anything near it. Read the file again and copy the text exactly.";

const quotes = (line: string): string => line.replace(/[\u2018\u2019]/g, "'").replace(/[\u201c\u201d]/g, '"');
const spaces = (line: string): string => line.replace(/[\s\u00a0\u200b]+/g, " ").trim();
const LOOSE: readonly (readonly [(line: string) => string, string])[] = [
  [quotes, "curly and straight quotes"],
  [spaces, "white space (tabs, spaces, indentation)"],
  [(line) => spaces(line).replaceAll(" ", ""), "white space"],
  [(line) => spaces(quotes(line)), "white space and quotes"],
  [(line) => spaces(quotes(line)).toLowerCase(), "upper and lower case"],
];

function withoutPrefixes(text: string): string | undefined {
  const lines = text.split("\n");
  const full = lines.filter((line) => line !== "");
  if (full.length === 0 || !full.every((line) => PREFIX.test(line))) return undefined;
  return lines.map((line) => line.replace(PREFIX, "")).join("\n");
}

/** The first line of the first stretch that equals `wanted` once both went through `same`; parts of a line count for a single line. */
function findLines(lines: readonly string[], wanted: readonly string[], same: (line: string) => string): number | undefined {
  const want = wanted.map(same);
  const have = lines.map(same);
  if (want.every((line) => line === "")) return undefined;
  const fits = (line: string, n: number): boolean => {
    if (want.length === 1) return line.includes(want[0]!);
    if (n === 0) return line.endsWith(want[0]!);
    return n === want.length - 1 ? line.startsWith(want[n]!) : line === want[n];
  };
  const at = have.findIndex((_, i) => i + want.length <= have.length && want.every((_w, n) => fits(have[i + n]!, n)));
  return at < 0 ? undefined : at;
}

/** The stretch that shares most lines with `wanted`, half of them at least; for one line, the line with most words in common. */
function closest(lines: readonly string[], wanted: readonly string[]): number | undefined {
  const want = wanted.map(spaces).filter((line) => line.length > 2);
  if (want.length === 0) return undefined;
  if (want.length === 1) return best(lines.map((line) => common(words(want[0]!), words(line))));
  const set = new Set(want);
  const hits = lines.map((line) => (set.has(spaces(line)) ? 1 : 0));
  let sum = 0;
  const sums = hits.map((hit, i) => {
    sum += hit - (hits[i - wanted.length] ?? 0);
    return sum / want.length;
  });
  const end = best(sums);
  return end === undefined ? undefined : Math.max(0, end - wanted.length + 1);
}

function best(rates: readonly number[]): number | undefined {
  let at = 0;
  for (let i = 1; i < rates.length; i++) if (rates[i]! > rates[at]!) at = i;
  return (rates[at] ?? 0) >= 0.5 ? at : undefined;
}

const words = (line: string): ReadonlySet<string> => new Set(line.slice(0, 1000).match(/\w+|[^\w\s]/g) ?? []);
const common = (a: ReadonlySet<string>, b: ReadonlySet<string>): number => {
  const shared = [...a].filter((word) => b.has(word)).length;
  return (2 * shared) / (a.size + b.size || 1);
};

const part = (lines: readonly string[], at: number, length: number): string => {
  const some = lines.slice(at, at + Math.min(length, SHOWN_LINES)).map((line) => cutLine(line, 500));
  return numbered(some, at + 1);
};

/** For a text that occurs several times; `more`: they were not all counted. */
export function whyAmbiguous(text: string, found: readonly number[], more: boolean): string {
  const lines = found.slice(0, 10).map((index) => lineAt(text, index));
  const list = `${lines.join(", ")}${found.length > 10 ? ", ..." : ""}`;
  return `It occurs ${found.length}${more ? " or more" : ""} times (lines ${list}). Add lines around it until it is unique, or set replace_all.`;
}
