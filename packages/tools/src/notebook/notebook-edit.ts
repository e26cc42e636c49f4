/** The tool NotebookEdit: one cell of a notebook replaced, inserted or deleted, the rest of the file as it was. */
import { defineTool, type Tool, type ToolContext, type ToolOutput, z } from "@heddle/kernel/plugin";
import { failed, plural } from "../answer.ts";
import { type ChangeServices, changing, put, targetPath } from "../change.ts";
import { lenient } from "../input.ts";
import { missing } from "../paths.ts";
import { prompts } from "../prompts.generated.ts";
import { leanSchema } from "../schema.ts";
import { linesOf } from "../text.ts";
import { cellAt, cellId, type Notebook, parseNotebook } from "./cells.ts";
import { deleted, inserted, replaced } from "./surgery.ts";

const input = lenient({
  notebook_path: z.string().min(1),
  cell_id: z.string().min(1).optional().describe("as Read shows it; to insert: the cell before, absent for the first place"),
  new_source: z.string().default(""),
  cell_type: z.enum(["code", "markdown", "raw"]).optional(),
  edit_mode: z.enum(["replace", "insert", "delete"]).default("replace"),
});
type Input = z.output<typeof input>;

export const notebookEditTool = (services: ChangeServices): Tool =>
  defineTool({
    name: "NotebookEdit",
    description: prompts["notebook-edit"],
    input,
    jsonSchema: () => leanSchema(input),
    deferred: true,
    overlap: "exclusive",
    effects: async (i, ctx) => [{ kind: "write", target: await targetPath(ctx, i.notebook_path) }],
    run(i, ctx) {
      return edit(i, ctx, services);
    },
  });

function edit(i: Input, ctx: ToolContext, services: ChangeServices): Promise<ToolOutput> {
  return changing("edit", i.notebook_path, ctx, services, async (target) => {
    const { name, text } = target;
    if (text === undefined) return failed(await missing(target.fs, ctx.session.cwd, i.notebook_path, target.path));
    if (!i.new_source.isWellFormed()) return failed("`new_source` holds half of a surrogate pair, which no encoding can store.");
    const notebook = parseNotebook(text);
    if (!notebook) return failed(`${name} is no notebook in the format 4 of Jupyter. Change its text with Edit.`);
    if (notebook.nbformat !== 4) return failed(`${name} is a notebook in format ${notebook.nbformat}; only 4 is changed here. Use Edit.`);
    const place = i.cell_id === undefined ? undefined : cellAt(notebook, i.cell_id);
    const at = place?.at;
    if (/^cell-\d+$/.test(i.cell_id ?? "") && place?.counted !== false && !target.counted)
      return failed(`${i.cell_id} only counts cells, and they may have moved since Read showed them: Read ${name} again.`);
    if (i.cell_id !== undefined && at === undefined) return failed(noCell(name, i.cell_id, notebook));
    if (i.edit_mode !== "insert" && at === undefined) return failed("`cell_id` is needed, except to insert at the beginning.");
    const { after, said } = change(i, at, notebook, text, ctx);
    if (after === text) return { content: `${name} has this already; nothing was written.` };
    const stay = i.edit_mode === "replace";
    const lines = await put(target, after, ctx, services.files, false, stay && target.counted);
    const moved = !stay && notebook.cells.some((cell) => cell.id === undefined);
    return { content: `${said} in ${name}.${moved ? " Cells without ids have moved: Read it again to change more of them." : ""}`, lines };
  });
}

function change(i: Input, at: number | undefined, notebook: Notebook, text: string, ctx: ToolContext): { after: string; said: string } {
  const lines = plural(linesOf(i.new_source).length, "line");
  if (i.edit_mode === "insert" || at === undefined) {
    const ids = notebook.nbformat_minor >= 5;
    const id = ctx
      .id("cell")
      .replace(/[^\w-]/g, "-")
      .slice(0, 64);
    const place = at === undefined ? 0 : at + 1;
    const after = inserted(text, place, { type: i.cell_type ?? "code", source: i.new_source, ...(ids ? { id } : {}) });
    return { after, said: `Inserted cell ${ids ? id : `cell-${place}`} (${lines})` };
  }
  const id = cellId(notebook.cells[at]!, at);
  if (i.edit_mode === "delete") return { after: deleted(text, at), said: `Deleted cell ${id}` };
  return { after: replaced(text, at, i.new_source, i.cell_type), said: `Replaced cell ${id} (${lines})` };
}

function noCell(name: string, id: string, { cells }: Notebook): string {
  const ids = cells.slice(0, 20).map(cellId);
  const have = ids.length === 0 ? "It has no cells." : `It has ${ids.join(", ")}${cells.length > ids.length ? ", ..." : ""}.`;
  return `${name} has no cell ${id}. ${have}`;
}
