/** What the model would see now, by place: the answer of the `session` capability. */
import { CHARS_PER_TOKEN, type Message, type Prefix, type SessionPort } from "@heddle/kernel";
import type { Catalog, Target } from "./catalog.ts";

const LABELS = { user: "your messages", assistant: "replies", tool: "tool results", attachment: "attachments" } as const;
const sizeOf = (value: unknown): number => JSON.stringify(value).length;

/** `messages` since the last clear. Sizes and the limit are characters of JSON. */
export function windowOf(
  catalog: Catalog,
  target: Target,
  prefix: Prefix | undefined,
  messages: readonly Message[],
): ReturnType<SessionPort["window"]> {
  const parts: { label: string; size: number }[] = [{ label: "tools", size: sizeOf(catalog.tools.filter((t) => !t.deferred)) }];
  if (prefix) {
    parts.push({ label: "system prompt", size: sizeOf(prefix.system) });
    parts.push({ label: "context", size: sizeOf(prefix.context) });
  }
  for (const role of ["user", "assistant", "tool", "attachment"] as const) {
    const size = messages.reduce((n, m) => (m.role === role ? n + sizeOf(m.content) : n), 0);
    parts.push({ label: LABELS[role], size });
  }
  return { parts, limit: Math.floor(catalog.window(target) * CHARS_PER_TOKEN) };
}
