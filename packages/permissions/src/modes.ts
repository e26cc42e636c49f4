/** The permission modes, and what each makes of a question. */
import type { Verdict } from "@heddle/kernel/plugin";

/** `auto` asks as `default` does: there is no side model here that would answer in the person's place. */
export const MODES = ["default", "acceptEdits", "plan", "dontAsk", "auto", "bypassPermissions"] as const;
export type Mode = (typeof MODES)[number];

export const PLAN =
  "plan mode is on, so nothing may be changed or run. Read and search as you need, then present the plan (with ExitPlanMode where you have it); the person switches the mode when it is accepted.";

/** In `dontAsk` what would be asked is denied. */
export function inMode(verdict: Verdict, mode: Mode): Verdict {
  if (mode !== "dontAsk" || verdict.say !== "ask") return verdict;
  return { ...verdict, say: "deny", why: `${verdict.why}; the mode dontAsk denies what it would have to ask for` };
}
