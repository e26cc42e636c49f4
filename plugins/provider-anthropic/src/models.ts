/** What each model can take: its window, its longest reply, what it costs, and how it thinks. */
import type { Effort, ModelInfo, Prices } from "@heddle/kernel/plugin";
import type { ModelOptions } from "./options.ts";
import { AS_OF, TABLE, UNKNOWN } from "./table.ts";

/**
 * `window` and `maxOutput` in tokens. `thinking`: "adaptive" is asked for; "between" only between tools, "off" not at all, of a
 * model that thinks by itself; "none" is neither asked for nor sent back; "open" is an id of unknown kind, for which nothing is
 * asked and whatever came is sent back. `efforts` in rising order; empty when effort cannot be set. `defers`: takes tools by name
 * only. `known`: the sizes are those of the model, not a careful guess.
 */
export type ModelFacts = {
  readonly window: number;
  readonly maxOutput: number;
  readonly images: boolean;
  readonly thinking: "adaptive" | "between" | "off" | "none" | "open";
  readonly efforts: readonly Effort[];
  readonly defers: boolean;
  readonly prices: Prices | undefined;
  readonly known: boolean;
};

const ALL: readonly Effort[] = ["low", "medium", "high", "xhigh", "max"];
const BASIC: readonly Effort[] = ["low", "medium", "high"];

const VERSION = /^claude-([a-z]+)-(\d{1,2})(?:-(\d{1,2}))?$/;
const OLD_VERSION = /^claude-\d/;

/** `own`: what the person has set, by id, in place of what is known here. `think`: whether models that can do without shall think. */
export function factsOf(model: string, own: ModelOptions = {}, think?: boolean): ModelFacts {
  const id = model.replace(/-(?:\d{8}|latest)$/, "");
  const row = Object.hasOwn(TABLE, id) ? TABLE[id]! : undefined;
  const set = Object.hasOwn(own, model) ? own[model]! : {};
  const { window, maxOutput, tiers } = row ?? UNKNOWN;
  return {
    window: set.window ?? window,
    maxOutput: set.maxOutput ?? maxOutput,
    images: set.images ?? true,
    prices: set.prices ?? (tiers ? { at: AS_OF, tiers } : undefined),
    known: row !== undefined,
    defers: versionOf(id) >= 400,
    ...thoughtOf(id, set.reasoning, think),
  };
}

/** 405 for 4.5; NaN for an id that says nothing of it. */
function versionOf(id: string): number {
  const [, , major, minor = "0"] = VERSION.exec(id) ?? [];
  return Number(major) * 100 + Number(minor);
}

/** By generation. Models before 4.6 refuse adaptive thinking, so that nothing can make them be asked for it. */
function thoughtOf(id: string, reasoning: boolean | undefined, think: boolean | undefined): Pick<ModelFacts, "thinking" | "efforts"> {
  const family = VERSION.exec(id)?.[1];
  const version = versionOf(id);
  if (reasoning === false || OLD_VERSION.test(id)) return { thinking: "none", efforts: [] };
  if (Number.isNaN(version)) return { thinking: reasoning ? "adaptive" : "open", efforts: BASIC };
  const silence = think === false && !reasoning ? silenceOf(family!, version) : undefined;
  if (version >= 407) return silence ?? { thinking: "adaptive", efforts: ALL };
  if (version === 406) return { thinking: (reasoning ?? think) ? "adaptive" : "none", efforts: [...BASIC, "max"] };
  return { thinking: "none", efforts: family === "opus" && version === 405 ? BASIC : [] };
}

/** How a model that thinks by itself is kept from it; undefined for those that always think. */
function silenceOf(family: string, version: number): Pick<ModelFacts, "thinking" | "efforts"> | undefined {
  if (family === "sonnet" && version >= 505) return { thinking: "between", efforts: ALL };
  const always = family === "fable" || family === "mythos" || (family === "opus" && version >= 505);
  return always ? undefined : { thinking: "off", efforts: version >= 500 ? BASIC : ALL };
}

/** The most that is not above what was asked for; undefined when nothing may be asked for. */
export function effortFor(asked: Effort | undefined, { efforts }: ModelFacts): Effort | undefined {
  if (asked === undefined) return undefined;
  return efforts.findLast((effort) => ALL.indexOf(effort) <= ALL.indexOf(asked));
}

export function infoOf(model: string, own: ModelOptions, think?: boolean): ModelInfo {
  const { window, maxOutput, images, thinking, prices, known } = factsOf(model, own, think);
  const set = Object.hasOwn(own, model) ? own[model]! : {};
  return {
    id: model,
    window,
    ...(known || set.maxOutput !== undefined ? { maxOutput } : {}),
    ...(known || set.images !== undefined ? { images } : {}),
    ...(thinking === "open" ? {} : { reasoning: thinking === "adaptive" || thinking === "between" }),
    ...(prices ? { prices } : {}),
  };
}
