/** The flags, as data, and what they say once they are parsed. */
import type { Options } from "yargs";
import { UsageError } from "./exit.ts";
import { ruleList } from "./rule-list.ts";

export const PERMISSION_MODES = ["default", "acceptEdits", "plan", "dontAsk", "bypassPermissions"] as const;
export const EFFORTS = ["low", "medium", "high", "xhigh", "max"] as const;
const FORMATS = ["text", "json", "stream-json"] as const;
export type OutputFormat = (typeof FORMATS)[number];

/** Flags of everything that starts a runtime. */
export const SETUP_OPTIONS = {
  settings: { type: "string", describe: "Settings file, or JSON, on top of the others", group: "Setup:" },
  safe: { type: "boolean", describe: "Load heddle's own plugins only", group: "Setup:" },
  trust: { type: "boolean", describe: "Let this project's plugins run and its settings allow things", group: "Setup:" },
  model: { type: "string", describe: "Model to use", group: "Setup:" },
  "fallback-model": { type: "string", describe: "Models to ask, in this order, when the model is overloaded or refuses", group: "Setup:" },
  effort: { type: "string", choices: EFFORTS, describe: "How much the model thinks", group: "Setup:" },
  "permission-mode": { type: "string", choices: PERMISSION_MODES, describe: "How tool calls are judged", group: "Setup:" },
  allowedTools: { type: "string", array: true, nargs: 1, describe: 'Rules that allow, as in "Read Bash(git log:*)"', group: "Setup:" },
  disallowedTools: { type: "string", array: true, nargs: 1, describe: "Rules that deny", group: "Setup:" },
  "append-system-prompt": { type: "string", describe: "Text after the system prompt", group: "Setup:" },
  "system-prompt": { type: "string", describe: "Text in place of the system prompt", group: "Setup:" },
  "add-dir": { type: "string", array: true, nargs: 1, describe: "Another folder to work in", group: "Setup:" },
} as const satisfies Record<string, Options>;

/** Flags of a session. */
export const SESSION_OPTIONS = {
  print: { alias: "p", type: "boolean", describe: "Print the answer and leave", group: "Session:" },
  "output-format": { type: "string", choices: FORMATS, describe: "What -p prints", group: "Session:" },
  "input-format": { type: "string", choices: ["text", "stream-json"], describe: "What stdin holds", group: "Session:" },
  continue: { alias: "c", type: "boolean", describe: "Go on with the newest session of this folder", group: "Session:" },
  resume: {
    alias: "r",
    type: "string",
    describe: "Go on with a session, by its id or a beginning of it; without one, list them",
    group: "Session:",
  },
  "json-schema": {
    type: "string",
    describe: "JSON Schema (draft 2020-12), or a file of one, that the answer of -p has to satisfy",
    group: "Session:",
  },
  "max-budget-usd": { type: "number", describe: "Call no model once the session has cost so much", group: "Session:" },
  "ask-budget-usd": {
    type: "number",
    describe: "Ask before the session costs more, and again each time it has cost so much more",
    group: "Session:",
  },
  "max-turns": { type: "number", describe: "Most model calls per prompt", group: "Session:" },
  "permission-prompt-tool": {
    type: "string",
    choices: ["stdio"],
    describe: "stdio: ask for permission with can_use_tool requests (stream-json)",
    group: "Session:",
  },
  verbose: { type: "boolean", describe: "Say more on stderr; with json, print every message", group: "Session:" },
} as const satisfies Record<string, Options>;

export type Argv = Readonly<Record<string, unknown>>;
export type SetupArgs = {
  settings?: string;
  safe: boolean;
  trust: boolean;
  model?: string;
  fallbackModels?: string[];
  effort?: (typeof EFFORTS)[number];
  permissionMode?: string;
  allowedTools: string[];
  disallowedTools: string[];
  appendSystemPrompt?: string;
  systemPrompt?: string;
  addDir: string[];
};
export type SessionArgs = SetupArgs & {
  prompt: string;
  print: boolean;
  outputFormat: OutputFormat;
  inputFormat: "text" | "stream-json";
  continue: boolean;
  /** Empty: the person has to choose. */
  resume?: string;
  jsonSchema?: string;
  maxTurns?: number;
  maxBudgetUsd?: number;
  askBudgetUsd?: number;
  /** Whoever writes to stdin decides on tool calls. */
  asksHost: boolean;
  verbose: boolean;
};

