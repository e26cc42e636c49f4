/** From a model request to the body of an API request: pure, append-only from step to step, and such that a server takes it. */
import type { Message, ModelRequest, Prefix, ToolSpec } from "@heddle/kernel/plugin";
import { chatBody } from "./chat-body.ts";
import { type Asker, conversation, type Piece, pieceOf } from "./history.ts";
import { DROPPED_AT_ONCE, type ImageMode, MAX_IMAGES, type Shown } from "./images.ts";
import { factsOf } from "./models.ts";
import { createOffer } from "./offer.ts";
import type { Server } from "./options.ts";
import type { Parts, Without } from "./parts.ts";
import { responsesBody } from "./responses-body.ts";
import { clean, isBlank, type JsonObject, reminder } from "./text.ts";
import { type Tools, toolsFor } from "./tools.ts";

export type Encoded = { readonly body: JsonObject; readonly tools: Tools };
export type Encoder = (request: ModelRequest, without?: Without) => Encoded;

/** Remembers what it has made of each message, so that a step costs what it adds. Gives the same as a new one would. */
export function createEncoder(server: Server): Encoder {
  const prefixes = new WeakMap<Prefix, EncodedPrefix>();
  const toolSets = new WeakMap<readonly ToolSpec[], { readonly tools: Tools; readonly pieces: Map<string, WeakMap<Message, Piece>> }>();
  const offer = createOffer();
  return (request, without: Without = new Set()) => {
    const prefix = recall(prefixes, request.prefix, () => encodePrefix(request.prefix));
    const specs = offer(request.tools, request.messages);
    const { tools, pieces } = recall(toolSets, specs, () => ({ tools: toolsFor(specs), pieces: new Map() }));
    const asker: Asker = { provider: server.kind.name, model: request.model };
    const toPiece = (message: Message, mode: ImageMode): Piece => {
      const known = recall(pieces, `${mode} ${request.model}`, () => new WeakMap());
      return recall(known, message, () => pieceOf(message, tools, mode, asker));
    };
    const facts = factsOf(request.model, server);
    const sees = facts.images !== false && !without.has("images");
    const pick = sees ? withinLimit(request.messages, toPiece) : (message: Message) => toPiece(message, "none");
    const parts: Parts = {
      request,
      server,
      facts,
      tools,
      system: prefix.system,
      pieces: conversation(request.messages, prefix.context, pick),
      without,
    };
    return { body: server.api === "chat" ? chatBody(parts) : responsesBody(parts), tools };
  };
}

type Memory<K, V> = { get(key: K): V | undefined; set(key: K, value: V): unknown };
function recall<K, V>(memory: Memory<K, V>, key: K, make: () => V): V {
  const old = memory.get(key);
  if (old !== undefined) return old;
  const made = make();
  memory.set(key, made);
  return made;
}

type EncodedPrefix = { readonly system: string; readonly context: readonly Shown[] };
function encodePrefix(prefix: Prefix): EncodedPrefix {
  const texts = (parts: Prefix["system"]): string[] => parts.map((p) => clean(p.text)).filter((text) => !isBlank(text));
  const context = texts(prefix.context).map((text): Shown => ({ type: "text", text: reminder(text) }));
  return { system: texts(prefix.system).join("\n\n"), context };
}

/** Too many images would be refused in every later request: the oldest become notes. */
function withinLimit(messages: readonly Message[], toPiece: (message: Message, mode: ImageMode) => Piece): (message: Message) => Piece {
  const imagesIn = (message: Message): number => {
    const piece = toPiece(message, "all");
    return piece.role === "assistant" ? 0 : piece.parts.filter((part) => part.type === "image").length;
  };
  const excess = messages.reduce((n, message) => n + imagesIn(message), 0) - MAX_IMAGES;
  if (excess <= 0) return (message) => toPiece(message, "all");
  let left = Math.ceil(excess / DROPPED_AT_ONCE) * DROPPED_AT_ONCE;
  const old = new Set<Message>();
  for (const message of messages) {
    if (left <= 0) break;
    left -= imagesIn(message);
    old.add(message);
  }
  return (message) => toPiece(message, old.has(message) ? "old" : "all");
}
