/** What a session has cost, by model: added up from its events, so that a resumed session counts what it cost before. */
import type { ModelCost, ModelInfo, RuntimeEvent, Usage } from "@heddle/kernel";

/** `usd` leaves out models without a price; `unpriced` names those. `apiMs` is the time spent waiting for models. */
export type Cost = {
  readonly usd: number;
  readonly unpriced: readonly string[];
  readonly models: readonly ModelCost[];
  readonly apiMs: number;
};

/** What one reply cost: the tier is that of its whole prompt, read, written and new. Undefined without a price. */
export function priceOf(usage: Usage, info: ModelInfo): number | undefined {
  const { input, output, cacheRead = 0, cacheWrite = 0 } = usage;
  const prompt = input + cacheRead + cacheWrite;
  const tier = info.prices?.tiers.find((t) => t.upTo === undefined || prompt <= t.upTo);
  if (!tier) return undefined;
  return (input * tier.input + output * tier.output + cacheRead * tier.cacheRead + cacheWrite * tier.cacheWrite) / 1_000_000;
}

type Sum = { provider: string; model: string; calls: number; usage: Required<Usage>; usd: number | undefined };

export class CostMeter {
  readonly #info: (provider: string, model: string) => ModelInfo;
  readonly #sums = new Map<string, Sum>();
  /** Who replies: the model that was asked for, or the one that the turn has fallen back to. */
  #asked: { provider: string; model: string; turn: string | null; fallback: boolean } = {
    provider: "",
    model: "",
    turn: null,
    fallback: false,
  };
  #apiMs = 0;

  /** `info` is asked for the prices when a reply is counted. */
  constructor(info: (provider: string, model: string) => ModelInfo) {
    this.#info = info;
  }
  take(event: RuntimeEvent): void {
    if (event.type === "model.requested" && (this.#asked.turn !== event.turn || !this.#asked.fallback))
      this.#asked = { provider: event.provider, model: event.model, turn: event.turn, fallback: false };
    else if (event.type === "model.retry" && event.model !== undefined) {
      const [provider = "", ...model] = event.model.split("/"); // a fallback is always named `provider/model`
      this.#asked = { provider, model: model.join("/"), turn: event.turn, fallback: true }; // for the rest of the turn
    } else if (event.type === "stage.ran" && event.record.point === "providers") this.#apiMs += event.record.ms;
    else if (event.type === "model.replied" && event.usage) this.#add(event.usage);
  }
  #add(usage: Usage): void {
    const { provider, model } = this.#asked;
    const key = `${provider}/${model}`;
    const none = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 };
    const sum = this.#sums.get(key) ?? { provider, model, calls: 0, usage: none, usd: undefined };
    const price = priceOf(usage, this.#info(provider, model));
    const { input, output, cacheRead = 0, cacheWrite = 0 } = usage;
    this.#sums.set(key, {
      ...sum,
      calls: sum.calls + 1,
      usd: price === undefined ? sum.usd : (sum.usd ?? 0) + price,
      usage: {
        input: sum.usage.input + input,
        output: sum.usage.output + output,
        cacheRead: sum.usage.cacheRead + cacheRead,
        cacheWrite: sum.usage.cacheWrite + cacheWrite,
      },
    });
  }
  get cost(): Cost {
    const sums = [...this.#sums.values()];
    return {
      usd: sums.reduce((n, s) => n + (s.usd ?? 0), 0),
      unpriced: sums.filter((s) => s.usd === undefined).map((s) => `${s.provider}/${s.model}`),
      models: sums.map(({ usd, ...s }) => ({ ...s, ...(usd === undefined ? {} : { usd }) })),
      apiMs: this.#apiMs,
    };
  }
}
