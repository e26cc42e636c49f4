/** Judges a request without a server. */

import { type Flavour, flavourOf, unknownModelBody } from "./flavours.ts";
import { isObject, isString, type Json, type JsonObject, kindOf, parse } from "./json.ts";
import { type Models, modelsOf } from "./models.ts";
import type { ServerOptions } from "./options.ts";
import { missing, type Refusal, Refused, refuse, wrongType } from "./refusal.ts";
import { modelOf } from "./responses-wire.ts";
import { checkChat } from "./validate-chat.ts";
import { checkResponses, type Remembered } from "./validate-responses.ts";

export type Api = "chat" | "responses";
export interface Judge {
  flavour: Flavour;
  models: Models;
  refuses: readonly string[];
  remembered: Remembered;
}

export function judgeOf(options: ServerOptions): Judge {
  const flavour = flavourOf(options.flavour ?? "openai", options.quirks);
  const following = new Map<string, string>();
  return { flavour, models: modelsOf(flavour.name, options.models), refuses: options.refuses ?? [], remembered: { following, modelOf } };
}

/** Throws Refused, with the body of the answer in `refusal.error`. */
export function check(api: Api, value: Json | undefined, judge: Judge): JsonObject {
  if (value === undefined) refuse("We could not parse the JSON body of your request.");
  if (!isObject(value)) refuse(`Invalid type: expected an object, but got ${kindOf(value)} instead.`);
  const body = value as JsonObject;
  const model = body["model"];
  if (model === undefined || model === "") api === "chat" ? refuse("you must provide a model parameter") : missing("model");
  if (!isString(model)) return wrongType("model", "a string", kindOf(model));
  const rules = Object.hasOwn(judge.models, model) ? judge.models[model]! : noModel(model, judge);
  for (const name of judge.refuses)
    if (has(body, name.split("."))) refuse(`Unsupported parameter: '${name}'.`, name, "unsupported_parameter");
  if (rules.images === false && JSON.stringify(body).includes("data:image/"))
    refuse(`${model} does not support image input.`, null, "invalid_request_error");
  if (api === "chat") checkChat(body, judge.flavour.strict);
  else checkResponses(body, rules, judge.flavour.strict, judge.remembered);
  return body;
}
const has = (value: Json | undefined, [key, ...rest]: readonly string[]): boolean =>
  key === undefined ? value !== undefined : isObject(value) && has(value[key], rest);

function noModel(model: string, { flavour }: Judge): never {
  const { status, body } = unknownModelBody(flavour.name, model);
  throw new Refused({ status, error: body["error"] as unknown as Refusal["error"] });
}

/** The refusal that a server with these options would answer with; undefined for a request that it takes. */
export function validate(api: Api, body: unknown, options: ServerOptions = {}): Refusal | undefined {
  try {
    check(api, parse(JSON.stringify(body)), judgeOf(options));
    return undefined;
  } catch (error) {
    if (error instanceof Refused) return error.refusal;
    throw error;
  }
}
