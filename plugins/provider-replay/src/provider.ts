/** The provider `replay`: the n-th model call of a conversation is answered with the n-th step of a tape. */
import { resolve } from "node:path";
import {
  type CallContext,
  FS,
  type Json,
  type ModelChunk,
  ModelError,
  type ModelFaultKind,
  type Provider,
  type Usage,
} from "@heddle/kernel/plugin";
import { fill, mapStrings } from "./placeholders.ts";
import { asJson, callIdOf, parseTape, type Step, stepsPlayed } from "./tape.ts";

/** Characters of one piece of text. */
const PIECE = 16;

export type ReplayOptions = { readonly tape?: string | undefined; readonly vars?: Readonly<Record<string, string>> | undefined };

export function replay({ tape, vars = {} }: ReplayOptions): Provider {
  return {
    name: "replay",
    async *stream(_request, ctx) {
      if (tape === undefined) throw fault("invalid", `there is no tape to play: set the option "tape" to the path of one`);
      const path = resolve(ctx.session.cwd, tape);
      const steps = await load(path, ctx);
      const n = stepsPlayed(ctx.session.messages) + 1;
      const step = steps[n - 1];
      if (!step) {
        const has = steps.length === 1 ? "1 step" : `${steps.length} steps`;
        const message = `the tape ${path} is at its end: it has ${has}, and this is model call ${n} of the conversation. Add a line, or start a new session`;
        throw fault("invalid", message);
      }
      const values = new Map([...Object.entries(vars), ["cwd", ctx.session.cwd]]);
      yield* play(n, mapStrings(step as Json, (text) => fill(text, values)) as Step);
    },
    encode: ({ model, prefix, messages, tools }) => asJson({ model, prefix, messages, tools }),
  };
}

const fault = (kind: ModelFaultKind, message: string): ModelError => new ModelError(message, { kind });

async function load(path: string, ctx: CallContext): Promise<Step[]> {
  let bytes: Uint8Array;
  try {
    bytes = await ctx.capability(FS).readFile(path);
  } catch (error) {
    const { code, message } = error as { code?: string; message: string };
    if (code === "ENOENT")
      throw fault("not-found", `there is no tape at ${path}: record one with the option "record", or correct the path`);
    throw fault("invalid", `the tape ${path} cannot be read: ${message}`);
  }
  try {
    return parseTape(new TextDecoder().decode(bytes));
  } catch (error) {
    throw fault("invalid", `the tape ${path} is wrong: ${(error as Error).message}`);
  }
}

function* play(n: number, { reasoning, text, calls = [], stop, usage }: Step): Generator<ModelChunk> {
  let part = 0;
  if (reasoning !== undefined) {
    for (const piece of pieces(reasoning)) yield { type: "reasoning", part, text: piece };
    part++;
  }
  if (text !== undefined) {
    for (const piece of pieces(text)) yield { type: "text", part, text: piece };
    part++;
  }
  for (const [i, { tool, input, malformed }] of calls.entries()) {
    for (const piece of pieces(JSON.stringify(input))) yield { type: "call.delta", part, text: piece };
    yield { type: "call", part, callId: callIdOf(n, i), tool, input: input as Json, ...(malformed === undefined ? {} : { malformed }) };
    part++;
  }
  yield { type: "stop", stop: stop ?? (calls.length > 0 ? "tool-calls" : "end"), ...(usage ? { usage: usage as Usage } : {}) };
}

/** Never parts a surrogate pair. */
const pieces = (text: string): readonly string[] => text.match(new RegExp(`[^]{1,${PIECE}}`, "gu")) ?? [];
