/** What is decided before a runtime starts: settings and flags put together, plugins found, nothing of theirs loaded. */
import { existsSync, realpathSync } from "node:fs";
import { join, resolve } from "node:path";
import type { Processes } from "@heddle/kernel";
import { NEWEST } from "@heddle/provider-anthropic/newest";
import type { Candidate, Problem } from "@heddle/runtime";
import { circlesOf, meaningOf } from "@heddle/runtime/aliases";
import { readSettingsFile } from "./config/file.ts";
import { heddleHome } from "./config/home.ts";
import { type Config, type ConfigInput, readConfig, type ScopedRule, UNTRUSTED, withoutTools } from "./config/read.ts";
import type { Choice, TrustPlace, TrustQuestion } from "./config/trust.ts";
import { type Credentials, compatible, credentials, helperTtl, refuseBadCompatible, refuseBadUrl } from "./credentials.ts";
import { DEFAULT_PROVIDER, FIRST_PARTY, firstParty, STRUCTURED } from "./first-party.ts";
import { isUnasked, sandboxOptions } from "./host-sandbox.ts";
import type { Io } from "./io.ts";
import { type KeyHelper, keyHelper } from "./key-helper.ts";
import type { SetupArgs } from "./options.ts";
import { ripgrepPath } from "./ripgrep.ts";
import { entryOf, thirdParty } from "./third-party.ts";

export const DEFAULT_MODEL: string = NEWEST.sonnet;
/** Of models of Anthropic, where they are what a name without a provider means. */
const ALIASES = { default: DEFAULT_MODEL, ...NEWEST, "opus[1m]": NEWEST.opus, "sonnet[1m]": NEWEST.sonnet };
const GATES = "@heddle/permissions";

/** What is fixed before a runtime starts. */
export type Plan = {
  config: Config;
  cwd: string;
  userDir: string;
  provider: string;
  /** No alias any more. */
  model: string;
  modelAliases: Readonly<Record<string, string>>;
  fallbackModels: readonly string[];
  /** Of the servers that speak OpenAI's APIs, by provider. */
  compatible: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
  permissionMode: string;
  credentials: Credentials;
  candidates: Candidate[];
  /** About plugins that were not even read. */
  problems: readonly Problem[];
  withoutTools: string[];
};
/** What the demo changes. */
export type Overrides = {
  /** Any provider may be asked for later: in a log, by a command, or to list them. */
  everyProvider?: boolean;
  /** A new session begins at once: what it will need of the folder can be read meanwhile. */
  prewarm?: boolean;
  provider?: string;
  model?: string;
  /** The JSON Schema of the answer. */
  schema?: object;
  /** Options of plugins, by package name. */
  options?: Readonly<Record<string, unknown>>;
  /** Read no settings files. */
  bare?: boolean;
  /** Somebody is there who can be asked whether the folder is trusted. */
  askTrust?: (question: TrustQuestion) => Promise<Choice>;
};
type Reading = Pick<Overrides, "bare" | "askTrust"> & Pick<ConfigInput, "judge">;
export function configOf(args: Pick<SetupArgs, "settings" | "trust">, io: Io, over: Reading = {}): Promise<Config> {
  const { bare = false, askTrust } = over;
  const judge: NonNullable<ConfigInput["judge"]> = async (files) => {
    // Most folders want nothing, and then nothing more is loaded.
    if (files.every((f) => Object.keys(f.settings).length === 0) && !existsSync(join(io.cwd, ".heddle", "plugins")))
      return { trusted: false, rules: new Set(), notices: [] };
    return (await import("./config/trust.ts")).judge(trustPlace(io), files, askTrust);
  };
  return readConfig({
    judge: over.judge ?? judge,
    cwd: io.cwd,
    userDir: io.userDir,
    env: io.env,
    trust: args.trust,
    managed: bare ? [] : managedFiles(process.platform),
    ...(args.settings === undefined ? {} : { settings: args.settings }),
    read: (path, pipes) => (bare ? undefined : readSettingsFile(path, pipes)),
    realpath(path) {
      try {
        return realpathSync(path);
      } catch {
        return path;
      }
    },
  });
}

export const trustPlace = ({ cwd, userDir, env }: Pick<Io, "cwd" | "userDir" | "env">): TrustPlace => ({
  ...{ cwd, userDir },
  home: heddleHome(env, userDir),
});

