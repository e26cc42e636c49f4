/** How the model is reached: from the environment, or from the user's own settings. */
import type { Config } from "./config/read.ts";
import { CliError } from "./exit.ts";
import { COMPATIBLE } from "./first-party.ts";
import type { Env } from "./io.ts";
import { TTL_MS, TTL_NAME } from "./key-helper.ts";

/** `helper` prints a key, and is there only where no key and no token is. */
export type Credentials = { apiKey?: string; authToken?: string; baseURL?: string; helper?: string };
type Sources = Pick<Config, "env" | "provider" | "apiKeyHelper">;

const NAMES = { apiKey: "ANTHROPIC_API_KEY", authToken: "ANTHROPIC_AUTH_TOKEN", baseURL: "ANTHROPIC_BASE_URL" } as const;

/** The environment counts before `env` of the settings, that before `provider.options`, and all of them before `apiKeyHelper`. */
export function credentials(config: Sources, env: Env): Credentials {
  const found = Object.entries(NAMES).flatMap(([key, name]) => {
    const value = env[name] || config.env[name] || config.provider.options["anthropic"]?.[key];
    return typeof value === "string" && value !== "" ? [[key, value] as const] : [];
  });
  const given: Credentials = Object.fromEntries(found);
  const { apiKeyHelper: helper } = config;
  return helper === undefined || given.apiKey !== undefined || given.authToken !== undefined ? given : { ...given, helper };
}

/** Milliseconds, and a notice should what is set be no number of them. */
export function helperTtl(config: Pick<Config, "env">, env: Env): { ttlMs: number; notice?: string } {
  const set = env[TTL_NAME] || config.env[TTL_NAME] || "";
  if (set === "") return { ttlMs: TTL_MS };
  if (/^\d{1,15}$/.test(set)) return { ttlMs: Number(set) };
  return { ttlMs: TTL_MS, notice: `${TTL_NAME} is "${set}", which is no number of milliseconds: ${TTL_MS} is used` };
}

const COMPATIBLE_NAMES = [
  ["openai", "apiKey", "OPENAI_API_KEY"],
  ["openai", "baseURL", "OPENAI_BASE_URL"],
  ["openrouter", "apiKey", "OPENROUTER_API_KEY"],
] as const;

/** Options of the servers that speak OpenAI's APIs, by provider; the same ranks as above. */
export function compatible(config: Pick<Config, "env" | "provider">, env: Env): Record<string, Record<string, unknown>> {
  const options: Record<string, Record<string, unknown>> = {};
  for (const name of COMPATIBLE) if (config.provider.options[name]) options[name] = { ...config.provider.options[name] };
  for (const [provider, key, name] of COMPATIBLE_NAMES) {
    const value = env[name] || config.env[name];
    if (value) options[provider] = { ...options[provider], [key]: value };
  }
  return options;
}

const isAddress = (url: string): boolean => URL.canParse(url) && /^https?:$/.test(new URL(url).protocol);

/** Throws a {@link CliError} that says where an address that is none was set. */
export function refuseBadUrl({ baseURL }: Credentials, config: Pick<Config, "env" | "provider">, env: Env): void {
  if (baseURL === undefined || isAddress(baseURL)) return;
  const { baseURL: name } = NAMES;
  const where = env[name] ? name : config.env[name] ? `"env" ${name} of your settings` : `"provider" baseURL of your settings`;
  throw new CliError(`${where} is "${baseURL}", which is no address of a server: it should look like https://api.anthropic.com`);
}

/** The same for the address that `OPENAI_BASE_URL` holds. */
export function refuseBadCompatible(config: Pick<Config, "env">, env: Env): void {
  const url = env["OPENAI_BASE_URL"] || config.env["OPENAI_BASE_URL"];
  if (!url || isAddress(url)) return;
  const where = env["OPENAI_BASE_URL"] ? "OPENAI_BASE_URL" : `"env" OPENAI_BASE_URL of your settings`;
  throw new CliError(`${where} is "${url}", which is no address of a server: it should look like https://api.openai.com/v1`);
}

export const reachable = (c: Credentials): boolean => Object.keys(c).length > 0;

/** What heddle needs, in three lines. */
export const noModel = (): CliError =>
  new CliError(
    [
      "no model. Set ANTHROPIC_API_KEY, or ANTHROPIC_BASE_URL for your server,",
      "or name another provider's model: --model ollama/NAME (heddle doctor helps),",
      "or see it work without any: heddle demo",
    ].join("\n"),
  );
