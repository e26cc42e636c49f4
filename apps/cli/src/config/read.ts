/** The one reader of configuration: finds the settings files, merges them by rank, and takes from a project only what it may say. */
import { dirname, join, resolve } from "node:path";
import { meaningOf } from "@heddle/runtime/aliases";
import { UsageError } from "../exit.ts";
import { COMPATIBLE, DEFAULT_PROVIDER, OWN_PROVIDERS } from "../first-party.ts";
import { bareTool } from "../rule-list.ts";
import { heddleHome } from "./home.ts";
import { mergeSandbox, noSandbox, type Sandbox } from "./sandbox.ts";
import type { PluginEntry, Settings } from "./settings.ts";

export type Scope = "user" | "project" | "local" | "flag" | "managed";
/** A file that was read, or that could not be. `theirs`: of another program. */
export type Source = { scope: Scope; path: string; dir: string; theirs?: boolean };
export type ScopedRule = { rule: unknown; scope: Scope; from: string; dir: string };

/** Why a project does not get what trust would give it. */
export const UNTRUSTED = "the folder is not trusted (--trust)";
export type Withheld = { what?: string; from: string; why: string };

export type Config = {
  home: string;
  rules: { allow: ScopedRule[]; ask: ScopedRule[]; deny: ScopedRule[] };
  permissionMode?: string;
  /** Some settings switch the mode bypassPermissions off. */
  noBypass: boolean;
  directories: string[];
  model?: string;
  effort?: NonNullable<Settings["effort"]>;
  /** Whether models that can do with or without shall think. */
  thinking?: boolean;
  /** Both from the user's own files only: names that stand for a model, and what is known of one by `provider/name`. */
  modelAliases: Record<string, string>;
  models: NonNullable<Settings["models"]>;
  /** Asked in this order when a model cannot be. */
  fallbackModels: string[];
  maxBudgetUsd?: number;
  askBudgetUsd?: number;
  recovery: NonNullable<Settings["recovery"]>;
  /** Hosts of a private network that may be reached all the same; from the user's own files only. */
  allowPrivate: string[];
  sandbox: Sandbox;
  /** In the order in which they are loaded; `dir` is what paths are relative to. */
  plugins: { entry: PluginEntry; scope: Scope; dir: string }[];
  disabledPlugins: string[];
  /** `options` by the name of a provider. */
  provider: { name?: string; options: Record<string, Record<string, unknown>> };
  /** A shell command that prints an API key; from the user's own files only. */
  apiKeyHelper?: string;
  /** From the user's own files only. */
  env: Record<string, string>;
  /** Whether the project's plugins may run and its rules may loosen. */
  trusted: boolean;
  /** What the project wanted and did not get: a key, or a file where `what` is undefined. */
  withheld: Withheld[];
  /** A file that may have held deny rules could not be read. */
  failClosed: boolean;
  /** One line each, for the person. */
  notices: string[];
};

/** A settings file of the project that is there and can be read. */
export type ProjectFile = { readonly path: string; readonly settings: Settings };
/** `rules` allow even where the folder as a whole is not trusted: the person has accepted each of them. */
export type Trust = { readonly trusted: boolean; readonly rules: ReadonlySet<unknown>; readonly notices: readonly string[] };

export type ConfigInput = {
  cwd: string;
  /** `~` */
  userDir: string;
  env: Record<string, string | undefined>;
  /** Settings of whoever runs the machine: above all others. */
  managed: readonly string[];
  /** `--settings`: a file, or JSON. */
  settings?: string;
  trust?: boolean;
  /** Asked where neither flag nor settings trust the folder; without it nothing else does. */
  judge?(files: readonly ProjectFile[]): Promise<Trust>;
  /** Undefined when there is no such file; throws when it cannot be read. `pipes`: a pipe may stand in its place. */
  read(path: string, pipes: boolean): string | undefined;
  /** The path with its links resolved; the path itself where that fails. */
  realpath(path: string): string;
};

