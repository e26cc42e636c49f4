/** The tool Read: text files with line numbers, folders as listings, and words for everything else. */
import { defineTool, type FileSystem, FS, type Tool, type ToolContext, type ToolOutput, z } from "@heddle/kernel/plugin";
import { answering, failed, plural } from "../answer.ts";
import type { FileState } from "../file-state.ts";
import { count, lenient } from "../input.ts";
import { absolute, locate, missing, neither, shown } from "../paths.ts";
import { prompts } from "../prompts.generated.ts";
import { leanSchema } from "../schema.ts";
import type { ShellFolder } from "../shell-folder.ts";
import { cutLine, decode, linesOf, numbered } from "../text.ts";

const DEFAULT_LINES = 2000;
const MAX_LINE = 2000;
/** Characters of text in one answer, long lines cut. */
const MAX_SHOWN = 256 * 1024;
/** A larger file is not even opened. */
const MAX_BYTES = 256 * 1024 * 1024;
const MAX_ENTRIES = 500;

const input = lenient({
  file_path: z.string().min(1),
  offset: count.describe("first line, from 1"),
  limit: count.describe("number of lines"),
});
type Input = z.output<typeof input>;

export const readTool = (files: FileState, shell: ShellFolder): Tool =>
  defineTool({
    name: "Read",
    description: prompts.read,
    input,
    jsonSchema: leanSchema(input),
    overlap: "shared",
    effects: async (i, ctx) => [{ kind: "read", target: await locate(ctx.capability(FS), absolute(ctx.session.cwd, i.file_path)) }],
    run(i, ctx) {
      return answering(`read ${i.file_path}`, () => read(i, ctx, files, shell));
    },
  });

async function read(i: Input, ctx: ToolContext, files: FileState, shell: ShellFolder): Promise<ToolOutput> {
  const fs = ctx.capability(FS);
  const { cwd, id } = ctx.session;
  const path = await locate(fs, absolute(cwd, i.file_path));
  const name = shown(cwd, path);
  const stat = await fs.stat(path);
  if (!stat) return failed(await missing(fs, cwd, i.file_path, path, [shell.get(id) ?? cwd]));
  if (stat.kind === "directory") return { content: await listing(fs, path) };
  if (stat.kind !== "file") return failed(neither(cwd, path));
  if (stat.size > MAX_BYTES) return failed(`${name} is too large to read (${sizeOf(stat.size)}). Use Grep, or head and sed in Bash.`);

  const bytes = await fs.readFile(path);
  const decoded = decode(bytes);
  if (decoded.kind === "binary") return failed(`${name} is ${decoded.what} (${sizeOf(bytes.length)}); Read shows text only.`);
  const { text } = decoded;
  const lines = linesOf(text).map((line) => cutLine(line, MAX_LINE));
  const first = Math.max(1, Math.trunc(i.offset ?? 1));
  const wanted = lines.slice(first - 1, first - 1 + Math.max(1, Math.trunc(i.limit ?? DEFAULT_LINES)));
  const whole = i.offset === undefined && i.limit === undefined;
  if (whole && lengthOf(lines) > MAX_SHOWN)
    return failed(
      `${name} is larger than ${sizeOf(MAX_SHOWN)}: it has ${sizeOf(bytes.length)} in ${plural(lines.length, "line")}. Read a part with offset and limit, or find the place with Grep.`,
    );

  const saw = (): void => files.saw(id, realpath, bytes, { at: ctx.now(), by: "read", ...(decoded.kind === "text" ? { text } : {}) });
  const realpath = await fs.realpath(path);
  saw();
  if (bytes.length === 0) return { content: `${name} is empty (0 bytes).` };
  if (lines.length === 0) return { content: `${name} holds nothing but a byte order mark.` };
  if (wanted.length === 0) return failed(`${name} has only ${plural(lines.length, "line")}; line ${first} is beyond its end.`);
  const part = fitting(wanted);
  const last = first + part.length - 1;
  const notes = [
    ...(decoded.kind === "foreign"
      ? [
          `[This file is ${decoded.encoding}${decoded.encoding.startsWith("UTF") ? "" : "; what could not be read is shown as \uFFFD"}. Edit and Write refuse it.]`,
        ]
      : []),
    ...(last < lines.length ? [`[Lines ${first} to ${last} of ${lines.length}. Go on with offset ${last + 1}.]`] : []),
  ];
  return { content: [numbered(part, first), ...notes].join("\n") };
}

const lengthOf = (lines: readonly string[]): number => lines.reduce((sum, line) => sum + line.length + 1, 0);

/** As many lines from the start as one answer may have, but one at least. */
function fitting(lines: readonly string[]): readonly string[] {
  let size = 0;
  const cut = lines.findIndex((line, n) => {
    size += line.length + 1;
    return n > 0 && size > MAX_SHOWN;
  });
  return cut < 0 ? lines : lines.slice(0, cut);
}

async function listing(fs: FileSystem, path: string): Promise<string> {
  const entries = await fs.readdir(path);
  if (entries.length === 0) return `${path} is an empty folder.`;
  const names = entries.slice(0, MAX_ENTRIES).map((e) => `${e.name}${e.kind === "directory" ? "/" : e.kind === "symlink" ? "@" : ""}`);
  const more = entries.length - names.length;
  return [
    `${path} is a folder with ${entries.length} ${entries.length === 1 ? "entry" : "entries"}:`,
    ...names,
    ...(more > 0 ? [`[and ${more} more]`] : []),
  ].join("\n");
}

function sizeOf(bytes: number): string {
  if (bytes < 1024) return plural(bytes, "byte");
  return bytes < 1024 * 1024 ? `${Math.round(bytes / 1024)} KB` : `${(bytes / 1024 / 1024).toFixed(1)} MB`;
}
