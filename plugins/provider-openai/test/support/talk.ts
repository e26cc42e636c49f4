/** A conversation with a server through a provider: what the kernel's loop would do, in a few lines. */
import type {
  AssistantMessage,
  AssistantPart,
  CallContext,
  CallId,
  Message,
  ModelChunk,
  ModelRequest,
  Provider,
} from "@heddle/kernel/plugin";
import type { KindName, OpenAIProvider } from "../../src/index.ts";
import plugin from "../../src/index.ts";
import { kindOf } from "../../src/kinds.ts";
import { type Options, Options as Schema, type Server, serverOf } from "../../src/options.ts";
import { assistant, request, result, user } from "./messages.ts";

export function providersWith(options: object): readonly OpenAIProvider[] {
  const definition = plugin as unknown as {
    options: { parse(it: unknown): unknown };
    setup(ctx: { options: unknown }): { providers: readonly OpenAIProvider[] };
  };
  return definition.setup({ options: definition.options.parse(options) }).providers;
}
export const providerOf = (name: KindName, options: object = {}, more: object = {}): OpenAIProvider =>
  providersWith({ [name]: options, ...more }).find((p) => p.name === name)!;

export const serverWith = (name: KindName, options: object = {}): Server =>
  serverOf(kindOf(name), (Schema.parse({ [name]: options }) as Options)[name], undefined);

/** `logged` gets the lines of the debug log. */
export const context = (signal: AbortSignal = new AbortController().signal, logged: string[] = []): CallContext =>
  ({
    signal,
    now: () => Date.parse("2026-11-30T12:00:00Z"),
    log: (line: string) => {
      logged.push(line);
    },
  }) as CallContext;

export async function chunksOf(provider: Provider, it: ModelRequest, signal?: AbortSignal, logged?: string[]): Promise<ModelChunk[]> {
  const chunks: ModelChunk[] = [];
  for await (const chunk of provider.stream(it, context(signal, logged))) chunks.push(chunk);
  return chunks;
}

export type Failure = { message: string; model: unknown; name: string };
export async function failureIn(work: () => Promise<unknown>): Promise<Failure> {
  try {
    await work();
  } catch (error) {
    return error as Failure;
  }
  throw new Error("it did not fail");
}
export const failureOf = (provider: OpenAIProvider, it: ModelRequest): Promise<Failure> => failureIn(() => chunksOf(provider, it));

export const joined = (chunks: readonly ModelChunk[], type: string): string =>
  chunks.map((c) => (c.type === type && "text" in c ? c.text : "")).join("");

/** `taken` makes repeated call ids unique, as the kernel does. */
export function messageOf(chunks: readonly ModelChunk[], model: string, provider: string, taken = new Set<CallId>()): AssistantMessage {
  const parts = new Map<number, AssistantPart>();
  let stop: AssistantMessage["stop"] = "end";
  for (const c of chunks) {
    if (c.type === "stop") stop = c.stop;
    if (c.type === "call") {
      const { part, type: _, ...rest } = c;
      let callId = rest.callId;
      for (let n = 2; taken.has(callId); n++) callId = `${rest.callId}_${n}`;
      taken.add(callId);
      parts.set(part, { type: "tool-call", ...rest, callId });
    }
    if (c.type !== "text" && c.type !== "reasoning") continue;
    const old = parts.get(c.part) as { text: string; opaque?: never } | undefined;
    const opaque = c.type === "reasoning" ? (c.opaque ?? old?.opaque) : undefined;
    parts.set(c.part, { type: c.type, text: (old?.text ?? "") + c.text, ...(opaque === undefined ? {} : { opaque }) } as AssistantPart);
  }
  return assistant(
    [...parts].sort(([a], [b]) => a - b).map(([, part]) => part),
    { stop, model, provider },
  );
}

/** Sends a prompt and answers calls until the model stops. `history` grows and may be edited from outside. */
export class Talk {
  history: Message[] = [];
  readonly #provider: Provider;
  readonly #more: Partial<ModelRequest>;
  readonly #taken = new Set<CallId>();
  answer: (callId: string, n: number) => string = () => "done";
  model: string;

  constructor(provider: Provider, more: Partial<ModelRequest> & { model: string }) {
    this.#provider = provider;
    this.#more = more;
    this.model = more.model;
  }
  async say(text: string): Promise<AssistantMessage> {
    this.history.push(user(text));
    for (let n = 0; ; n++) {
      const chunks = await chunksOf(this.#provider, request([...this.history], { ...this.#more, model: this.model }));
      const reply = messageOf(chunks, this.model, this.#provider.name, this.#taken);
      this.history.push(reply);
      const calls = reply.content.filter((p) => p.type === "tool-call");
      if (calls.length === 0) return reply;
      for (const { callId } of calls) this.history.push(result(callId, this.answer(callId, n)));
    }
  }
}
