/** What can go wrong between here and the model, in one line that says what to do. Never shows a credential. */
import { ModelError, type ModelFault, type ModelFaultKind } from "@heddle/kernel/plugin";
import { authHeader, isLocal, type Ready, serverOf } from "./options.ts";
import { isObject, type JsonObject } from "./text.ts";

/** `now` in milliseconds since the epoch, for a `retry-after` that is a date. `answered`: the server has been there before. */
export type Failing = { readonly options: Ready; readonly model: string; readonly now: number; readonly answered: boolean };

const MAX_LINE = 500;

export function noCredential(): ModelError {
  return new ModelError('There is no API key for provider anthropic: set ANTHROPIC_API_KEY, or its option "apiKey" or "authToken".', {
    kind: "auth",
  });
}

/** `why` is what the source of keys says. */
export const noKey = (name: string, why: string): ModelError =>
  new ModelError(`${name} gave no API key: ${why.replace(/\s+/g, " ").trim().slice(0, MAX_LINE)}`, { kind: "auth" });

/** `said`: what came in place of an answer. */
export function notTheApi(failing: Failing, said: string, status?: number, requestId?: string): ModelError {
  const { options } = failing;
  const text = `The server at ${serverOf(options)} does not speak the Messages API: it answered ${said || "nothing"}. Check the base URL.`;
  return new ModelError(oneLine(text, options), fault("protocol", status, requestId));
}

export function cutOff({ options }: Failing, why: string, requestId?: string): ModelError {
  return new ModelError(
    oneLine(`The connection to ${serverOf(options)} ended before the reply was complete (${why}).`, options),
    fault("network", undefined, requestId),
  );
}

/** An `error` event in a stream that had begun. */
export function streamError(event: JsonObject, failing: Failing, requestId?: string): ModelError {
  const error = isObject(event["error"]) ? event["error"] : {};
  const type = String(error["type"] ?? "error");
  const id = typeof event["request_id"] === "string" ? event["request_id"] : requestId;
  return describe(failing, { type, said: String(error["message"] ?? type), code: codeOf(error), requestId: id });
}

/** The model has stopped since its window was full: what it said is no answer. */
export const windowFull = (failing: Failing, requestId?: string): ModelError =>
  describe(failing, { type: "", said: "its context window is full", kind: "overflow", requestId });

/** What the API has said about a request that it took for a bad one; undefined for any other failure. */
export function refusalIn(error: unknown): string | undefined {
  const { status, error: body } = (error ?? {}) as Thrown;
  const envelope = isObject(body) && isObject(body["error"]) ? body["error"] : undefined;
  return status === 400 && typeof envelope?.["message"] === "string" ? envelope["message"] : undefined;
}

const statusOf = (error: unknown): number | undefined => {
  const { status } = (error ?? {}) as Thrown;
  return typeof status === "number" ? status : undefined;
};
export const isAnswer = (error: unknown): boolean => statusOf(error) !== undefined;
export const isRefusedKey = (error: unknown): boolean => statusOf(error) === 401;

/** Anything that the SDK or the network threw. */
export function toModelError(error: unknown, failing: Failing): ModelError {
  if (error instanceof ModelError) return error;
  const { options } = failing;
  const it = (error instanceof Error ? error : new Error(String(error))) as Error & Thrown;
  const status = statusOf(it);
  if (status !== undefined) return statusError(it, status, failing);
  const root = rootOf(it);
  const code = String(root.code ?? "");
  const server = serverOf(options);
  const network = (text: string, kind: ModelFaultKind = "network"): ModelError => new ModelError(oneLine(text, options), fault(kind));
  if (/invalid (?:header value|HTTP header)|ByteString/i.test(`${it.message} ${root.message}`)) {
    const text = `The ${credentialOf(options)} or a header for ${server} contains a character that cannot be sent. ${remedyOf(options)}.`;
    return new ModelError(oneLine(text, options), fault("auth"));
  }
  if (it.name === "APIConnectionTimeoutError") return network(`${server} did not answer in time. Try again, or raise option "timeoutMs".`);
  if (code === "ECONNREFUSED")
    return network(
      `Nothing listens at ${server} (connection refused). Start the server, or check the base URL (ANTHROPIC_BASE_URL).`,
      // What was never there does not come by itself; what was there may be starting anew.
      isLocal(options) && !failing.answered ? "not-found" : "network",
    );
  if (code === "ENOTFOUND" || code === "EAI_AGAIN")
    return network(`The host of ${server} was not found (${code}). Check the network connection and the base URL.`);
  if (/CERT|SSL|TLS/i.test(`${code} ${root.message}`))
    return network(`There is no trusted connection to ${server} (${code || root.message}). Check the certificate, or NODE_EXTRA_CA_CERTS.`);
  return network(`The connection to ${server} failed (${root.message || code || it.message}). Check the network, and try again.`);
}