/** Lowest rank first. What cannot be used is said in `notices`; throws a {@link UsageError} only when `--settings` names no file. */
export async function readConfig(input: ConfigInput): Promise<Config> {
  const { cwd, env, userDir } = input;
  const home = heddleHome(env, userDir);
  const claude = env["CLAUDE_CONFIG_DIR"] || join(userDir, ".claude");
  const files: Source[] = [
    { scope: "user", path: join(claude, "settings.json"), dir: claude, theirs: true },
    { scope: "user", path: join(home, "settings.json"), dir: home },
    { scope: "project", path: join(cwd, ".claude", "settings.json"), dir: cwd, theirs: true },
    { scope: "project", path: join(cwd, ".heddle", "settings.json"), dir: cwd },
    { scope: "local", path: join(cwd, ".claude", "settings.local.json"), dir: cwd, theirs: true },
    { scope: "local", path: join(cwd, ".heddle", "settings.local.json"), dir: cwd },
  ];
  const seen = new Set<string>();
  const config: Config = {
    home,
    rules: { allow: [], ask: [], deny: [] },
    noBypass: false,
    directories: [],
    modelAliases: {},
    models: {},
    fallbackModels: [],
    recovery: {},
    allowPrivate: [],
    sandbox: noSandbox(),
    plugins: [],
    disabledPlugins: [],
    provider: { options: {} },
    env: {},
    trusted: input.trust ?? false,
    withheld: [],
    failClosed: false,
    notices: [],
  };
  // A home folder that is also the working folder is the user's, not a project's.
  const unique = files.filter((f) => !seen.has(f.path) && seen.add(f.path));
  const loaded: { source: Source; settings: Settings }[] = [];
  for (const source of unique) loaded.push({ source, settings: (await load(source, input, config)) ?? {} });
  if (input.settings !== undefined) loaded.push(await flagSettings(input.settings, input, config));
  for (const path of input.managed) {
    const source: Source = { scope: "managed", path, dir: dirname(path), theirs: /claude/i.test(path) };
    loaded.push({ source, settings: (await load(source, input, config)) ?? {} });
  }
  const here = input.realpath(cwd);
  for (const { source, settings } of loaded) {
    if (!fromUser(source)) continue;
    config.trusted ||= (settings.trustedFolders ?? []).some((f) => input.realpath(expand(f, userDir)) === here);
    Object.assign(config.modelAliases, settings.modelAliases); // what a project's "model" may be depends on them
  }
  const theirs = loaded.flatMap(({ source, settings }) => (fromUser(source) ? [] : [{ path: source.path, settings }]));
  const judged = config.trusted ? undefined : await input.judge?.(theirs);
  config.trusted ||= judged?.trusted ?? false;
  config.notices.push(...(judged?.notices ?? []));
  for (const { source, settings } of loaded) merge(config, source, settings, userDir, judged?.rules);
  addModels(config);
  return config;
}

/** The loosest first. */
const MODES = ["bypassPermissions", "acceptEdits", "default", "dontAsk", "plan"];
/** What is not known counts as `default`, as it does when calls are judged. */
function isStricter(mode: string, than = "default"): boolean {
  const rank = MODES.includes(than) ? than : "default";
  return MODES.indexOf(mode) >= MODES.indexOf(rank);
}
const fromUser = ({ scope }: Source): boolean => scope === "user" || scope === "flag" || scope === "managed";
const expand = (path: string, userDir: string): string => (path === "~" || path.startsWith("~/") ? join(userDir, path.slice(1)) : path);

/** Undefined when there is no such file. */
async function load(source: Source, input: ConfigInput, config: Config): Promise<Settings | undefined> {
  let text: string | undefined;
  try {
    text = input.read(source.path, source.scope === "flag");
  } catch (error) {
    config.failClosed = true;
    config.notices.push(`${source.path}: cannot be read (${(error as Error).message}): make it readable or remove it`);
    return {};
  }
  return text === undefined ? undefined : parse(source.path, text, config, !source.theirs);
}

async function flagSettings(value: string, input: ConfigInput, config: Config): Promise<{ source: Source; settings: Settings }> {
  const inline = value.trimStart().startsWith("{");
  const source: Source = { scope: "flag", path: inline ? "--settings" : value, dir: input.cwd };
  if (inline) return { source, settings: await parse(source.path, value, config, true) };
  source.path = resolve(input.cwd, value);
  const settings = await load(source, input, config);
  if (!settings) throw new UsageError(`--settings ${value}: there is no such file`);
  return { source, settings };
}

/** `isOwn`: no file of another program, which may hold anything. */
async function parse(path: string, text: string, config: Config, isOwn: boolean): Promise<Settings> {
  // Most starts have no settings, and the parser costs more than all the rest of this file.
  const { parseSettings } = await import("./settings.ts");
  const { settings, problems, unknown } = parseSettings(text);
  for (const p of problems) {
    config.failClosed ||= p.closed;
    config.notices.push(`${path}:${p.line}:${p.column}: ${p.message}. Correct it there; heddle goes on without it`);
  }
  if (isOwn) for (const u of unknown) config.notices.push(`${path}:${u.line}:${u.column}: ${u.message}`);
  return settings;
}

const ELSEWHERE = "what names a provider says where requests go, which a project may never choose";

/** Of the provider that it names, or else of the one that is chosen. */
function addOption({ name = "anthropic", options }: Config["provider"], key: string, value: unknown): void {
  const named = OWN_PROVIDERS.includes(key) && typeof value === "object" && value !== null && !Array.isArray(value);
  const of = named ? key : name;
  options[of] = { ...options[of], ...(named ? value : { [key]: value }) };
}

/** What is said of models becomes options of their providers, which are what asks for it. */
function addModels({ models, provider, notices }: Config): void {
  for (const [key, facts] of Object.entries(models)) {
    const [of = "", ...rest] = key.split("/");
    const known = [DEFAULT_PROVIDER, ...COMPATIBLE];
    if (!known.includes(of)) {
      notices.push(
        `models.${key}: "${of}" is none of heddle's own providers (${known.join(", ")}); options of its plugin say it for another`,
      );
      continue;
    }
    const id = rest.join("/");
    const options = provider.options[of] ?? {};
    const before = options["models"] as Record<string, object> | undefined;
    provider.options[of] = { ...options, models: { ...before, [id]: { ...before?.[id], ...facts } } };
  }
}

