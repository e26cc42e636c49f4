/** Pages that were fetched a short while ago, each for its session. */

export type CachedPage = { readonly text: string; readonly at: number };

const KEEP_MS = 15 * 60_000;
const KEEP_PAGES = 50;
/** Characters, of two bytes each. */
const KEEP_CHARS = 10 * 1024 * 1024;

export class PageCache {
  /** The oldest first. */
  readonly #pages = new Map<string, CachedPage>();
  #chars = 0;

  /** `now` in milliseconds since the epoch. */
  get(sessionId: string, url: string, now: number): CachedPage | undefined {
    for (const [key, page] of this.#pages) {
      if (now - page.at < KEEP_MS) break;
      this.#drop(key);
    }
    return this.#pages.get(keyOf(sessionId, url));
  }
  set(sessionId: string, url: string, page: CachedPage): void {
    const key = keyOf(sessionId, url);
    this.#drop(key);
    this.#pages.set(key, page);
    this.#chars += page.text.length;
    for (const oldest of this.#pages.keys()) {
      if (this.#pages.size <= KEEP_PAGES && this.#chars <= KEEP_CHARS) break;
      this.#drop(oldest);
    }
  }
  #drop(key: string): void {
    this.#chars -= this.#pages.get(key)?.text.length ?? 0;
    this.#pages.delete(key);
  }
}

const keyOf = (sessionId: string, url: string): string => JSON.stringify([sessionId, url]);
