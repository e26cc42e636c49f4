/** What each model can take: its window, whether it sees, and how much it may be asked to think. */
import type { Effort, ModelInfo } from "@heddle/kernel/plugin";
import type { Server } from "./options.ts";
import { FAMILIES } from "./table.ts";

/**
 * `window`: tokens that fit into a request. `maxOutput`: the longest reply, where it is known; `usualOutput`: what is asked for
 * when the request does not say, where the person has set it; otherwise the server's own limit holds. `images` and `reasoning`:
 * undefined when nothing is known. `efforts` in rising order; empty when effort cannot be set.
 */
export type ModelFacts = {
  readonly window: number;
  readonly maxOutput: number | undefined;
  readonly usualOutput: number | undefined;
  readonly images: boolean | undefined;
  readonly reasoning: boolean | undefined;
  readonly efforts: readonly Effort[];
};

const K = 1000;
const UNKNOWN_WINDOW = 128 * K;
/** What servers on one's own machine give by default is often less; more has to be told. */
const LOCAL_WINDOW = 32 * K;

const BASIC: readonly Effort[] = ["low", "medium", "high"];
const ALL: readonly Effort[] = [...BASIC, "xhigh", "max"];

export function factsOf(model: string, server: Server): ModelFacts {
  const own = Object.hasOwn(server.options.models, model) ? server.options.models[model]! : {};
  const family = server.official ? FAMILIES.find(({ id }) => id.test(model)) : undefined;
  const reasoning = own.reasoning ?? (family ? family.efforts !== undefined : undefined);
  return {
    window: own.window ?? family?.window ?? (server.kind.local ? LOCAL_WINDOW : UNKNOWN_WINDOW),
    maxOutput: own.maxOutput ?? family?.maxOutput,
    usualOutput: own.maxOutput,
    images: own.images ?? (family ? (family.images ?? true) : undefined),
    reasoning,
    efforts: reasoning ? (family?.efforts ?? BASIC) : [],
  };
}

/** The most that is not above what was asked for; the least there is when all are above. */
export function effortFor(asked: Effort | undefined, { efforts }: ModelFacts): Effort | undefined {
  if (asked === undefined) return undefined;
  return [...efforts].reverse().find((effort) => ALL.indexOf(effort) <= ALL.indexOf(asked)) ?? efforts[0];
}

/** Nobody knows what a longer reply than a quarter of an unknown model's window would do; a shorter one leaves room for the prompt. */
const SHARE = 4;
/** The limit to send, if any: what was asked for, within what the model can do. */
export function outputFor(asked: number | undefined, { maxOutput, usualOutput, window }: ModelFacts): number | undefined {
  if (asked === undefined) return usualOutput;
  return Math.max(1, Math.min(asked, maxOutput ?? Math.floor(window / SHARE)));
}

export function infoOf(model: string, server: Server): ModelInfo {
  const { window, maxOutput, images, reasoning } = factsOf(model, server);
  const prices = Object.hasOwn(server.options.models, model) ? server.options.models[model]!.prices : undefined;
  return {
    id: model,
    window,
    ...(maxOutput === undefined ? {} : { maxOutput }),
    ...(images === undefined ? {} : { images }),
    ...(reasoning === undefined ? {} : { reasoning }),
    ...(prices === undefined ? {} : { prices }),
  };
}
