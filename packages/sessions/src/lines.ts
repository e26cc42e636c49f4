/** What one line of a session log may be: the header, an event of the runtime, an input that waits, an input that was taken. */
import type { Input, RuntimeEvent } from "@heddle/kernel/protocol";
import * as z from "zod";

/** The first line. `at` in milliseconds since the epoch; `version` of the program that made the session. */
export type Header = {
  readonly type: "session";
  readonly v: 1;
  readonly id: string;
  readonly cwd: string;
  readonly at: number;
  readonly version: string;
};
/** Typed while a turn ran. It waits until an `input.taken` line with its id says that a turn has it. */
export type QueuedInput = { readonly type: "input.queued"; readonly id: string; readonly at: number; readonly input: Input };
export type TakenInput = { readonly type: "input.taken"; readonly id: string; readonly at: number };
export type LogLine = Header | RuntimeEvent | QueuedInput | TakenInput;

/** Whether an event belongs in the log: everything but what only shows that something is under way, and what is in the log of a fork. */
export const isKept = ({ type }: RuntimeEvent): boolean => type !== "message.delta" && type !== "tool.progress" && type !== "fork.event";

/** Made when a log is read, and not with the module: a start without one does without. */
function lineSchema(): z.ZodType {
  const text = z.string();
  const ms = z.number();
  const json = z.unknown().refine((v) => v !== undefined, "is missing");
  const TextPart = z.object({ type: z.literal("text"), text });
  const ImagePart = z.object({ type: z.literal("image"), mimeType: text, data: text });
  const Content = z.array(z.discriminatedUnion("type", [TextPart, ImagePart]));
  const CallPart = z.object({ type: z.literal("tool-call"), callId: text, tool: text, input: json, malformed: text.optional() });
  const ReasoningPart = z.object({ type: z.literal("reasoning"), text, opaque: z.unknown().optional() });
  const AssistantContent = z.array(z.discriminatedUnion("type", [TextPart, ReasoningPart, CallPart]));
  const ToolOutcome = z.enum(["ok", "error", "denied", "timeout", "aborted"]);
  const StopReason = z.enum(["end", "tool-calls", "length", "refusal", "pause", "overflow", "aborted"]);
  const Usage = z.object({ input: z.number(), output: z.number(), cacheRead: z.number().optional(), cacheWrite: z.number().optional() });
  const ModelCost = z.object({ provider: text, model: text, calls: z.number(), usage: Usage.required(), usd: z.number().optional() });
  const Who = z.object({ plugin: text, point: text, name: text });
  const Origin = z.discriminatedUnion("by", [
    z.object({ by: z.literal("user") }),
    z.object({ by: z.literal("model"), provider: text, model: text }),
    z.object({ by: z.literal("plugin"), ...Who.shape }),
    z.object({ by: z.literal("kernel") }),
  ]);

  const base = { id: text.min(1), parentId: text.nullable(), at: ms, origin: Origin };
  const result = {
    role: z.literal("tool"),
    callId: text,
    tool: text,
    outcome: ToolOutcome,
    content: Content,
    loads: z.array(text).optional(),
  };
  const Message = z.discriminatedUnion("role", [
    z.object({ ...base, role: z.literal("user"), content: Content, isMeta: z.boolean().optional() }),
    z.object({ ...base, role: z.literal("assistant"), content: AssistantContent, stop: StopReason, usage: Usage.optional() }),
    z.object({ ...base, ...result }),
    z.object({ ...base, role: z.literal("attachment"), kind: text, content: Content, data: z.unknown().optional() }),
    z.object({
      ...base,
      role: z.literal("system"),
      subtype: text,
      level: z.enum(["info", "warning", "error"]),
      text,
      data: z.unknown().optional(),
    }),
  ]);

  const TypedInput = z.object({ text, source: text, images: z.array(ImagePart).optional(), isMeta: z.boolean().optional() });
  const PrefixParts = z.array(z.object({ plugin: text, name: text, text }));
  const Effort = z.enum(["low", "medium", "high", "xhigh", "max"]);
  const Change = z.object({
    model: text.optional(),
    effort: Effort.optional(),
    permissionMode: text.optional(),
    clear: z.literal(true).optional(),
    exit: z.literal(true).optional(),
  });
  const Fault = z.object({ code: text, message: text, who: Who.optional(), model: z.looseObject({ kind: text }).optional() });
  const Sized = z.object({ op: z.enum(["add", "remove", "replace"]), id: text, size: z.number(), was: z.number().optional() });
  const Stage = z.object({
    ...Who.shape,
    status: z.enum(["ran", "no-op", "failed", "skipped"]),
    ms,
    changes: z.array(Sized),
    note: text.optional(),
    lines: z.object({ added: z.number(), removed: z.number() }).optional(),
    fault: Fault.optional(),
  });
  const Ask = z.discriminatedUnion("kind", [
    z.object({
      kind: z.literal("permission"),
      id: text,
      call: CallPart,
      effects: z.array(z.object({ kind: text, target: text })),
      why: text,
      by: text.optional(),
      rule: text.optional(),
      offer: z.array(text).optional(),
    }),
    z.object({ kind: z.literal("question"), id: text, from: text, text, choices: z.array(text).optional() }),
  ]);
  const Answer = z.discriminatedUnion("kind", [
    z.object({ kind: z.literal("allow"), rules: z.array(text).optional() }),
    z.object({ kind: z.literal("deny"), reason: text.optional() }),
    z.object({ kind: z.literal("text"), text }),
  ]);
  const Decision = z.object({
    callId: text,
    tool: text,
    say: z.enum(["allow", "deny"]),
    by: text,
    rule: text.optional(),
    why: text.optional(),
  });
  const Outcome = z.discriminatedUnion("kind", [
    z.object({ kind: z.literal("completed") }),
    z.object({ kind: z.literal("handled"), command: text }),
    z.object({ kind: z.literal("blocked"), why: text }),
    z.object({ kind: z.literal("aborted"), reason: text }),
    z.object({ kind: z.literal("refused") }),
    z.object({ kind: z.literal("step-limit"), steps: z.number() }),
    z.object({ kind: z.literal("failed"), fault: Fault }),
  ]);

  const stamp = { at: ms, turn: text.nullable(), step: z.number() };
  const event = <T extends string, S extends z.ZodRawShape>(type: T, shape: S) => z.object({ ...stamp, type: z.literal(type), ...shape });
  return z.discriminatedUnion("type", [
    z.object({ type: z.literal("session"), v: z.literal(1), id: text, cwd: text, at: ms, version: text }),
    z.object({ type: z.literal("input.queued"), id: text, at: ms, input: TypedInput }),
    z.object({ type: z.literal("input.taken"), id: text, at: ms }),
    event("turn.started", { input: TypedInput, model: text, permissionMode: text }),
    event("turn.phase", { from: text, to: text }),
    event("stage.ran", { record: Stage }),
    event("prefix.built", { prefix: z.object({ system: PrefixParts, context: PrefixParts }) }),
    event("model.requested", {
      provider: text,
      model: text,
      messages: z.number(),
      tools: z.array(text),
      size: z.object({ tools: z.number(), system: z.number(), context: z.number(), messages: z.number() }),
    }),
    event("model.replied", { id: text, stop: StopReason, usage: Usage.optional(), ms, firstMs: ms }),
    event("model.retry", { cause: text, attempt: z.number(), of: z.number(), waitMs: ms, message: text, model: text.optional() }),
    event("message.voided", { id: text, why: text }),
    event("message.added", { message: Message }),
    event("model.billed", { provider: text, model: text, usage: Usage }),
    event("prefix.broken", { cause: text, tokens: z.number(), usd: z.number().optional() }),
    event("history.dropped", { ids: z.array(text), why: text }),
    event("tool.decided", { decision: Decision }),
    event("tool.started", { call: CallPart }),
    event("tool.finished", {
      callId: text,
      tool: text,
      outcome: ToolOutcome,
      ms,
      early: z.object({ id: base.id, at: ms, origin: Origin, ...result }).optional(),
    }),
    event("fork.started", { fork: text, title: text, callId: text.optional() }),
    event("fork.ended", { fork: text, outcome: Outcome, models: z.array(ModelCost) }),
    event("ask.opened", { ask: Ask }),
    event("ask.closed", { id: text, answer: Answer }),
    event("fault", { fault: Fault }),
    event("session.changed", { change: Change }),
    event("turn.ended", { outcome: Outcome, steps: z.number(), next: z.object({ text, submit: z.boolean() }).optional() }),
  ]);
}

/** Set for the header of a log in a later format than this one can read. `version` is that of the program that wrote it, where it says so. */
export type Newer = { readonly v: number; readonly version: string | undefined };
const NewerHeader = z.looseObject({ type: z.literal("session"), v: z.number().gt(1), version: z.unknown().optional() });

export function parseNewer(source: string): Newer | undefined {
  if (!source.includes('"session"')) return undefined;
  try {
    const { success, data } = NewerHeader.safeParse(JSON.parse(source));
    return success ? { v: data.v, version: typeof data.version === "string" ? data.version : undefined } : undefined;
  } catch {
    return undefined;
  }
}

export type ParseLine = (source: string) => LogLine | undefined;
/** What it gives is the line as it stands, not a copy, so that what is read has the bytes that were written; undefined for anything else. Never throws. */
export function lineParser(): ParseLine {
  const Line = lineSchema();
  return (source) => {
    try {
      const value: unknown = JSON.parse(source);
      return Line.safeParse(value).success ? (value as LogLine) : undefined;
    } catch {
      return undefined;
    }
  };
}
