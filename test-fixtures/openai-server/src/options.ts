/** Everything a test may set about the server. */

import type { FaultName, FaultSpec } from "./faults.ts";
import type { Flavour, FlavourName } from "./flavours.ts";
import type { JsonObject } from "./json.ts";
import type { Models } from "./models.ts";
import type { Script } from "./script.ts";

export interface ServerOptions {
  /** `openai` without it. */
  flavour?: FlavourName;
  /** Habits in place of the flavour's own. */
  quirks?: Partial<Flavour>;
  script?: Script;
  faults?: readonly (FaultName | FaultSpec)[];
  /** Added to the models of the flavour. */
  models?: Models;
  /** Accepted keys; any non-empty one without it. */
  keys?: readonly string[];
  /** Parameters that this server refuses by name, dots included: `stream_options`, `reasoning.summary`. */
  refuses?: readonly string[];
  /** Context window in tokens in place of the model's own. */
  window?: number;
  port?: number;
}

/** One request and how it was answered. */
export interface RequestRecord {
  method: string;
  path: string;
  headers: Readonly<Record<string, string>>;
  /** Undefined when there was none that parses as an object. */
  body: JsonObject | undefined;
  /** Undefined while no answer was begun. */
  status: number | undefined;
  /** Why it was refused as a bad request. */
  refusal: string | undefined;
  step: number | undefined;
  fault: string | undefined;
  /** Tokens of the prompt that an earlier request has had, of all. */
  cached: number;
  input: number;
  closedByClient: boolean;
}
