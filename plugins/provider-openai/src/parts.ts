/** What the bodies of both APIs are made of. */
import type { ModelRequest } from "@heddle/kernel/plugin";
import type { Piece } from "./history.ts";
import type { ModelFacts } from "./models.ts";
import type { Server } from "./options.ts";
import type { Tools } from "./tools.ts";

/** What a request may do without, where its server refuses it. Parameters by their path in the body. */
export const OPTIONAL = [
  "stream_options",
  "prompt_cache_key",
  "reasoning_effort",
  "reasoning.summary",
  "reasoning.effort",
  "include",
  "max_tokens",
  "max_completion_tokens",
  "max_output_tokens",
  "thoughts",
  "images",
] as const;
export type Optional = (typeof OPTIONAL)[number];
export type Without = ReadonlySet<Optional>;

/** What both forms of a body are made of. */
export type Parts = {
  readonly request: ModelRequest;
  readonly server: Server;
  readonly facts: ModelFacts;
  readonly tools: Tools;
  readonly system: string;
  readonly pieces: readonly Piece[];
  readonly without: Without;
};
