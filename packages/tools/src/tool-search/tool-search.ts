/** The tool ToolSearch: finds tools that the model knows by name only, and has them loaded. */
import { defineTool, type Listed, type Tool, type ToolOutput, z } from "@heddle/kernel/plugin";
import { failed } from "../answer.ts";
import { lenient } from "../input.ts";
import { prompts } from "../prompts.generated.ts";
import { leanSchema } from "../schema.ts";
import { ranked } from "./rank.ts";

const USUAL = 5;
const MOST = 20;

const input = lenient({
  query: z.string().min(1),
  max_results: z.number().min(1).optional().describe(`default ${USUAL}`),
});
type Input = z.output<typeof input>;

export const toolSearchTool = (): Tool =>
  defineTool({
    name: "ToolSearch",
    description: prompts["tool-search"],
    input,
    jsonSchema: () => leanSchema(input),
    overlap: "shared",
    isEnabled: (session) => session.list("tools").some((t) => t.deferred),
    effects: () => [],
    run: (i, ctx) => search(i, ctx.session.list("tools")),
  });

function search({ query, max_results }: Input, all: readonly Listed[]): ToolOutput {
  const exact = /^\s*select:(.*)$/s.exec(query)?.[1];
  if (exact !== undefined)
    return select(
      exact
        .split(",")
        .map((name) => name.trim())
        .filter((name) => name !== ""),
      all,
    );
  const found = ranked(
    all.filter((t) => t.deferred),
    query,
  );
  const shown = found.slice(0, Math.min(MOST, Math.trunc(max_results ?? USUAL)));
  if (shown.length === 0) return failed(`No tool that can be loaded fits "${query}". Try other words, or select:Name with an exact name.`);
  const more = found.length - shown.length;
  return loaded(shown, more > 0 ? [`${more} more fit; raise max_results or say more to see them.`] : []);
}

function select(names: readonly string[], all: readonly Listed[]): ToolOutput {
  const find = (name: string): Listed | undefined =>
    all.find((t) => t.name === name) ?? all.find((t) => t.name.toLowerCase() === name.toLowerCase());
  const found = [...new Set(names.flatMap((name) => find(name) ?? []))];
  const unknown = names.filter((name) => !find(name));
  const here = found.filter((t) => !t.deferred).map((t) => t.name);
  const notes = [
    ...(here.length > 0 ? [`Always loaded: ${here.join(", ")}.`] : []),
    ...(unknown.length > 0 ? [`There is no tool: ${unknown.join(", ")}. Search with words in place of select:.`] : []),
  ];
  const waiting = found.filter((t) => t.deferred);
  if (waiting.length > 0) return loaded(waiting, notes);
  if (notes.length === 0) return failed("select: names no tool. Write select:Name,Other.");
  return here.length > 0 ? { content: notes.join("\n") } : failed(notes.join("\n"));
}

const loaded = (tools: readonly Listed[], notes: readonly string[]): ToolOutput => ({
  content: ["Loaded, and can be called now:", ...tools.map((t) => `${t.name}${t.summary ? `: ${t.summary}` : ""}`), ...notes].join("\n"),
  loads: tools.map((t) => t.name),
});