export function setupArgs(argv: Argv): SetupArgs {
  const list = (key: string): string[] => ((argv[key] as string[] | undefined) ?? []).map((v) => needed(key, v));
  return {
    ...optional("settings", argv["settings"]),
    ...optional("model", argv["model"]),
    ...(argv["fallback-model"] === undefined ? {} : { fallbackModels: namesOf("fallback-model", argv["fallback-model"]) }),
    ...(argv["effort"] === undefined ? {} : { effort: needed("effort", argv["effort"]) as (typeof EFFORTS)[number] }),
    ...optional("permissionMode", argv["permission-mode"], "permission-mode"),
    ...optional("appendSystemPrompt", argv["append-system-prompt"], "append-system-prompt"),
    ...optional("systemPrompt", argv["system-prompt"], "system-prompt"),
    safe: argv["safe"] === true,
    trust: argv["trust"] === true,
    allowedTools: ruleList(list("allowedTools")),
    disallowedTools: ruleList(list("disallowedTools")),
    addDir: list("add-dir"),
  };
}

/** Throws a {@link UsageError} for what cannot go together. */
export function sessionArgs(argv: Argv): SessionArgs {
  const words = [...((argv["prompt"] as string[] | undefined) ?? []), ...((argv["--"] as string[] | undefined) ?? [])];
  const maxTurns = argv["max-turns"];
  if (maxTurns !== undefined && !(Number.isInteger(maxTurns) && (maxTurns as number) > 0))
    throw new UsageError("--max-turns needs a whole number above 0");
  const args: SessionArgs = {
    ...setupArgs(argv),
    prompt: words.join(" "),
    print: argv["print"] === true,
    outputFormat: (argv["output-format"] as OutputFormat | undefined) ?? "text",
    inputFormat: (argv["input-format"] as SessionArgs["inputFormat"] | undefined) ?? "text",
    continue: argv["continue"] === true,
    ...(typeof argv["resume"] === "string" ? { resume: argv["resume"] } : {}),
    ...optional("jsonSchema", argv["json-schema"], "json-schema"),
    ...(maxTurns === undefined ? {} : { maxTurns: maxTurns as number }),
    ...aboveZero("maxBudgetUsd", argv, "max-budget-usd"),
    ...aboveZero("askBudgetUsd", argv, "ask-budget-usd"),
    asksHost: argv["permission-prompt-tool"] !== undefined,
    verbose: argv["verbose"] === true,
  };
  if (args.continue && args.resume !== undefined) throw new UsageError("--continue and --resume exclude each other: give one of them");
  if (args.asksHost && args.inputFormat !== "stream-json")
    throw new UsageError("--permission-prompt-tool needs --input-format stream-json");
  if (args.inputFormat === "stream-json") {
    if (args.outputFormat !== "stream-json") throw new UsageError("--input-format stream-json needs --output-format stream-json");
    if (args.prompt !== "") throw new UsageError("with --input-format stream-json the prompts come from stdin: leave the prompt out");
  }
  return args;
}

function optional<K extends string>(key: K, value: unknown, flag: string = key): { [P in K]?: string } {
  return (value === undefined ? {} : { [key]: needed(flag, value) }) as { [P in K]?: string };
}
function aboveZero<K extends string>(key: K, argv: Argv, flag: string): { [P in K]?: number } {
  const value = argv[flag] as number | undefined;
  if (value !== undefined && !(value > 0 && Number.isFinite(value))) throw new UsageError(`--${flag} needs a number above 0`);
  return (value === undefined ? {} : { [key]: value }) as { [P in K]?: number };
}
function namesOf(flag: string, value: unknown): string[] {
  const names = needed(flag, value)
    .split(",")
    .flatMap((name) => name.trim() || []);
  if (names.length === 0) throw new UsageError(`--${flag} needs a value`);
  return names;
}
function needed(flag: string, value: unknown): string {
  if (typeof value !== "string" || value === "") throw new UsageError(`--${flag} needs a value`);
  return value;
}
