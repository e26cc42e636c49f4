/** Faults by name: what each one does to a reply, how often, and from which request on. */

import type { JsonObject } from "./json.ts";
import { typeOf } from "./refusal.ts";
import type { RequestKind } from "./request-kind.ts";

/** Faults that change what the model says instead of how the reply travels. */
export type ReplyFault =
  | "malformed-json"
  | "max-tokens-tool"
  | "max-tokens-text"
  | "refusal"
  | "pause-turn"
  | "empty-end-turn"
  | "unknown-tool"
  | "bad-tool-args"
  | "context-window-exceeded";

export type FaultName =
  | ReplyFault
  | "429-retry-after"
  | "429-spend-limit"
  | "529"
  | "500"
  | "504"
  | "529-should-not-retry"
  | "529-forever"
  | "401"
  | "402"
  | "403"
  | "404"
  | "409"
  | "400-other"
  | "400-too-long"
  | "400-input-length"
  | "binding-400"
  | "413"
  | "html-502"
  | "reset"
  | "cut-text"
  | "cut-twice"
  | "cut-in-tool"
  | "sse-error"
  | "sse-error-first"
  | "no-message-stop"
  | "slow"
  | "delay-10s"
  | "stall"
  | "stall-no-headers"
  | "ping-only";

export interface FaultFields {
  /** Answers with this status in place of a reply. */
  status?: number;
  /** Type in the error's body or event; follows from the status without it. */
  errorType?: string;
  message?: string;
  details?: JsonObject;
  headers?: Readonly<Record<string, string>>;
  html?: string;
  /** Closes the connection without any answer. */
  reset?: boolean;
  /** Never answers. */
  hang?: boolean;
  /** Waits before the headers. */
  delayMs?: number;
  /** Waits before each event. */
  eventMs?: number;
  /** Closes the connection after exactly so many bytes of the stream. */
  cutAtByte?: number;
  /** Goes silent at the first event boundary from this byte on. */
  stallAtByte?: number;
  /** Sends an error event at the first event boundary from this byte on, then ends. */
  errorAtByte?: number;
  /** Ends the stream cleanly, but without its last two events. */
  omitsEnd?: boolean;
  /** After the first event sends nothing but pings, so many milliseconds apart. */
  pingMs?: number;
  reply?: ReplyFault;
}

export interface FaultSpec extends FaultFields {
  name?: FaultName;
  /** Counts accepted requests of the kind from 0, retries included; 1 without it: after the first tool result. */
  at?: number;
  times?: number;
  /** The requests that are counted and struck; main ones without it. */
  kind?: RequestKind;
}

export interface Fault extends FaultFields {
  name: string;
}

interface NamedFault extends FaultFields {
  times?: number;
  at?: number;
}

const ALWAYS = Number.POSITIVE_INFINITY;
const FINAL = { "x-should-retry": "false" };
const OVERLOADED = { status: 529, message: "Overloaded" };

