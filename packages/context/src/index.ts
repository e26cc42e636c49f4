/** System prompt parts and project context: identity, environment, git, instruction files, date. */
import { definePlugin, FS, type PromptPart, z } from "@heddle/kernel/plugin";
import { environment } from "./environment.ts";
import { gitStatus } from "./git.ts";
import { readInstructions } from "./instruction-files.ts";
import { assemble } from "./instructions.ts";
import { prompts } from "./prompts.generated.ts";
import { findRepository } from "./repository.ts";

/**
 * `systemPrompt` stands in place of identity, environment and git. `appendSystemPrompt` comes after them. `home` is the
 * person's home folder, absolute; without it no user files are read. `platform` is told to the model as it is. `git: false`
 * runs no git.
 */
export const Options = z
  .strictObject({
    systemPrompt: z.string().optional(),
    appendSystemPrompt: z.string().optional(),
    home: z.string().optional(),
    platform: z.string().optional(),
    git: z.boolean().default(true),
  })
  .prefault({});

export default definePlugin({
  options: Options,
  setup({ options: o }) {
    const own = o.systemPrompt === undefined;
    const parts: PromptPart[] = [
      { name: "identity", placement: "system", build: () => o.systemPrompt ?? prompts.identity },
      { name: "environment", placement: "system", build: (ctx) => (own ? environment(ctx, o.platform) : undefined) },
      { name: "git", placement: "system", build: (ctx) => (own && o.git ? gitStatus(ctx) : undefined) },
      { name: "append", placement: "system", build: () => o.appendSystemPrompt },
      {
        name: "instructions",
        placement: "context",
        async build(ctx) {
          const fs = ctx.capability(FS);
          const { cwd } = ctx.session;
          const found = await readInstructions(fs, { cwd, home: o.home, repository: await findRepository(fs, cwd) });
          const made = assemble(found);
          for (const note of [...found.notes, ...(made?.warning ? [made.warning] : [])]) ctx.log(note);
          return made?.text;
        },
      },
      { name: "date", placement: "context", build: (ctx) => today(ctx.now()) },
    ];
    return { systemPrompt: parts };
  },
});

/** The day where the person is, not in Greenwich. */
function today(now: number): string {
  const at = new Date(now);
  const two = (n: number): string => String(n).padStart(2, "0");
  const day = at.toLocaleDateString("en-US", { weekday: "long" });
  return `Today's date: ${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())} (${day})`;
}
