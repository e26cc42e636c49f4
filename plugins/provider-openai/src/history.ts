/** The history in pieces that both APIs are made of: in order, each call answered at once, nothing that a server would refuse. */
import type { AssistantMessage, CallId, Content, Json, Message, ToolMessage, ToolOutcome } from "@heddle/kernel/plugin";
import { type ImageMode, type Shown, showImage } from "./images.ts";
import { clean, digest, isBlank, isObject, type JsonObject, reminder } from "./text.ts";
import type { Tools } from "./tools.ts";

export type WireCall = {
  readonly type: "call";
  readonly callId: CallId;
  readonly id: string;
  readonly name: string;
  readonly args: string;
};
export type WireText = { readonly type: "text"; readonly text: string };
/** Reasoning of this very provider and model. */
export type WireThought = { readonly type: "thought"; readonly text: string; readonly opaque: JsonObject };

export type UserPiece = { readonly role: "user"; readonly parts: readonly Shown[] };
export type AssistantPiece = { readonly role: "assistant"; readonly parts: readonly (WireCall | WireText | WireThought)[] };
/** `parts` are the images of the result: tool messages hold text only. */
export type ToolPiece = { readonly role: "tool"; readonly id: string; readonly text: string; readonly parts: readonly Shown[] };
export type Piece = UserPiece | AssistantPiece | ToolPiece;

/** Who asks now: its own reasoning may go back, any other may not. */
export type Asker = { readonly provider: string; readonly model: string };

/** Depends on nothing but its arguments, so that it may be remembered. */
export function pieceOf(message: Message, tools: Tools, mode: ImageMode, asker: Asker): Piece {
  switch (message.role) {
    case "user":
      return { role: "user", parts: shown(message.content, mode, (text) => text) };
    case "attachment":
      return { role: "user", parts: shown(message.content, mode, reminder) };
    case "tool":
      return toolPiece(message, mode);
    case "assistant":
      return assistantPiece(message, tools, asker);
    case "system":
      return { role: "user", parts: [] };
  }
}

function shown(content: Content, mode: ImageMode, wrap: (text: string) => string): Shown[] {
  return content.flatMap((part): Shown[] => {
    if (part.type === "image") return [showImage(part, mode)];
    return isBlank(part.text) ? [] : [{ type: "text", text: wrap(clean(part.text)) }];
  });
}

const SILENT: { readonly [O in ToolOutcome]: string } = {
  ok: "(no output)",
  error: "The call failed and said nothing.",
  denied: "The call was denied.",
  timeout: "The call took too long and was stopped.",
  aborted: "The call was stopped by the user.",
};
/** Stands before the text of a result, since the APIs have no field for it. */
const LABEL: { readonly [O in ToolOutcome]: string } = {
  ok: "",
  error: "[error] ",
  denied: "[denied] ",
  timeout: "[timed out] ",
  aborted: "[stopped by the user] ",
};

function toolPiece(message: ToolMessage, mode: ImageMode): ToolPiece {
  const { outcome, callId } = message;
  const all = shown(message.content, mode, (text) => text);
  const text = all.flatMap((part) => (part.type === "text" ? [part.text] : [])).join("\n\n");
  const images = all.filter((part) => part.type === "image");
  const said = text === "" ? (images.length > 0 ? "The image follows." : SILENT[outcome]) : LABEL[outcome] + text;
  const name: Shown = {
    type: "text",
    text: reminder(`${images.length === 1 ? "Image" : "Images"} of the result of call ${wireId(callId)}:`),
  };
  return { role: "tool", id: wireId(callId), text: said, parts: images.length > 0 ? [name, ...images] : [] };
}
const missingResult = (id: string): ToolPiece => ({
  role: "tool",
  id,
  text: "There is no record of a result of this call.",
  parts: [],
});

function assistantPiece(message: AssistantMessage, tools: Tools, asker: Asker): AssistantPiece {
  const { origin } = message;
  const own = origin.by === "model" && origin.provider === asker.provider && origin.model === asker.model && message.stop !== "aborted";
  const parts = message.content.flatMap((part): AssistantPiece["parts"] => {
    if (part.type === "text") return isBlank(part.text) ? [] : [{ type: "text", text: clean(part.text) }];
    if (part.type === "reasoning")
      return own && isObject(part.opaque) ? [{ type: "thought", text: clean(part.text), opaque: part.opaque }] : [];
    const { callId, tool } = part;
    return [{ type: "call", callId, id: wireId(callId), name: tools.nameFor(tool), args: tools.argumentsFor(part) }];
  });
  return { role: "assistant", parts: withoutTail(parts) };
}
/** Reasoning that led to nothing may not be sent. */
function withoutTail(parts: AssistantPiece["parts"]): AssistantPiece["parts"] {
  return parts.slice(0, parts.findLastIndex((part) => part.type !== "thought") + 1);
}

/** Other servers make ids that are too long or hold other characters. */
function wireId(callId: CallId): string {
  return /^[a-zA-Z0-9_-]{1,40}$/.test(callId) ? callId : `call_${digest(callId, 22)}`;
}

const GO_ON: UserPiece = { role: "user", parts: [{ type: "text", text: "Continue." }] };

/**
 * Begins and ends with the user or a result; each reply stands between two of them; images of results come after the last result
 * of their reply. The kernel sees to it that each call is answered; a history that breaks it is mended here, since it would be
 * refused for ever.
 */
export function conversation(messages: readonly Message[], context: readonly Shown[], toPiece: (message: Message) => Piece): Piece[] {
  const out: Piece[] = [];
  const seen = new Set<CallId>();
  const due = new Map<CallId, string>();
  let images: Shown[] = [];
  const show = (): void => {
    if (images.length > 0) out.push({ role: "user", parts: images });
    images = [];
  };
  const settle = (): void => {
    out.push(...[...due.values()].map(missingResult));
    due.clear();
    show();
  };
  if (context.length > 0) out.push({ role: "user", parts: context });
  for (const message of messages) {
    if (message.role === "system" || (message.role === "assistant" && message.stop === "refusal")) continue;
    if (message.role === "tool") {
      if (!due.delete(message.callId)) continue;
      const piece = toPiece(message) as ToolPiece;
      out.push(piece);
      images.push(...piece.parts);
      continue;
    }
    settle();
    const piece = toPiece(message);
    if (piece.role !== "assistant") {
      if (piece.parts.length > 0) out.push(piece);
      continue;
    }
    const fresh = withFreshCalls(piece, seen);
    if (fresh.parts.length === 0) continue;
    // Each reply answered a request that ended with the user, so the same words stand between two replies as stood there then.
    if (out.length === 0 || out.at(-1)?.role === "assistant") out.push(GO_ON);
    out.push(fresh);
    for (const part of fresh.parts) if (part.type === "call") due.set(part.callId, part.id);
  }
  settle();
  if (out.length === 0 || out.at(-1)?.role === "assistant") out.push(GO_ON);
  return out;
}

/** Without calls whose id was used before. */
function withFreshCalls(piece: AssistantPiece, seen: Set<CallId>): AssistantPiece {
  const stale = new Set<unknown>();
  for (const part of piece.parts) {
    if (part.type !== "call") continue;
    if (seen.has(part.callId)) stale.add(part);
    seen.add(part.callId);
  }
  if (stale.size === 0) return piece;
  return { role: "assistant", parts: piece.parts.filter((part) => part.type !== "thought" && !stale.has(part)) };
}

export const asJson = (value: unknown): Json => value as Json;
