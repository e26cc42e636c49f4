/** Makes a request smaller that a server does not take for its bytes: the oldest images become notes, the largest results lose their middle. */
import type { Content, Message, MessageId } from "@heddle/kernel";

/** Of what was refused. */
const SHARE = 0.6;
/** Characters of a result that are kept of its start, and of its end. */
const HEAD = 2_000;
const TAIL = 1_000;

/** What stands for a message in the requests of a session from then on. */
export type Slimmed = Map<MessageId, Message>;

export const sizeOf = (messages: readonly Message[]): number => messages.reduce((n, m) => n + contentSize(m), 0);
const contentSize = (m: Message): number => ("content" in m ? JSON.stringify(m.content).length : 0);

/** The same list when nothing in it was slimmed. */
export function slim(messages: readonly Message[], slimmed: Slimmed): readonly Message[] {
  return messages.some((m) => slimmed.has(m.id)) ? messages.map((m) => slimmed.get(m.id) ?? m) : messages;
}

/** Adds to `slimmed` until less than 60 % is left; says whether it found anything. */
export function slimMore(messages: readonly Message[], slimmed: Slimmed): boolean {
  const target = sizeOf(messages) * SHARE;
  let size = sizeOf(messages);
  const before = size;
  const replace = (m: Message, content: Content): void => {
    const made = { ...m, content } as Message;
    if (contentSize(made) >= contentSize(m)) return;
    size -= contentSize(m) - contentSize(made);
    slimmed.set(m.id, made);
  };
  for (const m of messages) {
    if (size <= target) break;
    if (hasImage(m))
      replace(
        m,
        m.content.map((p) => (p.type === "image" ? noteOf(p.mimeType, p.data) : p)),
      );
  }
  const results = slim(messages, slimmed).filter((m) => m.role === "tool");
  for (const m of results.sort((a, b) => contentSize(b) - contentSize(a))) {
    if (size <= target) break;
    replace(
      m,
      m.content.map((p) => (p.type === "text" ? { type: "text", text: middleOut(p.text) } : p)),
    );
  }
  return size < before;
}

type WithContent = Message & { readonly content: Content };
const hasImage = (m: Message): m is WithContent =>
  m.role !== "assistant" && m.role !== "system" && m.content.some((p) => p.type === "image");

function noteOf(mimeType: string, data: string): Content[number] {
  const kb = Math.ceil((data.length * 3) / 4 / 1024);
  return { type: "text", text: `[A file (${mimeType}, ${kb} KB) left out, because the request was too large.]` };
}
function middleOut(text: string): string {
  if (text.length < 2 * (HEAD + TAIL)) return text;
  const head = text.slice(0, HEAD).replace(/[\uD800-\uDBFF]$/, "");
  const tail = text.slice(-TAIL).replace(/^[\uDC00-\uDFFF]/, "");
  return `${head}\n\n[${text.length - head.length - tail.length} characters left out, because the request was too large.]\n\n${tail}`;
}
