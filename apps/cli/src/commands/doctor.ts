/** `heddle doctor`: whether heddle has what it needs, and what to do where it has not. */
import { execFile } from "node:child_process";
import { accessSync, constants, existsSync } from "node:fs";
import { dirname } from "node:path";
import { imageLibrary, nodeProcesses, sandboxedProcesses } from "@heddle/runtime/node";
import { EXIT, type ExitCode } from "../exit.ts";
import { DEFAULT_PROVIDER } from "../first-party.ts";
import { hostSandbox, isUnasked, networkOf } from "../host-sandbox.ts";
import type { Io } from "../io.ts";
import type { SetupArgs } from "../options.ts";
import { plainLine } from "../plain.ts";
import { directoriesOf, notUsed, type Plan, planOf } from "../plan.ts";
import { checkModel, declaredProviders, servedBy } from "../providers.ts";
import { HOW_TO_GET_IT, ripgrepPath } from "../ripgrep.ts";
import { VERSION } from "../version.ts";

const SHOWN_MODELS = 10;

type Check = { name: string; state: "ok" | "note" | "fail"; text: string };

/** Exit 1 only for what keeps heddle from working at all. */
export async function doctor(args: SetupArgs, io: Io): Promise<ExitCode> {
  const plan = await planOf(args, io, { everyProvider: true });
  const { config } = plan;
  const rg = ripgrepPath(io.env);
  const [git, rgVersion, servers, sandbox] = await Promise.all([
    versionOf("git"),
    rg ? versionOf(rg) : undefined,
    serversOf(plan),
    sandboxOf(plan, args),
  ]);
  const checks: Check[] = [
    { name: "heddle", state: "ok", text: `${VERSION} on Node ${process.versions.node}, ${process.platform} ${process.arch}` },
    modelOf(plan),
    ...servers,
    rgVersion
      ? { name: "ripgrep", state: "ok", text: `${rgVersion} (${rg})` }
      : { name: "ripgrep", state: "note", text: `Glob and Grep cannot work: ${HOW_TO_GET_IT}` },
    git
      ? { name: "git", state: "ok", text: git }
      : { name: "git", state: "note", text: "not found: the model is not told the state of repositories" },
    sandbox,
    imagesOf(),
    stateOf(config.home),
    ...(config.notices.length > 0
      ? config.notices.map((text): Check => ({ name: "settings", state: "fail", text }))
      : [{ name: "settings", state: "ok", text: "readable" } as const]),
    {
      name: "trust",
      state: "note",
      text: config.trusted
        ? "this folder is trusted"
        : `this folder is not trusted${config.withheld.length > 0 ? `; not used: ${notUsed(config.withheld).join("; ").replaceAll("not used: ", "")}` : ""}`,
    },
  ];
  for (const c of checks) io.stdout.write(`${c.state.padEnd(4)}  ${c.name.padEnd(8)}  ${plainLine(c.text, 1000)}\n`);
  return checks.some((c) => c.state === "fail") ? EXIT.failed : EXIT.done;
}

/** As far as it can be told without running code of others or asking its server. */
function modelOf({ candidates, credentials, model, provider: standard }: Plan): Check {
  const declared = declaredProviders(candidates);
  const known = declared.map((d) => d.name);
  const { error, notice } = checkModel(model, { provider: standard, credentials }, known);
  if (error) return { name: "model", state: "fail", text: error.message.replaceAll("\n", " ") };
  const { provider } = servedBy(model, standard, known);
  if (provider !== DEFAULT_PROVIDER) {
    const { by } = declared.find((d) => d.name === provider)!;
    return { name: "model", state: "ok", text: `${model} of the provider "${provider}" (plugin "${by.id}" ${by.version})` };
  }
  const held = credentials.apiKey
    ? "an API key"
    : credentials.authToken
      ? "a token"
      : credentials.helper
        ? "the key that apiKeyHelper prints"
        : "no key";
  const text = `${held} for ${credentials.baseURL ?? "the Anthropic API"}`;
  return { name: "model", state: "ok", text: notice === undefined ? text : `${text}; ${notice}` };
}

/** What answers on this machine; its models can be used at once. */
async function serversOf(plan: Plan): Promise<Check[]> {
  const { answering } = await import("./servers.ts");
  const found = await answering(plan);
  if (found.length === 0)
    return [{ name: "servers", state: "note", text: "no Ollama, LM Studio, llama.cpp or vLLM answers on this machine" }];
  return found.map(({ provider, models }) => {
    const shown = models.slice(0, SHOWN_MODELS).map((id) => `${provider}/${id}`);
    const more = models.length > shown.length ? ` and ${models.length - shown.length} more` : "";
    return {
      name: "servers",
      state: "ok",
      text: shown.length > 0 ? `--model ${shown.join(", ")}${more}` : `${provider} answers and has no models`,
    };
  });
}

async function sandboxOf(plan: Plan, args: SetupArgs): Promise<Check> {
  const { config, cwd, userDir } = plan;
  const { use } = config.sandbox;
  const network = networkOf(config);
  const wanted = use === "off" ? { ...config, sandbox: { ...config.sandbox, use: "auto" as const } } : config;
  const port = sandboxedProcesses(nodeProcesses(), hostSandbox(wanted, [cwd, ...directoriesOf(plan, args)], userDir)!, []);
  const open = typeof network === "object" && process.platform !== "linux" ? "off" : network;
  const reach =
    open === "on" ? "with the network" : open === "off" ? "without the network" : `with ${open.allow.join(", ")} of the network`;
  const problem = await port.sandboxProblem?.();
  const check = (state: Check["state"], text: string): Check => ({ name: "sandbox", state, text });
  if (use === "off")
    return check(
      "note",
      `off: ${problem === undefined ? '"sandbox": "auto" in your settings runs commands in one' : `and it could not be had: ${problem}`}`,
    );
  if (problem !== undefined)
    return check(use === "on" ? "fail" : "note", `${use === "on" ? "no command can run" : "commands run without one"}: ${problem}`);
  return check("ok", `commands run in one, ${reach}, and are ${isUnasked(config) ? "not asked for" : "asked for as ever"}`);
}

function imagesOf(): Check {
  const library = imageLibrary();
  if (library !== undefined) return { name: "images", state: "ok", text: `${library} makes large ones smaller` };
  const text = "large ones are sent as they are, and may be refused: npm install -g heddle without --omit=optional";
  return { name: "images", state: "note", text };
}

/** Looks, and makes nothing. */
function stateOf(home: string): Check {
  let there = home;
  while (!existsSync(there) && dirname(there) !== there) there = dirname(there);
  try {
    accessSync(there, constants.W_OK);
    return { name: "state", state: "ok", text: home };
  } catch (error) {
    return {
      name: "state",
      state: "note",
      text: `${(error as Error).message}: sessions are not kept; set HEDDLE_HOME to a folder that can be written`,
    };
  }
}

/** The first line of `--version`; undefined when it cannot be run. */
function versionOf(command: string): Promise<string | undefined> {
  return new Promise((resolve) => {
    execFile(command, ["--version"], { timeout: 5_000 }, (error, stdout) => resolve(error ? undefined : stdout.split("\n")[0]?.trim()));
  });
}
