/** What can go wrong between here and the model, in one line that says what to do. Never shows a credential. */
import { ModelError, type ModelFault, type ModelFaultKind } from "@heddle/kernel/plugin";
import { isLocal, placeOf, type Server } from "./options.ts";
import { isObject, type JsonObject, parseObject, snippet, stringOf } from "./text.ts";

/** `now` in milliseconds since the epoch, for a `retry-after` that is a date. `answered`: the server has been there before. */
export type Failing = { readonly server: Server; readonly model: string; readonly now: number; readonly answered?: boolean };

/** What a server said in place of a reply, in whatever envelope. */
export type Said = {
  readonly message: string;
  /** The kind and code that came with it, in one string. */
  readonly code: string;
  readonly param?: string;
  readonly status?: number;
  readonly requestId?: string;
  readonly retryAfterMs?: number;
  /** Whether the server wants the request again: "true" or "false". */
  readonly advice?: string;
  /** It came in an envelope that such APIs use. */
  readonly enveloped: boolean;
};

const MAX_LINE = 500;

export function noServer({ server }: Failing): ModelError {
  const { name } = server.kind;
  return new ModelError(`Provider ${name} has no server: set its option "${name}.baseURL", for example to http://localhost:8000/v1.`, {
    kind: "invalid",
  });
}
export function noCredential({ server }: Failing): ModelError {
  const { name, label, keyName } = server.kind;
  const text = `There is no API key for ${label}: set ${keyName ? `${keyName}, or ` : ""}option "${name}.apiKey".`;
  return new ModelError(text, { kind: "auth" });
}

/** `said`: what came in place of an answer. */
export function notTheApi(failing: Failing, said: string, status?: number): ModelError {
  const text = `${placeOf(failing.server)} does not speak the OpenAI API: it answered ${said || "nothing"}. Check option "${failing.server.kind.name}.baseURL".`;
  return new ModelError(oneLine(text, failing.server), fault("protocol", { status }));
}
export function cutOff({ server }: Failing, why: string, requestId?: string): ModelError {
  const text = `The connection to ${placeOf(server)} ended before the reply was complete (${why}).`;
  return new ModelError(oneLine(text, server), fault("network", { requestId }));
}

/** The head and body of a response that is no success. */
export async function readSaid(response: Response, server: Server, now: number): Promise<Said> {
  const text = redacted(await response.text().catch(() => ""), server);
  const body = parseObject(text);
  const retryAfterMs = retryAfter(response.headers, now);
  const requestId = requestIdOf(response.headers);
  const advice = response.headers.get("x-should-retry");
  const rest = {
    status: response.status,
    ...(requestId ? { requestId } : {}),
    ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
    ...(advice === null ? {} : { advice }),
  };
  const said = body ? saidIn(body) : undefined;
  return said ? { ...said, ...rest } : { message: text === "" ? "" : `"${snippet(text)}"`, code: "", enveloped: false, ...rest };
}
export const requestIdOf = (headers: Headers): string | undefined => headers.get("x-request-id") ?? undefined;

/** `{error: {…}}`, `{error: "…"}`, `{object: "error", …}`, `{detail: …}`, and the events of both APIs. */
export function saidIn(body: JsonObject): Said | undefined {
  const response = body["response"];
  const inner = body["error"] ?? (isObject(response) ? response["error"] : undefined);
  if (typeof inner === "string" && inner !== "") return { message: inner, code: "", enveloped: true };
  const it = isObject(inner) ? inner : body["object"] === "error" || body["type"] === "error" ? body : undefined;
  if (it) {
    const code = [it["type"] === "error" ? "" : it["type"], it["code"]]
      .filter((v) => typeof v === "string" || typeof v === "number")
      .join(" ");
    const status = typeof it["code"] === "number" && it["code"] >= 400 && it["code"] < 600 ? { status: it["code"] } : {};
    const param = typeof it["param"] === "string" ? { param: it["param"] } : {};
    return { message: withRaw(stringOf(it, "message"), it["metadata"]), code, ...param, ...status, enveloped: true };
  }
  const detail = body["detail"] ?? body["message"];
  if (detail === undefined || detail === null) return undefined;
  return { message: typeof detail === "string" ? detail : JSON.stringify(detail), code: "", enveloped: true };
}
/** A router hides what the real server said in its metadata. */
function withRaw(message: string, metadata: unknown): string {
  if (!isObject(metadata) || typeof metadata["raw"] !== "string") return message;
  const inner = parseObject(metadata["raw"]);
  return `${message}: ${snippet((inner && saidIn(inner)?.message) || metadata["raw"], 300)}`;
}

