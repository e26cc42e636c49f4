/** The tool Edit: one exact text for another, every other byte as it was. */
import { defineTool, type Tool, type ToolContext, type ToolOutput, z } from "@heddle/kernel/plugin";
import { answering, failed, plural } from "../answer.ts";
import { type ChangeServices, changedLines, changing, put, type Target, targetPath } from "../change.ts";
import { flag, lenient } from "../input.ts";
import { missing } from "../paths.ts";
import { prompts } from "../prompts.generated.ts";
import { leanSchema } from "../schema.ts";
import { cutLine, linesOf, numbered, toLf } from "../text.ts";
import { flatten, lineAt, places, replaceAt } from "./match.ts";
import { whyAmbiguous, whyNotFound } from "./nearest.ts";

const AROUND = 2;
const SNIPPET_LINES = 14;
/** Lines that are named where several places were changed. */
const NAMED_LINES = 20;
/** Places counted before they are too many to count. */
const MANY = 1000;

const input = lenient({ file_path: z.string().min(1), old_string: z.string(), new_string: z.string(), replace_all: flag });
type Input = z.output<typeof input>;

export const editTool = (services: ChangeServices): Tool =>
  defineTool({
    name: "Edit",
    description: prompts.edit,
    input,
    jsonSchema: leanSchema(input),
    overlap: "exclusive",
    effects: async (i, ctx) => [{ kind: "write", target: await targetPath(ctx, i.file_path) }],
    run(i, ctx) {
      return answering(`edit ${i.file_path}`, () => edit(i, ctx, services));
    },
  });

async function edit(i: Input, ctx: ToolContext, services: ChangeServices): Promise<ToolOutput> {
  if (i.old_string === i.new_string) return failed("`old_string` and `new_string` are the same: there is nothing to change.");
  if ([i.old_string, i.new_string].some((text) => !text.isWellFormed()))
    return failed("`old_string` or `new_string` holds half of a surrogate pair, which no encoding can store.");
  return changing(i.file_path, ctx, services, async (target) => {
    const { name, text } = target;
    if (i.old_string === "") return create(i, ctx, services, target);
    if (text === undefined)
      return failed(
        await missing(target.fs, ctx.session.cwd, i.file_path, target.path, [services.shell.get(ctx.session.id) ?? ctx.session.cwd]),
      );
    const replaced = replace(text, i);
    if (typeof replaced === "string") return failed(`${name} was not changed. ${replaced}`);
    const lines = await put(target, replaced.after, ctx, services.files);
    return { content: report(name, text, replaced), lines };
  });
}

async function create(i: Input, ctx: ToolContext, { files }: ChangeServices, target: Target): Promise<ToolOutput> {
  const { name, text } = target;
  if (text !== undefined && text !== "")
    return failed(`${name} was not changed: an empty old_string is for new and empty files only. Give the text to replace, or use Write.`);
  const lines = await put(target, i.new_string, ctx, files);
  return { content: `${text === undefined ? "Created" : "Filled"} ${name} (${plural(lines.added, "line")}).`, lines };
}

type Replaced = { readonly after: string; readonly places: number; readonly lines: readonly number[] };

/** The new text, or the words why there is none. */
function replace(text: string, i: Input): Replaced | string {
  const from = toLf(i.old_string);
  const to = toLf(i.new_string);
  // Where the two differ in their line ends alone, those are what is to change: matched and written to the letter.
  if (from === to) {
    const found = placesFor(text, i.old_string, i);
    if (found.length === 0) return "The two texts differ only in their line ends, and the file does not have those of old_string.";
    return typeof found === "string" ? found : { after: splice(text, found, i.old_string, i.new_string), ...summary(text, found) };
  }
  const flat = flatten(text);
  const found = placesFor(flat.lf, from, i);
  if (found.length === 0) return whyNotFound(flat.lf, from);
  return typeof found === "string" ? found : { after: replaceAt(flat, found, from, to), ...summary(flat.lf, found) };
}

/** Where to replace, or the words why the places are too many. */
function placesFor(text: string, from: string, i: Input): readonly number[] | string {
  if (i.replace_all) return places(text, from, from.length);
  const found = places(text, from, 1, MANY);
  return found.length > 1 ? whyAmbiguous(text, found, found.length === MANY) : found;
}

function splice(text: string, starts: readonly number[], from: string, to: string): string {
  let after = "";
  let done = 0;
  for (const start of starts) {
    after += text.slice(done, start) + to;
    done = start + from.length;
  }
  return after + text.slice(done);
}

const summary = (text: string, found: readonly number[]): Pick<Replaced, "places" | "lines"> => ({
  places: found.length,
  lines: found.slice(0, NAMED_LINES).map((start) => lineAt(text, start)),
});

function report(name: string, before: string, { after, places, lines }: Replaced): string {
  if (places > 1) return `Edited ${name} in ${places} places (lines ${lines.join(", ")}${places > lines.length ? ", ..." : ""}).`;
  const { first, removed, added } = changedLines(before, after);
  const start = Math.max(1, first - AROUND);
  const snippet = linesOf(after).slice(start - 1, first - 1 + added.length + AROUND);
  const part = snippet.slice(0, SNIPPET_LINES).map((line) => cutLine(line, 300));
  const more = snippet.length > part.length ? `\n[and ${plural(snippet.length - part.length, "more line")}]` : "";
  return `Edited ${name}: +${added.length} -${removed.length} lines.\n${numbered(part, start)}${more}`;
}
