/** Plays model replies from a tape, and records such tapes: runs without a network, a key or a cost. */
import { definePlugin, FS, z } from "@heddle/kernel/plugin";
import { replay } from "./provider.ts";
import { recorder } from "./recorder.ts";

export { parseTape, type Step, stringifyTape, TapeError } from "./tape.ts";

/**
 * `tape`: what the provider plays. `record`: where the recorder writes; without it nothing is recorded. Both are relative to
 * the working directory. `vars`: what `{{name}}` stands for in the tape, beside `{{cwd}}`.
 */
export const Options = z
  .strictObject({
    tape: z.string().min(1).optional(),
    vars: z.record(z.string(), z.string()).optional(),
    record: z.string().min(1).optional(),
  })
  .prefault({});

export default definePlugin({
  options: Options,
  setup: (ctx) => ({ providers: [replay(ctx.options)], observers: [recorder(ctx.options.record, ctx.capability(FS))] }),
});