/** Anything that fetch or the stream threw before a reply was there. */
export function connectionError(error: unknown, { server, answered = false }: Failing): ModelError {
  if (error instanceof ModelError) return error;
  const root = rootOf(error);
  const code = String((root as { code?: unknown }).code ?? "");
  const place = placeOf(server);
  const { label, start, name } = server.kind;
  const network = (text: string, kind: ModelFaultKind = "network"): ModelError => new ModelError(oneLine(text, server), fault(kind, {}));
  if (/invalid (?:header value|HTTP header)|ByteString/i.test(`${String(error)} ${root.message}`))
    return new ModelError(`The API key or a header for ${place} contains a character that cannot be sent. ${remedyOf(server)}.`, {
      kind: "auth",
    });
  if (code === "ECONNREFUSED") {
    const hint = start ? `is ${label} running? Start it with ${start}, or` : "does it run?";
    const text = `Cannot reach ${place}: ${hint} ${start ? "set" : "Check"} option "${name}.baseURL".`;
    // What was never there does not come by itself; what was there may be starting anew.
    return network(text, isLocal(server) && !answered ? "not-found" : "network");
  }
  if (code === "ENOTFOUND" || code === "EAI_AGAIN")
    return network(`The host of ${place} was not found (${code}). Check the network connection and option "${name}.baseURL".`);
  if (/CERT|SSL|TLS/i.test(`${code} ${root.message}`))
    return network(`There is no trusted connection to ${place} (${code || root.message}). Check the certificate, or NODE_EXTRA_CA_CERTS.`);
  if (/HEADERS_TIMEOUT|BODY_TIMEOUT/.test(code)) return network(`${place} did not answer in time. Try again.`);
  return network(`The connection to ${place} failed (${root.message || code}). Check the network, and try again.`);
}

const PASSING: readonly ModelFaultKind[] = ["rate-limit", "overloaded", "server"];
const LASTING: readonly ModelFaultKind[] = ["auth", "not-found", "invalid"];

export function saidError(said: Said, failing: Failing): ModelError {
  const { server, model } = failing;
  const { name, label, fetch } = server.kind;
  const place = placeOf(server);
  const first = faultKind(said);
  const isFinal = said.advice === "false" && PASSING.includes(first);
  const kind = isFinal ? "invalid" : said.advice === "true" && LASTING.includes(first) ? "server" : first;
  if (!isFinal && !said.enveloped && said.status !== undefined && said.status < 500 && ["invalid", "not-found", "protocol"].includes(kind))
    return notTheApi(failing, `${said.status} ${said.message}`.trim(), said.status);
  const words = `${said.status === undefined ? "" : `${said.status}: `}${said.message.trim() || said.code || "no reason given"}`;
  const texts: { readonly [K in ModelFaultKind]: string } = {
    auth:
      said.status === 403
        ? `${place} forbids this (${words}). Check what the API key may use.`
        : `${place} refused the API key (${words}). ${remedyOf(server)}.`,
    billing: `The account at ${place} has no credit or has reached its limit (${words}). Check its billing page.`,
    "not-found": `${place} knows no model "${model}" (${words}). ${fetch ? fetch(model) : "Check the model's name"}.`,
    overflow: `The conversation is too long for ${model} (${words}). Start a new one${server.kind.local ? `, give ${label} a larger context` : ""} or ask a model with a larger window; option "${name}.models" holds the window.`,
    "too-large": `The request is too large for ${place} (${words}). Send smaller files or images, or start a new conversation.`,
    "rate-limit": `The rate limit of ${place} is reached (${words}). Try again later.`,
    overloaded: `${place} is overloaded (${words}). Try again in a moment.`,
    server: `${place} failed (${words}). Try again in a moment.`,
    invalid: isFinal ? `${place} failed and says that trying again will not help (${words}).` : `${place} refused the request (${words}).`,
    network: `The connection to ${place} failed (${words}).`,
    stall: `${place} stopped sending (${words}).`,
    protocol: `${place} answered something that is no reply (${words}).`,
  };
  const { retryAfterMs: _, ...final } = said;
  return new ModelError(oneLine(texts[kind], server), fault(kind, isFinal ? final : said));
}

