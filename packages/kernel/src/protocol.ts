/** What crosses the kernel's border: messages, events, asks. Plain JSON and pure functions only; a UI may import this entry and nothing else. */

import type { PointId } from "./points.ts";

export type { PointId };
export type PluginId = string;
export type CallId = string;
export type MessageId = string;
export type TurnId = string;
export type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json };

/** Names one contribution. */
export type Who = Readonly<{ plugin: PluginId; point: PointId; name: string }>;

/** Who put a message into the conversation. Every message has one, so `explain` never guesses. */
export type Origin = { by: "user" } | { by: "model"; provider: string; model: string } | ({ by: "plugin" } & Who) | { by: "kernel" };

export type TextPart = Readonly<{ type: "text"; text: string }>;
/** `data` is base64. */
export type ImagePart = Readonly<{ type: "image"; mimeType: string; data: string }>;
export type Content = readonly (TextPart | ImagePart)[];
/** `opaque` belongs to the provider that made it (a signature, redacted data) and goes back to it byte for byte. */
export type ReasoningPart = Readonly<{ type: "reasoning"; text: string; opaque?: Json }>;
/** `malformed` says why the arguments could not be read; such a call is answered with an error and never run. */
export type ToolCallPart = Readonly<{ type: "tool-call"; callId: CallId; tool: string; input: Json; malformed?: string }>;
export type AssistantPart = TextPart | ReasoningPart | ToolCallPart;

/** `aborted`: the person stopped it; `timeout`: its deadline did; `denied`: a gate or the person refused it. */
export type ToolOutcome = "ok" | "error" | "denied" | "timeout" | "aborted";
export type StopReason = "end" | "tool-calls" | "length" | "refusal" | "pause" | "overflow" | "aborted";

/** Tokens. `input` counts neither what was read from the cache nor what was written to it. */
export type Usage = Readonly<{ input: number; output: number; cacheRead?: number; cacheWrite?: number }>;

/** Summed over the calls of a model; `usd` when its price is known. */
export type ModelCost = Readonly<{ provider: string; model: string; calls: number; usage: Required<Usage>; usd?: number }>;

/** `at` is milliseconds since the epoch. `parentId` is the message before it, null for the first. */
type Base = { id: MessageId; parentId: MessageId | null; at: number; origin: Origin };

/** `isMeta`: the model sees it, the person does not. */
export type UserMessage = Readonly<Base & { role: "user"; content: Content; isMeta?: boolean }>;
export type AssistantMessage = Readonly<Base & { role: "assistant"; content: readonly AssistantPart[]; stop: StopReason; usage?: Usage }>;
/** The one result of one call. `loads`: deferred tools whose schemas the model sees from here on. */
export type ToolMessage = Readonly<
  Base & { role: "tool"; callId: CallId; tool: string; outcome: ToolOutcome; content: Content; loads?: readonly string[] }
>;
/** Context that the runtime adds for the model. `content` is rendered once, when it is made, so that its bytes never change. */
export type AttachmentMessage = Readonly<Base & { role: "attachment"; kind: string; content: Content; data?: Json }>;
/** What the runtime tells the person and the log; never sent to a model. */
export type SystemMessage = Readonly<
  Base & { role: "system"; subtype: string; level: "info" | "warning" | "error"; text: string; data?: Json }
>;
export type Message = UserMessage | AssistantMessage | ToolMessage | AttachmentMessage | SystemMessage;
/** A message that the machine has not yet put into the chain. */
export type Draft<M extends Message = Message> = M extends Message ? Omit<M, "parentId"> : never;

/** A piece of the request prefix, fixed for the session. */
export type PrefixPart = Readonly<{ plugin: PluginId; name: string; text: string }>;
/** `system` ends up in the system prompt, `context` before the first user message. Both are byte-stable for a session. */
export type Prefix = Readonly<{ system: readonly PrefixPart[]; context: readonly PrefixPart[] }>;

