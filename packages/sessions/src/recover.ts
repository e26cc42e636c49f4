/** From what a log holds to the session it stands for. Pure. */
import {
  type AssistantMessage,
  type CallId,
  callsOf,
  type Draft,
  type Effort,
  type EventType,
  type Input,
  type Message,
  type MessageId,
  type ModelCost,
  type Prefix,
  type RuntimeEvent,
  type ToolCallPart,
  type ToolMessage,
  type UserMessage,
} from "@heddle/kernel/protocol";
import type { LogLine } from "./lines.ts";
import { mend } from "./mend.ts";
import { isEvent, type LogContents } from "./read.ts";

/**
 * `messages` since the last clear, without those that were dropped; they satisfy `unpaired` whatever the log looks like. `append` is what the log lacks to say
 * the same by itself. `pending` was accepted and never became part of a turn. `notices` are for the person.
 */
export type Recovered = {
  readonly messages: readonly Message[];
  readonly prefix: Prefix | undefined;
  readonly model: string | undefined;
  readonly effort: Effort | undefined;
  readonly permissionMode: string | undefined;
  readonly pending: readonly Input[];
  /** The events that tell what the session has cost and how many lines it has changed so far, also before a clear. */
  readonly spent: readonly RuntimeEvent[];
  readonly notices: readonly string[];
  readonly append: readonly LogLine[];
};

/** While a person is asked, nobody waits for a model. */
const COSTS: readonly EventType[] = [
  "model.requested",
  "model.retry",
  "model.replied",
  "model.billed",
  "fork.ended",
  "prefix.broken",
  "ask.opened",
  "ask.closed",
];
const isCost = (e: RuntimeEvent): boolean =>
  COSTS.includes(e.type) || (e.type === "stage.ran" && (e.record.point === "providers" || e.record.lines !== undefined));

/** `costs`: of forks that were interrupted, by their ids. */
export function recover(contents: LogContents, costs: ReadonlyMap<string, readonly ModelCost[]> = new Map()): Recovered {
  let history: Message[] = [];
  let prefix: Prefix | undefined;
  let model: string | undefined;
  let effort: Effort | undefined;
  let permissionMode: string | undefined;
  const begun = new BegunCalls();
  for (const line of contents.lines) {
    begun.see(line);
    if (line.type === "message.added") history.push(line.message);
    else if (line.type === "history.dropped") history = history.filter((m) => !line.ids.includes(m.id));
    else if (line.type === "prefix.built") prefix = line.prefix;
    else if (line.type === "turn.started") model = line.model;
    else if (line.type === "session.changed") {
      const { change } = line;
      model = change.model ?? model;
      effort = change.effort ?? effort;
      permissionMode = change.permissionMode ?? permissionMode;
      if (!change.clear) continue;
      history = [];
      prefix = undefined;
    }
  }
  const unsaid = begun.messages(history.at(-1)?.id ?? null);
  const mended = mend([...history, ...unsaid]);
  const waiting = waitingInputs(contents.lines);
  const at = contents.lines.reduce((last, line) => Math.max(last, line.at), 0);
  const forks = interruptedForks(contents.lines);
  const told = forks.map((fork) => interruption(fork, at));
  const ended = forks.map(({ id }) => forkEnded(id, at, costs.get(id) ?? []));
  const append: LogLine[] = [
    ...ended,
    ...[...unsaid, ...mended.closing, ...told].map((message) => ({
      type: "message.added" as const,
      message,
      at,
      turn: null,
      step: 0,
    })),
    ...waiting.map(({ id }) => ({ type: "input.taken" as const, id, at })),
  ];
  const pending = waiting.map((w) => w.input);
  const notices = [...noticesOf(contents, mended, pending), ...forks.map(interruptedText)];
  const spent = [...contents.lines, ...ended].filter((line): line is RuntimeEvent => isEvent(line) && isCost(line));
  return { messages: [...mended.messages, ...told], prefix, model, effort, permissionMode, pending, spent, notices, append };
}

type Fork = { readonly id: string; readonly title: string; readonly at: number };
/** Forks that had begun and not ended when the process died. `at`: when they began. */
export function interruptedForks(lines: readonly LogLine[]): readonly Fork[] {
  const open = new Map<string, Fork>();
  for (const line of lines) {
    if (line.type === "fork.started") open.set(line.fork, { id: line.fork, title: line.title, at: line.at });
    else if (line.type === "fork.ended") open.delete(line.fork);
  }
  return [...open.values()];
}
/** For a model that may have been told that it runs, and for a person. */
export const interruptedText = ({ id, title }: { readonly id: string; readonly title: string }): string =>
  `The sub-agent "${title}" (${id}) was interrupted when the process ended. What it did until then stands, and it can be resumed.`;