type Thrown = {
  readonly status?: unknown;
  readonly error?: unknown;
  readonly headers?: { get(name: string): string | null };
  readonly code?: unknown;
};

function statusError(it: Error & Thrown, status: number, failing: Failing): ModelError {
  const requestId = it.headers?.get("request-id") ?? undefined;
  const envelope = isObject(it.error) && isObject(it.error["error"]) ? it.error["error"] : undefined;
  const retryAfterMs = retryAfter(it.headers, failing.now);
  const advice = it.headers?.get("x-should-retry") ?? undefined;
  if (envelope === undefined || typeof envelope["message"] !== "string") {
    const said = redacted(it.message.replace(/^\d{3}\s*/, ""), failing.options);
    if (advice !== "true" && (status === 404 || status === 405 || (status < 500 && /^\s*</.test(said)) || status === 400))
      return notTheApi(failing, `${status} ${quote(said)}`, status, requestId);
    return describe(failing, { type: "", said: quote(said), status, requestId, retryAfterMs, advice });
  }
  return describe(failing, {
    type: String(envelope["type"]),
    said: envelope["message"],
    code: codeOf(envelope),
    status,
    requestId,
    retryAfterMs,
    advice,
  });
}

/** `advice`: whether the server wants the request again, "true" or "false". `kind` where it does not follow from the rest. */
type Said = {
  readonly type: string;
  readonly said: string;
  readonly code?: string | undefined;
  readonly status?: number | undefined;
  readonly requestId?: string | undefined;
  readonly retryAfterMs?: number | undefined;
  readonly advice?: string | undefined;
  readonly kind?: ModelFaultKind;
};

const PASSING: readonly ModelFaultKind[] = ["rate-limit", "overloaded", "server"];
const LASTING: readonly ModelFaultKind[] = ["auth", "not-found", "invalid"];

function describe(failing: Failing, it: Said): ModelError {
  const { options, model } = failing;
  const first = it.kind ?? kindOf(it);
  const isFinal = it.advice === "false" && PASSING.includes(first);
  const kind = isFinal ? "invalid" : it.advice === "true" && LASTING.includes(first) ? "server" : first;
  const server = serverOf(options);
  const said = `${it.status === undefined ? "" : `${it.status}: `}${it.said.trim() || it.type || "no reason given"}`;
  const texts: { readonly [K in ModelFaultKind]: string } = {
    auth:
      it.status === 403
        ? `The ${credentialOf(options)} may not do this at ${server} (${said}). Check what it is allowed to use.`
        : `The ${credentialOf(options)} was refused by ${server} (${said}). ${remedyOf(options)}.`,
    billing: `The account has no credit or has reached its spend limit (${said}). Check its billing page.`,
    "not-found": `${server} knows no model "${model}" (${said}). Check the model's name.`,
    overflow: `The conversation is too long for ${model} (${said}). Start a new one, or ask a model with a larger window.`,
    "too-large": `The request is too large for ${server} (${said}). Send smaller files or images, or start a new conversation.`,
    "rate-limit": `The rate limit of ${server} is reached (${said}). Try again later.`,
    overloaded: `${server} is overloaded (${said}). Try again in a moment.`,
    server: `${server} failed (${said}). Try again in a moment.`,
    invalid: isFinal ? `${server} failed and says that trying again will not help (${said}).` : `${server} refused the request (${said}).`,
    network: `The connection to ${server} failed (${said}).`,
    stall: `${server} stopped sending (${said}).`,
    protocol: `${server} answered something that is no reply (${said}).`,
  };
  return new ModelError(oneLine(texts[kind], options), fault(kind, it.status, it.requestId, isFinal ? undefined : it.retryAfterMs));
}

