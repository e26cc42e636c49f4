/** The stage `shorten`: when the API has refused a view as too long, the oldest tool results and then the oldest turns are left out. */
import {
  type Budget,
  type CallContext,
  type Compaction,
  type Content,
  FS,
  type MakeAttachment,
  type Message,
  type ToolMessage,
} from "@heddle/kernel/plugin";
import { lastStepOf, Plan, turnsOf } from "./plan.ts";
import { keep, shortened, sizeOf } from "./result.ts";

/** Of the limit, where it is known to be the reason; else of what was refused. */
const OF_LIMIT = 0.7;
const OF_REFUSED = 0.6;
/** A view that comes this near to one that was refused is shortened before it is refused too. */
const NEAR = 0.95;
/** Characters of JSON that the attachment about dropped turns may cost. */
const NOTE = 400;

/** `refused`: the smallest view that `model` did not take. `last`: the turn, the step, and the size of the view that was returned before. */
type Seen = { readonly refused?: number; readonly model?: string; readonly last?: Last };
type Last = { readonly turn: string; readonly step: number; readonly size: number };

/** `dir`: where the full text of shortened results is kept, as `<call id>.txt`. */
export function shorten(dir: string | undefined): Compaction {
  const sizes = new Sizes();
  return {
    name: "shorten",
    async compact(view, budget, make, ctx) {
      const { id: turn, step } = ctx.turn;
      const { model } = ctx.session;
      const seen = (ctx.state.get("seen") ?? {}) as Seen;
      const known = seen.model === model ? seen.refused : undefined;
      const plan = planOf(ctx);
      const planned = plan.apply(view);
      const size = sizes.total(planned);
      const shortening = (): Shortening => new Shortening(view, plan, sizes, make, ctx, dir);
      // the loop comes back to a step only when its view was refused; of a flag without that, the refusal was in an earlier step
      const again = seen.last?.turn === turn && seen.last.step === step;
      let refused = known;
      let out = planned;
      if (budget.overflowed && (again || known === undefined)) {
        const was = again && seen.last ? seen.last.size : size;
        refused = Math.min(was, known ?? was);
        out = await shortening().to(targetOf(budget, was, known === undefined));
      } else if (known !== undefined && size >= known * NEAR) out = await shortening().to(known * OF_REFUSED);
      ctx.state.set("seen", {
        last: { turn, step, size: sizes.total(out) },
        ...(refused === undefined ? {} : { refused, model }),
      } satisfies Seen);
      return out;
    },
  };
}

/** A view below the limit that was refused says that the limit is wrong. */
const targetOf = ({ limit }: Budget, size: number, first: boolean): number =>
  first && Number.isFinite(limit) && size > limit ? limit * OF_LIMIT : size * OF_REFUSED;

function planOf(ctx: CallContext): Plan {
  const known = ctx.state.get("plan") as Plan | undefined;
  if (known) return known;
  const made = new Plan();
  ctx.state.set("plan", made);
  return made;
}

/** Characters of JSON. Each message is measured once: a view is looked at in every step. */
class Sizes {
  readonly #known = new WeakMap<Message, number>();

  of(m: Message): number {
    const known = this.#known.get(m);
    if (known !== undefined) return known;
    const size = m.role === "system" ? 0 : sizeOf(m.content as Content);
    this.#known.set(m, size);
    return size;
  }
  total(view: readonly Message[]): number {
    return view.reduce((n, m) => n + this.of(m), 0);
  }
}

class Shortening {
  readonly #fs;
  #size: number;

  constructor(
    private readonly view: readonly Message[],
    private readonly plan: Plan,
    private readonly sizes: Sizes,
    private readonly make: MakeAttachment,
    private readonly ctx: CallContext,
    private readonly dir: string | undefined,
  ) {
    this.#fs = dir === undefined ? undefined : ctx.capability(FS);
    this.#size = sizes.total(plan.apply(view));
  }
  /** The gentlest first: old results, old turns, and the results of the last step when nothing else is left. */
  async to(target: number): Promise<readonly Message[]> {
    const last = lastStepOf(this.view);
    await this.#results(this.view.slice(0, last), target);
    if (this.#size > target) this.#turns(target);
    await this.#results(this.view.slice(last), target);
    return this.plan.apply(this.view);
  }
  async #results(messages: readonly Message[], target: number): Promise<void> {
    for (const m of messages) {
      if (this.#size <= target) return;
      if (m.role !== "tool" || this.plan.has(m.id) || !shortened(m, undefined)) continue;
      const short = shortened(m, await this.#keep(m));
      if (!short) continue;
      this.plan.replace(short);
      this.#size -= sizeOf(m.content) - sizeOf(short.content);
    }
  }
  async #keep(m: ToolMessage): Promise<string | undefined> {
    if (!this.#fs || this.dir === undefined) return undefined;
    try {
      return await keep(this.#fs, this.dir, m);
    } catch (error) {
      this.ctx.log(`the full result of call "${m.callId}" cannot be kept in ${this.dir}: ${String(error)}`);
      return undefined;
    }
  }
  /** Whole turns from the oldest on; never the last one. */
  #turns(target: number): void {
    const planned = this.plan.apply(this.view);
    const places = turnsOf(planned);
    let left = this.#size;
    let dropped = 0;
    for (const [n, from] of places.slice(0, -1).entries()) {
      if (left + NOTE <= target) break;
      left -= this.sizes.total(planned.slice(n === 0 ? 0 : from, places[n + 1]));
      dropped = n + 1;
    }
    const first = planned[places[dropped] ?? 0];
    if (dropped === 0 || !first || this.#size - left <= NOTE) return;
    const text = "The conversation before this message was left out, because it was too long. Ask the user for what is missing.";
    const note = this.make("left-out", [{ type: "text", text }]);
    this.plan.startAt(first.id, note);
    this.#size = left + this.sizes.of(note);
  }
}