const NAMED: Readonly<Record<FaultName, NamedFault>> = {
  "429-retry-after": {
    status: 429,
    message: "This request would exceed your account's rate limit. Please try again later.",
    headers: { "retry-after": "1" },
    times: 2,
  },
  "429-spend-limit": {
    status: 429,
    message: "Your organization has reached its spend limit.",
    details: { error_code: "enforced_spend_limit_reached" },
    times: ALWAYS,
  },
  "529": { ...OVERLOADED, times: 2 },
  "500": { status: 500, message: "Internal server error", times: 2 },
  "504": { status: 504, message: "The request timed out.", times: 2 },
  "529-should-not-retry": { ...OVERLOADED, headers: FINAL },
  "529-forever": { ...OVERLOADED, times: ALWAYS },
  "401": { status: 401, message: "invalid x-api-key", headers: FINAL, times: ALWAYS },
  "402": { status: 402, message: "Your credit balance is too low.", headers: FINAL, times: ALWAYS },
  "403": { status: 403, message: "Your API key may not use this resource.", headers: FINAL, times: ALWAYS },
  "404": { status: 404, message: "Not found", headers: FINAL, times: ALWAYS },
  "409": { status: 409, message: "The request conflicts with another one." },
  "400-other": {
    status: 400,
    message: "This request has a property that the service will not accept.",
    headers: FINAL,
    times: ALWAYS,
  },
  "400-too-long": { status: 400, message: "prompt is too long: 205123 tokens > 200000 maximum", headers: FINAL },
  "400-input-length": {
    status: 400,
    message:
      "input length and `max_tokens` exceed context limit: 190000 + 32000 > 200000, decrease input length or `max_tokens` and try again",
    headers: FINAL,
  },
  /** Its sentence names a block of the request, so the server writes it. */
  "binding-400": { status: 400, headers: FINAL },
  "413": { status: 413, message: "Request exceeds the maximum size", headers: FINAL },
  "html-502": {
    status: 502,
    html: "<html>\r\n<head><title>502 Bad Gateway</title></head>\r\n<body>\r\n<center><h1>502 Bad Gateway</h1></center>\r\n</body>\r\n</html>\r\n",
  },
  reset: { reset: true },
  "cut-text": { cutAtByte: 900 },
  "cut-twice": { cutAtByte: 900, times: 2 },
  "cut-in-tool": { cutAtByte: 1500, at: 0 },
  "sse-error": { errorAtByte: 700 },
  "sse-error-first": { errorAtByte: 1 },
  "no-message-stop": { omitsEnd: true },
  slow: { eventMs: 20 },
  "delay-10s": { delayMs: 500 },
  stall: { stallAtByte: 700 },
  "stall-no-headers": { hang: true },
  "ping-only": { pingMs: 25 },
  "malformed-json": { reply: "malformed-json" },
  "max-tokens-tool": { reply: "max-tokens-tool" },
  "max-tokens-text": { reply: "max-tokens-text" },
  refusal: { reply: "refusal" },
  "pause-turn": { reply: "pause-turn" },
  "empty-end-turn": { reply: "empty-end-turn" },
  "unknown-tool": { reply: "unknown-tool" },
  "bad-tool-args": { reply: "bad-tool-args" },
  "context-window-exceeded": { reply: "context-window-exceeded" },
};

interface Scheduled {
  fault: Fault;
  at: number;
  times: number;
  kind: RequestKind;
}

function scheduled(source: FaultName | FaultSpec): Scheduled {
  const spec: FaultSpec = typeof source === "string" ? { name: source } : source;
  const named = spec.name ? NAMED[spec.name] : {};
  const { name, at, times, kind, ...fields } = { ...named, ...spec };
  return { fault: { name: name ?? "custom", ...fields }, at: at ?? 1, times: times ?? 1, kind: kind ?? "main" };
}

/** Says which fault strikes a request; the first of those that are due. */
export class FaultSchedule {
  readonly #faults: readonly Scheduled[];
  readonly #counts = new Map<RequestKind, number>();
  readonly #stepStrikes = new Map<FaultSpec, number>();

  constructor(faults: readonly (FaultName | FaultSpec)[]) {
    this.#faults = faults.map(scheduled);
  }

  next(kind: RequestKind): Fault | undefined {
    const count = this.#counts.get(kind) ?? 0;
    this.#counts.set(kind, count + 1);
    return this.#faults.find((item) => item.kind === kind && count >= item.at && count < item.at + item.times)?.fault;
  }

  ofStep(spec: FaultSpec | undefined): Fault | undefined {
    if (!spec) return undefined;
    const { fault, times } = scheduled(spec);
    const strikes = this.#stepStrikes.get(spec) ?? 0;
    if (strikes >= times) return undefined;
    this.#stepStrikes.set(spec, strikes + 1);
    return fault;
  }
}

export function faultErrorType(fault: Fault): string {
  return fault.errorType ?? (fault.status === undefined ? "overloaded_error" : typeOf(fault.status));
}

export const FAULT_NAMES = Object.keys(NAMED) as readonly FaultName[];