/** Where whoever runs the machine puts settings. */
function managedFiles(platform: string): string[] {
  const folders: { readonly [platform: string]: readonly string[] } = {
    darwin: ["/Library/Application Support/ClaudeCode", "/Library/Application Support/heddle"],
    win32: ["C:\\Program Files\\ClaudeCode", "C:\\Program Files\\heddle"],
  };
  return (folders[platform] ?? ["/etc/claude-code", "/etc/heddle"]).map((dir) => join(dir, "managed-settings.json"));
}

/** Reads settings and finds plugins; runs none of their code. */
export async function planOf(args: SetupArgs, io: Io, over: Overrides = {}): Promise<Plan> {
  const config = await configOf(args, io, over);
  const provider = over.provider ?? config.provider.name ?? DEFAULT_PROVIDER;
  const found = credentials(config, io.env);
  const { helper, ...given } = found;
  const modelAliases = { ...(provider === DEFAULT_PROVIDER ? ALIASES : {}), ...config.modelAliases };
  const meaning = (name: string): string => meaningOf(modelAliases, name);
  for (const circle of circlesOf(modelAliases))
    config.notices.push(`modelAliases: ${circle.join(" → ")} leads in a circle and names no model: let one of them name a model`);
  const model = meaning(over.model ?? args.model ?? (io.env["ANTHROPIC_MODEL"] || config.model) ?? DEFAULT_MODEL);
  const fallbackModels = args.fallbackModels ?? config.fallbackModels;
  const providersOf = (names: readonly string[]): string[] => names.flatMap((name) => meaning(name).match(/^[^/]+(?=\/)/)?.[0] ?? []);
  const named = [provider, ...providersOf([model, ...fallbackModels])];
  if (over.provider === undefined) refuseBadUrl(found, config, io.env);
  if (named.includes("openai")) refuseBadCompatible(config, io.env);
  const deny = denyRules(args, config, io);
  const permissionMode = args.permissionMode ?? config.permissionMode ?? "default";
  const rg = ripgrepPath(io.env);
  const chosen = ownOptions(config);
  const options: Record<string, unknown> = {
    "@heddle/permissions": gateOptions(args, config, io),
    "@heddle/commands": { models: known(modelAliases, config.models, meaning) },
    "@heddle/tools": { home: io.userDir, ...(rg ? { ripgrep: rg } : {}), ...sandboxOptions(config) },
    "@heddle/compaction": { dir: join(config.home, "results") },
    "@heddle/context": {
      home: io.userDir,
      platform: process.platform,
      ...(over.prewarm ? { prewarm: io.cwd } : {}),
      ...(args.systemPrompt === undefined ? {} : { systemPrompt: args.systemPrompt }),
      ...(args.appendSystemPrompt === undefined ? {} : { appendSystemPrompt: args.appendSystemPrompt }),
    },
    "@heddle/attachments": { home: io.userDir, deny: readPatterns(deny) },
    "@heddle/provider-anthropic": {
      ...(config.thinking === undefined ? {} : { thinking: config.thinking }),
      ...config.provider.options["anthropic"],
      ...given,
      ...keySource(helper, config, io),
    },
    "@heddle/provider-openai": compatible(config, io.env),
    [STRUCTURED]: { schema: over.schema },
    ...over.options,
  };
  const unused = new Set([provider === "replay" ? "@heddle/provider-anthropic" : "@heddle/provider-replay"]);
  if (
    !over.everyProvider &&
    [...named, ...providersOf(Object.keys(modelAliases))].every((name) => name === DEFAULT_PROVIDER || name === "replay")
  )
    unused.add("@heddle/provider-openai");
  const disabled = new Set(config.disabledPlugins);
  if (over.schema) disabled.delete(STRUCTURED);
  else unused.add(STRUCTURED);
  if (disabled.delete(GATES)) config.notices.push(`${GATES} cannot be switched off; "permissions" in the settings says what it allows`);
  for (const [name, more] of Object.entries(chosen))
    options[name] = { ...(options[name] as object | undefined), ...(more as object | undefined) };
  const own = firstParty(options, new Set([...unused, ...disabled]));
  const others = args.safe ? { candidates: [], problems: [] } : await thirdParty(config, io.cwd, io.userDir);
  return {
    config,
    cwd: io.cwd,
    userDir: io.userDir,
    provider,
    model,
    modelAliases,
    fallbackModels,
    compatible: compatible(config, io.env),
    permissionMode,
    credentials: found,
    candidates: [...own, ...others.candidates.filter((c) => !disabled.has(c.id))],
    problems: others.problems,
    withoutTools: withoutTools(deny),
  };
}

/** Further folders of the workspace, absolute. */
export const directoriesOf = ({ config, cwd }: Plan, { addDir }: Pick<SetupArgs, "addDir">): string[] =>
  [...config.directories, ...addDir].map((d) => resolve(cwd, d));

