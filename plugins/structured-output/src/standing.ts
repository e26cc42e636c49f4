/** How a turn stands, read from what it has added to the conversation. */
import { callsOf, type Json, type Message, type ToolMessage, textOf } from "@heddle/kernel/plugin";
import { prompts } from "./prompts.generated.ts";

export const TOOL = "StructuredOutput";
export const CLOSER = "structured-output";
/** How often an answer that does not fit, or is missing, is asked for again. */
export const RETRIES = 3;

/**
 * `value`: the last answer that fits. `missed`: how often one did not fit or was missing; above `RETRIES` the turn should be ended.
 * `wrong`: what did not fit the last time, in one line.
 */
export type Standing = { readonly value?: Json; readonly missed: number; readonly wrong?: string };

/** `added`: the messages of the turn. */
export function standingOf(added: readonly Message[]): Standing {
  const inputs = new Map(added.flatMap((m) => (m.role === "assistant" ? callsOf(m).map((c) => [c.callId, c.input] as const) : [])));
  const results = added.filter((m): m is ToolMessage => m.role === "tool" && m.tool === TOOL);
  const refused = results.filter((m) => m.outcome !== "ok");
  const reminders = added.filter((m) => m.role === "attachment" && m.kind === CLOSER);
  const missed = refused.length + reminders.length;
  const taken = results.findLast((m) => m.outcome === "ok");
  if (taken) return { missed, value: inputs.get(taken.callId)! };
  const last = refused.at(-1);
  return { missed, ...(last ? { wrong: textOf(last.content).replace(`${prompts.wrong}\n`, "").replaceAll("\n", "; ") } : {}) };
}
