/** What crosses the kernel's border: messages, events, asks. Plain JSON and pure functions only; a UI may import this entry and nothing else. */

export type PluginId = string;
export type CallId = string;
export type MessageId = string;
export type TurnId = string;
export type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json };

/** The places where plugins contribute. Their modes and failure rules stand in `points.ts`. */
export type PointId =
  | "classifiers"
  | "commands"
  | "admission"
  | "systemPrompt"
  | "attachments"
  | "memory"
  | "compaction"
  | "providers"
  | "tools"
  | "gates"
  | "afterTool"
  | "closers"
  | "observers"
  | "renderers";

/** Names one contribution. */
export type Who = { readonly plugin: PluginId; readonly point: PointId; readonly name: string };

/** Who put a message into the conversation. Every message has one, so `explain` never guesses. */
export type Origin =
  | { readonly by: "user" }
  | { readonly by: "model"; readonly provider: string; readonly model: string }
  | ({ readonly by: "plugin" } & Who)
  | { readonly by: "kernel" };

export type TextPart = { readonly type: "text"; readonly text: string };
/** `data` is base64. */
export type ImagePart = { readonly type: "image"; readonly mimeType: string; readonly data: string };
export type Content = readonly (TextPart | ImagePart)[];
/** `opaque` belongs to the provider that made it (a signature, redacted data) and goes back to it byte for byte. */
export type ReasoningPart = { readonly type: "reasoning"; readonly text: string; readonly opaque?: Json };
/** `malformed` says why the arguments could not be read; such a call is answered with an error and never run. */
export type ToolCallPart = {
  readonly type: "tool-call";
  readonly callId: CallId;
  readonly tool: string;
  readonly input: Json;
  readonly malformed?: string;
};
export type AssistantPart = TextPart | ReasoningPart | ToolCallPart;

/** `aborted`: the person stopped it; `timeout`: its deadline did; `denied`: a gate or the person refused it. */
export type ToolOutcome = "ok" | "error" | "denied" | "timeout" | "aborted";
export type StopReason = "end" | "tool-calls" | "length" | "refusal" | "pause" | "overflow" | "aborted";

/** Tokens. `input` counts neither what was read from the cache nor what was written to it. */
export type Usage = {
  readonly input: number;
  readonly output: number;
  readonly cacheRead?: number;
  readonly cacheWrite?: number;
};

/** `at` is milliseconds since the epoch. `parentId` is the message before it, null for the first. */
type Base = {
  readonly id: MessageId;
  readonly parentId: MessageId | null;
  readonly at: number;
  readonly origin: Origin;
};

/** `isMeta`: the model sees it, the person does not. */
export type UserMessage = Base & { readonly role: "user"; readonly content: Content; readonly isMeta?: boolean };
export type AssistantMessage = Base & {
  readonly role: "assistant";
  readonly content: readonly AssistantPart[];
  readonly stop: StopReason;
  readonly usage?: Usage;
};
/** The one result of one call. */
export type ToolMessage = Base & {
  readonly role: "tool";
  readonly callId: CallId;
  readonly tool: string;
  readonly outcome: ToolOutcome;
  readonly content: Content;
};
/** Context that the runtime adds for the model. `content` is rendered once, when it is made, so that its bytes never change. */
export type AttachmentMessage = Base & {
  readonly role: "attachment";
  readonly kind: string;
  readonly content: Content;
  readonly data?: Json;
};
/** What the runtime tells the person and the log; never sent to a model. */
export type SystemMessage = Base & {
  readonly role: "system";
  readonly subtype: string;
  readonly level: "info" | "warning" | "error";
  readonly text: string;
  readonly data?: Json;
};
export type Message = UserMessage | AssistantMessage | ToolMessage | AttachmentMessage | SystemMessage;
/** A message that the machine has not yet put into the chain. */
export type Draft<M extends Message = Message> = M extends Message ? Omit<M, "parentId"> : never;

/** A piece of the request prefix, fixed for the session. */
export type PrefixPart = { readonly plugin: PluginId; readonly name: string; readonly text: string };
/** `system` ends up in the system prompt, `context` before the first user message. Both are byte-stable for a session. */
export type Prefix = { readonly system: readonly PrefixPart[]; readonly context: readonly PrefixPart[] };

export type Effort = "low" | "medium" | "high" | "xhigh" | "max";
/** What an input may set for its turn, and what it proposes as the next input. */
export type Controls = {
  readonly allowedTools?: readonly string[];
  readonly model?: string;
  readonly effort?: Effort;
  readonly nextInput?: string;
  /** Submit `nextInput` at once when the turn is over; otherwise it is only offered. */
  readonly submitNextInput?: boolean;
};
/** What a command may change for the rest of the session. `clear` starts a new history in the same log. */
export type SessionChange = {
  readonly model?: string;
  readonly effort?: Effort;
  readonly permissionMode?: string;
  readonly clear?: true;
  readonly exit?: true;
};

export type InputSource = "repl" | "sdk" | "remote" | "system" | "queue" | "agent";
/** What was typed or sent, before anything looked at it. */
export type Input = {
  readonly text: string;
  readonly source: InputSource;
  readonly images?: readonly ImagePart[];
  readonly isMeta?: boolean;
};

export type Phase = "input" | "context" | "sampling" | "gating" | "executing" | "closing" | "done";
export type TurnOutcome =
  | { readonly kind: "completed" }
  | { readonly kind: "handled"; readonly command: string }
  | { readonly kind: "blocked"; readonly why: string }
  | { readonly kind: "aborted"; readonly reason: string }
  | { readonly kind: "refused" }
  | { readonly kind: "step-limit"; readonly steps: number }
  | { readonly kind: "failed"; readonly fault: Fault };

