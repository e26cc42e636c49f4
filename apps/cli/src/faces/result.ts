/** One turn as the `result` object of the json and stream-json formats, and as an exit code. */

import type { AssistantMessage, Message, StopReason, Usage } from "@heddle/kernel/protocol";
import type { TurnResult } from "@heddle/runtime";
import { EXIT, type ExitCode } from "../exit.ts";
import { plural } from "../quantity.ts";
import { faultText } from "./fault.ts";

export type WireUsage = {
  input_tokens: number;
  output_tokens: number;
  cache_read_input_tokens: number;
  cache_creation_input_tokens: number;
};
export type ResultSubtype = "success" | "error_during_execution" | "error_max_turns";
export type WireResult = {
  type: "result";
  subtype: ResultSubtype;
  is_error: boolean;
  duration_ms: number;
  duration_api_ms: number;
  num_turns: number;
  result?: string;
  errors?: string[];
  stop_reason: string | null;
  usage: WireUsage;
  permission_denials: { tool_name: string; tool_use_id: string; tool_input: unknown }[];
  terminal_reason: string;
  session_id: string;
  uuid: string;
};

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

/** What went wrong, in words; undefined when nothing did. An empty answer is a failure: a script must never take it for one. */
export function failureOf(turn: TurnResult): string | undefined {
  const { outcome } = turn;
  switch (outcome.kind) {
    case "completed":
      return turn.text.trim() === "" ? "The model gave an empty answer. Ask again, or in other words." : undefined;
    case "handled":
      return turn.messages.some((m) => m.role === "system" && m.level === "error") ? turn.text || `/${outcome.command} failed.` : undefined;
    case "blocked":
      return outcome.why;
    case "aborted":
      return outcome.reason === "interrupted" ? "interrupted" : `interrupted: ${outcome.reason}`;
    case "refused":
      return turn.text.trim() || "The model refused to answer.";
    case "step-limit":
      return `Stopped after ${plural(outcome.steps, "model call")}, the most that --max-turns allows.`;
    case "failed":
      return faultText(outcome.fault);
  }
}

function terminalReason(turn: TurnResult): string {
  const { outcome } = turn;
  switch (outcome.kind) {
    case "blocked":
      return "hook_stopped";
    case "aborted":
      return turn.messages.some((m) => m.role === "tool" && m.outcome === "aborted") ? "aborted_tools" : "aborted_streaming";
    case "step-limit":
      return "max_turns";
    case "failed":
      if (outcome.fault.model?.kind === "overflow") return "prompt_too_long";
      return outcome.fault.model ? "api_error" : "turn_setup_failed";
    default:
      return "completed";
  }
}

/** Exactly one per turn. */
export function wireResult(turn: TurnResult, session: string, uuid: string): WireResult {
  const failure = failureOf(turn);
  const kind = turn.outcome.kind;
  const subtype: ResultSubtype =
    failure === undefined || kind === "refused" ? "success" : kind === "step-limit" ? "error_max_turns" : "error_during_execution";
  const last = lastReply(turn.messages);
  return {
    type: "result",
    subtype,
    is_error: failure !== undefined,
    duration_ms: Math.round(turn.ms),
    duration_api_ms: Math.round(turn.apiMs),
    num_turns: turn.messages.filter((m) => m.role === "assistant").length,
    ...(subtype === "success" ? { result: turn.text || (failure ?? "") } : { errors: [failure ?? ""] }),
    stop_reason: last ? wireStop(last.stop) : null,
    usage: wireUsage(turn.usage),
    permission_denials: turn.denials.map((d) => ({ tool_name: d.tool, tool_use_id: d.callId, tool_input: d.input })),
    terminal_reason: terminalReason(turn),
    session_id: session,
    uuid,
  };
}

export const exitOf = (turn: TurnResult): ExitCode => (failureOf(turn) === undefined ? EXIT.done : EXIT.failed);
