/** What the host may set. Nothing is looked up anywhere else. */
import { z } from "@heddle/kernel/plugin";

const amount = z.number().min(0);
/** USD per million tokens, by tiers of the size of the prompt in tokens; the last tier has no `upTo`. `at` is a day. */
const Prices = z.strictObject({
  at: z.string().min(1),
  tiers: z
    .array(
      z.strictObject({ upTo: z.int().positive().exactOptional(), input: amount, output: amount, cacheRead: amount, cacheWrite: amount }),
    )
    .min(1)
    .refine((tiers) => tiers.findIndex((tier) => tier.upTo === undefined) === tiers.length - 1, "the last tier, and no other, lacks upTo"),
});
/** What a model can take and costs, where it is not what this plugin assumes. `window` and `maxOutput` in tokens. */
const Model = z.strictObject({
  window: z.int().positive().optional(),
  maxOutput: z.int().positive().optional(),
  images: z.boolean().optional(),
  reasoning: z.boolean().optional(),
  prices: Prices.optional(),
});
export type ModelOptions = { readonly [id: string]: z.output<typeof Model> };

/**
 * Gives a key when one is needed; `fresh` when the server has refused the one that it gave before. What it throws is told to the person
 * and so holds no key. It caches as it likes and ends in its own time. `name` is how the person knows it.
 */
const KeySource = z.object({
  name: z.string().min(1),
  get: z.custom<(fresh: boolean) => Promise<string>>((it) => typeof it === "function", "a function"),
});

/**
 * Credentials: `apiKey`, a key or a source of keys, or else `authToken`, or else an `authorization` or `x-api-key` among `headers`. `baseURL` without
 * `/v1/messages`. `thinking`: whether models that can do with or without shall think. `maxRetries` counts what follows the first try within the SDK. `timeoutMs` is the wait for the head of a response.
 */
export const Options = z
  .object({
    apiKey: z.union([z.string().min(1), KeySource]).optional(),
    authToken: z.string().min(1).optional(),
    baseURL: z.url({ protocol: /^https?$/ }).default("https://api.anthropic.com"),
    headers: z.record(z.string(), z.string()).default({}),
    maxRetries: z.int().min(0).max(20).default(0),
    timeoutMs: z.int().positive().optional(),
    models: z.record(z.string(), Model).default({}),
    thinking: z.boolean().optional(),
    fetch: z.custom<(...args: never[]) => Promise<Response>>((it) => typeof it === "function", "a function").optional(),
  })
  .prefault({});
export type Options = z.output<typeof Options>;
/** With the key itself, and the name of the source that it came from. */
export type Ready = Omit<Options, "apiKey"> & { readonly apiKey?: string; readonly source?: string };

const isCredential = (name: string): boolean => ["authorization", "x-api-key"].includes(name.toLowerCase());
/** The header that holds a credential, as it was written. */
export const authHeader = (headers: Options["headers"]): string | undefined => Object.keys(headers).find(isCredential);

/** Where requests go, without what may be secret in it. */
export function serverOf(options: Pick<Options, "baseURL">): string {
  const { origin, pathname } = new URL(options.baseURL);
  return origin + (pathname === "/" ? "" : pathname);
}

/** Whether the server would run on this machine. */
export const isLocal = ({ baseURL }: Pick<Options, "baseURL">): boolean =>
  /^(?:(?:.+\.)?localhost|127(?:\.\d+){3}|0\.0\.0\.0|\[::1?\])$/.test(new URL(baseURL).hostname);