export type FaultCode = "plugin-threw" | "plugin-timeout" | "plugin-bad-output" | "plugin-disabled" | "model-error" | "kernel-bug";
/** A failure, always with a culprit. `who` is absent only when the kernel itself is at fault. */
export type Fault = {
  readonly code: FaultCode;
  readonly who?: Who;
  readonly message: string;
  readonly model?: ModelFault;
};

export type ModelFaultKind =
  | "auth"
  | "billing"
  | "not-found"
  | "invalid"
  | "overflow"
  | "too-large"
  | "rate-limit"
  | "overloaded"
  | "server"
  | "network"
  | "stall"
  | "protocol";
/** What a provider knows about a failed call. `retryAfterMs` is the server's own wish. */
export type ModelFault = {
  readonly kind: ModelFaultKind;
  readonly status?: number;
  readonly requestId?: string;
  readonly retryAfterMs?: number;
};

/** Sizes are characters of JSON, the same measure everywhere in a trace. */
export type Change =
  | { readonly op: "add" | "remove"; readonly id: string; readonly size: number }
  | { readonly op: "replace"; readonly id: string; readonly size: number; readonly was: number };

/** One run of one contribution: the unit of `explain`. The kernel computes `changes`; a plugin cannot misreport it. */
export type StageRecord = Who & {
  readonly status: "ran" | "no-op" | "failed" | "skipped";
  readonly ms: number;
  readonly changes: readonly Change[];
  readonly note?: string;
  readonly fault?: Fault;
};

/** What a call would touch. `target` is an absolute path, a command line, a URL or a name. */
export type Effect = { readonly kind: "read" | "write" | "execute" | "network" | "other"; readonly target: string };

export type Ask =
  | {
      readonly kind: "permission";
      readonly id: string;
      readonly call: ToolCallPart;
      readonly effects: readonly Effect[];
      readonly why: string;
      readonly by?: PluginId;
    }
  | {
      readonly kind: "question";
      readonly id: string;
      readonly from: PluginId;
      readonly text: string;
      readonly choices?: readonly string[];
    };
export type Answer =
  | { readonly kind: "allow" }
  | { readonly kind: "deny"; readonly reason?: string }
  | { readonly kind: "text"; readonly text: string };

/** Which verdict let a call through or stopped it, and whose. */
export type Decision = {
  readonly callId: CallId;
  readonly tool: string;
  readonly say: "allow" | "deny";
  readonly by: PluginId | "user" | "kernel";
  readonly rule?: string;
  readonly why?: string;
};

export type EventBody =
  | { readonly type: "turn.started"; readonly input: Input; readonly model: string; readonly permissionMode: string }
  | { readonly type: "turn.phase"; readonly from: Phase; readonly to: Phase }
  | { readonly type: "stage.ran"; readonly record: StageRecord }
  | { readonly type: "prefix.built"; readonly prefix: Prefix }
  | {
      readonly type: "model.requested";
      readonly provider: string;
      readonly model: string;
      readonly messages: number;
      readonly tools: readonly string[];
      /** Characters of JSON by place. */
      readonly size: { readonly tools: number; readonly system: number; readonly context: number; readonly messages: number };
    }
  | {
      readonly type: "model.replied";
      readonly id: MessageId;
      readonly stop: StopReason;
      readonly usage?: Usage;
      readonly ms: number;
      readonly firstMs: number;
    }
  | {
      readonly type: "message.delta";
      readonly id: MessageId;
      readonly part: number;
      readonly of: AssistantPart["type"];
      readonly text: string;
    }
  | { readonly type: "message.added"; readonly message: Message }
  | { readonly type: "tool.decided"; readonly decision: Decision }
  | { readonly type: "tool.started"; readonly call: ToolCallPart }
  | { readonly type: "tool.progress"; readonly callId: CallId; readonly text: string }
  | { readonly type: "tool.finished"; readonly callId: CallId; readonly tool: string; readonly outcome: ToolOutcome; readonly ms: number }
  | { readonly type: "ask.opened"; readonly ask: Ask }
  | { readonly type: "ask.closed"; readonly id: string; readonly answer: Answer }
  | { readonly type: "fault"; readonly fault: Fault }
  | { readonly type: "session.changed"; readonly change: SessionChange }
  | {
      readonly type: "turn.ended";
      readonly outcome: TurnOutcome;
      readonly steps: number;
      readonly next?: { readonly text: string; readonly submit: boolean };
    };
export type EventType = EventBody["type"];
/** `turn` is null for what happens between turns. Consumers may merge consecutive deltas of one part; nothing else may be dropped. */
export type RuntimeEvent = EventBody & { readonly at: number; readonly turn: TurnId | null; readonly step: number };

export const textOf = (content: readonly { readonly type: string; readonly text?: string }[]): string =>
  content.map((p) => (p.type === "text" ? (p.text ?? "") : "")).join("");

export const callsOf = (message: { readonly content: readonly AssistantPart[] }): ToolCallPart[] =>
  message.content.filter((p): p is ToolCallPart => p.type === "tool-call");

/** Replaces lone surrogates, which no JSON reader accepts. */
export function wellFormed(text: string): string {
  return text.replace(/[\uD800-\uDBFF][\uDC00-\uDFFF]|[\uD800-\uDFFF]/g, (s) => (s.length === 2 ? s : "\uFFFD"));
}

/** The invariant every model API enforces: each call has exactly one result, right after it, and no result is an orphan. */
export function unpaired(messages: readonly Message[]): { readonly open: CallId[]; readonly orphan: CallId[] } {
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
