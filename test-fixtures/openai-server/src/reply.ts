/** One reply of the model, before it is put into the form of an API. */

import type { Flavour } from "./flavours.ts";
import type { Finish, Step } from "./script.ts";

export interface ReplyCall {
  id: string;
  name: string;
  /** JSON, unless the script wanted it broken. */
  args: string;
}
/** Tokens; `cached` are part of `input`. */
export interface ReplyUsage {
  input: number;
  cached: number;
  output: number;
}
export interface Reply {
  /** Counts the requests of the server; part of the ids. */
  index: number;
  model: string;
  reasoning: string;
  text: string;
  refusal: string;
  calls: readonly ReplyCall[];
  finish: Finish;
  usage: ReplyUsage;
}

const tokens = (text: string): number => Math.ceil(text.length / 4);

export function replyOf(step: Step, index: number, model: string, flavour: Flavour, input: { size: number; shared: number }): Reply {
  const calls = (step.calls ?? []).map(({ name, input: value = {}, raw }, n): ReplyCall => {
    const id = { unique: `call_${String(index).padStart(4, "0")}x${n}`, repeat: `call_${n}`, none: "" }[flavour.callIds];
    return { id, name, args: raw ?? JSON.stringify(value) };
  });
  const { reasoning = "", text = "", refusal = "" } = step;
  const output = tokens(reasoning + text + refusal + calls.map((c) => c.name + c.args).join(""));
  return {
    index,
    model,
    reasoning,
    text,
    refusal,
    calls,
    finish: step.finish ?? (calls.length > 0 ? "tool_calls" : "stop"),
    usage: { input: tokens("x".repeat(input.size)), cached: cachedTokens(input.shared), output },
  };
}

/** A prompt cache works in blocks of 128 tokens, from 1,024 tokens on. */
const cachedTokens = (characters: number): number => {
  const whole = Math.floor(characters / 4 / 128) * 128;
  return whole >= 1024 ? whole : 0;
};

/** A text in pieces, never within a surrogate pair. */
export function piecesOf(text: string, size = 12): string[] {
  const out: string[] = [];
  let piece = "";
  for (const char of text) {
    piece += char;
    if (piece.length >= size) {
      out.push(piece);
      piece = "";
    }
  }
  return piece === "" ? out : [...out, piece];
}
