/** Tells when a request that was answered no longer begins as the one before it did, which is paid for, and by what. */
import { CHARS_PER_TOKEN, type Json, type Message, type ModelRequest, type Usage } from "@heddle/kernel";

/** `tokens`: about as many as were sent before and are now paid for anew. */
export type PrefixBreak = { readonly cause: string; readonly tokens: number };

const sizeOf = (value: unknown): number => JSON.stringify(value).length;
const contentOf = (m: Message): unknown => (m.role === "system" ? m.text : m.content);

export class PrefixWatch {
  #last: Answered | undefined;
  /** Each model has a cache of its own, which outlives what others answer in between. */
  readonly #own = new Map<string, ModelRequest>();

  /**
   * `request` as it was answered by its model of `provider`. What is known to have come from the cache is not paid for anew. Compares by
   * identity first: of a session that only grows, nothing is looked at twice. `encode` is that of the provider, which alone knows whether a
   * tool that was loaded changes the tools it sends.
   */
  answered(request: ModelRequest, provider: string, usage?: Usage, encode?: Encode): PrefixBreak | undefined {
    const name = `${provider}/${request.model}`;
    const last = this.#last;
    const own = this.#own.get(name);
    this.#last = { name, request };
    this.#own.set(name, request);
    const found = last && compared(last, own, { name, request }, (usage?.cacheRead ?? 0) > 0, encode);
    if (!found || !usage) return found;
    const tokens = Math.min(found.tokens, usage.input + (usage.cacheWrite ?? 0));
    return tokens > 0 ? { ...found, tokens } : undefined;
  }
}

type Encode = (request: ModelRequest) => Json;
type Answered = { readonly name: string; readonly request: ModelRequest };

/** `own`: what its model was asked last. */
function compared(
  last: Answered,
  own: ModelRequest | undefined,
  now: Answered,
  isCached: boolean,
  encode?: Encode,
): PrefixBreak | undefined {
  const { request } = now;
  const isMoved = last.name !== now.name && !(isCached && own);
  const before = isMoved ? last.request : (own ?? last.request);
  const whole = (): number => sizeOf(before.tools) + sizeOf(before.prefix) + messagesSize(before.messages);
  if (isMoved) {
    const [from, to] = before.model === request.model ? [last.name, now.name] : [before.model, request.model];
    return broken(`the model changed from ${from} to ${to}`, whole());
  }
  if (request.tools !== before.tools && sizeOf(request.tools) !== sizeOf(before.tools)) return broken(toolsCause(before, request), whole());
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
