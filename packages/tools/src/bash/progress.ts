/** Sends growing output on in small pieces at a bounded rate: each piece once, and never all of it again. */
import { tailOf } from "../text.ts";

const EVERY_MS = 200;
const MAX_PIECE = 4000;

export type Progress = { push(text: string): void; stop(): void };

/** Of what comes in between two sendings, the last 4000 characters are sent. */
export function createProgress(send: (text: string) => void, now: () => number): Progress {
  let waiting = "";
  let sentAt = Number.NEGATIVE_INFINITY;
  let timer: ReturnType<typeof setTimeout> | undefined;
  const flush = (): void => {
    timer = undefined;
    sentAt = now();
    const piece = waiting;
    waiting = "";
    send(piece);
  };
  return {
    push(text) {
      if (text === "") return;
      waiting = tailOf(text.length > MAX_PIECE ? text : waiting + text, MAX_PIECE);
      const wait = sentAt + EVERY_MS - now();
      if (wait <= 0) {
        clearTimeout(timer);
        flush();
      } else timer ??= setTimeout(flush, wait);
    },
    stop() {
      clearTimeout(timer);
      waiting = "";
    },
  };
}
