/** Replies gone wrong: the broken, cut, empty or refused variant of what the script had to say. */

import type { ReplyFault } from "./faults.ts";
import { inputJson, outputTokens, type Reply, type ReplyBlock, type ReplyCall } from "./reply.ts";

export interface Stand {
  /** Used when the step has no call of its own to break. */
  call: ReplyCall;
}

const PAUSED_TEXT = "Let me keep working on that.";
const CUT_TEXT = "The first part of the answer is this, and the second part";

const thoughts = (reply: Reply) => reply.content.filter((block) => block.type === "thinking");

function calls(reply: Reply, { call }: Stand): ReplyCall[] {
  const own = reply.content.filter((block): block is ReplyCall => block.type === "tool_use");
  return own.length > 0 ? own : [call];
}

function withoutCalls(reply: Reply): ReplyBlock[] {
  return reply.content.filter((block) => block.type !== "tool_use" && block.type !== "server");
}

function withLastCall(reply: Reply, stand: Stand, change: (call: ReplyCall) => ReplyCall): ReplyBlock[] {
  const all = calls(reply, stand);
  return [...withoutCalls(reply), ...all.map((call, i) => (i === all.length - 1 ? change(call) : call))];
}

/** Half of an object's JSON never parses, since its brace stays open. */
function cutInput(call: ReplyCall): ReplyCall {
  const json = inputJson(call) || "{}";
  return { ...call, rawInput: json.slice(0, Math.max(1, Math.floor(json.length / 2))) };
}

function halfText(reply: Reply): ReplyBlock[] {
  const text = reply.content.find((block) => block.type === "text")?.text ?? CUT_TEXT;
  const characters = [...text];
  const half = characters.slice(0, Math.max(1, Math.floor(characters.length / 2))).join("");
  return [...thoughts(reply), { type: "text", text: half }];
}

function broken(reply: Reply, fault: ReplyFault, stand: Stand): Pick<Reply, "content" | "stopReason"> {
  switch (fault) {
    case "malformed-json":
      return { content: withLastCall(reply, stand, cutInput), stopReason: "tool_use" };
    case "max-tokens-tool":
      return { content: withLastCall(reply, stand, cutInput), stopReason: "max_tokens" };
    case "max-tokens-text":
      return { content: halfText(reply), stopReason: "max_tokens" };
    case "context-window-exceeded":
      return { content: halfText(reply), stopReason: "model_context_window_exceeded" };
    case "refusal":
      return { content: [], stopReason: "refusal" };
    case "pause-turn":
      return { content: [...thoughts(reply), { type: "text", text: PAUSED_TEXT }], stopReason: "pause_turn" };
    case "empty-end-turn":
      return { content: [], stopReason: "end_turn" };
    case "unknown-tool":
      return {
        content: withLastCall(reply, stand, (call) => ({ ...call, name: "no_such_tool" })),
        stopReason: "tool_use",
      };
    case "bad-tool-args":
      return {
        content: withLastCall(reply, stand, (call) => ({ ...call, input: { unexpected_argument: [1, 2] } })),
        stopReason: "tool_use",
      };
  }
}

export function breakReply(reply: Reply, fault: ReplyFault, stand: Stand): Reply {
  const { content, stopReason } = broken(reply, fault, stand);
  return { ...reply, content, stopReason, usage: { ...reply.usage, output_tokens: outputTokens(content) } };
}
