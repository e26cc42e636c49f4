/** What every validator needs to know about a request besides its body. */

import type { JsonObject } from "./json.ts";
import type { ModelRules } from "./models.ts";

export type Endpoint = "messages" | "count_tokens";

export interface CheckContext {
  endpoint: Endpoint;
  betas: readonly string[];
  version: string;
  model: ModelRules;
}

/** Betas are dated, and a later date of the same beta grants the same fields. */
export function hasBeta(betas: readonly string[], ...names: string[]): boolean {
  return betas.some((beta) => names.some((name) => beta === name || beta.startsWith(`${name}-`)));
}

export type ThinkingMode = "adaptive" | "between_tools" | "disabled" | "enabled";

/** From generation 5 on a request that does not mention thinking thinks all the same. */
export function thinkingMode(body: JsonObject, model: ModelRules): ThinkingMode {
  const thinking = body["thinking"];
  const type = typeof thinking === "object" && thinking !== null && !Array.isArray(thinking) ? thinking["type"] : null;
  if (type === "adaptive" || type === "between_tools" || type === "disabled" || type === "enabled") return type;
  return model.thinksByDefault ? "adaptive" : "disabled";
}
