/** The shapes of the Messages API that a request is made of. */
import { createHash } from "node:crypto";
import type { Effort, Json } from "@heddle/kernel/plugin";
import type { JsonObject } from "./text.ts";

type Marked = { readonly cache_control?: { readonly type: "ephemeral" } };
export type TextBlock = Marked & { readonly type: "text"; readonly text: string };
export type ImageBlock = Marked & {
  readonly type: "image";
  readonly source: { readonly type: "base64"; readonly media_type: string; readonly data: string };
};
export type ToolUseBlock = Marked & {
  readonly type: "tool_use";
  readonly id: string;
  readonly name: string;
  readonly input: JsonObject;
};
export type ToolReference = { readonly type: "tool_reference"; readonly tool_name: string };
export type ToolResultBlock = Marked & {
  readonly type: "tool_result";
  readonly tool_use_id: string;
  /** References stand alone: with anything beside them they would be refused. */
  readonly content?: readonly (TextBlock | ImageBlock)[] | readonly ToolReference[];
  readonly is_error?: true;
};
export type ThinkingBlock =
  | { readonly type: "thinking"; readonly thinking: string; readonly signature: string }
  | { readonly type: "redacted_thinking"; readonly data: string };
export type Block = TextBlock | ImageBlock | ToolUseBlock | ToolResultBlock | ThinkingBlock;
export type WireMessage = { readonly role: "user" | "assistant"; readonly content: readonly Block[] };
export type WireTool = {
  readonly name: string;
  readonly description?: string;
  readonly input_schema: JsonObject;
  readonly defer_loading?: true;
};

export type Body = {
  readonly model: string;
  readonly max_tokens: number;
  readonly stream?: true;
  readonly system?: readonly TextBlock[];
  readonly tools?: readonly WireTool[];
  readonly thinking?: { readonly type: "adaptive"; readonly display?: "summarized" } | { readonly type: "between_tools" | "disabled" };
  readonly output_config?: { readonly effort: Effort };
  readonly messages: readonly WireMessage[];
};

export const textBlock = (text: string): TextBlock => ({ type: "text", text });

export const isThinking = (block: Block): block is ThinkingBlock => block.type === "thinking" || block.type === "redacted_thinking";

/** A short fingerprint; equal input, equal output, on every machine. */
export const digest = (...parts: readonly string[]): string =>
  createHash("sha256").update(parts.join("\u0000")).digest("base64url").slice(0, 22);

export const asJson = (value: unknown): Json => value as Json;
