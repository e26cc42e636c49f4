/** The public face of the package: the server, its options and record, and the validator by itself. */

export { FAULT_NAMES, type Fault, type FaultName, type FaultSpec } from "./faults.ts";
export { FLAVOUR_NAMES, type Flavour, type FlavourName } from "./flavours.ts";
export type { Json, JsonObject } from "./json.ts";
export type { ModelRules, Models } from "./models.ts";
export type { RequestRecord, ServerOptions } from "./options.ts";
export type { ApiError, Refusal } from "./refusal.ts";
export { encryptedFor } from "./responses-wire.ts";
export type { Finish, Script, ScriptedCall, Step } from "./script.ts";
export { type OpenAIServer, startOpenAIServer } from "./server.ts";
export { type Api, validate } from "./validate.ts";
