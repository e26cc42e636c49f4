/** The tool Edit: exact texts for others, all of them or none, and every other byte as it was. */
import { defineTool, type Tool, type ToolContext, type ToolOutput, z } from "@heddle/kernel/plugin";
import { failed, plural } from "../answer.ts";
import { type ChangeServices, changing, put, type Target, targetPath } from "../change.ts";
import { flag, lenient } from "../input.ts";
import { missing } from "../paths.ts";
import { prompts } from "../prompts.generated.ts";
import { leanSchema } from "../schema.ts";
import { type Replacement, replace } from "./replace.ts";
import { report } from "./report.ts";

const replacement = { old_string: z.string(), new_string: z.string(), replace_all: flag };
const input = lenient({
  file_path: z.string().min(1),
  old_string: z.string().optional(),
  new_string: z.string().optional(),
  replace_all: flag,
  edits: z.array(lenient(replacement)).min(1).optional().describe("in place of the other fields: several edits in order, all or none"),
});
type Input = z.output<typeof input>;

export const editTool = (services: ChangeServices): Tool =>
  defineTool({
    name: "Edit",
    aliases: ["MultiEdit"],
    description: prompts.edit,
    input,
    jsonSchema: () => leanSchema(input),
    overlap: "exclusive",
    effects: async (i, ctx) => [{ kind: "write", target: await targetPath(ctx, i.file_path) }],
    run(i, ctx) {
      const edits = editsOf(i);
      return typeof edits === "string" ? failed(edits) : edit(i.file_path, edits, ctx, services);
    },
  });

/** The edits, or the words why they cannot be made of this input. */
function editsOf({ edits, old_string, new_string, replace_all }: Input): readonly Replacement[] | string {
  if (edits && (old_string ?? new_string) !== undefined) return "Give either `edits` or `old_string` and `new_string`, not both.";
  if (!edits && (old_string === undefined || new_string === undefined))
    return "`old_string` and `new_string` are both needed, or a list of such pairs as `edits`.";
  const all = edits ?? [{ old_string: old_string ?? "", new_string: new_string ?? "", replace_all }];
  for (const [n, it] of all.entries()) {
    if (it.old_string === it.new_string)
      return `${which(n, all)}\`old_string\` and \`new_string\` are the same: there is nothing to change.`;
    if (!it.old_string.isWellFormed() || !it.new_string.isWellFormed())
      return `${which(n, all)}\`old_string\` or \`new_string\` holds half of a surrogate pair, which no encoding can store.`;
  }
  return all;
}

const which = (n: number, all: readonly unknown[]): string => (all.length > 1 ? `Edit ${n + 1} of ${all.length}: ` : "");

function edit(asked: string, edits: readonly Replacement[], ctx: ToolContext, services: ChangeServices): Promise<ToolOutput> {
  return changing("edit", asked, ctx, services, async (target) => {
    const { name } = target;
    if (target.text === undefined && edits[0]?.old_string !== "") return failed(await nothingThere(asked, target, ctx, services));
    const made = target.text === undefined ? "Created" : target.text === "" ? "Filled" : undefined;
    const said: string[] = [];
    let text = target.text ?? "";
    for (const [n, it] of edits.entries()) {
      const replaced = it.old_string === "" && text === "" ? { after: it.new_string } : replace(text, it);
      if (typeof replaced === "string") return failed(`${name} was not changed. ${which(n, edits)}${replaced}`);
      if ("places" in replaced) said.push(report(name, text, replaced));
      text = replaced.after;
    }
    const lines = await put(target, text, ctx, services.files, made !== undefined);
    if (made) return { content: `${made} ${name} (${plural(lines.added, "line")}).`, lines };
    return { lines, content: said.length > 1 ? [`All ${said.length} edits are made.`, ...said].join("\n") : (said[0] ?? "") };
  });
}

const nothingThere = (asked: string, target: Target, { session }: ToolContext, { shell }: ChangeServices): Promise<string> =>
  missing(target.fs, session.cwd, asked, target.path, [shell.get(session.id) ?? session.cwd]);