const BY_STATUS: { readonly [status: number]: ModelFaultKind } = {
  400: "invalid",
  401: "auth",
  402: "billing",
  403: "auth",
  404: "not-found",
  408: "server",
  409: "server",
  413: "too-large",
  429: "rate-limit",
  529: "overloaded",
};
const BY_TYPE: { readonly [type: string]: ModelFaultKind } = {
  invalid_request_error: "invalid",
  authentication_error: "auth",
  billing_error: "billing",
  permission_error: "auth",
  not_found_error: "not-found",
  request_too_large: "too-large",
  rate_limit_error: "rate-limit",
  overloaded_error: "overloaded",
};
function kindOf({ type, said, code, status }: Said): ModelFaultKind {
  const kind =
    (status === undefined ? undefined : BY_STATUS[status]) ??
    BY_TYPE[type] ??
    (status !== undefined && status < 500 ? "invalid" : "server");
  if (kind === "rate-limit" && /spend_limit/.test(code ?? "")) return "billing";
  if (kind !== "invalid") return kind;
  if (/prompt is too long|exceed context limit/i.test(said)) return "overflow";
  return /credit balance is too low|spend limit/i.test(said) ? "billing" : "invalid";
}
function codeOf(error: JsonObject): string | undefined {
  const details = error["details"];
  return isObject(details) && typeof details["error_code"] === "string" ? details["error_code"] : undefined;
}

function retryAfter(headers: Thrown["headers"], now: number): number | undefined {
  const ms = Number(headers?.get("retry-after-ms") ?? Number.NaN);
  if (Number.isFinite(ms)) return Math.max(0, ms);
  const after = headers?.get("retry-after");
  if (!after) return undefined;
  const seconds = Number(after);
  const wait = Number.isFinite(seconds) ? seconds * 1000 : Date.parse(after) - now;
  return Number.isFinite(wait) ? Math.max(0, wait) : undefined;
}

function fault(kind: ModelFaultKind, status?: number, requestId?: string, retryAfterMs?: number): ModelFault {
  return {
    kind,
    ...(status === undefined ? {} : { status }),
    ...(requestId === undefined ? {} : { requestId }),
    ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
  };
}

/** The error behind the error: fetch hides the reason in its cause. */
function rootOf(error: Error): Error & { readonly code?: unknown } {
  let root: Error = error;
  for (let depth = 0; depth < 5 && root.cause instanceof Error; depth++) root = root.cause;
  return root;
}

function credentialOf(options: Ready): string {
  if (options.source !== undefined) return `API key of ${options.source}`;
  if (options.apiKey !== undefined) return "API key";
  return options.authToken !== undefined ? "auth token" : `credential in header "${authHeader(options.headers)}"`;
}
function remedyOf(options: Ready): string {
  if (options.source !== undefined) return `It was asked for a new one before: check what ${options.source} gives`;
  if (options.apiKey !== undefined) return 'Set a valid one in ANTHROPIC_API_KEY or as option "apiKey" of provider anthropic';
  if (options.authToken !== undefined) return 'Set a valid one in ANTHROPIC_AUTH_TOKEN or as option "authToken" of provider anthropic';
  return 'Correct option "headers" of provider anthropic';
}

const quote = (text: string): string => {
  const flat = text.replace(/\s+/g, " ").trim();
  return flat === "" ? "nothing" : `"${flat.length > 80 ? `${flat.slice(0, 80)}…` : flat}"`;
};

/** Servers echo what they were sent, so every text is searched for the secrets that went out with it: before it is cut, or half of one stays. */
export function redacted(text: string, { apiKey, authToken, headers, baseURL }: Ready): string {
  const secretHeaders = Object.entries(headers).filter(([name]) => /auth|key|token|secret|cookie/i.test(name));
  const fromHeaders = secretHeaders.flatMap(([, value]) => [value, value.replace(/^\w+ /, "")]);
  const secrets = [apiKey, authToken, decodeURIComponent(new URL(baseURL).password), ...fromHeaders];
  let clean = text;
  for (const secret of secrets) if (secret !== undefined && secret.length >= 4) clean = clean.replaceAll(secret, "***");
  return clean;
}
function oneLine(text: string, options: Ready): string {
  const flat = redacted(text, options).replace(/\s+/g, " ").trim();
  return flat.length > MAX_LINE ? `${flat.slice(0, MAX_LINE - 1)}…` : flat;
}
