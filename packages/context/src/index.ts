/** System prompt parts and project context: identity, environment, git, instruction files, date. */
import { type CallContext, definePlugin, FS, PROCESS, type PromptPart, type SetupContext, z } from "@heddle/kernel/plugin";
import { environment } from "./environment.ts";
import { gitStatus } from "./git.ts";
import { readInstructions } from "./instruction-files.ts";
import { assemble } from "./instructions.ts";
import { prompts } from "./prompts.generated.ts";
import { findRepository } from "./repository.ts";

/**
 * `systemPrompt` stands in place of identity, environment and git. `appendSystemPrompt` comes after them. `home` is the
 * person's home folder, absolute; without it no user files are read. `platform` is told to the model as it is. `git: false`
 * runs no git. `prewarm` is a folder whose git state is read at once, for a session that is about to begin there.
 */
export const Options = z
  .strictObject({
    systemPrompt: z.string().optional(),
    appendSystemPrompt: z.string().optional(),
    home: z.string().optional(),
    platform: z.string().optional(),
    git: z.boolean().default(true),
    prewarm: z.string().optional(),
  })
  .prefault({});

const WEEKDAYS = ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"] as const;

export default definePlugin({
  options: Options,
  setup(setup) {
    const o = setup.options;
    const own = o.systemPrompt === undefined;
    const early = own && o.git && o.prewarm !== undefined ? [prewarm(setup, o.prewarm)] : [];
    const git = (ctx: CallContext): Promise<string | undefined> => {
      const { cwd } = ctx.session;
      const warm = cwd === o.prewarm ? early.pop() : undefined; // for one session: the state of the next is another
      return warm
        ? warm(ctx)
        : gitStatus({ cwd, fs: ctx.capability(FS), processes: ctx.capability(PROCESS), signal: ctx.signal, log: ctx.log });
    };
    const parts: PromptPart[] = [
      { name: "identity", placement: "system", build: () => o.systemPrompt ?? prompts.identity },
      { name: "environment", placement: "system", build: (ctx) => (own ? environment(ctx, o.platform) : undefined) },
      { name: "git", placement: "system", build: (ctx) => (own && o.git ? git(ctx) : undefined) },
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

/** Starts to read at once, and hands over what it reads when it is asked for. */
function prewarm(setup: Pick<SetupContext, "capability">, cwd: string): (ctx: CallContext) => Promise<string | undefined> {
  const lines: string[] = [];
  const state = gitStatus({ cwd, fs: setup.capability(FS), processes: setup.capability(PROCESS), log: (line) => lines.push(line) });
  state.catch(() => {}); // whoever asks for it gets the error
  return async (ctx) => {
    const text = await state;
    for (const line of lines) ctx.log(line);
    return text;
  };
}

/** The day where the person is, not in Greenwich. */
function today(now: number): string {
  const at = new Date(now);
  const two = (n: number): string => String(n).padStart(2, "0");
  const day = WEEKDAYS[at.getDay()]!; // not by locale: that loads megabytes of tables at every start
  return `Today's date: ${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())} (${day})`;
}
