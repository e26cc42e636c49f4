/** How the servers that speak these APIs differ. What is only a habit of some versions is a quirk that a test may set. */

import type { JsonObject } from "./json.ts";

export type FlavourName = "openai" | "ollama" | "llama.cpp" | "lmstudio" | "vllm" | "openrouter";

export interface Flavour {
  name: FlavourName;
  /** Serves `POST /v1/responses`. */
  responses: boolean;
  /** Refuses a request without a bearer key. */
  needsKey: boolean;
  /** Refuses parameters that it does not know; other servers ignore them. */
  strict: boolean;
  /** Where a Chat Completions message holds what the model thought; none where it is kept back. */
  reasoningField: "reasoning_content" | "reasoning" | undefined;
  /** The chunk with the usage: only with `stream_options.include_usage`, always, or never. */
  usage: "asked" | "always" | "never";
  /** `repeat`: `call_0`, `call_1` … in every reply. `none`: an empty id. */
  callIds: "unique" | "repeat" | "none";
  /** `whole`: in one piece, with the name. `object`: not even as a string. */
  args: "pieces" | "whole" | "object";
  /** Each call in a delta of its own, with an index; `zero` gives all of them index 0, `none` leaves it out. */
  callIndex: "own" | "zero" | "none";
  /** Ends a stream with `data: [DONE]`. */
  done: boolean;
  /** Sends comment lines while it waits. */
  comments: boolean;
  /** The reason that goes with tool calls. */
  callFinish: "tool_calls" | "stop";
}

const PLAIN = { usage: "asked", callIds: "unique", args: "pieces", callIndex: "own", done: true, comments: false } as const;
const LOCAL = { ...PLAIN, needsKey: false, strict: false, callFinish: "tool_calls", responses: true } as const;

const FLAVOURS: Readonly<Record<FlavourName, Flavour>> = {
  openai: { ...LOCAL, name: "openai", needsKey: true, strict: true, reasoningField: undefined },
  ollama: { ...LOCAL, name: "ollama", reasoningField: "reasoning", args: "whole" },
  "llama.cpp": { ...LOCAL, name: "llama.cpp", reasoningField: "reasoning_content", responses: false },
  lmstudio: { ...LOCAL, name: "lmstudio", reasoningField: "reasoning_content" },
  vllm: { ...LOCAL, name: "vllm", reasoningField: "reasoning_content" },
  openrouter: { ...LOCAL, name: "openrouter", needsKey: true, reasoningField: "reasoning", usage: "always", comments: true },
};
export const FLAVOUR_NAMES = Object.keys(FLAVOURS) as readonly FlavourName[];

export const flavourOf = (name: FlavourName, quirks: Partial<Flavour> = {}): Flavour => ({ ...FLAVOURS[name], ...quirks });

/** What a request that is too long is answered with. `limit` and `asked` in tokens. */
export function overflowBody(name: FlavourName, limit: number, asked: number): { status: number; body: JsonObject } {
  const error = (message: string, type: string, code: string | number | null, more: JsonObject = {}): JsonObject => ({
    error: { message, type, param: null, code, ...more },
  });
  switch (name) {
    case "openai":
      return {
        status: 400,
        body: {
          error: {
            message: `This model's maximum context length is ${limit} tokens. However, your messages resulted in ${asked} tokens. Please reduce the length of the messages.`,
            type: "invalid_request_error",
            param: "messages",
            code: "context_length_exceeded",
          },
        },
      };
    case "ollama":
      return { status: 400, body: error("prompt too long; exceeded max context length by 1234 tokens", "invalid_request_error", null) };
    case "llama.cpp":
      return {
        status: 400,
        body: error(
          `request (${asked} tokens) exceeds the available context size (${limit} tokens), try increasing it`,
          "exceed_context_size_error",
          400,
          { n_prompt_tokens: asked, n_ctx: limit },
        ),
      };
    case "lmstudio":
      return {
        status: 400,
        body: {
          error: `Trying to keep the first ${asked} tokens when context the overflows. However, the model is loaded with context length of only ${limit} tokens, which is not enough. Try to load the model with a larger context length, or provide a shorter input`,
        },
      };
    case "vllm":
      return {
        status: 400,
        body: {
          object: "error",
          message: `This model's maximum context length is ${limit} tokens. However, you requested ${asked} tokens (${asked - 512} in the messages, 512 in the completion). Please reduce the length of the messages or completion.`,
          type: "BadRequestError",
          param: null,
          code: 400,
        },
      };
    case "openrouter":
      return {
        status: 400,
        body: {
          error: {
            message: `This endpoint's maximum context length is ${limit} tokens. However, you requested about ${asked} tokens (${asked} of text input). Please reduce the length of either one, or use the "middle-out" transform to compress your prompt automatically.`,
            code: 400,
          },
        },
      };
  }
}

/** What an unknown model is answered with. */
export function unknownModelBody(name: FlavourName, model: string): { status: number; body: JsonObject } {
  const error = (status: number, message: string, type: string, code: string | number | null): { status: number; body: JsonObject } => ({
    status,
    body: { error: { message, type, param: null, code } },
  });
  switch (name) {
    case "openai":
      return error(
        404,
        `The model \`${model}\` does not exist or you do not have access to it.`,
        "invalid_request_error",
        "model_not_found",
      );
    case "ollama":
      return error(404, `model "${model}" not found, try pulling it first`, "api_error", null);
    case "vllm":
      return error(404, `The model \`${model}\` does not exist.`, "NotFoundError", 404);
    case "openrouter":
      return { status: 400, body: { error: { message: `${model} is not a valid model ID`, code: 400 } } };
    default:
      return error(404, `model '${model}' not found`, "not_found_error", 404);
  }
}
