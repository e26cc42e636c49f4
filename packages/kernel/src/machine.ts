/**
 * The turn as a pure function. No clock, no I/O, no plugin in sight.
 *
 *   input --ready--> context --ready--> sampling --calls--> gating --decided--> executing --all settled--> context
 *     |handled         ^  ^               |  |no calls                                                    (step + 1)
 *     |blocked         |  '---overflow----'  v
 *     v                |      truncated    closing --accepted--> done
 *   done               '-----continued------'
 *
 * `abort` and `fault` are legal everywhere and always end in `done`, after giving every open call a result.
 */

import type { MessageId, Phase, SessionChange, ToolCallPart, ToolMessage, ToolOutcome, TurnOutcome, UserMessage } from "./protocol.ts";
import { type AssistantMessage, type CallId, type Controls, callsOf, type Draft, type Fault, frozen, type Message } from "./protocol.ts";

/** `steps`: model calls of one turn; the rest: how often a turn may be sent round again for each reason. */
export type Limits = { steps: number; overflows: number; truncations: number; continuations: number };
export const LIMITS: Limits = { steps: Number.POSITIVE_INFINITY, overflows: 2, truncations: 20, continuations: 5 };

type Counts = Readonly<{ step: number; overflows: number; truncations: number; continuations: number }>;
type Body = Readonly<{
  phase: Phase;
  limits: Limits;
  /** Everything this turn has appended to the session, in order, each linked to the one before. */
  added: readonly Message[];
  tail: MessageId | null;
  /** Calls that still need a result. Non-empty only in `gating` and `executing`. */
  open: readonly ToolCallPart[];
  approved: readonly CallId[];
  /** What afterTool added; goes in behind the last result of the step. */
  pending: readonly Draft[];
  controls: Controls;
  change: SessionChange;
  outcome?: TurnOutcome;
}>;
export type TurnState = Counts & Body;

export type TurnEvent =
  | { type: "input.ready"; messages: readonly Draft[]; controls?: Controls }
  | { type: "input.handled"; command: string; messages: readonly Draft[]; controls?: Controls; change?: SessionChange }
  | { type: "input.blocked"; why: string; messages: readonly Draft[] }
  | { type: "context.ready"; messages: readonly Draft[] }
  | { type: "model.replied"; message: Draft<AssistantMessage> }
  | { type: "model.overflow"; fault: Fault }
  /** The reply is not the last word: what there is of it is kept, and `reminder` asks the model to go on. */
  | { type: "model.truncated"; message?: Draft<AssistantMessage>; reminder: Draft<UserMessage> }
  | { type: "gates.decided"; approved: readonly CallId[] }
  /** Results of some or all open calls; the phase ends when none is open. */
  | { type: "tools.settled"; results: readonly Draft<ToolMessage>[]; notes?: readonly Draft[] }
  | { type: "closing.accepted" }
  | { type: "closing.continued"; messages: readonly Draft[] }
  /** `partial` is what the model had said when it was cut off. `id` and `at` stamp the results that the machine has to invent. */
  | { type: "abort"; reason: string; id: MessageId; at: number; partial?: Draft<AssistantMessage> }
  | { type: "fault"; fault: Fault; id: MessageId; at: number; partial?: Draft<AssistantMessage> };

/** Which events each phase accepts. The table is data, so a test can walk it. */
export const ACCEPTS: { readonly [P in Phase]: readonly TurnEvent["type"][] } = {
  input: ["input.ready", "input.handled", "input.blocked", "abort", "fault"],
  context: ["context.ready", "abort", "fault"],
  sampling: ["model.replied", "model.overflow", "model.truncated", "abort", "fault"],
  gating: ["gates.decided", "abort", "fault"],
  executing: ["tools.settled", "abort", "fault"],
  closing: ["closing.accepted", "closing.continued", "abort", "fault"],
  done: [],
};

export class IllegalTransition extends Error {
  constructor(phase: Phase, event: TurnEvent["type"]) {
    super(`kernel bug: event "${event}" is not legal in phase "${phase}"`);
  }
}

export function initialTurn(o: { tail?: MessageId | null; limits?: Partial<Limits> } = {}): TurnState {
  const limits = { ...LIMITS, ...o.limits };
  const counts = { step: 0, overflows: 0, truncations: 0, continuations: 0 };
  return {
    phase: "input",
    limits,
    tail: o.tail ?? null,
    added: [],
    open: [],
    approved: [],
    pending: [],
    controls: {},
    change: {},
    ...counts,
  };
}

