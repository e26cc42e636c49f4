/** Makes a list of messages satisfy the invariant of every model API, changing as little as it can. Pure, and the same each time. */
import {
  type AssistantMessage,
  type CallId,
  callsOf,
  type Message,
  type MessageId,
  type ToolCallPart,
  type ToolMessage,
} from "@heddle/kernel/protocol";

export const INTERRUPTED = "interrupted: the process ended before the result was recorded; it may or may not have taken effect";

/** `closing`: results that were invented behind the last message, which a log still has to take up. */
export type Mended = {
  readonly messages: readonly Message[];
  readonly closing: readonly ToolMessage[];
  readonly duplicates: number;
  readonly orphans: number;
  readonly invented: number;
};

/** The order of the list rules; `parentId` is not looked at. A second message of an id, and a second call of an id, are dropped. */
export function mend(source: readonly Message[]): Mended {
  const messages: Message[] = [];
  const ids = new Set<MessageId>();
  const calls = new Set<CallId>();
  let asked: AssistantMessage | undefined;
  let due = new Map<CallId, ToolCallPart>();
  let duplicates = 0;
  let orphans = 0;
  let invented = 0;
  const close = (): ToolMessage[] => {
    const made = [...due.values()].map((call) => resultFor(asked!, call));
    due = new Map();
    invented += made.length;
    messages.push(...made);
    return made;
  };
  for (const message of source) {
    if (ids.has(message.id)) {
      duplicates++;
      continue;
    }
    ids.add(message.id);
    if (message.role === "system") messages.push(message);
    else if (message.role === "tool") {
      if (due.delete(message.callId)) messages.push(message);
      else orphans++;
    } else if (message.role === "assistant") {
      close();
      const kept = withoutSecondCalls(message, calls);
      if (kept !== message) duplicates++;
      if (!kept) continue;
      messages.push(kept);
      asked = kept;
      due = new Map(callsOf(kept).map((call) => [call.callId, call]));
    } else {
      close();
      messages.push(message);
    }
  }
  return { closing: close(), messages, duplicates, orphans, invented };
}

function withoutSecondCalls(message: AssistantMessage, calls: Set<CallId>): AssistantMessage | undefined {
  const content = message.content.filter((part) => {
    if (part.type !== "tool-call") return true;
    if (calls.has(part.callId)) return false;
    calls.add(part.callId);
    return true;
  });
  if (content.length === message.content.length) return message;
  return content.length > 0 ? { ...message, content } : undefined;
}

/** Made of nothing but the call, so that it is the same bytes however often it is made. */
function resultFor(asked: AssistantMessage, call: ToolCallPart): ToolMessage {
  return {
    role: "tool",
    id: `${asked.id}.${call.callId}.interrupted`,
    parentId: asked.id,
    at: asked.at,
    origin: { by: "kernel" },
    callId: call.callId,
    tool: call.tool,
    outcome: "aborted",
    content: [{ type: "text", text: INTERRUPTED }],
  };
}
