/** What is left out of the views of one session. It only grows, so that the same history always gives the same bytes. */
import type { AttachmentMessage, Message, MessageId, ToolMessage } from "@heddle/kernel/plugin";

export class Plan {
  readonly #results = new Map<MessageId, ToolMessage>();
  /** The prompt that the view begins with, and the attachment behind it that tells of what is gone. */
  #start: { readonly id: MessageId; readonly note: AttachmentMessage } | undefined;

  replace(message: ToolMessage): void {
    this.#results.set(message.id, message);
  }
  has(id: MessageId): boolean {
    return this.#results.has(id);
  }
  startAt(id: MessageId, note: AttachmentMessage): void {
    this.#start = { id, note };
  }
  /** The view itself when nothing of it is left out. */
  apply(view: readonly Message[]): readonly Message[] {
    const from = this.#start ? view.findIndex((m) => m.id === this.#start?.id) : -1;
    const rest = from > 0 ? view.slice(from) : view;
    const out = rest.map((m) => this.#results.get(m.id) ?? m);
    if (from > 0 && this.#start) out.splice(1, 0, this.#start.note);
    return from > 0 || out.some((m, i) => m !== rest[i]) ? out : view;
  }
}

/** Where whole turns begin: prompts of the person that came behind a reply, and not while a turn was running. */
export function turnsOf(view: readonly Message[]): readonly number[] {
  const starts: number[] = [];
  let before: Message | undefined;
  for (const [i, m] of view.entries()) {
    if (m.role === "user" && !m.isMeta && (before?.role === "assistant" || starts.length === 0)) starts.push(i);
    if (m.role !== "system") before = m;
  }
  return starts;
}

/** Results of the last step are what the model is about to read. */
export function lastStepOf(view: readonly Message[]): number {
  const at = view.findLastIndex((m) => m.role === "assistant" && m.content.some((p) => p.type === "tool-call"));
  return at < 0 ? view.length : at;
}
