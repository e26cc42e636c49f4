/** How hard a session tries before it gives up, with what is usual. */

/** Times in milliseconds. */
export type RecoverySettings = {
  /** How often a turn may ask again, all causes together. Where nobody waits, and where a person may end it. */
  readonly retries: { readonly headless: number; readonly interactive: number };
  /** How long a turn where nobody waits may back off in all. A wait that the server asks for counts, and may end later. */
  readonly totalWaitMs: number;
  /** Where nobody waits, a server that asks for a longer wait than this ends the turn at once. */
  readonly longestWaitMs: number;
  /** Until the first sign of life of a reply; a huge prompt that is not known to be cached gets more. */
  readonly firstByteMs: number;
  /** Between two signs of life. */
  readonly idleMs: number;
  /** Without anything but signs of life. */
  readonly nothingMs: number;
  /** Asked in this order when a model is overloaded or refuses: a model of the same provider, or `provider/model`. */
  readonly fallbackModels: readonly string[];
};
/** What an embedder may say of it. `retries`: one number for both kinds of sessions. */
export type RecoveryOptions = Partial<Omit<RecoverySettings, "retries">> & { readonly retries?: number };

const USUAL: RecoverySettings = {
  retries: { headless: 6, interactive: 10 },
  totalWaitMs: 32_000,
  longestWaitMs: 60_000,
  firstByteMs: 90_000,
  idleMs: 60_000,
  nothingMs: 600_000,
  fallbackModels: [],
};

export function settingsOf({ retries, ...more }: RecoveryOptions = {}): RecoverySettings {
  return { ...USUAL, ...more, ...(retries === undefined ? {} : { retries: { headless: retries, interactive: retries } }) };
}
