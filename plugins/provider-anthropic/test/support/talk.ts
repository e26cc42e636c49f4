/** A conversation with a server through the provider: what the kernel's loop would do, in a few lines. */
import type { AssistantMessage, AssistantPart, CallContext, Message, ModelChunk, ModelRequest, Provider } from "@heddle/kernel/plugin";
import plugin from "../../src/index.ts";
import { assistant, request, result, user } from "./messages.ts";

export function providerWith(options: object): Provider {
  const definition = plugin as unknown as {
    options: { parse(it: unknown): unknown };
    setup(ctx: { options: unknown }): { providers: readonly Provider[] };
  };
  return definition.setup({ options: definition.options.parse(options) }).providers[0]!;
}

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

/** The error that a stream ends with. */
export async function failureOf(provider: Provider, it: ModelRequest): Promise<{ message: string; model: unknown; name: string }> {
  try {
    await chunksOf(provider, it);
  } catch (error) {
    return error as { message: string; model: unknown; name: string };
  }
  throw new Error("the stream did not fail");
}

export function messageOf(chunks: readonly ModelChunk[], model: string): AssistantMessage {
  const parts = new Map<number, AssistantPart>();
  let stop: AssistantMessage["stop"] = "end";
  for (const c of chunks) {
    if (c.type === "stop") stop = c.stop;
    if (c.type === "call") {
      const { part, type: _, ...rest } = c;
      parts.set(part, { type: "tool-call", ...rest });
    }
    if (c.type !== "text" && c.type !== "reasoning") continue;
    const old = parts.get(c.part) as { text: string; opaque?: never } | undefined;
    const opaque = c.type === "reasoning" ? (c.opaque ?? old?.opaque) : undefined;
    parts.set(c.part, { type: c.type, text: (old?.text ?? "") + c.text, ...(opaque === undefined ? {} : { opaque }) } as AssistantPart);
  }
  return assistant(
    [...parts].sort(([a], [b]) => a - b).map(([, part]) => part),
    { stop, model },
  );
}

/** Sends a prompt and answers calls until the model stops. `history` grows and may be edited from outside. */
export class Talk {
  history: Message[] = [];
  readonly #provider: Provider;
  readonly #more: Partial<ModelRequest>;
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
      const reply = messageOf(chunks, this.model);
      this.history.push(reply);
      const calls = reply.content.filter((p) => p.type === "tool-call");
      if (calls.length === 0) return reply;
      for (const { callId } of calls) this.history.push(result(callId, this.answer(callId, n)));
    }
  }
}
