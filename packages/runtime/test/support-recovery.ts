/** Plays turns whose model fails, on a clock in memory, and tells what happened in one line each. */
import { type Message, ModelError, type ModelFault, type ModelRequest, type RuntimeEvent, type TurnOutcome, textOf } from "@heddle/kernel";
import type { RuntimeOptions, Session } from "../src/index.ts";
import { type MemoryHost, memoryHost } from "../src/memory.ts";
import type { Candidate } from "../src/types.ts";
import { allowAll, echo, type Reply, scripted, seenBy, start } from "./support.ts";

export type Chunks = Exclude<Reply, (...a: never) => unknown>;

/** What the server does: sends these chunks, and then fails. */
export const fails = (kind: ModelFault["kind"], more: Partial<ModelFault> = {}, chunks: Chunks = []): Reply =>
  async function* () {
    yield* chunks;
    throw new ModelError(kind, { kind, ...more });
  };
export const BUSY = fails("overloaded", { status: 529 });
/** Text whose end was sent, text whose end was not, and a complete call. */
export const whole = (text: string, part = 0): Chunks => [
  { type: "text", part, text },
  { type: "part.end", part },
];
export const half = (text: string, part = 0): Chunks => [{ type: "text", part, text }];
export const call = (callId: string, part = 0): Chunks => [{ type: "call", part, callId, tool: "Echo", input: { text: callId } }];
/** Sends these chunks, and nothing more for so long. */
export const hangs = (host: MemoryHost, ms: number, chunks: Chunks = []): Reply =>
  async function* (_, signal) {
    yield* chunks;
    setImmediate(() => host.advance(ms));
    await new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason), { once: true }));
    yield { type: "ping" };
  };

/** What a person and a log would know of a retry, a reply, a message. */
export function story(events: readonly RuntimeEvent[]): string[] {
  return events.flatMap((e) => {
    if (e.type === "model.retry") return [`retry ${e.attempt}/${e.of} ${e.cause} ${e.waitMs}${e.model === undefined ? "" : ` ${e.model}`}`];
    if (e.type === "message.voided") return ["void"];
    if (e.type === "history.dropped") return [`dropped ${e.ids.length}`];
    return e.type === "message.added" ? [told(e.message)] : [];
  });
}
function told(m: Message): string {
  if (m.role === "system") return `system ${m.text}`;
  if (m.role === "assistant") {
    const calls = m.content.flatMap((p) => (p.type === "tool-call" ? [p.callId] : []));
    return ["model", m.stop, ...(textOf(m.content) === "" ? [] : [JSON.stringify(textOf(m.content))]), ...calls].join(" ");
  }
  return `${m.role === "user" && m.isMeta ? "meta" : m.role} ${textOf(m.content)}`;
}

export type Played = {
  readonly story: readonly string[];
  readonly outcome: TurnOutcome;
  /** The sentence of a failed turn. */
  readonly failure: string;
  readonly requests: readonly ModelRequest[];
  readonly events: readonly RuntimeEvent[];
  readonly session: Session;
  readonly host: MemoryHost;
};
export type PlayOptions = Partial<RuntimeOptions> & {
  readonly headless?: boolean;
  readonly host?: MemoryHost;
  readonly more?: readonly Candidate[];
  readonly inputs?: readonly string[];
  readonly onEvent?: (event: RuntimeEvent, session: Session) => void;
};
export const clock = (): MemoryHost => memoryHost({ files: { "/w/a.txt": "a" } });

export async function play(replies: readonly Reply[], o: PlayOptions = {}): Promise<Played> {
  const { headless = true, host = clock(), more = [], inputs = ["go"], onEvent, ...options } = o;
  const { candidate, requests } = scripted(replies);
  const { runtime } = await start([candidate, echo(), allowAll, ...more], { ...options, host });
  const session = await runtime.open({ headless });
  const events = seenBy(session);
  if (onEvent) session.subscribe((e) => onEvent(e, session));
  let outcome: TurnOutcome = { kind: "completed" };
  for (const input of inputs) ({ outcome } = await session.submit(input));
  await session.idle();
  await new Promise((resolve) => setImmediate(resolve));
  const failure = outcome.kind === "failed" ? outcome.fault.message.replace(/^plugin "fake" \(providers "fake"\) /, "") : "";
  return { story: story(events), outcome, failure, requests, events, session, host };
}