/** Links drafts into a chain that starts behind `tail`. Linking what is linked already changes nothing. */
export function link(tail: MessageId | null, drafts: readonly Draft[]): Message[] {
  let parentId = tail;
  return drafts.map((draft) => {
    const message = frozen({ ...draft, parentId } as Message);
    parentId = message.id;
    return message;
  });
}

/** Throws {@link IllegalTransition} for an event that `ACCEPTS` does not list; otherwise total. */
export function transition(s: TurnState, e: TurnEvent): TurnState {
  if (!ACCEPTS[s.phase].includes(e.type)) throw new IllegalTransition(s.phase, e.type);
  switch (e.type) {
    case "input.ready":
      return { ...append(s, e.messages), phase: "context", controls: e.controls ?? {} };
    case "input.handled":
      return done(
        { ...append(s, e.messages), controls: e.controls ?? {}, change: e.change ?? {} },
        { kind: "handled", command: e.command },
      );
    case "input.blocked":
      return done(append(s, e.messages), { kind: "blocked", why: e.why });
    case "context.ready":
      return { ...append(s, e.messages), phase: "sampling" };
    case "model.replied": {
      const next = append(s, [e.message]);
      const open = callsOf(e.message);
      if (open.length > 0) return { ...next, phase: "gating", open };
      return e.message.stop === "refusal" ? done(next, { kind: "refused" }) : { ...next, phase: "closing" };
    }
    case "model.overflow":
      if (s.overflows >= s.limits.overflows) return done(s, { kind: "failed", fault: e.fault });
      return { ...s, phase: "context", overflows: s.overflows + 1 };
    case "model.truncated": {
      const next = append(s, e.message ? [e.message] : []);
      const open = e.message ? callsOf(e.message) : [];
      if (open.length > 0) return { ...next, phase: "gating", open };
      if (s.truncations >= s.limits.truncations) return { ...next, phase: "closing" };
      return again({ ...append(next, [e.reminder]), truncations: s.truncations + 1 });
    }
    case "gates.decided":
      return { ...s, phase: "executing", approved: e.approved };
    case "tools.settled": {
      const settled = settle(s, e.results);
      const next = { ...settled, pending: [...s.pending, ...(e.notes ?? [])] };
      return next.open.length > 0 ? next : again({ ...append(next, next.pending), approved: [], pending: [] });
    }
    case "closing.accepted":
      return done(s, { kind: "completed" });
    case "closing.continued":
      if (s.continuations >= s.limits.continuations) return done(s, { kind: "completed" });
      return again({ ...append(s, e.messages), continuations: s.continuations + 1 });
    case "abort":
      return done(cut(s, e, "aborted", e.reason), { kind: "aborted", reason: e.reason });
    case "fault":
      return done(cut(s, e, "error", e.fault.message), { kind: "failed", fault: e.fault });
  }
}

function append(s: TurnState, drafts: readonly Draft[]): TurnState {
  if (drafts.length === 0) return s;
  const linked = link(s.tail, drafts);
  return { ...s, added: [...s.added, ...linked], tail: linked.at(-1)!.id };
}

function done(s: TurnState, outcome: TurnOutcome): TurnState {
  return { ...s, phase: "done", outcome };
}

/** The next step, unless the turn has had all its steps. */
function again(s: TurnState): TurnState {
  const next = { ...s, step: s.step + 1 };
  return next.step >= s.limits.steps ? done(next, { kind: "step-limit", steps: next.step }) : { ...next, phase: "context" };
}

/** Appends the first result of each open call; a second one, or one for another call, is dropped. */
function settle(s: TurnState, results: readonly Draft<ToolMessage>[]): TurnState {
  const left = new Map(s.open.map((c) => [c.callId, c]));
  const kept = results.filter((r) => left.delete(r.callId));
  return { ...append(s, kept), open: [...left.values()] };
}

type Cut = { id: MessageId; at: number; partial?: Draft<AssistantMessage> };
function cut(before: TurnState, { id, at, partial }: Cut, outcome: ToolOutcome, why: string): TurnState {
  const s = partial ? { ...append(before, [partial]), open: callsOf(partial) } : before;
  const invented = s.open.map(
    (c): Draft<ToolMessage> => ({
      role: "tool",
      id: `${id}.${c.callId}`,
      at,
      origin: { by: "kernel" },
      callId: c.callId,
      tool: c.tool,
      outcome,
      content: [{ type: "text", text: why }],
    }),
  );
  return { ...settle(s, invented), approved: [], pending: [] };
}