const BY_STATUS: { readonly [status: number]: ModelFaultKind } = {
  401: "auth",
  402: "billing",
  403: "auth",
  404: "not-found",
  408: "server",
  409: "server",
  413: "too-large",
  429: "rate-limit",
  503: "overloaded",
  529: "overloaded",
};
/** The many wordings of one thing: OpenAI, OpenRouter, vLLM, llama.cpp, LM Studio, Ollama and others. */
const TOO_LONG =
  /context_length|context.length|maximum context|context window|context size|exceed_context|(?:prompt|input) (?:is )?too long|too many (?:input )?tokens|maximum (?:prompt|model|input) length|reduce the length of|context the overflows|exceeded model token limit|input token count/i;
const NO_MODEL =
  /model_not_found|model[^.]{0,80} (?:not found|does not exist|is not available)|no such model|not a valid model|no models? (?:is )?loaded/i;

function faultKind({ status, code, message }: Said): ModelFaultKind {
  const all = `${code} ${message}`;
  const known = status === undefined ? undefined : BY_STATUS[status];
  if (/insufficient_quota|billing|insufficient credits|exceeded your current quota/i.test(all)) return "billing";
  if (known === "rate-limit" || known === "auth") return known;
  if (TOO_LONG.test(all)) return "overflow";
  if (NO_MODEL.test(all)) return "not-found";
  if (known) return known;
  if (/rate_limit|rate limit/i.test(all)) return "rate-limit";
  if (/invalid_api_key|incorrect api key|authentication/i.test(all)) return "auth";
  if (/overloaded|at capacity|loading model/i.test(all)) return "overloaded";
  return status !== undefined && status < 500 ? "invalid" : "server";
}

function retryAfter(headers: Headers, now: number): number | undefined {
  const ms = Number(headers.get("retry-after-ms") ?? Number.NaN);
  if (Number.isFinite(ms)) return Math.max(0, ms);
  const after = headers.get("retry-after");
  if (!after) return undefined;
  const seconds = Number(after);
  const wait = Number.isFinite(seconds) ? seconds * 1000 : Date.parse(after) - now;
  return Number.isFinite(wait) ? Math.max(0, wait) : undefined;
}

type Facts = { readonly status?: number | undefined; readonly requestId?: string | undefined; readonly retryAfterMs?: number | undefined };
function fault(kind: ModelFaultKind, { status, requestId, retryAfterMs }: Facts): ModelFault {
  return {
    kind,
    ...(status === undefined ? {} : { status }),
    ...(requestId === undefined ? {} : { requestId }),
    ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
  };
}

/** The error behind the error: fetch hides the reason in its cause. */
export function rootOf(error: unknown): Error {
  let root = error instanceof Error ? error : new Error(String(error));
  for (let depth = 0; depth < 5; depth++) {
    const next: unknown = root.cause ?? (root instanceof AggregateError ? root.errors[0] : undefined);
    if (!(next instanceof Error)) break;
    root = next;
  }
  return root;
}

function remedyOf({ kind, options }: Server): string {
  if (options.apiKey === undefined && Object.keys(options.headers).length > 0) return `Correct option "${kind.name}.headers"`;
  return `Set a valid one ${kind.keyName ? `in ${kind.keyName} or ` : ""}as option "${kind.name}.apiKey"`;
}

/** Servers echo what they were sent, so every text is searched for the secrets that went out with it: before it is cut, or half of one stays. */
export function redacted(text: string, { options, baseURL }: Server): string {
  const headers = Object.entries(options.headers).filter(([name]) => /auth|key|token|secret|cookie/i.test(name));
  const fromHeaders = headers.flatMap(([, value]) => [value, value.replace(/^\w+ /, "")]);
  let clean = text;
  for (const secret of [options.apiKey ?? "", ...inAddress(baseURL), ...fromHeaders])
    if (secret.length >= 4) clean = clean.replaceAll(secret, "***");
  return clean;
}
/** The password of an address, and the header that it goes out in. */
function inAddress(baseURL: string | undefined): readonly string[] {
  if (baseURL === undefined) return [];
  const { username, password } = new URL(baseURL);
  if (password === "") return [];
  return [decodeURIComponent(password), btoa(`${decodeURIComponent(username)}:${decodeURIComponent(password)}`)];
}
const oneLine = (text: string, server: Server): string => snippet(redacted(text, server), MAX_LINE);