export type Effort = "low" | "medium" | "high" | "xhigh" | "max";
/** `submit`: at once when the turn is over; otherwise the next input is only offered. */
type NextInput = Readonly<{ nextInput?: string; submitNextInput?: boolean }>;
/** What an input may set for its turn, and what it proposes as the next input. */
export type Controls = NextInput & Readonly<{ allowedTools?: readonly string[]; model?: string; effort?: Effort }>;
/** What a command may change for the rest of the session. `clear` starts a new history in the same log. */
export type SessionChange = Readonly<{ model?: string; effort?: Effort; permissionMode?: string; clear?: true; exit?: true }>;

export type InputSource = "repl" | "sdk" | "remote" | "system" | "queue" | "agent";
/** What was typed or sent, before anything looked at it. */
export type Input = Readonly<{ text: string; source: InputSource; images?: readonly ImagePart[]; isMeta?: boolean }>;

export type Phase = "input" | "context" | "sampling" | "gating" | "executing" | "closing" | "done";
export type TurnOutcome =
  | { kind: "completed" | "refused" }
  | { kind: "handled"; command: string }
  | { kind: "blocked"; why: string }
  | { kind: "aborted"; reason: string }
  | { kind: "step-limit"; steps: number }
  | { kind: "failed"; fault: Fault };

export type FaultCode = "plugin-threw" | "plugin-timeout" | "plugin-bad-output" | "plugin-disabled" | "model-error" | "kernel-bug";
/** A failure with its culprit. `who` is absent when no contribution is at fault. */
export type Fault = Readonly<{ code: FaultCode; who?: Who; message: string; model?: ModelFault }>;

type ServerFault = "rate-limit" | "overloaded" | "server" | "network" | "stall" | "protocol";
export type ModelFaultKind = "auth" | "billing" | "not-found" | "invalid" | "overflow" | "too-large" | ServerFault;
/** What a provider knows about a failed call. `retryAfterMs` is the server's own wish. */
export type ModelFault = Readonly<{ kind: ModelFaultKind; status?: number; requestId?: string; retryAfterMs?: number }>;

/** Sizes are characters of JSON, the same measure everywhere in a trace. */
export type Change = { op: "add" | "remove"; id: string; size: number } | { op: "replace"; id: string; size: number; was: number };

/** One run of one contribution: the unit of `explain`. The kernel computes `changes`; a plugin cannot misreport it. */
export type StageRecord = Readonly<Who & Noted & { status: StageStatus; ms: number; changes: readonly Change[]; fault?: Fault }>;
/** `lines` is what a tool says that it changed in files. */
type Noted = { note?: string; lines?: { added: number; removed: number } };
export type StageStatus = "ran" | "no-op" | "failed" | "skipped";

/**
 * What a call would touch. `target` is an absolute path, a command line, a URL or a name. `sandbox`: whether it runs in the host's
 * sandbox, or was asked to run outside of it; absent where none is in use.
 */
export type Effect = Readonly<{ kind: "read" | "write" | "execute" | "network" | "other"; target: string; sandbox?: "inside" | "outside" }>;

/** `offer`: allow rules that together would have spared the question. */
type Reason = Readonly<{ why: string; by?: PluginId; rule?: string; offer?: readonly string[] }>;
/** `agent`: the title of the sub-agent that asks. */
export type Ask =
  | ({ kind: "permission"; id: string; agent?: string; call: ToolCallPart; effects: readonly Effect[] } & Reason)
  | { kind: "question"; id: string; agent?: string; from: PluginId; text: string; choices?: readonly string[] };
/** `rules`: what is allowed from now on, until the session ends. */
export type Answer = { kind: "allow"; rules?: readonly string[] } | { kind: "deny"; reason?: string } | { kind: "text"; text: string };

/** Which verdict let a call through or stopped it. `by` is a plugin, `user` or `kernel`. */
export type Decision = Readonly<{ callId: CallId; tool: string; say: "allow" | "deny"; by: string; rule?: string; why?: string }>;

