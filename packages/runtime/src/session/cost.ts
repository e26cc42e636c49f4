/** What a session has cost, by model: added up from its events, so that a resumed session counts what it cost before. */
import { CHARS_PER_TOKEN, type ModelCost, type ModelInfo, type PrefixCost, type RuntimeEvent, type Usage } from "@heddle/kernel";

/** `usd` leaves out models without a price; `unpriced` names those. `apiMs` is the time spent waiting for models, but for those of forks. */
export type Cost = {
  readonly usd: number;
  readonly unpriced: readonly string[];
  readonly models: readonly ModelCost[];
  /** What broke the cached prefix, in order. It is in `usd` already. */
  readonly breaks: readonly PrefixCost[];
  readonly apiMs: number;
};

export const dollars = (usd: number): string => `$${usd.toFixed(usd < 1 ? 4 : 2)}`;

/** Who asks where the runtime itself does: no plugin has such an id. */
export const RUNTIME = "heddle";

/** By the size of the whole prompt, in tokens. */
const tierOf = (prompt: number, { prices }: ModelInfo) => prices?.tiers.find((t) => t.upTo === undefined || prompt <= t.upTo);

/** What one reply cost: the tier is that of its whole prompt, read, written and new. Undefined without a price. */
export function priceOf(usage: Usage, info: ModelInfo): number | undefined {
  const { input, output, cacheRead = 0, cacheWrite = 0 } = usage;
  const tier = tierOf(input + cacheRead + cacheWrite, info);
  if (!tier) return undefined;
  return (input * tier.input + output * tier.output + cacheRead * tier.cacheRead + cacheWrite * tier.cacheWrite) / 1_000_000;
}

/** What it costs more to send tokens of a prompt anew than to have them read from the cache. Undefined without a price. */
export function priceOfBreak(tokens: number, prompt: number, info: ModelInfo): number | undefined {
  const tier = tierOf(Math.max(tokens, prompt), info);
  if (!tier) return undefined;
  return (tokens * Math.max(0, (tier.cacheWrite || tier.input) - tier.cacheRead)) / 1_000_000; // some write for nothing, and then it is plain input
}

type Sum = { provider: string; model: string; calls: number; usage: Required<Usage>; usd: number | undefined };

export class CostMeter {
  readonly #info: (provider: string, model: string) => ModelInfo;
  readonly #sums = new Map<string, Sum>();
  readonly #breaks: PrefixCost[] = [];
  /** Who replies: the model that was asked for, or the one that it was left to. `prompt` in tokens, about. */
  #asked = { provider: "", model: "", prompt: 0 };
  #apiMs = 0;
  /** The open question of the runtime itself, which is put while a model is about to be called. */
  #question: { readonly id: string; readonly at: number } | undefined;

  /** `info` is asked for the prices when a reply is counted. */
  constructor(info: (provider: string, model: string) => ModelInfo) {
    this.#info = info;
  }
  take(event: RuntimeEvent): void {
    if (event.type === "model.requested") {
      const { provider, model, size } = event;
      const prompt = Math.ceil((size.tools + size.system + size.context + size.messages) / CHARS_PER_TOKEN);
      this.#asked = { provider, model, prompt };
    } else if (event.type === "model.retry" && event.model !== undefined) {
      const [provider = "", ...model] = event.model.split("/"); // a fallback is always named `provider/model`
      this.#asked = { ...this.#asked, provider, model: model.join("/") };
    } else if (event.type === "stage.ran" && event.record.point === "providers") this.#apiMs += event.record.ms;
    else if (event.type === "ask.opened" && event.ask.kind === "question" && event.ask.from === RUNTIME)
      this.#question = { id: event.ask.id, at: event.at };
    else if (event.type === "ask.closed" && event.id === this.#question?.id) this.#apiMs -= event.at - this.#question.at;
    else if (event.type === "model.replied" && event.usage) this.#reply(this.#asked, event.usage);
    else if (event.type === "model.billed") this.#reply(event, event.usage);
    else if (event.type === "fork.ended") for (const model of event.models) this.#add(model);
    else if (event.type === "prefix.broken") {
      const { cause, tokens, usd } = event;
      this.#breaks.push({ cause, tokens, ...(usd === undefined ? {} : { usd }) });
    }
  }
  /** USD that a break of the prefix costs in the request that was made last. */
  breakPrice(tokens: number): number | undefined {
    const { provider, model, prompt } = this.#asked;
    return priceOfBreak(tokens, prompt, this.#info(provider, model));
  }
  #reply({ provider, model }: { readonly provider: string; readonly model: string }, usage: Usage): void {
    const usd = priceOf(usage, this.#info(provider, model));
    this.#add({ provider, model, calls: 1, usage: { cacheRead: 0, cacheWrite: 0, ...usage }, ...(usd === undefined ? {} : { usd }) });
  }
  #add({ provider, model, calls, usage, usd }: ModelCost): void {
    const key = `${provider}/${model}`;
    const none = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 };
    const sum = this.#sums.get(key) ?? { provider, model, calls: 0, usage: none, usd: undefined };
    const { input, output, cacheRead, cacheWrite } = usage;
    this.#sums.set(key, {
      ...sum,
      calls: sum.calls + calls,
      usd: usd === undefined ? sum.usd : (sum.usd ?? 0) + usd,
      usage: {
        input: sum.usage.input + input,
        output: sum.usage.output + output,
        cacheRead: sum.usage.cacheRead + cacheRead,
        cacheWrite: sum.usage.cacheWrite + cacheWrite,
      },
    });
  }
  /** With what forks have cost whose end is not told yet. */
  with(forks: readonly Cost[]): Cost {
    const own = this.cost;
    if (forks.length === 0) return own;
    const all = new CostMeter(this.#info);
    for (const { models } of [own, ...forks]) for (const model of models) all.#add(model);
    return { ...own, ...all.#sum() };
  }
  get cost(): Cost {
    return { ...this.#sum(), breaks: [...this.#breaks], apiMs: this.#apiMs };
  }
  #sum(): Pick<Cost, "usd" | "unpriced" | "models"> {
    const sums = [...this.#sums.values()];
    return {
      usd: sums.reduce((n, s) => n + (s.usd ?? 0), 0),
      unpriced: sums.filter((s) => s.usd === undefined).map((s) => `${s.provider}/${s.model}`),
      models: sums.map(({ usd, ...s }) => ({ ...s, ...(usd === undefined ? {} : { usd }) })),
    };
  }
}
