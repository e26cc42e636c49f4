/** The attachment kind `deferred-tools`: the names of tools that have to be loaded before their schemas are seen, each told once. */
import { type Attachment, type CallContext, defineAttachment, z } from "@heddle/kernel/plugin";

const KIND = "deferred-tools";
/** Characters of the list, about 300 tokens: with summaries where all fit, else as many names as do. */
const BUDGET = 1_080;

const Named = z.object({ name: z.string(), summary: z.string().optional() });
/** `tools` were not told of before; `gone` were, and are no longer there. */
const schema = z.object({ tools: z.array(Named), gone: z.array(z.string()) });
type Told = z.output<typeof schema>;

export const deferredToolsAttachment = (): Attachment => defineAttachment({ name: KIND, schema, when: "turn", collect, render });

function collect({ plugin, session }: CallContext): Told[] {
  const known = new Set<string>();
  for (const m of session.messages) {
    if (m.role !== "attachment" || m.kind !== KIND || m.origin.by !== "plugin" || m.origin.plugin !== plugin) continue;
    const told = schema.safeParse(m.data);
    if (!told.success) continue;
    for (const { name } of told.data.tools) known.add(name);
    for (const name of told.data.gone) known.delete(name);
  }
  const here = session.list("tools").filter((t) => t.deferred);
  const names = new Set(here.map((t) => t.name));
  const tools = here.filter((t) => !known.has(t.name)).map(({ name, summary }) => ({ name, ...(summary ? { summary } : {}) }));
  const gone = [...known].filter((name) => !names.has(name));
  return tools.length + gone.length > 0 ? [{ tools, gone }] : [];
}

function render({ tools, gone }: Told): string {
  const parts = tools.length > 0 ? [`More tools, to be loaded with ToolSearch before they are called:\n${listed(tools)}`] : [];
  if (gone.length > 0) parts.push(`Tools that are no longer there: ${gone.join(", ")}`);
  return parts.join("\n\n");
}

function listed(tools: Told["tools"]): string {
  const lines = tools.map(({ name, summary }) => (summary ? `- ${name}: ${summary}` : `- ${name}`)).join("\n");
  if (lines.length <= BUDGET) return lines;
  const names = tools.map(({ name }) => name).join(", ");
  if (names.length <= BUDGET) return names;
  const shown = names.slice(0, names.lastIndexOf(", ", BUDGET)).split(", ");
  return `${shown.join(", ")}, and ${tools.length - shown.length} more that a search by words finds`;
}