/** Characters of JSON by place. */
export type RequestSize = Readonly<{ tools: number; system: number; context: number; messages: number }>;
export type EventBody =
  | { type: "turn.started"; input: Input; model: string; permissionMode: string }
  | { type: "turn.phase"; from: Phase; to: Phase }
  | { type: "stage.ran"; record: StageRecord }
  | { type: "prefix.built"; prefix: Prefix }
  | { type: "model.requested"; provider: string; model: string; messages: number; tools: readonly string[]; size: RequestSize }
  | { type: "model.replied"; id: MessageId; stop: StopReason; usage?: Usage; ms: number; firstMs: number }
  | { type: "message.delta"; id: MessageId; part: number; of: AssistantPart["type"]; text: string }
  /** The call is made again: `attempt` of at most `of`, after `waitMs`; with another model where one is named. */
  | { type: "model.retry"; cause: string; attempt: number; of: number; waitMs: number; message: string; model?: string; status?: number }
  /** What was shown of this reply so far is void; what follows under the same id stands. */
  | { type: "message.voided"; id: MessageId; why: string }
  | { type: "message.added"; message: Message }
  /** A call that brought no reply to count it by: it was cut off, refused, or made again. */
  | { type: "model.billed"; provider: string; model: string; usage: Usage }
  /** The request no longer begins as the one before it: `tokens` of it are paid for anew, for `usd` more where a price is known. */
  | { type: "prefix.broken"; cause: string; tokens: number; usd?: number }
  /** The messages stay in the log and are no longer part of the history. */
  | { type: "history.dropped"; ids: readonly MessageId[]; why: string }
  | { type: "tool.decided"; decision: Decision }
  | { type: "tool.started"; call: ToolCallPart }
  | { type: "tool.progress"; callId: CallId; text: string }
  /** `early`: the result of a call whose reply is still coming in, which is no message of the history yet. */
  | { type: "tool.finished"; callId: CallId; tool: string; outcome: ToolOutcome; ms: number; early?: Draft<ToolMessage> }
  /** A conversation of its own begins, lives and ends: of what happens in it, deltas and all, `event` is one after the other. */
  | { type: "fork.started"; fork: string; title: string; callId?: CallId }
  | { type: "fork.event"; fork: string; event: RuntimeEvent }
  | { type: "fork.ended"; fork: string; outcome: TurnOutcome; models: readonly ModelCost[] }
  | { type: "ask.opened"; ask: Ask }
  | { type: "ask.closed"; id: string; answer: Answer }
  | { type: "fault"; fault: Fault }
  | { type: "session.changed"; change: SessionChange }
  | { type: "turn.ended"; outcome: TurnOutcome; steps: number; next?: { text: string; submit: boolean } };
export type EventType = EventBody["type"];
/** `turn` is null for what happens between turns. Consumers may merge consecutive deltas of one part; nothing else may be dropped. */
export type RuntimeEvent = Readonly<EventBody & { at: number; turn: TurnId | null; step: number }>;

export const textOf = (content: readonly { type: string; text?: string }[]): string =>
  content.map((p) => (p.type === "text" ? (p.text ?? "") : "")).join("");

export const callsOf = (message: { content: readonly AssistantPart[] }): ToolCallPart[] =>
  message.content.filter((p): p is ToolCallPart => p.type === "tool-call");

/** Deeply: what plugins are shown is what stays. */
export function frozen<T>(value: T): T {
  if (typeof value !== "object" || value === null || Object.isFrozen(value)) return value;
  for (const inner of Object.values(Object.freeze(value))) frozen(inner);
  return value;
}

/** The invariant every model API enforces: each call has exactly one result, right after it, and no result is an orphan. */
export function unpaired(messages: readonly Message[]): { open: CallId[]; orphan: CallId[] } {
  const open: CallId[] = [];
  const orphan: CallId[] = [];
  const seen = new Set<CallId>();
  let due = new Set<CallId>();
  for (const m of messages) {
    if (m.role === "system") continue;
    if (m.role === "tool") {
      if (!due.delete(m.callId)) orphan.push(m.callId);
      continue;
    }
    open.push(...due);
    due = new Set();
    if (m.role !== "assistant") continue;
    for (const call of callsOf(m)) {
      if (seen.has(call.callId)) open.push(call.callId);
      seen.add(call.callId);
      due.add(call.callId);
    }
  }
  open.push(...due);
  return { open, orphan };
}
