/** The tool Read: text with line numbers, pictures, PDFs, notebooks, folders as listings, and words for everything else. */
import { Buffer } from "node:buffer";
import { defineTool, type FileSystem, FS, type Tool, type ToolContext, type ToolOutput, z } from "@heddle/kernel/plugin";
import { answering, failed, plural, Refusal } from "../answer.ts";
import type { FileState, SeenLines } from "../contract.ts";
import { type Decoded, type DecodedText, decode, guessed } from "../encoding.ts";
import { count, lenient } from "../input.ts";
import { parseNotebook } from "../notebook/cells.ts";
import { absolute, locate, missing, neither, reserved, shown } from "../paths.ts";
import { prompts } from "../prompts.generated.ts";
import { leanSchema } from "../schema.ts";
import type { ShellFolder } from "../shell-folder.ts";
import { cutLine, lineCount, linesOf, numbered } from "../text.ts";
import { stillInView } from "./before.ts";
import { pictureOf } from "./image.ts";
import { notebookParts } from "./notebook.ts";
import { pdfText } from "./pdf.ts";

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
  pages: z.string().optional().describe("of a PDF, e.g. 1-5"),
});
type Input = z.output<typeof input>;

export const readTool = (files: FileState, shell: ShellFolder): Tool =>
  defineTool({
    name: "Read",
    description: prompts.read,
    input,
    jsonSchema: () => leanSchema(input),
    overlap: "shared",
    outputLimit: 2 * MAX_SHOWN, // line numbers come on top
    effects: async (i, ctx) => [{ kind: "read", target: await locate(ctx.capability(FS), absolute(ctx.session.cwd, i.file_path)) }],
    run(i, ctx) {
      return answering(`read ${i.file_path}`, () => read(i, ctx, files, shell));
    },
  });

/** A file that is being read. `first` and `most` count lines, or cells. */
type Opened = { readonly name: string; readonly bytes: Uint8Array; readonly first: number; readonly most: number };
/** `part`: which of how many lines are shown, where that is not all. */
type Shown = { readonly output: ToolOutput; readonly text?: string; readonly part?: SeenLines; readonly counted?: boolean };

async function read(i: Input, ctx: ToolContext, files: FileState, shell: ShellFolder): Promise<ToolOutput> {
  const fs = ctx.capability(FS);
  const { cwd, id } = ctx.session;
  const path = await locate(fs, absolute(cwd, i.file_path));
  const name = shown(cwd, path);
  if (reserved(path)) return failed(neither(cwd, path));
  const stat = await fs.stat(path);
  if (!stat) return failed(await missing(fs, cwd, i.file_path, path, [shell.get(id) ?? cwd]));
  if (stat.kind === "directory") return { content: await listing(fs, path) };
  if (stat.kind !== "file") return failed(neither(cwd, path));
  if (stat.size > MAX_BYTES) return failed(`${name} is too large to read (${sizeOf(stat.size)}). Use Grep, or head and sed in Bash.`);

  const [bytes, realpath] = await Promise.all([fs.readFile(path), fs.realpath(path)]);
  const what = JSON.stringify([i.offset, i.limit, i.pages]);
  const before = files.get(id, realpath);
  if (before?.shown?.what === what && stillInView(ctx.session.messages, before.shown.callId) && files.same(id, realpath, bytes)) {
    const { shown: _once, realpath: _path, hash: _hash, ...known } = before;
    files.saw(id, realpath, bytes, known); // asked once more it is shown again, since nobody knows what the model still sees
    return { content: `${name} is unchanged since you read it above. Read it again if you no longer have it.` };
  }
  const first = Math.max(1, Math.trunc(i.offset ?? 1));
  const most = Math.max(1, Math.trunc(i.limit ?? Number.POSITIVE_INFINITY));
  const { output, ...known } = await show({ name, bytes, first, most }, i, await decode(bytes), ctx);
  files.saw(id, realpath, bytes, { at: ctx.now(), by: "read", ...known, shown: { callId: ctx.callId, what } });
  return output;
}

