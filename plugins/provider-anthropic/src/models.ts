/** What each model can take: its window, its longest reply, and how it thinks. */

/**
 * `window` and `maxOutput` in tokens. `thinking`: "adaptive" is asked for; "none" is neither asked for nor sent back; "open" is
 * an id of unknown kind, for which nothing is asked and whatever came is sent back.
 */
export type ModelFacts = {
  readonly window: number;
  readonly maxOutput: number;
  readonly thinking: "adaptive" | "none" | "open";
  readonly effort: boolean;
};

const K = 1000;
const WIDE = { window: 1000 * K, maxOutput: 128 * K };
const LARGE = { window: 200 * K, maxOutput: 64 * K };

/** By id without its date; from the Messages API documentation of 2026-11-30. */
const SIZES: { readonly [id: string]: { readonly window: number; readonly maxOutput: number } } = {
  "claude-fable-5-2": WIDE,
  "claude-fable-5-1": WIDE,
  "claude-fable-5": WIDE,
  "claude-mythos-5-2": WIDE,
  "claude-mythos-5-1": WIDE,
  "claude-mythos-5": WIDE,
  "claude-opus-5-5": WIDE,
  "claude-sonnet-5-5": WIDE,
  "claude-haiku-5-5": WIDE,
  "claude-opus-5": WIDE,
  "claude-sonnet-5": WIDE,
  "claude-opus-4-8": WIDE,
  "claude-opus-4-7": WIDE,
  "claude-opus-4-6": WIDE,
  "claude-sonnet-4-6": WIDE,
  "claude-opus-4-5": LARGE,
  "claude-sonnet-4-5": LARGE,
  "claude-haiku-4-5": LARGE,
  "claude-opus-4-1": { window: 200 * K, maxOutput: 32 * K },
  "claude-opus-4": { window: 200 * K, maxOutput: 32 * K },
  "claude-sonnet-4": LARGE,
  "claude-3-5-sonnet": { window: 200 * K, maxOutput: 8192 },
  "claude-3-5-haiku": { window: 200 * K, maxOutput: 8192 },
};
const UNKNOWN = { window: 200 * K, maxOutput: 32 * K };

const VERSION = /^claude-([a-z]+)-(\d{1,2})(?:-(\d{1,2}))?$/;
const OLD_VERSION = /^claude-\d/;

export function factsOf(model: string): ModelFacts {
  const id = model.replace(/-(?:\d{8}|latest)$/, "");
  const sizes = Object.hasOwn(SIZES, id) ? SIZES[id]! : UNKNOWN;
  const [, family, major, minor = "0"] = VERSION.exec(id) ?? [];
  if (major === undefined) return { ...sizes, thinking: OLD_VERSION.test(id) ? "none" : "open", effort: !OLD_VERSION.test(id) };
  const version = Number(major) * 100 + Number(minor);
  return { ...sizes, thinking: version >= 407 ? "adaptive" : "none", effort: version >= 406 || (family === "opus" && version === 405) };
}
