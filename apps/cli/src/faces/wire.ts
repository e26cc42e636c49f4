/** Messages of a session as the lines of the stream-json format. */
import type { AssistantPart, Content, Message, RuntimeEvent } from "@heddle/kernel/protocol";
import { type WireResult, type WireUsage, wireStop, wireUsage } from "./result.ts";

export type WireInit = {
  type: "system";
  subtype: "init";
  cwd: string;
  session_id: string;
  tools: string[];
  mcp_servers: [];
  model: string;
  permissionMode: string;
  slash_commands: string[];
  apiKeySource: string;
  heddle_version: string;
  output_style: "default";
  agents: [];
  skills: [];
  plugins: { name: string; path: string; version: string }[];
  plugin_errors: { plugin: string; type: string; message: string }[];
  uuid: string;
};
/** `parent_tool_use_id`: the call that started the sub-agent whose message it is. */
type Named = { parent_tool_use_id: string | null; session_id: string; uuid: string };
type WireBlock =
  | { type: "text"; text: string }
  | { type: "thinking"; thinking: string }
  | { type: "tool_use"; id: string; name: string; input: unknown }
  | { type: "image"; source: { type: "base64"; media_type: string; data: string } }
  | { type: "tool_result"; tool_use_id: string; content: WireBlock[]; is_error: boolean };
type WireAssistant = {
  id: string;
  type: "message";
  role: "assistant";
  model: string;
  content: WireBlock[];
  stop_reason: string | null;
  stop_sequence: null;
  usage: WireUsage;
};
/** `error` says what was wrong, `cause` of which kind that is; `error_status` is null where there was no answer; `model` is asked instead. */
type WireRetry = {
  type: "system";
  subtype: "api_retry";
  attempt: number;
  max_retries: number;
  retry_delay_ms: number;
  error_status: number | null;
  error: string;
  cause: string;
  model?: string;
  session_id: string;
  uuid: string;
};
export type WireMessage =
  | WireInit
  | WireResult
  | ({ type: "assistant"; message: WireAssistant } & Named)
  | ({ type: "user"; message: { role: "user"; content: WireBlock[] }; timestamp: string } & Named)
  | WireRetry
  | { type: "system"; subtype: "message_voided"; message_id: string; why: string; session_id: string; uuid: string }
  | { type: "system"; subtype: "local_command_output"; content: string; session_id: string; uuid: string }
  | { type: "system"; subtype: "informational"; content: string; level: string; session_id: string; uuid: string };

/** What happens to a reply before it is a message. */
export function wireEvent(event: RuntimeEvent, session: string, uuid: () => string): WireMessage[] {
  if (event.type === "message.voided")
    return [{ type: "system", subtype: "message_voided", message_id: event.id, why: event.why, session_id: session, uuid: uuid() }];
  if (event.type !== "model.retry") return [];
  const { attempt, of, waitMs, message, cause, model, status = null } = event;
  const times = { attempt, max_retries: of, retry_delay_ms: waitMs };
  const said = { error_status: status, error: message, cause, ...(model === undefined ? {} : { model }) };
  return [{ type: "system", subtype: "api_retry", ...times, ...said, session_id: session, uuid: uuid() }];
}

const content = (parts: Content): WireBlock[] =>
  parts.map((p) => (p.type === "text" ? p : { type: "image", source: { type: "base64", media_type: p.mimeType, data: p.data } }));

function block(part: AssistantPart): WireBlock {
  if (part.type === "text") return { type: "text", text: part.text };
  if (part.type === "reasoning") return { type: "thinking", thinking: part.text };
  return { type: "tool_use", id: part.callId, name: part.tool, input: part.input };
}

/**
 * One line for each block of a reply, all with the id of the reply; one for a tool result; one for a system message. Prompts
 * and attachments give none. `uuid` is called once for each line. `parent`: the call that started the sub-agent whose message it is.
 */
export function wireMessages(message: Message, session: string, uuid: () => string, parent: string | null = null): WireMessage[] {
  const named = (): Named => ({ parent_tool_use_id: parent, session_id: session, uuid: uuid() });
  switch (message.role) {
    case "assistant": {
      const model = message.origin.by === "model" ? message.origin.model : "";
      const last = message.content.length - 1;
      return message.content.map((part, i) => ({
        type: "assistant",
        message: {
          id: message.id,
          type: "message",
          role: "assistant",
          model,
          content: [block(part)],
          stop_reason: i === last ? wireStop(message.stop) : null,
          stop_sequence: null,
          usage: wireUsage(message.usage),
        },
        ...named(),
      }));
    }
    case "tool": {
      const result: WireBlock = {
        type: "tool_result",
        tool_use_id: message.callId,
        content: content(message.content),
        is_error: message.outcome !== "ok",
      };
      return [{ type: "user", message: { role: "user", content: [result] }, timestamp: new Date(message.at).toISOString(), ...named() }];
    }
    case "system":
      if (message.subtype === "command-output")
        return [{ type: "system", subtype: "local_command_output", content: message.text, session_id: session, uuid: uuid() }];
      return [{ type: "system", subtype: "informational", content: message.text, level: message.level, session_id: session, uuid: uuid() }];
    default:
      return [];
  }
}
