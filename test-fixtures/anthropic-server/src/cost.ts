/** Input cost against the ideal, in which each piece of content is written once and read ever after. */

import type { InputUsage } from "./cache.ts";
import type { ModelRules } from "./models.ts";
import type { Prompt } from "./prompt.ts";

const WRITE_5M = 1.25;
const WRITE_1H = 2;

export interface InputCost {
  actual: number;
  ideal: number;
  /** Tokens of content that some earlier request already held. */
  oldTokens: number;
  /** Old tokens that were not read from the cache: above a handful, a prefix was lost. */
  lostTokens: number;
}

export function actualCost(usage: InputUsage, readWeight: number): number {
  return (
    usage.input_tokens +
    usage.cache_creation.ephemeral_5m_input_tokens * WRITE_5M +
    usage.cache_creation.ephemeral_1h_input_tokens * WRITE_1H +
    usage.cache_read_input_tokens * readWeight
  );
}

export class CostLedger {
  readonly #seen = new Set<string>();
  #actual = 0;
  #ideal = 0;

  /** Content is old wherever it stood before, so that an edited or reordered prefix shows up as a cost. */
  add(prompt: Prompt, usage: InputUsage, model: ModelRules): InputCost {
    let oldTokens = 0;
    for (const unit of prompt.units) {
      if (this.#seen.has(unit.identity)) oldTokens += unit.tokens;
      this.#seen.add(unit.identity);
    }
    const newTokens = prompt.tokens - oldTokens;
    const cacheable = prompt.tokens >= model.cacheMinimum;
    const ideal = cacheable ? oldTokens * model.readWeight + newTokens * WRITE_5M : prompt.tokens;
    const actual = actualCost(usage, model.readWeight);
    this.#actual += actual;
    this.#ideal += ideal;
    return { actual, ideal, oldTokens, lostTokens: Math.max(0, oldTokens - usage.cache_read_input_tokens) };
  }

  ratio(): number {
    return this.#ideal === 0 ? 1 : this.#actual / this.#ideal;
  }
}
