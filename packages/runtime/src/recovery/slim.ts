/** Makes a request smaller that a server does not take for its bytes: the oldest images shrink or become notes, the largest results lose their middle. */
import type { Content, ImagePart, Message, MessageId } from "@heddle/kernel";
import { hasImage } from "./images.ts";

/** Of what was refused. */
const SHARE = 0.6;
/** Characters of a result that are kept of its start, and of its end. */
const HEAD = 2_000;
const TAIL = 1_000;
/** Characters of base64 in one request; servers take 32 MB in all. */
const MAX_IMAGES = 20_000_000;

/** What stands for a message in the requests of a session from then on. */
export type Slimmed = Map<MessageId, Message>;
/** A smaller version of an image, or the same. */
export type Shrink = (part: ImagePart) => Promise<ImagePart>;

export const sizeOf = (messages: readonly Message[]): number => messages.reduce((n, m) => n + contentSize(m), 0);
const contentSize = (m: Message): number => ("content" in m ? JSON.stringify(m.content).length : 0);

/** The same list when nothing in it was slimmed. */
export function slim(messages: readonly Message[], slimmed: Slimmed): readonly Message[] {
  return messages.some((m) => slimmed.has(m.id)) ? messages.map((m) => slimmed.get(m.id) ?? m) : messages;
}

/** Adds to `slimmed` until less than 60 % is left; says whether it found anything. */
export async function slimMore(messages: readonly Message[], slimmed: Slimmed, shrink: Shrink): Promise<boolean> {
  const before = sizeOf(messages);
  const diet = new Diet(messages, slimmed, before, before * SHARE);
  await diet.images(shrink);
  diet.results();
  return diet.size < before;
}
/** The same for images alone that are more together than a request may hold: so much at a time that the prefix changes seldom. */
export async function slimImages(messages: readonly Message[], slimmed: Slimmed, shrink: Shrink): Promise<void> {
  const size = messages.reduce((n, m) => n + imageSize(m), 0);
  if (size > MAX_IMAGES) await new Diet(messages, slimmed, size, MAX_IMAGES * SHARE).images(shrink);
}
const imageSize = (m: Message): number => (hasImage(m) ? m.content.reduce((n, p) => n + (p.type === "image" ? p.data.length : 0), 0) : 0);

class Diet {
  readonly #messages: readonly Message[];
  readonly #slimmed: Slimmed;
  readonly #target: number;
  size: number;

  constructor(messages: readonly Message[], slimmed: Slimmed, size: number, target: number) {
    this.#messages = messages;
    this.#slimmed = slimmed;
    this.size = size;
    this.#target = target;
  }
  /** Oldest first: made smaller, and when that is not enough, left out. */
  async images(shrink: Shrink): Promise<void> {
    const left = (p: ImagePart): Content[number] => noteOf(p.mimeType, p.data);
    for (const change of [shrink, left]) {
      for (const m of this.#now().filter(hasImage)) {
        if (this.size <= this.#target) return;
        this.#replace(m, await Promise.all(m.content.map((p) => (p.type === "image" ? change(p) : p))));
      }
    }
  }
  /** Largest first. */
  results(): void {
    const results = this.#now().filter((m) => m.role === "tool");
    for (const m of results.sort((a, b) => contentSize(b) - contentSize(a))) {
      if (this.size <= this.#target) return;
      this.#replace(
        m,
        m.content.map((p) => (p.type === "text" ? { type: "text", text: middleOut(p.text) } : p)),
      );
    }
  }
  #now(): readonly Message[] {
    return slim(this.#messages, this.#slimmed);
  }
  #replace(m: Message, content: Content): void {
    const made = { ...m, content } as Message;
    const won = contentSize(m) - contentSize(made);
    if (won <= 0) return;
    this.size -= won;
    this.#slimmed.set(m.id, made);
  }
}

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
