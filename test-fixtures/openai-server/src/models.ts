/** The models of the server, and how each kind of server lists them. */

import type { FlavourName } from "./flavours.ts";
import type { JsonObject } from "./json.ts";

/** `window` in tokens. `reasoning`: thinks, and gives encrypted reasoning over Responses. */
export interface ModelRules {
  window?: number;
  images?: boolean;
  reasoning?: boolean;
}
export type Models = Readonly<Record<string, ModelRules>>;

const LOCAL: Models = {
  "qwen3:8b": { window: 32_768, images: false, reasoning: true },
  "qwen3-vl:8b": { window: 32_768, images: true, reasoning: true },
};
const DEFAULT: Readonly<Record<FlavourName, Models>> = {
  openai: {
    "gpt-6-astra": { window: 1_050_000, images: true, reasoning: true },
    "gpt-5.6": { window: 1_050_000, images: true, reasoning: true },
    "gpt-5": { window: 400_000, images: true, reasoning: true },
    "gpt-4o": { window: 128_000, images: true, reasoning: false },
  },
  ollama: LOCAL,
  "llama.cpp": LOCAL,
  lmstudio: LOCAL,
  vllm: LOCAL,
  openrouter: {
    "anthropic/claude-sonnet-5": { window: 1_000_000, images: true, reasoning: true },
    "qwen/qwen3-coder": { window: 262_144, images: false, reasoning: false },
  },
};
export const modelsOf = (flavour: FlavourName, own: Models = {}): Models => ({ ...DEFAULT[flavour], ...own });

/** The body of `GET /v1/models`. */
export function listing(flavour: FlavourName, models: Models): JsonObject {
  const entry = (id: string, { window = 8192, images = false }: ModelRules): JsonObject => {
    const base = { id, object: "model", created: 1_790_000_000 };
    switch (flavour) {
      case "openai":
        return { ...base, owned_by: "system" };
      case "ollama":
        return { ...base, owned_by: "library" };
      case "llama.cpp":
        return { ...base, owned_by: "llamacpp", meta: { vocab_type: 2, n_vocab: 151_936, n_ctx_train: window, n_params: 8_190_735_360 } };
      case "lmstudio":
        return { id, object: "model", owned_by: "organization_owner" };
      case "vllm":
        return { ...base, owned_by: "vllm", root: id, parent: null, max_model_len: window, permission: [] };
      case "openrouter":
        return {
          id,
          name: id,
          created: base.created,
          context_length: window,
          architecture: { input_modalities: images ? ["text", "image"] : ["text"], output_modalities: ["text"] },
          top_provider: { context_length: window, max_completion_tokens: 64_000, is_moderated: false },
          supported_parameters: ["tools", "max_tokens"],
        };
    }
  };
  const data = Object.entries(models).map(([id, rules]) => entry(id, rules));
  if (flavour === "openrouter") return { data };
  if (flavour !== "llama.cpp") return { object: "list", data };
  return { models: Object.keys(models).map((id) => ({ name: id, model: id, capabilities: ["completion"] })), object: "list", data };
}
