/** The tool KillShell: the end of a command in the background. */
import { defineTool, FS, type Tool, type ToolContext, type ToolOutput, z } from "@heddle/kernel/plugin";
import { lenient } from "../input.ts";
import { prompts } from "../prompts.generated.ts";
import { leanSchema } from "../schema.ts";
import type { BackgroundRuns } from "./background.ts";
import { shownOf } from "./bash.ts";
import { stateOf, unknown } from "./bash-output.ts";

const DEADLINE_MS = 15_000;
const input = lenient({ shell_id: z.string().describe("its bash_id") });

export const killShellTool = (background: BackgroundRuns): Tool =>
  defineTool({
    name: "KillShell",
    description: prompts["kill-shell"],
    input,
    jsonSchema: () => leanSchema(input),
    deferred: true,
    overlap: "shared",
    deadlineMs: DEADLINE_MS,
    effects: () => [],
    run: (i, ctx) => kill(i.shell_id, ctx, background),
  });

async function kill(id: string, ctx: ToolContext, background: BackgroundRuns): Promise<ToolOutput> {
  const entry = background.get(ctx.session.id, id);
  if (!entry) return unknown(background, ctx.session.id, id);
  await background.stop(ctx.session.id, id);
  const output = await shownOf(entry.run, ctx.capability(FS));
  return { content: [output, stateOf(entry)].filter((s) => s !== "").join("\n") };
}
