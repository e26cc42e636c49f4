/** The tool Grep: file contents through ripgrep, in a fixed order and in bounded pieces. */
import { basename, dirname, join } from "node:path";
import { defineTool, FS, type Tool, type ToolContext, type ToolOutput, z } from "@heddle/kernel/plugin";
import { answering, failed, plural } from "../answer.ts";
import { count, flag, lenient } from "../input.ts";
import { absolute, locate, missing, neither, place, shown } from "../paths.ts";
import { prompts } from "../prompts.generated.ts";
import { complaints, hiddenFlags, ignoredWhole, NoRipgrep, type Searched, search } from "../ripgrep.ts";
import { leanSchema } from "../schema.ts";

const DEFAULT_LIMIT = 250;
/** Bytes of one line before ripgrep cuts it. */
const MAX_LINE = 500;
/** Characters of one answer. */
const MAX_CHARS = 30_000;

const input = lenient({
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
type Input = z.output<typeof input>;
type Mode = NonNullable<Input["output_mode"]>;

export const grepTool = (ripgrep: string): Tool =>
  defineTool({
    name: "Grep",
    description: prompts.grep,
    input,
    jsonSchema: leanSchema(input),
    overlap: "shared",
    effects: async (i, ctx) => [{ kind: "read", target: await targetOf(ctx, i) }],
    run(i, ctx) {
      return answering(`search ${i.path ?? ctx.session.cwd}`, () => grep(i, ctx, ripgrep));
    },
  });

const targetOf = (ctx: Pick<ToolContext, "session" | "capability">, i: Input): Promise<string> =>
  locate(ctx.capability(FS), absolute(ctx.session.cwd, i.path ?? "."));

async function grep(i: Input, ctx: ToolContext, ripgrep: string): Promise<ToolOutput> {
  const fs = ctx.capability(FS);
  const { cwd } = ctx.session;
  if (i.pattern.includes("\0")) return failed("`pattern` holds a NUL character, which no search can be given.");
  const target = await targetOf(ctx, i);
  const stat = await fs.stat(target);
  if (!stat) return failed(await missing(fs, cwd, i.path ?? ".", target));
  if (stat.kind !== "directory" && stat.kind !== "file") return failed(neither(cwd, target));
  const folder = stat.kind === "directory" ? target : dirname(target);
  const start = stat.kind === "directory" ? "./" : `./${basename(target)}`;
  const mode = i.output_mode ?? "files_with_matches";
  const once = async (flags: readonly string[]): Promise<{ page: Page; searched: Searched }> => {
    const page = new Page(mode, i, (path) => shown(cwd, join(folder, path)));
    const args = [...flags, ...argsOf(i, mode), ...hiddenFlags(shown(cwd, target)), "--", start];
    const searched = await search(ctx, {
      ripgrep,
      cwd: folder,
      args,
      separator: mode === "files_with_matches" ? "\0" : "\n",
      record: page.take,
    });
    return { page, searched };
  };
  try {
    let flags: readonly string[] = [];
    let { page, searched } = await once(flags);
    if (searched.failed && !searched.found && /look-around|backreferences/.test(searched.problem)) {
      flags = ["--pcre2"];
      ({ page, searched } = await once(flags));
    }
    if (!searched.found && !searched.failed && stat.kind === "directory" && folder !== cwd && (await ignoredWhole(ctx, ripgrep, folder)))
      ({ page, searched } = await once([...flags, "--no-ignore", "--hidden"]));
    if (searched.failed && !searched.found) return failed(explained(searched.problem, i));
    const warning = searched.failed ? `\n[The search is incomplete:\n${complaints(searched.problem)}]` : "";
    return { content: page.text(searched, place(cwd, target)) + warning };
  } catch (error) {
    if (error instanceof NoRipgrep) return failed(error.message);
    throw error;
  }
}

function argsOf(i: Input, mode: Mode): string[] {
  const context = (name: "-A" | "-B" | "-C"): string[] =>
    i[name] === undefined || mode !== "content" ? [] : [`${name}${Math.trunc(i[name])}`];
  return [
    "--null",
    "--with-filename",
    "--no-heading",
    "--sort=path",
    "--crlf",
    ...{
      files_with_matches: ["--files-with-matches"],
      count: ["--count"],
      content: [`--max-columns=${MAX_LINE}`, "--max-columns-preview", i["-n"] === false ? "--no-line-number" : "--line-number"],
    }[mode],
    ...context("-C"),
    ...context("-A"),
    ...context("-B"),
    ...(i["-i"] ? ["--ignore-case"] : []),
    ...(i.multiline ? ["--multiline", "--multiline-dotall"] : []),
    ...(i.type ? [`--type=${i.type}`] : []),
    ...(i.glob ? globsOf(i.glob).flatMap((glob) => [`--glob=${glob}`, ...hiddenFlags(glob)]) : []),
    `--regexp=${i.pattern}`,
  ];
}

/** Several globs may stand in one string, parted by commas or spaces outside of braces; a name with a space is one glob. */
function globsOf(text: string): string[] {
  const parts = text.split(/[,\s]+(?![^{]*\})/).filter((part) => part !== "");
  return parts.length > 1 && parts.every((part) => /[*?]/.test(part)) ? parts : [text];
}

function explained(problem: string, i: Input): string {
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

/** The part of what was found that goes into the answer. */
class Page {
  readonly #mode: Mode;
  readonly #show: (path: string) => string;
  readonly #skip: number;
  readonly #limit: number;
  /** Context lines are told by the mark after their number. */
  readonly #marked: boolean;
  readonly #entries: string[] = [];
  #size = 0;
  #seen = 0;
  #sum = 0;
  #full = false;

  constructor(mode: Mode, i: Input, show: (path: string) => string) {
    this.#mode = mode;
    this.#show = show;
    this.#marked = mode === "content" && i["-n"] !== false;
    this.#skip = Math.trunc(i.offset ?? 0);
    this.#limit = Math.trunc(i.head_limit ?? DEFAULT_LIMIT) || Number.POSITIVE_INFINITY;
  }
  /** False once nothing more is needed. Counts go on to the end, for their sum. */
  readonly take = (record: string): boolean => {
    this.#seen++;
    if (this.#mode === "count") this.#sum += Number(record.slice(record.indexOf("\0") + 1)) || 0;
    if (this.#seen <= this.#skip) return true;
    const entry = this.#full ? "" : this.#entry(record);
    if (this.#full || this.#entries.length >= this.#limit || this.#size + entry.length > MAX_CHARS) {
      this.#full = true;
      return this.#mode === "count";
    }
    this.#entries.push(entry);
    this.#size += entry.length + 1;
    return true;
  };
  #entry(record: string): string {
    const zero = record.indexOf("\0");
    if (this.#mode === "files_with_matches") return this.#show(record);
    if (zero < 0) return record.replace(/^\.\//, "").replace(/\r$/, "");
    const path = this.#show(record.slice(0, zero));
    const rest = record.slice(zero + 1).replace(/\r$/, "");
    return `${path}${this.#marked && /^\d+-/.test(rest) ? "-" : ":"}${rest.replaceAll("\0", "\uFFFD")}`;
  }
  text(searched: Searched, where: string): string {
    if (!searched.found) return `No matches in ${where}.`;
    if (this.#entries.length === 0) return `Nothing beyond offset ${this.#skip}: there are only ${this.#seen}.`;
    const next = this.#skip + this.#entries.length;
    const notes = [
      ...(this.#mode === "count" ? [`[${plural(this.#sum, "matching line")} in ${plural(this.#seen, "file")}]`] : []),
      ...(this.#full ? [`[There is more: go on with offset ${next}, or narrow the search.]`] : []),
    ];
    return [...this.#entries, ...notes].join("\n");
  }
}
