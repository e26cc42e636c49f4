/** Questions to the person that are open, and the answers that close them. */
import type { Answer, Ask } from "@heddle/kernel";

export const NOBODY = "nobody can be asked; allow it with --allowedTools or permissions.allow";

type Open = { readonly resolve: (answer: Answer) => void; readonly reject: (error: Error) => void };

export class Asks {
  readonly #open = new Map<string, Open>();

  /** Rejects when the signal fires, after `onAbort`. */
  ask(ask: Ask, signal: AbortSignal, onAbort: (ask: Ask) => void): Promise<Answer> {
    if (signal.aborted) return Promise.reject(new Error("the turn was aborted"));
    return new Promise((resolve, reject) => {
      const aborted = (): void => {
        this.#open.delete(ask.id);
        onAbort(ask);
        reject(new Error("the turn was aborted"));
      };
      signal.addEventListener("abort", aborted, { once: true });
      const settled = (): void => signal.removeEventListener("abort", aborted);
      this.#open.set(ask.id, {
        resolve(answer) {
          settled();
          resolve(answer);
        },
        reject,
      });
    });
  }
  /** False when no such ask is open: it was answered before, or its turn is over. */
  answer(id: string, answer: Answer): boolean {
    const open = this.#open.get(id);
    this.#open.delete(id);
    open?.resolve(answer);
    return open !== undefined;
  }
}
