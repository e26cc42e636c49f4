/** What a session has cost and may cost: a limit that holds, and a sum at which the person is asked. */
import type { Answer, ModelInfo, RuntimeEvent } from "@heddle/kernel";
import { type Cost, CostMeter, dollars } from "./cost.ts";

/** USD; both count what a resumed session has cost before. */
export type Limits = { readonly maxBudgetUsd: number | undefined; readonly askBudgetUsd: number | undefined };

export type Person = {
  /** Undefined where nobody can be asked. Rejects when the signal fires. */
  ask(text: string, choices: readonly string[], signal: AbortSignal): Promise<Answer | undefined>;
  /** The person has had enough. */
  stop(why: string): void;
};

/** Anything that is not clearly a yes is a no. */
const YES = /^(y|yes|go on)$/i;

export class Spending {
  readonly #limits: Limits;
  readonly #person: Person;
  readonly #meter: CostMeter;
  readonly #forks: () => readonly Cost[];
  #asking: Promise<unknown> | undefined;
  /** The person is asked once this is spent. */
  #asksAt: number | undefined;

  /** `info` is asked for prices, `forks` for what those have cost whose end is not told yet. */
  constructor(limits: Limits, info: (provider: string, model: string) => ModelInfo, person: Person, forks: () => readonly Cost[]) {
    this.#limits = limits;
    this.#person = person;
    this.#meter = new CostMeter(info);
    this.#forks = forks;
    this.#asksAt = limits.askBudgetUsd;
  }
  take(event: RuntimeEvent): void {
    this.#meter.take(event);
  }
  get cost(): Cost {
    return this.#meter.with(this.#forks());
  }
  /** USD that a break of the prefix costs in the request that was made last; undefined without a price. */
  breakPrice(tokens: number): number | undefined {
    return this.#meter.breakPrice(tokens);
  }
  /** Why no model may be called now. A promise when the person has to be asked. */
  refusal(signal: AbortSignal): Promise<string | undefined> | string | undefined {
    const { usd, unpriced } = this.cost;
    const { maxBudgetUsd: most, askBudgetUsd: step } = this.#limits;
    if (most !== undefined && unpriced.length > 0)
      return `The budget cannot be kept, because the price of ${unpriced.join(", ")} is not known. Leave the budget out, or choose another model.`;
    if (most !== undefined && usd >= most)
      return `The budget of $${most} is spent: the session has cost ${dollars(usd)}. Raise it to go on.`;
    return step !== undefined && usd >= this.#asksAt! ? this.#askOnce(usd, step, signal) : undefined;
  }
  /** Forks may want to know at the same time. */
  async #askOnce(usd: number, step: number, signal: AbortSignal): Promise<string | undefined> {
    if (this.#asking) {
      await this.#asking.catch(() => {});
      return signal.aborted ? undefined : this.refusal(signal);
    }
    const asking = this.#ask(usd, step, signal);
    this.#asking = asking;
    return asking.finally(() => {
      this.#asking = undefined;
    });
  }
  async #ask(usd: number, step: number, signal: AbortSignal): Promise<string | undefined> {
    const next = usd + step;
    const goOn = `go on, and ask again at ${dollars(next)}`;
    const answer = await this.#person.ask(`The session has cost ${dollars(usd)}. Go on?`, [goOn, "stop"], signal);
    if (!answer)
      return `The budget of $${step} that needs no asking is spent: the session has cost ${dollars(usd)}, and nobody can be asked. Raise it, or go on where somebody can.`;
    const yes = answer.kind === "allow" || (answer.kind === "text" && (answer.text === goOn || YES.test(answer.text.trim())));
    if (yes) this.#asksAt = next;
    else this.#person.stop(`the session has cost ${dollars(usd)}, and the next turn asks again`);
    return undefined;
  }
}
