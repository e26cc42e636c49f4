/** What the host may set. Nothing is looked up anywhere else. */
import { z } from "@heddle/kernel/plugin";

/**
 * Credentials: `apiKey`, or else `authToken`, or else an `authorization` or `x-api-key` among `headers`. `baseURL` without
 * `/v1/messages`. `maxRetries` counts what follows the first try. `timeoutMs` is the wait for the head of a response.
 */
export const Options = z
  .object({
    apiKey: z.string().min(1).optional(),
    authToken: z.string().min(1).optional(),
    baseURL: z.url({ protocol: /^https?$/ }).default("https://api.anthropic.com"),
    headers: z.record(z.string(), z.string()).default({}),
    maxRetries: z.int().min(0).max(20).default(2),
    timeoutMs: z.int().positive().optional(),
    fetch: z.custom<(...args: never[]) => Promise<Response>>((it) => typeof it === "function", "a function").optional(),
  })
  .prefault({});
export type Options = z.output<typeof Options>;

export const hasAuthHeader = (headers: Options["headers"]): boolean =>
  Object.keys(headers).some((name) => ["authorization", "x-api-key"].includes(name.toLowerCase()));

/** Where requests go, without what may be secret in it. */
export function serverOf(options: Options): string {
  const { origin, pathname } = new URL(options.baseURL);
  return origin + (pathname === "/" ? "" : pathname);
}
