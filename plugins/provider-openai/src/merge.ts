/** What of a reply came together: a server that is faster than its reader sends hundreds of pieces of text at once. */
import type { ModelChunk } from "@heddle/kernel/plugin";

/** The same chunks, those that follow one another in one part as one. Throws what `chunks` throws, after what came before it. */
export function* merged(chunks: Iterable<ModelChunk>): Iterable<ModelChunk> {
  let held: ModelChunk | undefined;
  try {
    for (const chunk of chunks) {
      const one = held && merge(held, chunk);
      if (held && !one) yield held;
      held = one ?? chunk;
    }
  } catch (error) {
    if (held) yield held;
    throw error;
  }
  if (held) yield held;
}

function merge(a: ModelChunk, b: ModelChunk): ModelChunk | undefined {
  if (a.type !== "text" && a.type !== "reasoning" && a.type !== "call.delta") return undefined;
  if (b.type !== a.type || b.part !== a.part || "opaque" in b) return undefined;
  return { ...a, text: a.text + b.text };
}
