/** One turn as the `result` object of the json and stream-json formats, and as an exit code. */

import { type AssistantMessage, callsOf, type Message, type StopReason, textOf, type Usage } from "@heddle/kernel/protocol";
import type { Session, TurnResult } from "@heddle/runtime";
import { RETRIES, type Standing } from "@heddle/structured-output/standing";
import { EXIT, type ExitCode } from "../exit.ts";
import { plural } from "../quantity.ts";
import { faultText } from "./fault.ts";

export type WireUsage = {
  input_tokens: number;
  output_tokens: number;
  cache_read_input_tokens: number;
  cache_creation_input_tokens: number;
};
/** `costUSD` is absent where no price is known. */
export type WireModelUsage = {
  inputTokens: number;
  outputTokens: number;
  cacheReadInputTokens: number;
  cacheCreationInputTokens: number;
  costUSD?: number;
};
export type ResultSubtype =
  | "success"
  | "error_during_execution"
  | "error_max_turns"
  | "error_max_budget_usd"
  | "error_max_structured_output_retries";
export type WireResult = {
  type: "result";
  subtype: ResultSubtype;
  is_error: boolean;
  duration_ms: number;
  duration_api_ms: number;
  num_turns: number;
  /** The answer; with `errors` what stands of it, if anything. */
  result?: string;
  /** With `--json-schema`: the answer that satisfies it. */
  structured_output?: unknown;
  errors?: string[];
  stop_reason: string | null;
  usage: WireUsage;
  /** Of the session so far; absent while a price is missing. */
  total_cost_usd?: number;
  /** Of the session so far, by model; those of other providers than Anthropic with its name. */
  modelUsage?: Record<string, WireModelUsage>;
  permission_denials: { tool_name: string; tool_use_id: string; tool_input: unknown }[];
  terminal_reason: string;
  session_id: string;
  uuid: string;
};

/** A turn, and how it stands with `structured` where its answer has to satisfy a schema. */
export type Answered = TurnResult & { readonly structured?: Standing };

export const wireUsage = (usage: Usage | undefined): WireUsage => ({
  input_tokens: usage?.input ?? 0,
  output_tokens: usage?.output ?? 0,
  cache_read_input_tokens: usage?.cacheRead ?? 0,
  cache_creation_input_tokens: usage?.cacheWrite ?? 0,
});

const STOPS: { readonly [S in StopReason]: string | null } = {
  end: "end_turn",
  "tool-calls": "tool_use",
  length: "max_tokens",
  refusal: "refusal",
  pause: "pause_turn",
  overflow: "model_context_window_exceeded",
  aborted: null,
};
export const wireStop = (stop: StopReason): string | null => STOPS[stop];

const lastReply = (messages: readonly Message[]): AssistantMessage | undefined =>
  messages.findLast((m): m is AssistantMessage => m.role === "assistant");

/** What does not part one reply from the next. */
const isBetween = (m: Message): boolean => m.role === "attachment" || m.role === "system" || (m.role === "user" && m.isMeta === true);
const CUT: readonly StopReason[] = ["length", "overflow", "aborted", "pause"];

/** What the turn has answered. A reply that was cut off and the ones that went on with it are one answer. */
export function answerOf({ messages, text }: Pick<TurnResult, "messages" | "text">): string {
  const last = messages.findLastIndex((m) => m.role === "assistant");
  if (last < 0) return text;
  let answer = "";
  for (const m of messages.slice(0, last + 1).reverse()) {
    if (isBetween(m)) continue;
    if (m.role !== "assistant" || (m !== messages[last] && !CUT.includes(m.stop))) break;
    answer = textOf(m.content) + answer;
  }
  return answer;
}

/** What stands of the answer when its turn went wrong; empty when the model had not begun with one. */
function keptOf(turn: TurnResult): string {
  const { outcome, messages } = turn;
  const last = messages.findLast((m) => !isBetween(m));
  const isCut = last?.role === "assistant" && CUT.includes(last.stop);
  return outcome.kind === "completed" || (outcome.kind === "failed" && isCut) ? answerOf(turn) : "";
}

/** What is printed as the answer, be it whole or not; undefined for nothing. */
export function printedOf(turn: TurnResult): string | undefined {
  if (failureOf(turn) === undefined) return answerOf(turn);
  return keptOf(turn).trim() === "" ? undefined : keptOf(turn);
}

/** Why there is no answer that satisfies the schema, where that is what ended the turn. */
function unfit({ outcome, structured }: Answered): string | undefined {
  if (!structured || structured.value !== undefined) return undefined;
  if (outcome.kind !== "completed" && !(outcome.kind === "aborted" && structured.missed > RETRIES)) return undefined;
  const why = structured.wrong ?? "it called no StructuredOutput";
  return `No answer fits --json-schema, though it was asked for again ${plural(Math.min(structured.missed, RETRIES), "time")}: ${why}.`;
}

