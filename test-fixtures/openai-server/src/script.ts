/** What the scripted model answers, by the step that the history of a request is at. */

import { isObject, isString, type Json, type JsonObject, listOf } from "./json.ts";

/** `raw` in place of `input` gives the arguments as they are, broken ones included. */
export interface ScriptedCall {
  name: string;
  input?: Json;
  raw?: string;
}
export type Finish = "stop" | "length" | "tool_calls" | "content_filter";
/** `finish` follows from the calls without it. `refusal` is what the model says in place of a text. */
export interface Step {
  text?: string;
  reasoning?: string;
  calls?: readonly ScriptedCall[];
  finish?: Finish;
  refusal?: string;
}
/** A list plays by step, and says "ok" once it is over. */
export type Script = readonly Step[] | ((request: { step: number; body: JsonObject }) => Step);

export function stepAt(script: Script, step: number, body: JsonObject): Step {
  if (typeof script === "function") return script({ step, body });
  return script[step] ?? { text: "ok" };
}

/** The assistant turns in the history: those with calls and those that are finished. Runs of output items count as one. */
export function stepOf(body: JsonObject): number {
  const messages = listOf(body["messages"]);
  if (messages) return messages.filter((m) => isObject(m) && m["role"] === "assistant").length;
  let turns = 0;
  let inside = false;
  for (const item of listOf(body["input"]) ?? []) {
    const output = isObject(item) && (item["role"] === "assistant" || item["type"] === "function_call" || item["type"] === "reasoning");
    if (output && !inside) turns++;
    inside = output;
  }
  return turns;
}

/** The prompt as a model would read it: what is appended to a conversation is appended to this text. */
export function promptOf(body: JsonObject): string {
  const flat = (value: Json | undefined): string => {
    if (isString(value)) return value;
    if (listOf(value)) return (value as Json[]).map(flat).join("\n\n");
    if (!isObject(value)) return "";
    const { type: _, ...rest } = value;
    return isString(rest["text"]) ? rest["text"] : JSON.stringify(rest);
  };
  const items = listOf(body["messages"]) ?? listOf(body["input"]) ?? [{ role: "user", content: body["input"] ?? "" }];
  const rendered = items.map((item) => {
    const { role, content, type, ...rest } = item as { [key: string]: Json };
    const more = Object.keys(rest).length > 0 ? JSON.stringify(rest) : "";
    return `<|${String(role ?? type)}|>${flat(content)}${more}`;
  });
  return JSON.stringify(body["tools"] ?? []) + flat(body["instructions"]) + rendered.join("");
}
