/** Which servers on this machine speak OpenAI's APIs, and the models that they have. */
import type { Provider } from "@heddle/kernel/plugin";
import openai, { KIND_NAMES, type OpenAIProvider } from "@heddle/provider-openai";
import type { Plan } from "../plan.ts";

/** How long a server may take to answer. */
const PATIENCE_MS = 1_000;
const LOCAL = ["ollama", "lmstudio", "llamacpp", "vllm"];

export type Answering = { provider: string; models: readonly string[] };

/** Asks the usual places, and the places on this machine that the settings name; never another machine. In the order of the plugin. */
export async function answering({ compatible }: Pick<Plan, "compatible">): Promise<Answering[]> {
  const options = openai.options!.safeParse(compatible);
  if (!options.success) return [];
  const never = (): never => {
    throw new Error("not needed to list models");
  };
  const { providers = [] } = await openai.setup({
    plugin: "@heddle/provider-openai",
    options: options.data,
    signal: AbortSignal.timeout(PATIENCE_MS),
    provide: never,
    use: never,
    capability: never,
    onDispose: never,
  });
  const near = KIND_NAMES.filter((name) => isNear(name, compatible[name]?.["baseURL"]));
  const found = await Promise.all(near.map((name) => ask(providers.find((p) => p.name === name) as Provider as OpenAIProvider)));
  return found.flatMap((it) => it ?? []);
}

function isNear(name: string, baseURL: unknown): boolean {
  if (typeof baseURL !== "string") return LOCAL.includes(name);
  return URL.canParse(baseURL) && /^(localhost|127(\.\d+){3}|\[::1\])$/.test(new URL(baseURL).hostname);
}

async function ask(provider: OpenAIProvider): Promise<Answering | undefined> {
  try {
    const models = await provider.models({ signal: AbortSignal.timeout(PATIENCE_MS), now: Date.now });
    return { provider: provider.name, models: models.map((m) => m.id) };
  } catch {
    // nothing is there, or something else
    return undefined;
  }
}
