/** From a model request to the body of an API request: pure, append-only from step to step, and such that the API takes it. */
import type { CallId, Message, ModelRequest, Prefix, ToolSpec } from "@heddle/kernel/plugin";
import { type ImageMode, imageLimit, MANY_IMAGES, MANY_SIDE } from "./images.ts";
import { effortFor, factsOf, type ModelFacts } from "./models.ts";
import { createOffer } from "./offer.ts";
import type { ModelOptions } from "./options.ts";
import { missingResult, type Piece, pieceOf } from "./piece.ts";
import type { Without } from "./refused.ts";
import { clean, isBlank, reminder } from "./text.ts";
import { keepThoughts, type Placed, type Thought } from "./thinking.ts";
import { type Tools, toolsFor } from "./tools.ts";
import { type Block, type Body, digest, isThinking, type TextBlock, textBlock, type WireMessage } from "./wire.ts";

/** `prefix` and `previous` belong into the thinking of the reply to this request. `thoughts`: ids of all in a history that brings some back. */
export type Encoded = {
  readonly body: Body;
  readonly tools: Tools;
  readonly prefix: string;
  readonly previous: string | null;
  readonly thoughts: readonly string[];
};
export type Encoder = (request: ModelRequest, without?: Without) => Encoded;

/** Tokens of output that are asked for when the request does not say. */
const USUAL_OUTPUT = 32_000;
const GO_ON = textBlock("Continue.");
const MARK = { cache_control: { type: "ephemeral" as const } };
/** A cache breakpoint finds what was written at most 19 blocks before it. */
const LOOKBACK = 20;

/** The body for one request, made from nothing but the request. */
export const encode = (request: ModelRequest): Body => createEncoder()(request).body;

/** Remembers what it has made of each message, so that a step costs what it adds. Gives the same as a new one would. */
export function createEncoder(models: ModelOptions = {}, think?: boolean): Encoder {
  const prefixes = new WeakMap<Prefix, EncodedPrefix>();
  const links: Links = new WeakMap();
  const byTools = new WeakMap<readonly ToolSpec[], { tools: Tools; pieces: { [M in ImageMode]: WeakMap<Message, Piece> } }>();
  const offer = createOffer();
  const known = <K extends object, V>(map: WeakMap<K, V>, key: K, make: () => V): V => {
    const old = map.get(key);
    if (old !== undefined) return old;
    const made = make();
    map.set(key, made);
    return made;
  };
  return (request, without = { fields: new Set(), thoughts: new Set() }) => {
    const prefix = known(prefixes, request.prefix, () => encodePrefix(request.prefix));
    const facts = factsOf(request.model, models, think);
    const specs = facts.defers && !without.fields.has("defer_loading") ? request.tools : offer(request.tools, request.messages);
    const { tools, pieces } = known(byTools, specs, () => ({
      tools: toolsFor(specs),
      pieces: { all: new WeakMap(), small: new WeakMap(), none: new WeakMap(), blind: new WeakMap() },
    }));
    const toPiece = (message: Message, mode: ImageMode): Piece => known(pieces[mode], message, () => pieceOf(message, tools, mode));
    return assemble(request, facts, prefix, tools, links, toPiece, without);
  };
}

type EncodedPrefix = { readonly system: readonly TextBlock[]; readonly context: readonly TextBlock[]; readonly digest: string };
function encodePrefix(prefix: Prefix): EncodedPrefix {
  const texts = (parts: Prefix["system"]): string[] => parts.map((p) => clean(p.text)).filter((text) => !isBlank(text));
  const system = texts(prefix.system);
  const context = texts(prefix.context).map((text) => textBlock(reminder(text)));
  const blocks = system.length > 0 ? [textBlock(system.join("\n\n"))] : [];
  return { system: blocks, context, digest: digest(JSON.stringify([system, context])) };
}

type Item = {
  readonly role: Piece["role"];
  readonly blocks: readonly Block[];
  readonly digest: string;
  readonly thoughts: readonly Thought[];
};
/** Where each item stood last: the fingerprint of what was before it, and of that with it. */
type Links = WeakMap<Item, { readonly before: string; readonly after: string }>;
type ToPiece = (message: Message, mode: ImageMode) => Piece;

function assemble(
  request: ModelRequest,
  facts: ModelFacts,
  prefix: EncodedPrefix,
  tools: Tools,
  links: Links,
  toPiece: ToPiece,
  { fields, thoughts }: Without,
): Encoded {
  const items = itemsOf(request.messages, withinImageLimits(request.messages, facts, toPiece), prefix.context);
  let here = digest(tools.digest, prefix.digest);
  const placed: Placed[] = [];
  for (const item of items) {
    for (const thought of item.thoughts) placed.push({ thought, here });
    const link = links.get(item);
    const after = link?.before === here ? link.after : digest(here, item.digest);
    if (link?.before !== here) links.set(item, { before: here, after });
    here = after;
  }
  const thinking = fields.has("thinking") ? undefined : thinkingOf(facts, fields.has("display"));
  const isSilent = facts.thinking === "none" || facts.thinking === "off" || fields.has("thinking");
  const kept = isSilent ? [] : keepThoughts(placed, request.model, thoughts);
  const effort = fields.has("effort") ? undefined : effortFor(request.effort, facts);
  const turns = turnsOf(items, new Set(kept.map((t) => t.block)));
  const mark = fields.has("cache_control") ? {} : MARK;
  const body: Body = {
    model: request.model,
    max_tokens: Math.max(1, Math.min(request.maxOutput ?? USUAL_OUTPUT, facts.maxOutput)),
    ...(request.streaming === false ? {} : { stream: true }),
    ...(prefix.system.length > 0 ? { system: prefix.system.map((block) => ({ ...block, ...mark })) } : {}),
    ...(tools.wire.length > 0 ? { tools: tools.wire } : {}),
    ...(thinking ? { thinking } : {}),
    ...(effort ? { output_config: { effort } } : {}),
    messages: fields.has("cache_control") ? turns : markTail(turns),
  };
  // All of them, not only those that are kept: without the newest, older ones would come forward.
  const ids = kept.length > 0 ? placed.map(({ thought }) => thought.id) : [];
  return { body, tools, prefix: here, previous: kept.at(-1)?.id ?? null, thoughts: ids };
}

