/**
 * Which thinking goes back. The API binds each thinking block to all that stood before it, and takes a set of blocks only when
 * none is missing between two of them. So each block is stored with a fingerprint of what it was made from and with the block
 * before it, and it goes back only where both still hold: whatever compaction, a resume or a change of model or tools has done.
 */
import type { Json } from "@heddle/kernel/plugin";
import { clean, isObject } from "./text.ts";
import { digest, type ThinkingBlock } from "./wire.ts";

/** What a reasoning part carries besides its text. Without `prefix` and `previous` nothing is known of where it was made. */
export type Opaque = (
  | { readonly type: "thinking"; readonly signature: string }
  | { readonly type: "redacted_thinking"; readonly data: string }
) & {
  readonly prefix?: string;
  readonly previous?: string | null;
};

export function opaqueOf(value: Json | undefined): Opaque | undefined {
  if (!isObject(value)) return undefined;
  const { type, signature, data, prefix, previous } = value;
  const seal = {
    ...(typeof prefix === "string" ? { prefix } : {}),
    ...(typeof previous === "string" || previous === null ? { previous } : {}),
  };
  if (type === "thinking" && typeof signature === "string" && signature !== "") return { type, signature, ...seal };
  if (type === "redacted_thinking" && typeof data === "string" && data !== "") return { type, data, ...seal };
  return undefined;
}

export const thoughtId = (opaque: Opaque): string => digest(opaque.type === "thinking" ? opaque.signature : opaque.data).slice(0, 12);

/** One thinking block of the history. `model` made it. */
export type Thought = { readonly block: ThinkingBlock; readonly opaque: Opaque; readonly id: string; readonly model: string };

/** Undefined when the API could not take it: it goes back byte for byte or not at all. */
export function thoughtOf(text: string, value: Json | undefined, model: string): Thought | undefined {
  const opaque = opaqueOf(value);
  if (!opaque || clean(text) !== text) return undefined;
  const block: ThinkingBlock =
    opaque.type === "thinking"
      ? { type: "thinking", thinking: text, signature: opaque.signature }
      : { type: "redacted_thinking", data: opaque.data };
  return { block, opaque, id: thoughtId(opaque), model };
}

/** `here` is the fingerprint of all that the request holds before the message of this thought. */
export type Placed = { readonly thought: Thought; readonly here: string };

/** The longest unbroken run that ends at the newest block that is still good and not among `refused`. In order of the conversation. */
export function keepThoughts(placed: readonly Placed[], model: string, refused: ReadonlySet<string>): readonly Thought[] {
  const kept: Thought[] = [];
  /** undefined: any; a string: only this one; "next": the one just before, whichever it is; null: none. */
  let wanted: { readonly id: string } | "any" | "next" | null = "any";
  for (const { thought, here } of [...placed].reverse()) {
    if (wanted === null) break;
    const { prefix, previous } = thought.opaque;
    const good: boolean = thought.model === model && (prefix === undefined || prefix === here) && !refused.has(thought.id);
    if (typeof wanted === "object" && wanted.id !== thought.id) continue;
    if (!good) {
      if (wanted === "any") continue;
      break;
    }
    kept.push(thought);
    wanted = previous === undefined ? "next" : previous === null ? null : { id: previous };
  }
  return kept.reverse();
}
