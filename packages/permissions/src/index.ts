/** The gate of permission rules and modes. */
import { type CallContext, definePlugin, FS, type Gate, service, z } from "@heddle/kernel/plugin";
import { decide, MODES, type Mode } from "./decide.ts";
import type { Place } from "./paths.ts";
import { readRules } from "./rules.ts";

export { decide, MODES, type Mode, type Subject } from "./decide.ts";
export type { Place } from "./paths.ts";
export type { Rule, RuleText } from "./rule.ts";
export { type Rules, type RuleTexts, readRules } from "./rules.ts";

const RuleList = z.array(z.object({ rule: z.string(), source: z.string() })).default([]);
/** `home` and `settingsRoot` are absolute paths: what `~/` and `/` stand for in a rule. Without `settingsRoot`, `/` is the session's folder. */
export const Options = z.object({
  allow: RuleList,
  ask: RuleList,
  deny: RuleList,
  home: z.string().optional(),
  settingsRoot: z.string().optional(),
});

/** Provided by whoever keeps a shell's folder from one command to the next. */
const SHELL_FOLDER = service<{ get(sessionId: string): string | undefined }>("heddle.shell-folder");
function shellOf(ctx: CallContext): string | undefined {
  try {
    return ctx.use(SHELL_FOLDER).get(ctx.session.id);
  } catch {
    return undefined; // nobody keeps one: commands start in the session's folder
  }
}

export default definePlugin({
  options: Options,
  setup({ options }) {
    const { home, settingsRoot } = options;
    const { rules, reports } = readRules(options, home);
    const gate: Gate = {
      name: "rules",
      async judge(call, effects, ctx) {
        const once = (key: string, line: string): void => {
          if (ctx.state.get(key)) return;
          ctx.state.set(key, true);
          ctx.log(line);
        };
        for (const report of reports) once(`reported ${report}`, report);
        const { cwd, directories, permissionMode } = ctx.session;
        const mode = MODES.find((m): m is Mode => m === permissionMode);
        if (!mode) once(`mode ${permissionMode}`, `The permission mode "${permissionMode}" is not known here; "default" is used.`);
        const { allowedTools = [] } = ctx.turn.controls;
        const turn = readRules({ allow: allowedTools.map((rule) => ({ rule, source: "this command" })), ask: [], deny: [] }, home);
        for (const report of turn.reports) once(`reported ${report}`, report);
        const all = { ...rules, allow: [...rules.allow, ...turn.rules.allow] };
        const shell = shellOf(ctx);
        const place: Place = {
          cwd,
          directories,
          fs: ctx.capability(FS),
          ...(home === undefined ? {} : { home }),
          ...(settingsRoot === undefined ? {} : { settingsRoot }),
          ...(shell === undefined ? {} : { shell }),
        };
        return decide(call, effects, all, mode ?? "default", place);
      },
    };
    return { gates: [gate] };
  },
});
