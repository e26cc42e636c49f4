/** What the host may set, for each server by its provider's name. Nothing is looked up anywhere else. */
import { z } from "@heddle/kernel/plugin";
import { KIND_NAMES, type Kind, type KindName } from "./kinds.ts";

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

/**
 * `baseURL` up to and including the version (`/v1`, which is added to a bare host). Credentials: `apiKey`, or else an
 * `authorization` among `headers`. `api`: "auto" is Responses for api.openai.com and Chat Completions for all others.
 */
const Server = z.strictObject({
  baseURL: z.url({ protocol: /^https?$/ }).optional(),
  apiKey: z.string().min(1).optional(),
  headers: z.record(z.string(), z.string()).default({}),
  api: z.enum(["chat", "responses", "auto"]).default("auto"),
  models: z.record(z.string(), Model).default({}),
});
export type ServerOptions = z.output<typeof Server>;

const servers = Object.fromEntries(KIND_NAMES.map((name) => [name, Server.prefault({})])) as {
  [K in KindName]: z.ZodPrefault<typeof Server>;
};
export const Options = z
  .strictObject({
    ...servers,
    fetch: z.custom<(...args: never[]) => Promise<Response>>((it) => typeof it === "function", "a function").optional(),
  })
  .prefault({});
export type Options = z.output<typeof Options>;

/** One server, with its options resolved. `baseURL` is undefined when there is none to go to. */
export type Server = {
  readonly kind: Kind;
  readonly options: ServerOptions;
  readonly baseURL: string | undefined;
  readonly api: "chat" | "responses";
  /** The real api.openai.com, whose models and parameters are known. */
  readonly official: boolean;
  readonly fetch: typeof globalThis.fetch;
};

export function serverOf(kind: Kind, options: ServerOptions, fetch: Options["fetch"]): Server {
  const baseURL = normal(options.baseURL ?? kind.baseURL);
  const official = baseURL !== undefined && new URL(baseURL).hostname === "api.openai.com";
  const api = options.api === "auto" ? (official ? "responses" : "chat") : options.api;
  return { kind, options, baseURL, api, official, fetch: (fetch ?? globalThis.fetch) as typeof globalThis.fetch };
}

function normal(baseURL: string | undefined): string | undefined {
  if (baseURL === undefined) return undefined;
  const url = new URL(baseURL);
  if (url.pathname === "/") url.pathname = "/v1";
  return url.href.replace(/\/+$/, "");
}

/** Where requests go, without what may be secret in it. */
export function placeOf(server: Server): string {
  if (server.baseURL === undefined) return server.kind.label;
  const { origin, pathname } = new URL(server.baseURL);
  return origin + pathname.replace(/\/$/, "");
}

export const hasCredential = ({ options }: Server): boolean =>
  options.apiKey !== undefined || Object.keys(options.headers).some((name) => /^(?:authorization|api-key|x-api-key)$/i.test(name));

/** Whether the server would run on this machine. */
export const isLocal = ({ baseURL }: Server): boolean =>
  baseURL !== undefined && /^(?:(?:.+\.)?localhost|127(?:\.\d+){3}|0\.0\.0\.0|\[::1?\])$/.test(new URL(baseURL).hostname);
