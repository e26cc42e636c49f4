/** Builders of kernel messages and requests for tests. */
import { readFileSync } from "node:fs";
import type {
  AssistantMessage,
  AttachmentMessage,
  Content,
  Json,
  Message,
  ModelRequest,
  StopReason,
  ToolCallPart,
  ToolMessage,
  ToolOutcome,
  ToolSpec,
  UserMessage,
} from "@heddle/kernel/plugin";

export const MODEL = "gpt-5.6";

const base = { id: "m", parentId: null, at: 0 };
const content = (it: string | Content): Content => (typeof it === "string" ? [{ type: "text", text: it }] : it);

export const user = (it: string | Content, isMeta?: boolean): UserMessage => ({
  ...base,
  role: "user",
  origin: { by: "user" },
  content: content(it),
  ...(isMeta ? { isMeta } : {}),
});
export const attachment = (it: string | Content): AttachmentMessage => ({
  ...base,
  role: "attachment",
  origin: { by: "plugin", plugin: "p", point: "attachments", name: "a" },
  kind: "a",
  content: content(it),
});
export const system = (text: string): Message => ({ ...base, role: "system", origin: { by: "kernel" }, subtype: "s", level: "info", text });
export const assistant = (
  parts: string | AssistantMessage["content"],
  o: { stop?: StopReason; model?: string; provider?: string } = {},
): AssistantMessage => ({
  ...base,
  role: "assistant",
  origin: { by: "model", provider: o.provider ?? "openai", model: o.model ?? MODEL },
  content: typeof parts === "string" ? [{ type: "text", text: parts }] : parts,
  stop: o.stop ?? "end",
});
export const call = (callId: string, tool = "read", input: Json = {}, malformed?: string): ToolCallPart => ({
  type: "tool-call",
  callId,
  tool,
  input,
  ...(malformed === undefined ? {} : { malformed }),
});
export const result = (callId: string, it: string | Content = "done", outcome: ToolOutcome = "ok"): ToolMessage => ({
  ...base,
  role: "tool",
  origin: { by: "kernel" },
  callId,
  tool: "read",
  outcome,
  content: content(it),
});

export const READ: ToolSpec = {
  name: "read",
  description: "Reads a file.",
  schema: { type: "object", properties: { path: { type: "string" } }, required: ["path"] },
};
export const NO_TOOLS: readonly ToolSpec[] = [];
export const NO_PREFIX = { system: [], context: [] };

export const request = (messages: readonly Message[], more: Partial<ModelRequest> = {}): ModelRequest => ({
  model: MODEL,
  prefix: NO_PREFIX,
  tools: NO_TOOLS,
  sessionId: "s",
  messages,
  ...more,
});

/** The head of a PNG: all that anyone looks at without decoding it. */
export function png(width = 10): string {
  const bytes = Buffer.alloc(33);
  bytes.write("\x89PNG\r\n\x1a\n\0\0\0\rIHDR", 0, "latin1");
  bytes.writeUInt32BE(width, 16);
  bytes.writeUInt32BE(width, 20);
  return bytes.toString("base64");
}
export const image = (data = png(), mimeType = "image/png"): Content[number] => ({ type: "image", mimeType, data });

export const manifest = JSON.parse(readFileSync(new URL("../../package.json", import.meta.url), "utf8"));
