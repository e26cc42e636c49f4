/** What a turn may still spend on failed calls: retries and waits, shared by all causes. */
import type { ModelFault, ModelFaultKind } from "@heddle/kernel";
import type { RecoverySettings } from "./settings.ts";

/** `why` is a sentence for the person; empty when the failure speaks for itself. */
export type Plan = { readonly attempt: number; readonly of: number; readonly waitMs: number } | { readonly why: string };

const RETRIED: readonly ModelFaultKind[] = ["network", "stall", "overloaded", "rate-limit", "server", "protocol"];
export const isRetried = (fault: ModelFault): boolean => RETRIED.includes(fault.kind);

const FIRST_MS = 500;
const CAP_MS = 32_000;
const JITTER = 0.25;
const STALLS = 2;

export class Budget {
  readonly #settings: RecoverySettings;
  readonly #headless: boolean;
  readonly #random: () => number;
  #attempts = 0;
  #waited = 0;
  #inARow = 0;
  #stalls = 0;

  constructor(settings: RecoverySettings, headless: boolean, random: () => number) {
    this.#settings = settings;
    this.#headless = headless;
    this.#random = random;
  }
  get #of(): number {
    const { headless, interactive } = this.#settings.retries;
    return this.#headless ? headless : interactive;
  }
  /** Where things stand, for what costs no retry. */
  get now(): Extract<Plan, { waitMs: number }> {
    const attempt = Math.max(1, this.#attempts);
    return { attempt, of: Math.max(attempt, this.#of), waitMs: 0 };
  }
  /** A whole reply came. */
  succeeded(): void {
    this.#inARow = 0;
    this.#stalls = 0;
  }
  /** Takes one retry after a failure that may pass. */
  after(fault: ModelFault, now: number): Plan {
    this.#stalls = fault.kind === "stall" ? this.#stalls + 1 : 0;
    if (this.#stalls >= STALLS)
      return { why: `It stalled ${STALLS} times running: try again, or set longer limits (recovery.firstByteMs, recovery.idleMs).` };
    const wished = fault.retryAfterMs ?? 0;
    if (this.#headless && wished > this.#settings.longestWaitMs) return { why: `It clears ${whenOf(wished, now)}: try again then.` };
    const left = this.#headless ? this.#settings.totalWaitMs - this.#waited : Number.POSITIVE_INFINITY;
    if (this.#attempts >= this.#of || left <= 0) return { why: this.#spent() };
    const waitMs = wished > 0 ? wished : Math.min(this.#backoff(), left);
    this.#inARow++;
    return this.#take(waitMs);
  }
  /** Takes one retry that has no reason to wait: another model, a smaller request. */
  atOnce(): Plan {
    return this.#attempts >= this.#of ? { why: this.#spent() } : this.#take(0);
  }
  #take(waitMs: number): Plan {
    this.#attempts++;
    this.#waited += waitMs;
    return { attempt: this.#attempts, of: this.#of, waitMs };
  }
  #backoff(): number {
    const usual = Math.min(CAP_MS, FIRST_MS * 2 ** this.#inARow);
    return Math.min(CAP_MS, Math.round(usual * (1 - JITTER + 2 * JITTER * this.#random())));
  }
  #spent(): string {
    const n = this.#attempts;
    return n === 0 ? "" : `Gave up after ${n} ${n === 1 ? "retry" : "retries"} in this turn, ${spanOf(this.#waited)} of waiting.`;
  }
}

function spanOf(ms: number): string {
  if (ms < 120_000) return `${Math.round(ms / 1000)} s`;
  return ms < 7_200_000 ? `${Math.round(ms / 60_000)} min` : `${Math.round(ms / 3_600_000)} h`;
}
const whenOf = (ms: number, now: number): string =>
  `in ${spanOf(ms)}, at ${new Date(now + ms).toISOString().replace("T", " ").slice(0, 16)} UTC`;