function interruption(fork: Fork, at: number): UserMessage {
  const text = interruptedText(fork);
  const id = `${fork.id}.${fork.at}.interrupted`;
  return { role: "user", id, parentId: null, at, origin: { by: "kernel" }, content: [{ type: "text", text }], isMeta: true };
}
const forkEnded = (fork: string, at: number, models: readonly ModelCost[]): RuntimeEvent => {
  return { type: "fork.ended", fork, outcome: { kind: "aborted", reason: "the process ended" }, models, at, turn: null, step: 0 };
};

/** Calls that had begun while their reply still came in, when the process died: nothing else in the log tells of the reply. */
class BegunCalls {
  readonly #calls = new Map<CallId, ToolCallPart>();
  readonly #results = new Map<CallId, Draft<ToolMessage>>();
  readonly #said = new Set<CallId>();
  #asked: Extract<RuntimeEvent, { type: "model.requested" }> | undefined;
  #at = 0;

  see(line: LogLine): void {
    if (line.type === "model.requested") this.#asked = line;
    else if (line.type === "tool.started" && !this.#said.has(line.call.callId)) {
      this.#calls.set(line.call.callId, line.call);
      this.#at = line.at;
    } else if (line.type === "tool.finished" && line.early) this.#results.set(line.callId, line.early);
    else if (line.type === "message.added" && line.message.role === "assistant")
      for (const { callId } of callsOf(line.message)) {
        this.#said.add(callId);
        this.#calls.delete(callId);
      }
    else if (line.type === "session.changed" && line.change.clear) this.#calls.clear();
  }
  /** The reply with these calls, and the results of those that had ended. */
  messages(parentId: MessageId | null): readonly Message[] {
    const content = [...this.#calls.values()];
    if (content.length === 0) return [];
    const { provider = "", model = "" } = this.#asked ?? {};
    const id = `${content[0]!.callId}.unsaid`;
    const reply: AssistantMessage = {
      ...{ role: "assistant", id, parentId, at: this.#at, content, stop: "aborted" },
      origin: { by: "model", provider, model },
    };
    let last = id;
    const results = content.flatMap(({ callId }): ToolMessage[] => {
      const early = this.#results.get(callId);
      if (!early) return [];
      const result = { ...early, parentId: last };
      last = result.id;
      return [result];
    });
    return [reply, ...results];
  }
}

/** What waited and was never taken; and the input of a turn that had not put it into the history when the process died. */
function waitingInputs(lines: readonly LogLine[]): { readonly id: string; readonly input: Input }[] {
  const waiting = new Map<string, Input>();
  for (const line of lines) {
    if (line.type === "input.queued") waiting.set(line.id, line.input);
    else if (line.type === "input.taken") waiting.delete(line.id);
    else if (line.type === "turn.started" && line.turn !== null) waiting.set(line.turn, line.input);
    else if (isEvent(line) && line.turn !== null && (line.type === "message.added" || line.type === "turn.ended"))
      waiting.delete(line.turn);
  }
  return [...waiting].map(([id, input]) => ({ id, input }));
}

const many = (n: number, one: string, more: string): string => (n === 1 ? `1 ${one}` : `${n} ${more}`);
const QUOTED = 80;

function noticesOf(contents: LogContents, mended: ReturnType<typeof mend>, pending: readonly Input[]): string[] {
  const notices: string[] = [];
  if (contents.broken > 0) {
    const where = `line ${contents.brokenAt.join(", ")}${contents.broken > contents.brokenAt.length ? ", …" : ""}`;
    notices.push(`${many(contents.broken, "broken piece", "broken pieces")} of the log left out (${where}); everything else was read`);
  }
  if (mended.duplicates > 0) notices.push(`${many(mended.duplicates, "message", "messages")} recorded twice and used once`);
  if (mended.orphans > 0) notices.push(`${many(mended.orphans, "tool result", "tool results")} without a call left out`);
  if (mended.invented > 0)
    notices.push(`${many(mended.invented, "tool call was", "tool calls were")} interrupted and may or may not have taken effect`);
  for (const { text } of pending) {
    const line = text.replace(/\s+/g, " ").trim();
    notices.push(`not yet answered when the process ended: "${line.length > QUOTED ? `${line.slice(0, QUOTED)}…` : line}"`);
  }
  return notices;
}
