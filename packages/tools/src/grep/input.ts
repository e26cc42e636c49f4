/** What Grep is asked, and how ripgrep is asked the same. */
import { z } from "@heddle/kernel/plugin";
import { count, flag, lenient } from "../input.ts";
import { complaints, hiddenFlags } from "../ripgrep.ts";

export const DEFAULT_LIMIT = 250;
/** Bytes of one line before ripgrep cuts it. */
const MAX_LINE = 500;

export const input = lenient({
  pattern: z.string(),
  path: z.string().min(1).optional().describe("file or folder; default: the project folder"),
  glob: z.string().min(1).optional().describe("e.g. *.{ts,tsx}"),
  type: z.string().min(1).optional().describe("e.g. py, rust"),
  output_mode: z.enum(["files_with_matches", "content", "count"]).optional().describe("default: files_with_matches"),
  "-i": flag.describe("ignore case"),
  "-n": flag.describe("line numbers; default: true"),
  "-A": count.describe("lines after"),
  "-B": count.describe("lines before"),
  "-C": count.describe("lines around"),
  multiline: flag.describe("let matches span lines, and . match line ends"),
  head_limit: count.describe(`default: ${DEFAULT_LIMIT}; 0: as many as fit`),
  offset: count.describe("entries to skip"),
});
export type Input = z.output<typeof input>;
export type Mode = NonNullable<Input["output_mode"]>;

/** How the pattern is matched, and nothing of where. */
const matching = (i: Input): string[] => [
  ...(i["-i"] ? ["--ignore-case"] : []),
  ...(i.multiline ? ["--multiline", "--multiline-dotall"] : []),
  `--regexp=${i.pattern}`,
];

const PLAIN = ["--null", "--with-filename", "--no-heading", "--crlf"];

/** One record for each file that has a match; in the mode `count` with the number of its matching lines. */
export const filesArgs = (i: Input, mode: Mode): string[] => [
  ...PLAIN,
  mode === "count" ? "--count" : "--files-with-matches",
  ...(i.type ? [`--type=${i.type}`] : []),
  ...(i.glob ? globsOf(i.glob).flatMap((glob) => [`--glob=${glob}`, ...hiddenFlags(glob)]) : []),
  ...matching(i),
];

/** The matching lines of files that are named, in the order in which they are named. */
export const linesArgs = (i: Input): string[] => [
  ...PLAIN,
  "--threads=1",
  `--max-columns=${MAX_LINE}`,
  "--max-columns-preview",
  i["-n"] === false ? "--no-line-number" : "--line-number",
  ...(["-C", "-A", "-B"] as const).flatMap((name) => (i[name] === undefined ? [] : [`${name}${Math.trunc(i[name])}`])),
  ...matching(i),
];

/** Several globs may stand in one string, parted by commas or spaces outside of braces; a name with a space is one glob. */
function globsOf(text: string): string[] {
  const parts = text.split(/[,\s]+(?![^{]*\})/).filter((part) => part !== "");
  return parts.length > 1 && parts.every((part) => /[*?]/.test(part)) ? parts : [text];
}

export function explained(problem: string, i: Input): string {
  const text = complaints(problem, 8);
  if (problem.includes("unrecognized file type"))
    return `There is no file type "${i.type}". Use \`glob\` in its place, such as *.${i.type}.`;
  if (problem.includes("PCRE2 is not available"))
    return "Look-around and backreferences need a ripgrep that is built with PCRE2, and this one is not. Write the pattern without them.";
  if (problem.includes('literal "\\n" is not allowed')) return "The pattern spans lines: set multiline to true.";
  if (/regex parse error|PCRE2: error|regex could not be compiled/.test(problem))
    return `The pattern is not a valid regular expression. To search for its characters as they are, put \\ before . * + ? ( ) [ ] { } | ^ $ and \\.\n${text}`;
  return `The search failed.\n${text}`;
}
