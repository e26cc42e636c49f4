/** The tool BashOutput: what a command in the background has written since the last look, and how it is. */
import { defineTool, FS, PROCESS, type Tool, type ToolContext, type ToolOutput, z } from "@heddle/kernel/plugin";
import { failed } from "../answer.ts";
import { lenient } from "../input.ts";
import { prompts } from "../prompts.generated.ts";
import { leanSchema } from "../schema.ts";
import type { BackgroundRuns, Entry } from "./background.ts";
import { shownOf } from "./bash.ts";
import { matcherOf } from "./lines.ts";

const input = lenient({ bash_id: z.string(), filter: z.string().optional() });
type Input = z.output<typeof input>;

export const bashOutputTool = (background: BackgroundRuns, ripgrep: string): Tool =>
  defineTool({
    name: "BashOutput",
    description: prompts["bash-output"],
    input,
    jsonSchema: () => leanSchema(input),
    deferred: true,
    overlap: "shared",
    effects: () => [],
    run: (i, ctx) => look(i, ctx, background, ripgrep),
  });

/** Ids start anew with each process, so that one of before a resume may not be known. */
const EARLIER = "Commands that an earlier process of this session ran ended with it.";

/** The words for an id that nobody has. */
export function unknown(background: BackgroundRuns, sessionId: string, id: string): ToolOutput {
  const ids = background.list(sessionId).map((b) => b.id);
  return failed(
    `There is no background command "${id}". ${ids.length > 0 ? `There are: ${ids.join(", ")}.` : "There is none."} ${EARLIER}`,
  );
}

export const stateOf = ({ id, run }: Entry): string => (run.ended === undefined ? `[${id} is running]` : `[${id} has ended: ${run.ended}]`);

async function look(i: Input, ctx: ToolContext, background: BackgroundRuns, ripgrep: string): Promise<ToolOutput> {
  const entry = background.get(ctx.session.id, i.bash_id);
  if (!entry) return unknown(background, ctx.session.id, i.bash_id);
  const match = i.filter === undefined ? undefined : matcherOf(ctx.capability(PROCESS), ripgrep, ctx.session.cwd, i.filter);
  const wrong = (await match?.(""))?.problem; // before the look, which happens once
  if (wrong !== undefined) return failed(wrong);
  const state = stateOf(entry); // before the look: what is called ended has no more to come
  const output = await shownOf(entry.run, ctx.capability(FS));
  const shown = match ? (await match(output)).lines.join("\n") : output;
  return { content: `${shown || (output ? "(no line matches)" : "(no new output)")}\n${state}` };
}
