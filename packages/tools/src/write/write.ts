/** The tool Write: a whole file at once. */
import { defineTool, type Tool, type ToolContext, type ToolOutput, z } from "@heddle/kernel/plugin";
import { failed, plural } from "../answer.ts";
import { type ChangeServices, changedLines, changing, put, targetPath } from "../change.ts";
import { lenient } from "../input.ts";
import { prompts } from "../prompts.generated.ts";
import { leanSchema } from "../schema.ts";
import { dominantEol } from "../text.ts";

const input = lenient({ file_path: z.string().min(1), content: z.string() });
type Input = z.output<typeof input>;

export const writeTool = (services: ChangeServices): Tool =>
  defineTool({
    name: "Write",
    description: prompts.write,
    input,
    jsonSchema: () => leanSchema(input),
    overlap: "exclusive",
    effects: async (i, ctx) => [{ kind: "write", target: await targetPath(ctx, i.file_path) }],
    run(i, ctx) {
      return write(i, ctx, services);
    },
  });

function write(i: Input, ctx: ToolContext, services: ChangeServices): Promise<ToolOutput> {
  return changing("write", i.file_path, ctx, services, async (target) => {
    const { name, text: before, part } = target;
    if (!i.content.isWellFormed()) return failed("`content` holds half of a surrogate pair, which no encoding can store.");
    if (before === undefined) {
      const lines = await put(target, i.content, ctx, services.files, true);
      return { content: `Created ${name} (${plural(lines.added, "line")}).`, lines };
    }
    if (part)
      return failed(
        `${name} was not written: you have seen only a part of its ${plural(part.of, "line")}. Read the rest first, or change what you have seen with Edit.`,
      );
    const after = adapted(i.content, before, target.encoding.bom);
    if (after === before) return { content: `${name} already has this content; nothing was written.` };
    const lines = await put(target, after, ctx, services.files, true);
    const { first, removed, added } = changedLines(before, after);
    return { content: `Wrote ${name}: +${added.length} -${removed.length} lines, from line ${first}.`, lines };
  });
}

/** Content with LF only takes the line end that most of the old file has; content that brings CRLF is written as it is. */
function adapted(content: string, before: string, bom: boolean): string {
  const body = bom && content.startsWith("\uFEFF") ? content.slice(1) : content;
  return body.includes("\r\n") || dominantEol(before) === "\n" ? body : body.replaceAll("\n", "\r\n");
}
