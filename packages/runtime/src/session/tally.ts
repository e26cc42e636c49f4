/** Adds up what the events of one turn say, for its result. */
import type { Json, Message, RuntimeEvent, TurnOutcome, Usage } from "@heddle/kernel";
import { callsOf, textOf } from "@heddle/kernel";
import type { TurnResult } from "../types.ts";

export class Tally {
  readonly #messages: Message[] = [];
  readonly #inputs = new Map<string, Json>();
  readonly #denials: { readonly tool: string; readonly callId: string }[] = [];
  #usage: Usage = { input: 0, output: 0 };
  #apiMs = 0;
  #calls = 0;
  ended: Extract<RuntimeEvent, { type: "turn.ended" }> | undefined;

  readonly #otherwise: TurnOutcome;

  /** `otherwise` is the outcome of a turn that does not come to its end. */
  constructor(
    otherwise: TurnOutcome = { kind: "failed", fault: { code: "kernel-bug", message: "kernel bug: the turn ended without an outcome" } },
  ) {
    this.#otherwise = otherwise;
  }
  take(event: RuntimeEvent): void {
    if (event.type === "message.added") {
      this.#messages.push(event.message);
      if (event.message.role === "assistant") for (const call of callsOf(event.message)) this.#inputs.set(call.callId, call.input);
    } else if (event.type === "model.requested") this.#calls++;
    else if ((event.type === "model.replied" || event.type === "model.billed") && event.usage) this.#usage = sum(this.#usage, event.usage);
    else if (event.type === "stage.ran" && event.record.point === "providers") this.#apiMs += event.record.ms;
    else if (event.type === "tool.decided" && event.decision.say === "deny") {
      const { tool, callId } = event.decision;
      this.#denials.push({ tool, callId });
    } else if (event.type === "turn.ended") this.ended = event;
  }
  /** `ms` is the wall time of the turn. */
  result(turn: string, ms: number): TurnResult {
    const outcome = this.ended?.outcome ?? this.#otherwise;
    return {
      turn,
      outcome,
      ms,
      steps: this.#calls,
      apiMs: this.#apiMs,
      messages: this.#messages,
      text: textFor(outcome, this.#messages),
      usage: this.#usage,
      denials: this.#denials.map((d) => ({ ...d, input: this.#inputs.get(d.callId) ?? null })),
    };
  }
}

function sum(a: Usage, b: Usage): Usage {
  const cacheRead = (a.cacheRead ?? 0) + (b.cacheRead ?? 0);
  const cacheWrite = (a.cacheWrite ?? 0) + (b.cacheWrite ?? 0);
  const known = (...u: (number | undefined)[]): boolean => u.some((n) => n !== undefined);
  return {
    input: a.input + b.input,
    output: a.output + b.output,
    ...(known(a.cacheRead, b.cacheRead) ? { cacheRead } : {}),
    ...(known(a.cacheWrite, b.cacheWrite) ? { cacheWrite } : {}),
  };
}

function textFor(outcome: TurnOutcome, messages: readonly Message[]): string {
  if (outcome.kind === "blocked") return outcome.why;
  if (outcome.kind === "handled")
    return messages.flatMap((m) => (m.role === "system" && m.subtype === "command-output" ? [m.text] : [])).join("\n");
  const last = messages.findLast((m) => m.role === "assistant");
  return last?.role === "assistant" ? textOf(last.content) : "";
}
