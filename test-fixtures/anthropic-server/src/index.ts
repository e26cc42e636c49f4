/** The public face of the package: the server, its options and record, and the validator by itself. */

export type { Breakpoint, InputUsage, Ttl } from "./cache.ts";
export type { InputCost } from "./cost.ts";
export { FAULT_NAMES, type FaultFields, type FaultName, type FaultSpec, type ReplyFault } from "./faults.ts";
export { type HeaderSource, KNOWN_BETAS } from "./headers.ts";
export type { Json, JsonObject } from "./json.ts";
export { LISTED_MODELS, type ModelOverrides, type ModelRules, modelRules } from "./models.ts";
export type { Latency, ServerOptions } from "./options.ts";
export type { RequestRecord } from "./record.ts";
export type { Refusal } from "./refusal.ts";
export type { RequestKind } from "./request-kind.ts";
export type { MarkedScript, Script, ScriptedCall, ScriptRequest, Step, ToolResult, Vars } from "./script.ts";
export { type AnthropicServer, startAnthropicServer } from "./server.ts";
export { ThinkingSigner } from "./thinking.ts";
export { type ValidateOptions, validate } from "./validate.ts";
