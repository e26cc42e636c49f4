/** What the model would see now, by place: the answer of the `session` capability. */
import { CHARS_PER_TOKEN, DEFAULT_WINDOW, type Json, type Message, type Prefix, type Registry, type SessionPort, z } from "@heddle/kernel";

const LABELS = { user: "your messages", assistant: "replies", tool: "tool results", attachment: "attachments" } as const;

/** `messages` since the last clear. Sizes and the limit are characters of JSON. */
export function windowOf(
  registry: Registry,
  at: { readonly provider: string; readonly model: string; readonly prefix: Prefix | undefined; readonly messages: readonly Message[] },
): ReturnType<SessionPort["window"]> {
  const parts: { label: string; size: number }[] = [{ label: "tools", size: registry.memo("windowTools", () => toolsSize(registry)) }];
  if (at.prefix) {
    parts.push({ label: "system prompt", size: sizeOf(at.prefix.system) });
    parts.push({ label: "context", size: sizeOf(at.prefix.context) });
  }
  for (const role of ["user", "assistant", "tool", "attachment"] as const) {
    const size = at.messages.reduce((n, m) => (m.role === role ? n + sizeOf(m.content) : n), 0);
    parts.push({ label: LABELS[role], size });
  }
  return { parts, limit: Math.floor(tokensOf(registry, at.provider, at.model) * CHARS_PER_TOKEN) };
}

const sizeOf = (value: unknown): number => JSON.stringify(value).length;

function toolsSize(registry: Registry): number {
  return registry.all("tools").reduce((n, { name, it }) => {
    try {
      const schema = it.jsonSchema ?? (z.toJSONSchema(it.input, { io: "input" }) as Json);
      return n + sizeOf({ name, description: it.description, schema });
    } catch {
      return n; // such a tool is not sent to the model either
    }
  }, 0);
}

function tokensOf(registry: Registry, provider: string, name: string): number {
  const slash = name.indexOf("/");
  const named = slash > 0 ? registry.find("providers", name.slice(0, slash)) : undefined;
  const entry = named ?? registry.find("providers", provider);
  try {
    return entry?.it.window?.(named ? name.slice(slash + 1) : name) ?? DEFAULT_WINDOW;
  } catch {
    return DEFAULT_WINDOW;
  }
}
