/** Which provider a model is asked of, and what to say when that cannot be. */
import type { Candidate } from "@heddle/runtime";
import { noModel, reachable } from "./credentials.ts";
import { CliError } from "./exit.ts";
import { COMPATIBLE, DEFAULT_PROVIDER } from "./first-party.ts";
import { DEFAULT_MODEL, type Plan } from "./plan.ts";

/** `unknown`: what stands before the slash, where no provider has that name. */
export type Served = { provider: string; unknown?: string };

/** `standard` is the provider of a model without one. */
export function servedBy(model: string, standard: string, known: readonly string[]): Served {
  const [named = "", ...rest] = model.split("/");
  if (rest.length === 0 || named === "") return { provider: standard };
  return known.includes(named) ? { provider: named } : { provider: standard, unknown: named };
}

type Declared = { name: string; by: Candidate };
/** As the manifests say, without any code being run. */
export function declaredProviders(candidates: readonly Candidate[]): Declared[] {
  return candidates.flatMap((by) => {
    const names = (by.manifest as { contributes?: { providers?: unknown } } | undefined)?.contributes?.providers;
    return Array.isArray(names) ? names.map((name) => ({ name: by.rename?.[`providers/${String(name)}`] ?? String(name), by })) : [];
  });
}

/** Why the model cannot be asked; or, as a notice, where it is asked, should that be a surprise. `known` are the names of providers. */
export function checkModel(
  model: string,
  plan: Pick<Plan, "provider" | "credentials">,
  known: readonly string[],
): { error?: CliError; notice?: string } {
  const { provider, unknown } = servedBy(model, plan.provider, known);
  const there = `the providers are: ${known.join(", ") || "none"}`;
  const how = `a plugin that brings one has to be among "plugins" of your settings (heddle plugins check says what is wrong with it)`;
  if (!known.includes(provider)) return { error: new CliError(`there is no provider "${provider}"; ${there}; ${how}`) };
  if (model === DEFAULT_MODEL && COMPATIBLE.includes(provider))
    return {
      error: new CliError(`which model of "${provider}"? --model NAME says it (heddle doctor lists those of servers on this machine)`),
    };
  const { baseURL } = plan.credentials;
  // The ids of Anthropic hold no slash, those of other servers may.
  if (unknown !== undefined && provider === DEFAULT_PROVIDER) {
    if (baseURL === undefined)
      return { error: new CliError(`there is no provider "${unknown}" for the model "${model}"; ${there}; ${how}`) };
    const notice = `there is no provider "${unknown}", so ${baseURL} is asked for the model "${model}"; "${provider}/${model}" says that you mean this`;
    return { notice };
  }
  return provider === DEFAULT_PROVIDER && !reachable(plan.credentials) ? { error: noModel() } : {};
}