type RuleText = { rule: string; source: string; root: string };
type RuleArgs = Pick<SetupArgs, "allowedTools" | "disallowedTools">;
/** What the gate is told: the rules of all settings and flags. */
export type GateOptions = { home: string; bypass: boolean; sandboxed: boolean; allow: RuleText[]; ask: RuleText[]; deny: RuleText[] };
export function gateOptions(args: RuleArgs, config: Config, io: Pick<Io, "cwd" | "userDir">): GateOptions {
  const { rules, failClosed, noBypass } = config;
  const allow = [...rules.allow, ...flagRules(args.allowedTools, "--allowedTools", io.cwd)];
  const unread = failClosed ? [{ rule: "(unreadable settings)", source: "settings", root: io.cwd }] : [];
  return {
    home: io.userDir,
    bypass: !noBypass,
    sandboxed: isUnasked(config),
    allow: allow.map(ruleText),
    ask: rules.ask.map(ruleText),
    deny: [...denyRules(args, config, io).map(ruleText), ...unread],
  };
}

const denyRules = (args: RuleArgs, config: Config, io: Pick<Io, "cwd">): ScopedRule[] => [
  ...config.rules.deny,
  ...flagRules(args.disallowedTools, "--disallowedTools", io.cwd),
];

/** It runs in the user's folder, where no project can put anything in its way. */
function keySource(command: string | undefined, config: Config, io: Io): { apiKey?: KeyHelper } {
  if (command === undefined) return {};
  const { ttlMs, notice } = helperTtl(config, io.env);
  if (notice !== undefined) config.notices.push(notice);
  const run: Processes["run"] = async (o) => (await import("@heddle/runtime/node")).nodeProcesses().run(o);
  return { apiKey: keyHelper({ command, cwd: io.userDir, env: config.env, ttlMs, run, now: Date.now }) };
}

/** What the person should know of settings and plugins before anything runs. */
export function noticesOf(plan: Plan): string[] {
  const { config } = plan;
  const how = `heddle trust, --trust, or "trustedFolders" in ${join(config.home, "settings.json")}, trusts this folder`;
  return [
    ...config.notices,
    ...(config.failClosed
      ? ["a settings file that may hold deny rules cannot be read: every tool call is asked for until it is mended"]
      : []),
    ...notUsed(config.withheld),
    ...(config.withheld.some((w) => w.why === UNTRUSTED) ? [how] : []),
    ...plan.problems.map((p) => p.message),
  ];
}

/** A line for each, and what is not used of one file together. */
export function notUsed(withheld: Config["withheld"]): string[] {
  return [...new Set(withheld.map((w) => w.from))].flatMap((from) => {
    const all = withheld.filter((w) => w.from === from);
    const [first] = all;
    if (all.length === 1) return [`not used: ${first!.what === undefined ? from : `${first!.what} of ${from}`}: ${first!.why}`];
    return [`not used of ${from}:`, ...all.map(({ what = "itself", why }) => `- ${what}: ${why}`)];
  });
}

/** Names that a person may choose from, each with the model that it means. */
function known(aliases: Plan["modelAliases"], models: Config["models"], meaning: (name: string) => string): Record<string, string> {
  return Object.fromEntries([...Object.keys(aliases), ...Object.keys(models)].map((name) => [name, meaning(name)]));
}

function flagRules(rules: readonly string[], from: string, dir: string): ScopedRule[] {
  return rules.map((rule) => ({ rule, scope: "flag", from, dir }));
}
const ruleText = ({ rule, from, dir }: ScopedRule): RuleText => ({
  rule: typeof rule === "string" ? rule : `(${JSON.stringify(rule)})`,
  source: from,
  root: dir,
});

/** What `@file` must not bring in either. */
const readPatterns = (deny: readonly ScopedRule[]): string[] =>
  deny.flatMap((d) => (typeof d.rule === "string" ? (/^Read\((.+)\)$/.exec(d.rule.trim())?.[1] ?? []) : []));

/** Options that the user's settings give to heddle's own plugins; a project may give none. */
function ownOptions(config: Config): Record<string, unknown> {
  const options: Record<string, unknown> = {};
  config.plugins = config.plugins.filter(({ entry, scope }) => {
    const named = entryOf(entry);
    if (named.package === undefined || !FIRST_PARTY.includes(named.package)) return true;
    if (scope !== "project" && scope !== "local") options[named.package] = named.options;
    else
      config.withheld.push({
        what: `options of ${named.package}`,
        from: "this project",
        why: "a project may not change heddle's own plugins",
      });
    return false;
  });
  return options;
}