/** Why an answer that is there is not whole. */
function cutShort({ outcome, messages }: TurnResult): string | undefined {
  const stop = outcome.kind === "completed" ? lastReply(messages)?.stop : undefined;
  if (stop === "length") return "The answer was cut off at the output limit: ask for the rest, or for a shorter answer.";
  if (stop === "overflow") return "The answer was cut off at the end of the model's window: ask for the rest in a new session.";
  return stop === "aborted" ? "The answer was cut off: ask for the rest." : undefined;
}

/** What went wrong, in words; undefined when nothing did. An empty answer is a failure: a script must never take it for one. */
export function failureOf(turn: Answered): string | undefined {
  const { outcome, structured } = turn;
  if (structured?.value !== undefined) return undefined; // whatever became of the words after it
  const missing = unfit(turn);
  if (missing !== undefined) return missing;
  switch (outcome.kind) {
    case "completed":
      if (structured) return undefined;
      return answerOf(turn).trim() === "" ? "The model gave an empty answer. Ask again, or in other words." : cutShort(turn);
    case "handled":
      return turn.messages.some((m) => m.role === "system" && m.level === "error") ? turn.text || `/${outcome.command} failed.` : undefined;
    case "blocked":
      return outcome.why;
    case "aborted":
      return outcome.reason === "interrupted" ? "interrupted" : `interrupted: ${outcome.reason}`;
    case "refused":
      return "The model refused to answer: ask in another way, or another model.";
    case "step-limit":
      return `Stopped after ${plural(outcome.steps, "model call")}, the most that --max-turns allows.`;
    case "failed":
      return faultText(outcome.fault);
  }
}

function terminalReason(turn: Answered): string {
  const { outcome } = turn;
  if (unfit(turn) !== undefined) return "structured_output_retry_exhausted";
  switch (outcome.kind) {
    case "blocked":
      return "hook_stopped";
    case "aborted":
      return turn.messages.some((m) => m.role === "tool" && m.outcome === "aborted") ? "aborted_tools" : "aborted_streaming";
    case "step-limit":
      return "max_turns";
    case "failed":
      if (outcome.fault.model?.kind === "overflow") return "prompt_too_long";
      if (outcome.fault.model?.kind === "protocol" && isUnreadable(turn)) return "malformed_tool_use_exhausted";
      return outcome.fault.model ? "api_error" : "turn_setup_failed";
    default:
      return "completed";
  }
}

/** The last reply had calls, and none of them could be read. */
function isUnreadable({ messages }: TurnResult): boolean {
  const calls = callsOf(lastReply(messages) ?? { content: [] });
  return calls.length > 0 && calls.every((c) => c.malformed !== undefined);
}

function wireCost({ usd, unpriced, models }: Session["cost"]): Pick<WireResult, "total_cost_usd" | "modelUsage"> {
  const usages = models.map(({ provider, model, usage, usd }): [string, WireModelUsage] => [
    provider === "anthropic" ? model : `${provider}/${model}`,
    {
      inputTokens: usage.input,
      outputTokens: usage.output,
      cacheReadInputTokens: usage.cacheRead,
      cacheCreationInputTokens: usage.cacheWrite,
      ...(usd === undefined ? {} : { costUSD: usd }),
    },
  ]);
  return { ...(unpriced.length === 0 ? { total_cost_usd: usd } : {}), modelUsage: Object.fromEntries(usages) };
}

/** Exactly one per turn. */
export function wireResult(turn: Answered, session: Pick<Session, "id" | "cost">, uuid: string): WireResult {
  const failure = failureOf(turn);
  const kind = turn.outcome.kind;
  const missing = unfit(turn) !== undefined;
  const kept = missing ? "" : keptOf(turn);
  const partial = kind === "completed" && kept.trim() !== "";
  const subtype: ResultSubtype =
    failure === undefined || kind === "refused" || partial
      ? "success"
      : missing
        ? "error_max_structured_output_retries"
        : kind === "step-limit"
          ? "error_max_turns"
          : failure.startsWith("The budget of ")
            ? "error_max_budget_usd"
            : "error_during_execution";
  const last = lastReply(turn.messages);
  return {
    type: "result",
    subtype,
    is_error: failure !== undefined,
    duration_ms: Math.round(turn.ms),
    duration_api_ms: Math.round(turn.apiMs),
    num_turns: turn.messages.filter((m) => m.role === "assistant").length,
    ...(failure === undefined ? { result: answerOf(turn) } : kind === "refused" ? { result: failure } : {}),
    ...(failure !== undefined && kind !== "refused" ? { ...(kept.trim() === "" ? {} : { result: kept }), errors: [failure] } : {}),
    ...(failure === undefined && turn.structured?.value !== undefined ? { structured_output: turn.structured.value } : {}),
    stop_reason: last ? wireStop(last.stop) : null,
    usage: wireUsage(turn.usage),
    ...wireCost(session.cost),
    permission_denials: turn.denials.map((d) => ({ tool_name: d.tool, tool_use_id: d.callId, tool_input: d.input })),
    terminal_reason: terminalReason(turn),
    session_id: session.id,
    uuid,
  };
}

export const exitOf = (turn: Answered): ExitCode => (failureOf(turn) === undefined ? EXIT.done : EXIT.failed);
