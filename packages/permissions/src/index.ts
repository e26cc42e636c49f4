/** The gate of permission rules and modes. */
import {
  type Call,
  type CallContext,
  callsOf,
  definePlugin,
  type Effect,
  FS,
  type Gate,
  SESSION,
  service,
  type Verdict,
  z,
} from "@heddle/kernel/plugin";
import { decide } from "./decide.ts";
import { MODES, type Mode } from "./modes.ts";
import type { Place } from "./paths.ts";
import { readRules } from "./rules.ts";

export { type Checked, check, type Question } from "./check.ts";
export { decide, type Subject } from "./decide.ts";
export { MODES, type Mode } from "./modes.ts";
export type { Place } from "./paths.ts";
export type { Rule, RuleText } from "./rule.ts";
export { type Rules, type RuleTexts, readRules } from "./rules.ts";

const RuleList = z.array(z.object({ rule: z.string(), source: z.string(), root: z.string().optional() })).default([]);
/**
 * `home` is the absolute path that `~` stands for; without `bypass` the mode bypassPermissions is `default`; with `sandboxed` it
 * counts that a command runs in a sandbox.
 */
export const Options = z.object({
  allow: RuleList,
  ask: RuleList,
  deny: RuleList,
  home: z.string().optional(),
  bypass: z.boolean().default(true),
  sandboxed: z.boolean().default(false),
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

const MOVES = /(^|[^\w-])(cd|pushd|popd|eval|source|\.)(\s|$)/;
/**
 * All calls of a reply are judged before any of them runs. So where a command starts is not known when one before it in the same
 * reply may move the shell.
 */
function mayHaveMoved(call: Call, ctx: CallContext): boolean {
  const reply = ctx.session.messages.findLast((m) => m.role === "assistant");
  const calls = reply?.role === "assistant" ? callsOf(reply) : [];
  const before = calls.slice(
    0,
    Math.max(
      0,
      calls.findIndex((c) => c.callId === call.callId),
    ),
  );
  return before.some((c) => c.tool === call.tool && MOVES.test(String((c.input as { command?: unknown } | null)?.command)));
}

const STRICTEST = ["deny", "ask", "allow", "nothing"] as const;
const strictest = (verdicts: readonly Verdict[]): Verdict =>
  [...verdicts].sort((a, b) => STRICTEST.indexOf(a.say) - STRICTEST.indexOf(b.say))[0]!;

export default definePlugin({
  options: Options,
  setup({ options }) {
    const { home, bypass, sandboxed } = options;
    const { rules, reports } = readRules(options, home);
    const gate: Gate = {
      name: "rules",
      async judge(call, said, ctx) {
        const effects = sandboxed ? said : said.map((e): Effect => (e.sandbox === "inside" ? { kind: e.kind, target: e.target } : e));
        const once = (key: string, line: string): void => {
          if (ctx.state.get(key)) return;
          ctx.state.set(key, true);
          ctx.log(line);
        };
        for (const report of reports) once(`reported ${report}`, report);
        const { cwd, directories, permissionMode } = ctx.session;
        const wanted = MODES.find((m): m is Mode => m === permissionMode);
        if (!wanted) once(`mode ${permissionMode}`, `The permission mode "${permissionMode}" is not known here; "default" is used.`);
        if (wanted === "auto") once("mode auto", "Nothing here decides in the person's place, so the mode auto asks as default does.");
        const closed = wanted === "bypassPermissions" && !bypass;
        if (closed) once("no bypass", 'The settings switch the mode bypassPermissions off; "default" is used.');
        const mode = closed ? "default" : (wanted ?? "default");
        const { allowedTools = [] } = ctx.turn.controls;
        const { allowedTools: answered = [] } = ctx.session;
        const { folder } = ctx.capability(SESSION);
        const own = folder === null ? [] : [{ rule: `Read(/${folder}/outputs/**)`, source: "this session" }]; // what results were too long for
        const given = answered.map((rule) => ({ rule, source: "allowed for this session" }));
        const allow = [...allowedTools.map((rule) => ({ rule, source: "this command" })), ...given, ...own];
        const turn = readRules({ allow, ask: [], deny: [] }, home);
        for (const report of turn.reports) once(`reported ${report}`, report);
        const all = { ...rules, allow: [...rules.allow, ...turn.rules.allow] };
        const shell = shellOf(ctx);
        const here: Place = {
          cwd,
          directories,
          fs: ctx.capability(FS),
          ...(home === undefined ? {} : { home }),
          ...(shell === undefined ? {} : { shell }),
        };
        const places = effects.some((e) => e.kind === "execute") && mayHaveMoved(call, ctx) ? [here, { ...here, shell: "/" }] : [here];
        const verdict = strictest(await Promise.all(places.map((place) => decide(call, effects, all, mode, place))));
        if (verdict.say !== "ask" || places.length > 1) return verdict;
        const { offerFor } = await import("./offer.ts");
        const offer = await offerFor(call, effects, { rules: all, mode, place: here }, verdict);
        return offer.length > 0 ? { ...verdict, offer } : verdict;
      },
    };
    return { gates: [gate] };
  },
});
