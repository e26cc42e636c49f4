/** Tells when a request no longer begins as the one before it did, which is paid for, and by what. */
import { CHARS_PER_TOKEN, type Json, type Message, type ModelRequest } from "@heddle/kernel";

/** `tokens`: about as many as were sent before and are now paid for anew. */
export type PrefixBreak = { readonly cause: string; readonly tokens: number };

const sizeOf = (value: unknown): number => JSON.stringify(value).length;
const contentOf = (m: Message): unknown => (m.role === "system" ? m.text : m.content);

export class PrefixWatch {
  #before: ModelRequest | undefined;

  /**
   * Compares by identity first: of a session that only grows, nothing is looked at twice. `encode` is that of the provider, which alone
   * knows whether a tool that was loaded changes the tools it sends.
   */
  see(request: ModelRequest, encode?: (request: ModelRequest) => Json): PrefixBreak | undefined {
    const before = this.#before;
    this.#before = request;
    if (!before) return undefined;
    const whole = (): number => sizeOf(before.tools) + sizeOf(before.prefix) + messagesSize(before.messages);
    if (request.model !== before.model) return broken(`the model changed from ${before.model} to ${request.model}`, whole());
    if (request.tools !== before.tools && sizeOf(request.tools) !== sizeOf(before.tools))
      return broken(toolsCause(before, request), whole());
    const loaded = loadsIn(request).filter((name) => !loadsIn(before).includes(name));
    if (loaded.length > 0 && encode && toolsIn(encode(before)) !== toolsIn(encode(request)))
      return broken(`the tools changed: loaded ${loaded.join(", ")}`, whole());
    if (request.prefix !== before.prefix && JSON.stringify(request.prefix) !== JSON.stringify(before.prefix))
      return broken("the system prompt or the project's context was built anew", whole());
    const at = before.messages.findIndex((m, i) => m !== request.messages[i] && !same(m, request.messages[i]));
    const known = new Set(at === 0 ? before.messages.map((m) => m.id) : []);
    if (at < 0 || (at === 0 && !request.messages.some((m) => known.has(m.id)))) return undefined; // grown, or a new conversation
    const lost = before.messages.slice(at);
    const cause =
      request.messages[at] === undefined || request.messages.length < before.messages.length
        ? "the history was shortened"
        : "the history was changed";
    return broken(`${cause} at message ${at + 1} of ${before.messages.length}`, messagesSize(lost));
  }
}

/** Deferred tools that results have loaded. */
const loadsIn = ({ tools, messages }: ModelRequest): readonly string[] => {
  if (!tools.some((t) => t.deferred)) return [];
  return [...new Set(messages.flatMap((m) => (m.role === "tool" ? (m.loads ?? []) : [])))];
};
const toolsIn = (body: Json): string => JSON.stringify((body as { readonly tools?: Json } | null)?.tools);

const broken = (cause: string, chars: number): PrefixBreak => ({ cause, tokens: Math.ceil(chars / CHARS_PER_TOKEN) });
const messagesSize = (messages: readonly Message[]): number => messages.reduce((n, m) => n + sizeOf(contentOf(m)), 0);
const same = (a: Message, b: Message | undefined): boolean =>
  b !== undefined && a.id === b.id && a.role === b.role && JSON.stringify(contentOf(a)) === JSON.stringify(contentOf(b));

function toolsCause(before: ModelRequest, now: ModelRequest): string {
  const names = (r: ModelRequest): string[] => r.tools.map((t) => t.name);
  const gone = names(before).filter((n) => !names(now).includes(n));
  const come = names(now).filter((n) => !names(before).includes(n));
  const what = [...(come.length > 0 ? [`added ${come.join(", ")}`] : []), ...(gone.length > 0 ? [`removed ${gone.join(", ")}`] : [])];
  return `the tools changed${what.length > 0 ? `: ${what.join("; ")}` : ""}`;
}
