/** How much longer a server may take for a huge prompt: what is known to be in its cache need not be read again. */
import { CHARS_PER_TOKEN, type Message, type ModelRequest, type Usage } from "@heddle/kernel";

/** Tokens that the usual limit is enough for, and those that are read in a millisecond above that, as slow servers do. */
const USUAL_TOKENS = 100_000;
const TOKENS_PER_MS = 5;
const MOST_MS = 300_000;
/** About as much as any image costs, whatever its bytes. */
const IMAGE_TOKENS = 2_000;
/** How long a cache is sure to keep what nobody asks for. */
const LIFE_MS = 300_000;

export class Cached {
  #model = "";
  #tokens = 0;
  #at = 0;
  /** A message is counted once, however often it is sent. */
  readonly #counted = new WeakMap<Message, number>();

  /** What a reply has told. */
  note(model: string, { cacheRead = 0, cacheWrite = 0 }: Usage, now: number): void {
    this.#model = model;
    this.#tokens = cacheRead + cacheWrite;
    this.#at = now;
  }
  /** Milliseconds on top of the limit for the first byte. */
  readingMs({ model, messages }: ModelRequest, now: number): number {
    const isWarm = model === this.#model && now - this.#at < LIFE_MS;
    const fresh = messages.reduce((n, m) => n + this.#tokensOf(m), 0) - (isWarm ? this.#tokens : 0);
    return Math.min(MOST_MS, Math.max(0, Math.round((fresh - USUAL_TOKENS) / TOKENS_PER_MS)));
  }
  #tokensOf(message: Message): number {
    const known = this.#counted.get(message);
    if (known !== undefined) return known;
    const tokens = tokensOf(message);
    this.#counted.set(message, tokens);
    return tokens;
  }
}

function tokensOf(message: Message): number {
  const parts: readonly { readonly type: string }[] = "content" in message ? message.content : [];
  return parts.reduce((n, p) => n + (p.type === "image" ? IMAGE_TOKENS : JSON.stringify(p).length / CHARS_PER_TOKEN), 0);
}