function merge(config: Config, source: Source, settings: Settings, userDir: string, accepted: Trust["rules"] = new Set()): void {
  const mine = fromUser(source);
  const may = mine || config.trusted;
  const { permissions, plugins, disabledPlugins, model, modelAliases, models, effort, fallbackModel, recovery, provider, env } = settings;
  const { apiKeyHelper, network } = settings;
  const leadsElsewhere = (name: string): boolean => meaningOf(config.modelAliases, name).includes("/");
  const withhold = (what: string, why = UNTRUSTED): void => {
    config.withheld.push({ what, from: source.path, why });
  };
  const scoped = (list: unknown[] | undefined): ScopedRule[] =>
    (list ?? []).map((rule) => ({ rule, scope: source.scope, from: source.path, dir: source.dir }));
  config.rules.deny.push(...scoped(permissions?.deny));
  config.rules.ask.push(...scoped(permissions?.ask));
  if (permissions?.allow?.length) {
    const usable = permissions.allow.filter((rule) => may || accepted.has(rule));
    config.rules.allow.push(...scoped(usable));
    if (usable.length < permissions.allow.length) withhold("permissions.allow");
  }
  if (permissions?.additionalDirectories?.length) {
    if (may) config.directories.push(...permissions.additionalDirectories.map((d) => expand(d, userDir)));
    else withhold("permissions.additionalDirectories");
  }
  const mode = permissions?.defaultMode;
  if (mode !== undefined) {
    if (mine || isStricter(mode, config.permissionMode)) config.permissionMode = mode;
    else withhold("permissions.defaultMode", "a project may make permissions stricter and never looser");
  }
  if (permissions?.disableBypassPermissionsMode === "disable") config.noBypass = true;
  if (plugins?.length) {
    if (may) config.plugins.push(...plugins.map((entry) => ({ entry, scope: source.scope, dir: source.dir })));
    else withhold("plugins");
  }
  if (disabledPlugins?.length) {
    if (may) config.disabledPlugins.push(...disabledPlugins);
    else withhold("disabledPlugins");
  }
  if (model !== undefined) {
    if (mine || !leadsElsewhere(model)) config.model = model;
    else withhold("model", ELSEWHERE);
  }
  if (modelAliases && !mine) withhold("modelAliases", "what a name leads to is never for a project to say");
  if (models) {
    if (mine) Object.assign(config.models, models);
    else withhold("models", "what is known of a model, and what it costs, is never for a project to say");
  }
  if (effort !== undefined) config.effort = effort;
  if (settings.alwaysThinkingEnabled !== undefined) config.thinking = settings.alwaysThinkingEnabled;
  if (fallbackModel !== undefined) {
    if (mine || !fallbackModel.some(leadsElsewhere)) config.fallbackModels = fallbackModel;
    else withhold("fallbackModel", ELSEWHERE);
  }
  for (const key of ["maxBudgetUsd", "askBudgetUsd"] as const) {
    const usd = settings[key];
    if (usd === undefined) continue;
    if (mine || usd <= (config[key] ?? Number.POSITIVE_INFINITY)) config[key] = usd;
    else withhold(key, "a project may lower it and never raise it");
  }
  if (recovery) {
    if (may) Object.assign(config.recovery, recovery);
    else withhold("recovery");
  }
  if (network?.allowPrivate) {
    if (mine) config.allowPrivate.push(...network.allowPrivate);
    else withhold("network.allowPrivate", "a project may never open the network it is in");
  }
  if (settings.sandbox !== undefined) {
    const notice = (text: string): void => void config.notices.push(`${source.path}: ${text}`);
    mergeSandbox(config.sandbox, settings.sandbox, { mine, notice, withhold }, (p) => resolve(source.dir, expand(p, userDir)));
  }
  if (provider) {
    if (!mine) withhold("provider", "a project may never choose where requests go");
    else {
      if (provider.name !== undefined) config.provider.name = provider.name;
      for (const [key, value] of Object.entries(provider.options ?? {})) addOption(config.provider, key, value);
    }
  }
  if (apiKeyHelper !== undefined) {
    if (mine) config.apiKeyHelper = apiKeyHelper;
    else withhold("apiKeyHelper", "a project may never choose the key");
  }
  if (mine) Object.assign(config.env, env);
  else if (env && Object.keys(env).some((k) => /^(ANTHROPIC|OPENAI|OPENROUTER)_/.test(k)))
    withhold("env", "a project may never choose where requests go");
}

/** Tool names that the model never hears of: deny rules without parentheses. */
export const withoutTools = (deny: readonly ScopedRule[]): string[] => [
  ...new Set(deny.flatMap((d) => (typeof d.rule === "string" ? (bareTool(d.rule.trim()) ?? []) : []))),
];