function thinkingOf({ thinking }: ModelFacts, bare: boolean): Body["thinking"] {
  if (thinking === "between") return { type: "between_tools" };
  if (thinking === "off") return { type: "disabled" };
  return thinking === "adaptive" ? { type: "adaptive", ...(bare ? {} : { display: "summarized" }) } : undefined;
}

/** Too many images, or large ones among many, would be refused in every later request: the large go first, then the oldest. */
function withinImageLimits(messages: readonly Message[], facts: ModelFacts, toPiece: ToPiece): (message: Message) => Piece {
  if (!facts.images) return (message) => toPiece(message, "blind");
  const imagesOf = (mode: ImageMode): number => messages.reduce((n, m) => n + toPiece(m, mode).sides.length, 0);
  if (imagesOf("all") <= MANY_IMAGES) return (message) => toPiece(message, "all");
  const small = (m: Message): ImageMode => (toPiece(m, "all").sides.some((side) => side > MANY_SIDE) ? "small" : "all");
  let excess = messages.reduce((n, m) => n + toPiece(m, small(m)).sides.length, 0) - imageLimit(facts.window);
  const without = new Set<Message>();
  for (const message of messages) {
    if (excess <= 0) break;
    excess -= toPiece(message, small(message)).sides.length;
    without.add(message);
  }
  return (message) => toPiece(message, without.has(message) ? "none" : small(message));
}

/**
 * The history in the order of the API, which begins and ends with the user, and in which each call is answered at once. The
 * kernel sees to the last; a history that breaks it all the same is mended here, since it would be refused for ever.
 */
function itemsOf(messages: readonly Message[], toPiece: (message: Message) => Piece, context: readonly TextBlock[]): Item[] {
  const items: Item[] = [];
  const seen = new Set<CallId>();
  const due = new Set<CallId>();
  let beside: Block[] = [];
  const add = (role: Item["role"], blocks: readonly Block[]): void => {
    if (blocks.length > 0) items.push({ role, blocks, digest: digest(role, JSON.stringify(blocks)), thoughts: [] });
  };
  const answerDue = (): void => {
    add("user", [...due].map(missingResult));
    due.clear();
    add("user", beside);
    beside = [];
  };
  add("user", context);
  for (const message of messages) {
    if (message.role === "system" || (message.role === "assistant" && message.stop === "refusal")) continue;
    if (message.role === "tool") {
      if (!due.delete(message.callId)) continue;
      const piece = toPiece(message);
      items.push(piece);
      beside.push(...piece.beside);
      continue;
    }
    answerDue();
    const piece = toPiece(message);
    const fresh = piece.calls.map((id) => !seen.has(id) && seen.add(id) === seen);
    for (const id of piece.calls.filter((_, i) => fresh[i])) due.add(id);
    if (piece.blocks.length === 0) continue;
    // Each reply answered a request that ended with the user, so the same words stand between two replies as stood there then.
    if (piece.role === "assistant" && items.at(-1)?.role !== "user") add("user", [GO_ON]);
    let call = 0;
    if (fresh.includes(false))
      add(
        piece.role,
        piece.blocks.filter((b) => !isThinking(b) && (b.type !== "tool_use" || fresh[call++])),
      );
    else items.push(piece);
  }
  answerDue();
  if (items.at(-1)?.role !== "user") add("user", [GO_ON]);
  return items;
}

function turnsOf(items: readonly Item[], kept: ReadonlySet<Block>): { role: Item["role"]; content: Block[] }[] {
  const turns: { role: Item["role"]; content: Block[] }[] = [];
  for (const { role, blocks, thoughts } of items) {
    const sent = thoughts.every((t) => kept.has(t.block)) ? blocks : blocks.filter((b) => !isThinking(b) || kept.has(b));
    const last = turns.at(-1);
    if (last?.role === role) last.content.push(...sent);
    else turns.push({ role, content: [...sent] });
  }
  return turns;
}

/** A breakpoint on the last block, and on the last one of the request before where that is too far back to be found. */
function markTail(turns: readonly { role: Item["role"]; content: Block[] }[]): readonly WireMessage[] {
  const mark = (content: Block[] | undefined): void => {
    const last = content?.at(-1);
    if (content && last && !isThinking(last)) content[content.length - 1] = { ...last, ...MARK };
  };
  const added = (turns.at(-1)?.content.length ?? 0) + (turns.at(-2)?.content.length ?? 0);
  mark(turns.at(-1)?.content);
  if (added >= LOOKBACK) mark(turns.at(-3)?.content);
  return turns;
}
