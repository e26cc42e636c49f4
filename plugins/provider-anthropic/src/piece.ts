/** One message of the history as blocks of the API. Depends on nothing but the message, the tools and the image mode. */
import type { AssistantMessage, CallId, Content, Message, ToolMessage, ToolOutcome } from "@heddle/kernel/plugin";
import { type ImageMode, imageBlock, note, sideOf } from "./images.ts";
import { clean, isBlank, reminder } from "./text.ts";
import { type Thought, thoughtOf } from "./thinking.ts";
import type { Tools } from "./tools.ts";
import { type Block, digest, type ImageBlock, isThinking, type TextBlock, type ToolResultBlock, textBlock } from "./wire.ts";

export type Piece = {
  readonly role: "user" | "assistant";
  readonly blocks: readonly Block[];
  /** What of a result may not be in it: it follows the last result of the reply. */
  readonly beside: readonly Block[];
  /** Of the blocks without thinking. */
  readonly digest: string;
  readonly thoughts: readonly Thought[];
  /** The calls in it, by their id in the history. */
  readonly calls: readonly CallId[];
  /** The longest side of each image in it. */
  readonly sides: readonly number[];
};

export function pieceOf(message: Message, tools: Tools, mode: ImageMode): Piece {
  switch (message.role) {
    case "user":
      return piece(
        "user",
        contentBlocks(message.content, mode, (text) => text),
      );
    case "attachment":
      return piece("user", contentBlocks(message.content, mode, reminder));
    case "tool":
      return resultPiece(message, tools, mode);
    case "assistant":
      return assistantPiece(message, tools);
    case "system":
      return piece("user", []);
  }
}

/** An answer to a call whose own result is nowhere in the history. */
export const missingResult = (callId: CallId): ToolResultBlock => ({
  type: "tool_result",
  tool_use_id: wireId(callId),
  content: [textBlock("There is no record of a result of this call.")],
  is_error: true,
});

type More = Partial<Pick<Piece, "beside" | "thoughts" | "calls">>;
function piece(role: Piece["role"], blocks: readonly Block[], { beside = [], thoughts = [], calls = [] }: More = {}): Piece {
  const plain = blocks.filter((block) => !isThinking(block));
  const sides = [...blocks, ...beside].flatMap((b) => (b.type === "image" ? [b] : b.type === "tool_result" ? imagesIn(b) : [])).map(sideOf);
  return { role, blocks, beside, digest: digest(role, JSON.stringify(plain)), thoughts, calls, sides };
}
const imagesIn = (result: ToolResultBlock): readonly ImageBlock[] => (result.content ?? []).filter((b) => b.type === "image");

function contentBlocks(content: Content, mode: ImageMode, wrap: (text: string) => string): (TextBlock | ImageBlock)[] {
  return content.flatMap((part) => {
    if (part.type === "image") return [imageBlock(part, mode)];
    return isBlank(part.text) ? [] : [textBlock(wrap(clean(part.text)))];
  });
}

const WHY: { readonly [O in ToolOutcome]: string } = {
  ok: "",
  error: "The call failed and said nothing.",
  denied: "The call was denied.",
  timeout: "The call took too long and was stopped.",
  aborted: "The call was stopped by the user.",
};
function resultPiece(message: ToolMessage, tools: Tools, mode: ImageMode): Piece {
  const result = resultBlock(message, mode);
  const names = message.outcome === "ok" ? [...new Set(message.loads)].filter((name) => tools.isDeferred(name)) : [];
  if (names.length === 0) return piece("user", [result]);
  const content = names.map((name) => ({ type: "tool_reference" as const, tool_name: tools.nameFor(name) }));
  const said = contentBlocks(message.content, mode, (text) => reminder(`Also the result of ${message.tool}: ${text}`));
  return piece("user", [{ ...result, content }], { beside: said });
}

function resultBlock(message: ToolMessage, mode: ImageMode): ToolResultBlock {
  const { outcome, callId } = message;
  const blocks = contentBlocks(message.content, mode, (text) => text);
  const result = { type: "tool_result" as const, tool_use_id: wireId(callId) };
  if (outcome === "ok") return blocks.length > 0 ? { ...result, content: blocks } : result;
  const texts = blocks.map((b) => (b.type === "image" ? note("a failed call may answer in text only") : b));
  return { ...result, content: texts.length > 0 ? texts : [textBlock(WHY[outcome])], is_error: true };
}

function assistantPiece(message: AssistantMessage, tools: Tools): Piece {
  const model = message.origin.by === "model" && message.stop !== "aborted" ? message.origin.model : undefined;
  const thoughts = new Map<Block, Thought>();
  const blocks = message.content.flatMap((part): Block[] => {
    if (part.type === "text") return isBlank(part.text) ? [] : [textBlock(clean(part.text))];
    if (part.type === "tool-call")
      return [{ type: "tool_use", id: wireId(part.callId), name: tools.nameFor(part.tool), input: tools.inputFor(part) }];
    const thought = model === undefined ? undefined : thoughtOf(part.text, part.opaque, model);
    if (!thought) return [];
    thoughts.set(thought.block, thought);
    return [thought.block];
  });
  // An assistant message may not end in thinking. What is cut here was never sent, so nothing that came later is bound to it.
  while (blocks.length > 0 && isThinking(blocks.at(-1)!)) blocks.pop();
  const calls = message.content.flatMap((part) => (part.type === "tool-call" ? [part.callId] : []));
  return piece("assistant", blocks, { thoughts: blocks.flatMap((block) => thoughts.get(block) ?? []), calls });
}

/** Other servers make ids that this one refuses. */
function wireId(callId: CallId): string {
  return /^[a-zA-Z0-9_-]{1,128}$/.test(callId) ? callId : `call_${digest(callId)}`;
}
