/** What is remembered of the calls of one turn, and of one session. */
import type { Entry, Images, ModelFault } from "@heddle/kernel";
import { PrefixWatch } from "../session/prefix-watch.ts";
import type { Budget } from "./budget.ts";
import { Cached } from "./cached.ts";
import { FittedImages } from "./images.ts";
import type { Slimmed } from "./slim.ts";

/** Who is asked. */
export type Target = { readonly entry: Entry<"providers">; readonly model: string };

export class TurnMemory {
  readonly budget: Budget;
  readonly #fallbacks: Target[];
  /** The model that the turn has fallen back to. */
  fallback: Target | undefined;
  /** Why the model that the session has was left for another one. */
  left: { readonly fault: ModelFault; readonly message: string } | undefined;
  /** A reply was cut off and its complete parts were kept: what is to be told and waited before the next call. */
  debt:
    | {
        readonly fault: ModelFault;
        readonly message: string;
        readonly attempt: number;
        readonly of: number;
        readonly waitMs: number;
        readonly next?: Target;
      }
    | undefined;
  /** What the API has refused as too long; `size` in characters of its messages. */
  tooLong: { readonly size: number; readonly message: string; readonly fault: ModelFault } | undefined;
  /** Replies in a row with calls none of which could be read; `last` says of which tool and why. */
  unreadable: { readonly times: number; readonly last: string } | undefined;
  /** The output limit was hit: ask for more. */
  grown = false;
  wholeTried = false;
  overloads = 0;
  lengths = 0;
  pauses = 0;
  empties = 0;
  refusals = 0;

  constructor(budget: Budget, fallbacks: readonly Target[]) {
    this.budget = budget;
    this.#fallbacks = [...fallbacks];
  }
  /** Each is taken once, and the turn stays with it for as long as it can be asked. */
  nextFallback(now: Target): Target | undefined {
    for (let next = this.#fallbacks.shift(); next; next = this.#fallbacks.shift()) {
      if (next.entry.name === now.entry.name && next.model === now.model) continue;
      this.fallback = next;
      this.overloads = 0;
      return next;
    }
    return undefined;
  }
}

/** Turns at a time: a session has one, and its forks have some more. */
const KEPT = 16;

export class SessionMemory {
  readonly slimmed: Slimmed = new Map();
  readonly watch = new PrefixWatch();
  readonly cached = new Cached();
  readonly images: FittedImages;
  readonly #turns = new Map<string, TurnMemory>();

  constructor(images: Images | undefined, tell: (why: string) => void) {
    this.images = new FittedImages(images, tell);
  }
  turn(id: string, make: () => TurnMemory): TurnMemory {
    const known = this.#turns.get(id);
    if (known) return known;
    const made = make();
    this.#turns.set(id, made);
    for (const [old] of this.#turns) if (this.#turns.size > KEPT) this.#turns.delete(old);
    return made;
  }
}