async function show(file: Opened, i: Input, decoded: Decoded, ctx: ToolContext): Promise<Shown> {
  const { name, bytes } = file;
  if (decoded.kind === "pdf") return { output: { content: await pdfText(name, bytes, i.pages, ctx.signal) } };
  if (i.pages !== undefined) throw new Refusal(`${name} is no PDF, so it has no pages: use offset and limit.`);
  const size = sizeOf(bytes.length);
  if (decoded.kind === "image") {
    const picture = await pictureOf(bytes, ctx);
    if (typeof picture === "string") throw new Refusal(`${name} is ${decoded.what} (${size}) and cannot be shown: ${picture}.`);
    return { output: { content: [picture.image, { type: "text", text: `${name}: ${picture.size}, ${size}` }] } };
  }
  if (decoded.kind !== "text") throw new Refusal(`${name} is ${decoded.what} (${size}), which Read cannot show.`);
  const notebook = name.endsWith(".ipynb") ? parseNotebook(decoded.text) : undefined;
  return notebook ? cells(notebook, file, decoded.text, ctx) : lines(file, decoded, i.offset === undefined && i.limit === undefined);
}

async function cells(
  notebook: NonNullable<ReturnType<typeof parseNotebook>>,
  file: Opened,
  text: string,
  ctx: ToolContext,
): Promise<Shown> {
  const { name, first, most } = file;
  const total = notebook.cells.length;
  if (first > Math.max(1, total)) throw new Refusal(`${name} has only ${plural(total, "cell")}; cell ${first} is beyond its end.`);
  const { parts, last } = await notebookParts(notebook, first, most, async (data) => {
    const picture = await pictureOf(Buffer.from(data, "base64"), ctx);
    return typeof picture === "string" ? { type: "text", text: `[image left out: ${picture}]\n` } : picture.image;
  });
  const more = last < total ? `[Cells ${first} to ${last} of ${total}. Go on with offset ${last + 1}.]\n` : "";
  const head = `${name} has ${plural(total, "cell")}. Change them with NotebookEdit.\n`;
  return {
    output: { content: [{ type: "text", text: head }, ...parts, ...(more === "" ? [] : [{ type: "text" as const, text: more }])] },
    text,
    counted: true,
    ...(first > 1 || last < total ? { part: { ranges: [], of: lineCount(text) } } : {}),
  };
}

function lines({ name, bytes, first, most }: Opened, decoded: DecodedText, whole: boolean): Shown {
  const { text, encoding, exact } = decoded;
  const all = linesOf(text);
  if (bytes.length === 0) return { output: { content: `${name} is empty (0 bytes).` }, text };
  if (all.length === 0) return { output: { content: `${name} holds nothing but a byte order mark.` }, text };
  if (first > all.length) throw new Refusal(`${name} has only ${plural(all.length, "line")}; line ${first} is beyond its end.`);
  if (whole && text.length > MAX_SHOWN && lengthOf(all.map((line) => cutLine(line, MAX_LINE))) > MAX_SHOWN)
    throw new Refusal(
      `${name} is larger than ${sizeOf(MAX_SHOWN)}: it has ${sizeOf(bytes.length)} in ${plural(all.length, "line")}. Read a part with offset and limit, or find the place with Grep.`,
    );
  const wanted = all.slice(first - 1, first - 1 + (most === Number.POSITIVE_INFINITY ? DEFAULT_LINES : most));
  const part = fitting(wanted.map((line) => cutLine(line, MAX_LINE)));
  const last = first + part.length - 1;
  const notes = [
    ...(exact ? [] : [`[This file is damaged ${encoding.name}. Edit and Write refuse it.]`]),
    ...(guessed(encoding)
      ? ["[One-byte encodings look alike, so the one named here is a guess. Check it before you add other letters.]"]
      : []),
    ...(exact && encoding.name !== "UTF-8" ? [`[This file is ${encoding.name}, and stays so when you change it.]`] : []),
    ...(last < all.length ? [`[Lines ${first} to ${last} of ${all.length}. Go on with offset ${last + 1}.]`] : []),
  ];
  return {
    output: { content: [numbered(part, first), ...notes].join("\n") },
    text,
    ...(part.length < all.length ? { part: { ranges: [[first, last]], of: all.length } } : {}),
  };
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
