/** The servers that this plugin knows by name: where they listen, what they need, and what to do when they do not answer. */

export const KIND_NAMES = ["openai", "ollama", "lmstudio", "llamacpp", "vllm", "openrouter", "compatible"] as const;
export type KindName = (typeof KIND_NAMES)[number];

/** `local`: runs on the person's own machine, with the small windows of such servers. */
export type Kind = {
  readonly name: KindName;
  readonly label: string;
  /** None for a server that has to be named. */
  readonly baseURL?: string;
  readonly local: boolean;
  /** The environment variable that holds its key by custom. */
  readonly keyName?: string;
  /** What starts it. */
  readonly start?: string;
  /** What makes a model available. */
  readonly fetch?: (model: string) => string;
};

/** Ports as documented by each project. */
const KINDS: { readonly [K in KindName]: Omit<Kind, "name"> } = {
  openai: { label: "OpenAI", baseURL: "https://api.openai.com/v1", local: false, keyName: "OPENAI_API_KEY" },
  ollama: {
    label: "Ollama",
    baseURL: "http://localhost:11434/v1",
    local: true,
    start: "`ollama serve`",
    fetch: (model) => `Fetch it with \`ollama pull ${model}\``,
  },
  lmstudio: {
    label: "LM Studio",
    baseURL: "http://localhost:1234/v1",
    local: true,
    start: "`lms server start`",
    fetch: (model) => `Load it in LM Studio, or with \`lms load ${model}\``,
  },
  llamacpp: { label: "llama.cpp", baseURL: "http://localhost:8080/v1", local: true, start: "`llama-server -m MODEL.gguf --jinja`" },
  vllm: { label: "vLLM", baseURL: "http://localhost:8000/v1", local: true, start: "`vllm serve MODEL --enable-auto-tool-choice`" },
  openrouter: { label: "OpenRouter", baseURL: "https://openrouter.ai/api/v1", local: false, keyName: "OPENROUTER_API_KEY" },
  compatible: { label: "the server", local: false },
};

export const kindOf = (name: KindName): Kind => ({ name, ...KINDS[name] });
