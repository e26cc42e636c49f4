/** What sub-agents do, for faces: which one an event belongs to, however deep it is. */
import type { RuntimeEvent } from "@heddle/kernel/protocol";

/** `callId`: of the call that has started the sub-agent. `depth` from 1. */
export type Within = { readonly event: RuntimeEvent; readonly title: string; readonly callId: string | undefined; readonly depth: number };
type Started = Extract<RuntimeEvent, { type: "fork.started" }>;

/** Takes the events of a session in their order. */
export class ForkView {
  readonly #started = new Map<string, Started>();

  /** Undefined for what is not of a sub-agent. */
  see(event: RuntimeEvent): Within | undefined {
    let at = event;
    let depth = 0;
    let of: Started | undefined;
    while (at.type === "fork.event") {
      of = this.#started.get(at.fork);
      at = at.event;
      depth++;
    }
    if (at.type === "fork.started") this.#started.set(at.fork, at);
    return of && { event: at, title: of.title, callId: of.callId, depth };
  }
  title(fork: string): string {
    return this.#started.get(fork)?.title ?? fork;
  }
}
