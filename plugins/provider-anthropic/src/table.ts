/** The models of the Messages API by id without its date: sizes in tokens, prices in USD per million tokens. From its documentation. */
import type { Prices } from "@heddle/kernel/plugin";

/** The day that the table below was true. */
export const AS_OF = "2026-11-30";

/** `cacheWrite` is the price of an entry that lives five minutes, the only kind that this provider writes. */
type Tier = Prices["tiers"][number];
export type Row = { readonly window: number; readonly maxOutput: number; readonly tiers?: readonly Tier[] };

const K = 1000;
const price = (input: number, output: number, cacheRead: number, cacheWrite: number): Tier => ({ input, output, cacheRead, cacheWrite });
const wide = (...tiers: Tier[]): Row => ({ window: 1000 * K, maxOutput: 128 * K, tiers });
const large = (...tiers: Tier[]): Row => ({ window: 200 * K, maxOutput: 64 * K, ...(tiers.length > 0 ? { tiers } : {}) });
const old = (maxOutput: number): Row => ({ window: 200 * K, maxOutput });

export const TABLE: { readonly [id: string]: Row } = {
  "claude-fable-5-2": wide(price(8, 40, 0.2, 10)),
  "claude-fable-5-1": wide(price(10, 50, 0.25, 12.5)),
  "claude-fable-5": wide(price(10, 50, 1, 12.5)),
  "claude-mythos-5-2": wide(price(8, 40, 0.2, 10)),
  "claude-mythos-5-1": wide(price(10, 50, 0.25, 12.5)),
  "claude-mythos-5": wide(price(10, 50, 1, 12.5)),
  "claude-opus-5-5": wide(price(4, 20, 0.2, 5)),
  "claude-sonnet-5-5": wide(price(2, 10, 0.1, 2.5)),
  "claude-haiku-5-5": wide({ upTo: 100 * K, ...price(0.1, 0.5, 0.01, 0.125) }, price(0.5, 2.5, 0.05, 0.625)),
  "claude-opus-5": wide(price(5, 25, 0.5, 6.25)),
  "claude-sonnet-5": wide(price(2, 10, 0.2, 2.5)),
  "claude-opus-4-8": wide(price(5, 25, 0.5, 6.25)),
  "claude-opus-4-7": wide(price(5, 25, 0.5, 6.25)),
  "claude-opus-4-6": wide(price(5, 25, 0.5, 6.25)),
  "claude-sonnet-4-6": wide(price(3, 15, 0.3, 3.75)),
  "claude-opus-4-5": large(price(5, 25, 0.5, 6.25)),
  "claude-sonnet-4-5": large(price(3, 15, 0.3, 3.75)),
  "claude-haiku-4-5": large(price(1, 5, 0.1, 1.25)),
  "claude-sonnet-4": large(),
  "claude-opus-4-1": old(32 * K),
  "claude-opus-4": old(32 * K),
  "claude-3-5-sonnet": old(8192),
  "claude-3-5-haiku": old(8192),
};
/** Of an id that is not in the table: `maxOutput` is what may be asked for when more is wanted than usual. */
export const UNKNOWN: Row = { window: 200 * K, maxOutput: 64 * K };
