/** The tool Grep: file contents through ripgrep, newest files first, in bounded pieces. */
import { basename, dirname, join } from "node:path";
import { defineTool, type FileSystem, FS, type Tool, type ToolContext, type ToolOutput } from "@heddle/kernel/plugin";
import { answering, failed, plural } from "../answer.ts";
import { newestFirst } from "../newest.ts";
import { absolute, locate, missing, neither, place, shown } from "../paths.ts";
import { prompts } from "../prompts.generated.ts";
import { complaints, hiddenFlags, ignoredWhole, type Searched, search } from "../ripgrep.ts";
import { leanSchema } from "../schema.ts";
import { explained, filesArgs, type Input, input, linesArgs } from "./input.ts";
import { Page } from "./page.ts";

/** Files whose lines are searched at once, and characters of their names. */
const BATCH_FILES = 300;
const BATCH_CHARS = 24_000;

export const grepTool = (ripgrep: string): Tool =>
  defineTool({
    name: "Grep",
    description: prompts.grep,
    input,
    jsonSchema: () => leanSchema(input),
    overlap: "shared",
    effects: async (i, ctx) => [{ kind: "read", target: await targetOf(ctx, i) }],
    run(i, ctx) {
      return answering(`search ${i.path ?? ctx.session.cwd}`, () => grep(i, ctx, ripgrep));
    },
  });

const targetOf = (ctx: Pick<ToolContext, "session" | "capability">, i: Input): Promise<string> =>
  locate(ctx.capability(FS), absolute(ctx.session.cwd, i.path ?? "."));

/** Where a search starts: `start` is relative to `folder`. */
type Place = {
  readonly fs: FileSystem;
  readonly folder: string;
  readonly start: string;
  readonly target: string;
  readonly ripgrep: string;
};

async function grep(i: Input, ctx: ToolContext, ripgrep: string): Promise<ToolOutput> {
  const fs = ctx.capability(FS);
  const { cwd } = ctx.session;
  if (i.pattern.includes("\0")) return failed("`pattern` holds a NUL character, which no search can be given.");
  const target = await targetOf(ctx, i);
  const stat = await fs.stat(target);
  if (!stat) return failed(await missing(fs, cwd, i.path ?? ".", target));
  if (stat.kind !== "directory" && stat.kind !== "file") return failed(neither(cwd, target));
  const single = stat.kind === "file";
  const folder = single ? dirname(target) : target;
  const at: Place = { fs, folder, start: single ? `./${basename(target)}` : "./", target, ripgrep };
  const mode = i.output_mode ?? "files_with_matches";
  const page = new Page(mode, i, (path) => shown(cwd, join(folder, path)));
  const once = (flags: readonly string[]): Promise<Searched> =>
    single && mode === "content" ? lines(i, ctx, at, flags, [at.start], page) : overFiles(i, ctx, at, flags, page);

  let flags: readonly string[] = [];
  let searched = await once(flags);
  if (searched.failed && !searched.found && /look-around|backreferences/.test(searched.problem)) {
    flags = ["--pcre2"];
    searched = await once(flags);
  }
  if (!searched.found && !searched.failed && !single && folder !== cwd && (await ignoredWhole(ctx, ripgrep, folder)))
    searched = await once([...flags, "--no-ignore", "--hidden"]);
  if (searched.failed && !searched.found) return failed(explained(searched.problem, i));
  const warning = searched.failed ? `\n[The search is incomplete:\n${complaints(searched.problem)}]` : "";
  return { content: page.text(searched, place(cwd, target)) + warning };
}

/** First which files match, on all cores and in any order; then, newest file first, what of them the page has room for. */
async function overFiles(i: Input, ctx: ToolContext, at: Place, flags: readonly string[], page: Page): Promise<Searched> {
  const mode = i.output_mode ?? "files_with_matches";
  const records = new Map<string, string>();
  const searched = await search(ctx, {
    ripgrep: at.ripgrep,
    cwd: at.folder,
    args: [...flags, ...filesArgs(i, mode), ...hiddenFlags(shown(ctx.session.cwd, at.target)), "--", at.start],
    separator: mode === "count" ? "\n" : "\0",
    record: (text) => {
      records.set(text.split("\0", 1)[0]!, text);
      return true;
    },
  });
  const { sorted } = await newestFirst(at.fs, at.folder, [...records.keys()]);
  if (mode !== "content") {
    page.total = sorted.length;
    for (const path of sorted) if (!page.take(records.get(path)!)) break;
    return searched;
  }
  for (let from = 0; from < sorted.length; ) {
    const batch = sorted.slice(from, from + fitting(sorted, from));
    from += batch.length;
    if ((await lines(i, ctx, at, flags, batch, page)).stopped) break;
  }
  const unnamed = sorted.filter((path) => path.includes("\uFFFD")).length;
  if (unnamed === 0) return searched;
  const problem = `${plural(unnamed, "file")} with a name that is not UTF-8 could not be opened`;
  return { ...searched, failed: true, problem: [searched.problem, problem].filter((it) => it !== "").join("\n") };
}

/** How many of the names from `from` on go into one command. */
function fitting(names: readonly string[], from: number): number {
  let size = 0;
  let n = 0;
  while (n < BATCH_FILES && from + n < names.length && (n === 0 || size + names[from + n]!.length < BATCH_CHARS))
    size += names[from + n++]!.length;
  return n;
}

const lines = (i: Input, ctx: ToolContext, at: Place, flags: readonly string[], names: readonly string[], page: Page): Promise<Searched> =>
  search(ctx, {
    ripgrep: at.ripgrep,
    cwd: at.folder,
    args: [...flags.filter((flag) => flag === "--pcre2"), ...linesArgs(i), "--", ...names],
    separator: "\n",
    record: page.take,
  });
