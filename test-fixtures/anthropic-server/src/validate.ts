/** The whole examination of a request, rule after rule in the API's order; the first broken one wins. */

import type { CheckContext, Endpoint } from "./context.ts";
import { checkHeaders, type HeaderSource, type RequestHeaders } from "./headers.ts";
import { isObject, type JsonObject } from "./json.ts";
import { type ModelOverrides, type ModelRules, modelRules } from "./models.ts";
import { OBJECT_EXPECTED } from "./phrases.ts";
import { type Prompt, promptOf } from "./prompt.ts";
import { type Refusal, refusalOf, refuse } from "./refusal.ts";
import { checkSize, parseBody } from "./request-bytes.ts";
import type { ThinkingSigner } from "./thinking.ts";
import { checkBetaFields, checkVersionFields } from "./validate-betas.ts";
import { checkModel, checkTopLevel } from "./validate-body.ts";
import { checkCacheControl } from "./validate-cache-control.ts";
import { checkEnd, checkMessages, checkRoleOrder } from "./validate-messages.ts";
import { checkPairing } from "./validate-pairing.ts";
import { checkReferences } from "./validate-references.ts";
import { checkReturned, type DroppedThinking, type ReturnedThinking } from "./validate-returned.ts";
import { checkSystem } from "./validate-system.ts";
import { checkThinking } from "./validate-thinking.ts";
import { checkToolChoice, checkTools } from "./validate-tools.ts";

export interface ValidateOptions {
  endpoint?: Endpoint | undefined;
  /** Accepted keys; any non-empty one without it. */
  keys?: readonly string[] | undefined;
  /** Beta values accepted besides the known ones. */
  betas?: readonly string[] | undefined;
  models?: ModelOverrides | undefined;
  /** Takes the place of the model's own context window. */
  window?: number | undefined;
  /** Whether thinking is bound to its conversation on models of generation 5; true without it. */
  binding?: boolean | undefined;
  /** Whose signatures are genuine; without it returned thinking is not examined. */
  signer?: ThinkingSigner | undefined;
  thoughtBefore?: ((callId: string) => boolean) | undefined;
}

/** What the server needs to know about a request that passed. */
export interface Examined {
  headers: RequestHeaders;
  body: JsonObject;
  model: ModelRules;
  prompt: Prompt;
  dropped: DroppedThinking[];
  warnings: string[];
  /** The nonce of the last thinking block that the model gets to see. */
  lastThought: string | undefined;
}

function checkWindow(body: JsonObject, prompt: Prompt, context: CheckContext, window: number): void {
  if (context.endpoint === "count_tokens") return;
  if (prompt.tokens > window) refuse(`prompt is too long: ${prompt.tokens} tokens > ${window} maximum`);
  const maximum = Number(body["max_tokens"]);
  if (context.model.addsMaxTokensToPrompt && prompt.tokens + maximum > window) {
    refuse(
      `input length and \`max_tokens\` exceed context limit: ${prompt.tokens} + ${maximum} > ${window}, decrease input length or \`max_tokens\` and try again`,
    );
  }
}

function bodyOf(source: unknown): JsonObject {
  if (typeof source === "string" || source instanceof Uint8Array) return parseBody(source);
  if (!isObject(source)) refuse(OBJECT_EXPECTED);
  return source;
}

function rulesFor(body: JsonObject, options: ValidateOptions): ModelRules | undefined {
  const id = body["model"];
  if (typeof id !== "string" || id === "") return undefined;
  const rules = modelRules(id, options.models);
  if (!rules) refuse(`model: ${id}`, "not_found_error");
  return rules;
}

const NO_THINKING: ReturnedThinking = { dropped: [], warnings: [], last: undefined };

/** Throws `Refused` for the first broken rule. */
export function examine(source: unknown, headerSource: HeaderSource, options: ValidateOptions = {}): Examined {
  if (typeof source === "string" || source instanceof Uint8Array) checkSize(Buffer.byteLength(source));
  const headers = checkHeaders(headerSource, options);
  const body = bodyOf(source);
  const rules = rulesFor(body, options);
  checkBetaFields(body, headers);
  checkVersionFields(body, headers);
  checkModel(body);
  const model = rules ?? refuse(`model: ${body["model"]}`, "not_found_error");
  const context: CheckContext = {
    endpoint: options.endpoint ?? "messages",
    betas: headers.betas,
    version: headers.version,
    model,
  };
  checkTopLevel(body, context);
  checkTools(body);
  checkSystem(body);
  checkThinking(body, context);
  checkToolChoice(body, context);
  checkMessages(body, context);
  checkRoleOrder(body, context);
  checkCacheControl(body);
  checkPairing(body);
  checkReferences(body);
  checkEnd(body, context);
  const { signer, thoughtBefore } = options;
  const binding = options.binding ?? true;
  const returned = signer ? checkReturned(body, context, { signer, binding, thoughtBefore }) : NO_THINKING;
  const prompt = promptOf(body, model, new Set(returned.dropped.map(({ path }) => path)));
  checkWindow(body, prompt, context, options.window ?? model.window);
  return {
    headers,
    body,
    model,
    prompt,
    dropped: returned.dropped,
    warnings: returned.warnings,
    lastThought: returned.last,
  };
}

/**
 * Tells whether the API would turn a request down, without any server. `body` may be parsed JSON or the raw text or
 * bytes; only raw input can break the rules about size and JSON.
 */
export function validate(body: unknown, headers: HeaderSource, options: ValidateOptions = {}): Refusal | undefined {
  return refusalOf(() => {
    examine(body, headers, options);
  });
}
