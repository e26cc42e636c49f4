/** Faults by name: what each one does in place of a reply or to it, how often, and from which request on. */

import type { JsonObject } from "./json.ts";
import type { Step } from "./script.ts";

export interface FaultFields {
  /** Answers with this status in place of a reply. */
  status?: number;
  headers?: Readonly<Record<string, string>>;
  /** The whole body: JSON, or text of another kind. */
  body?: JsonObject | string;
  /** The request is too long, in the words of the flavour. */
  overflow?: boolean;
  /** Closes the connection without an answer. */
  reset?: boolean;
  /** Never answers. */
  hang?: boolean;
  /** Breaks the connection after so many events. */
  cutAt?: number;
  /** Goes silent after so many events. */
  stallAt?: number;
  /** Sends an error after so many events, then ends. */
  errorAt?: number;
  /** What `errorAt` sends. */
  error?: JsonObject;
  /** Ends the stream in good order, but without its last events, so many of them. */
  omits?: number;
  /** Changes what the model says. */
  reply?: (step: Step) => Step;
}
export type FaultName =
  | "429"
  | "429-quota"
  | "500"
  | "503"
  | "401"
  | "402"
  | "403"
  | "413"
  | "404-page"
  | "502-html"
  | "overflow"
  | "reset"
  | "hang"
  | "cut"
  | "stall"
  | "error-chunk"
  | "no-end"
  | "malformed-json"
  | "cut-json"
  | "empty"
  | "length"
  | "content-filter"
  | "refusal"
  | "unknown-tool";

/** `at` counts accepted requests from 0, retries included. */
export interface FaultSpec extends FaultFields {
  name?: FaultName;
  at?: number;
  times?: number;
}

const error = (message: string, type: string, code: string | null = null, param: string | null = null): JsonObject => ({
  error: { message, type, param, code },
});
const calls = (change: (raw: string) => string): FaultFields => ({
  reply: (step) => ({
    ...step,
    calls: (step.calls ?? [{ name: "read" }]).map((c) => ({ name: c.name, raw: change(c.raw ?? JSON.stringify(c.input ?? {})) })),
  }),
});

const NAMED: Readonly<Record<FaultName, FaultFields>> = {
  "429": {
    status: 429,
    headers: { "retry-after": "2" },
    body: error(
      "Rate limit reached for gpt-5.6 in organization org-test on tokens per min (TPM): Limit 30000, Used 29000, Requested 2000. Please try again in 2s.",
      "tokens",
      "rate_limit_exceeded",
    ),
  },
  "429-quota": {
    status: 429,
    body: error("You exceeded your current quota, please check your plan and billing details.", "insufficient_quota", "insufficient_quota"),
  },
  "500": { status: 500, body: error("The server had an error while processing your request. Sorry about that!", "server_error") },
  "503": { status: 503, body: error("The engine is currently overloaded, please try again later", "service_unavailable_error") },
  "401": { status: 401, body: error("Incorrect API key provided: sk-te**st.", "invalid_request_error", "invalid_api_key") },
  "402": { status: 402, body: { error: { message: "Insufficient credits. Add more to continue.", code: 402 } } },
  "403": {
    status: 403,
    body: error("Country, region, or territory not supported", "request_forbidden", "unsupported_country_region_territory"),
  },
  "413": { status: 413, body: error("The request body is too large.", "invalid_request_error") },
  "404-page": { status: 404, body: "404 page not found" },
  "502-html": { status: 502, body: "<html>\r\n<head><title>502 Bad Gateway</title></head>\r\n<body>nginx</body>\r\n</html>\r\n" },
  overflow: { overflow: true },
  reset: { reset: true },
  hang: { hang: true },
  cut: { cutAt: 3 },
  stall: { stallAt: 3 },
  "error-chunk": { errorAt: 3 },
  "no-end": { omits: 99 },
  "malformed-json": calls((raw) => `${raw.slice(0, -1)},}`),
  "cut-json": { reply: (step) => ({ ...calls((raw) => raw.slice(0, -2)).reply!(step), finish: "length" }) },
  empty: { reply: () => ({}) },
  length: { reply: ({ text = "A long text that", reasoning }) => ({ text, finish: "length", ...(reasoning ? { reasoning } : {}) }) },
  "content-filter": { reply: () => ({ text: "I would", finish: "content_filter" }) },
  refusal: { reply: () => ({ refusal: "I cannot help with that." }) },
  "unknown-tool": { reply: () => ({ calls: [{ name: "no_such_tool", input: {} }] }) },
};
export const FAULT_NAMES = Object.keys(NAMED) as readonly FaultName[];

/** What `errorAt` sends without an `error` of its own. */
export const STREAM_ERROR: JsonObject = { message: "Provider returned error", code: 502, metadata: { provider_name: "test" } };

export type Fault = FaultFields & { name: string };

/** The first fault that is due for the `count`-th accepted request. */
export function faultAt(faults: readonly (FaultName | FaultSpec)[], count: number): Fault | undefined {
  for (const it of faults) {
    const { name, at = 0, times = 1, ...fields } = typeof it === "string" ? { name: it } : it;
    if (count >= at && count < at + times) return { ...(name ? NAMED[name] : {}), ...fields, name: name ?? "custom" };
  }
  return undefined;
}
