/** How the model is reached: from the environment, or from the user's own settings. */
import type { Config } from "./config/read.ts";
import { CliError } from "./exit.ts";
import type { Env } from "./io.ts";

export type Credentials = { apiKey?: string; authToken?: string; baseURL?: string };

const NAMES = { apiKey: "ANTHROPIC_API_KEY", authToken: "ANTHROPIC_AUTH_TOKEN", baseURL: "ANTHROPIC_BASE_URL" } as const;

/** The environment counts before `env` of the settings, and that before `provider.options`. */
export function credentials(config: Pick<Config, "env" | "provider">, env: Env): Credentials {
  const found = Object.entries(NAMES).flatMap(([key, name]) => {
    const value = env[name] || config.env[name] || config.provider.options[key];
    return typeof value === "string" && value !== "" ? [[key, value] as const] : [];
  });
  return Object.fromEntries(found);
}

/** Throws a {@link CliError} that says where an address that is none was set. */
export function refuseBadUrl({ baseURL }: Credentials, config: Pick<Config, "env" | "provider">, env: Env): void {
  if (baseURL === undefined || (URL.canParse(baseURL) && /^https?:$/.test(new URL(baseURL).protocol))) return;
  const { baseURL: name } = NAMES;
  const where = env[name] ? name : config.env[name] ? `"env" ${name} of your settings` : `"provider" baseURL of your settings`;
  throw new CliError(`${where} is "${baseURL}", which is no address of a server: it should look like https://api.anthropic.com`);
}

export const reachable = (c: Credentials): boolean => Object.keys(c).length > 0;

/** What heddle needs, in three lines. */
export const noModel = (): CliError =>
  new CliError(
    [
      "no model. Set ANTHROPIC_API_KEY to a key of the Anthropic API,",
      "or ANTHROPIC_BASE_URL to a server that speaks the Anthropic Messages API,",
      "or see it work without either: heddle demo",
    ].join("\n"),
  );
