/** The command line: which command, which flags, and what to load for it. */
import { statSync } from "node:fs";
import { resolve } from "node:path";
import yargs, { type Options, type Argv as Yargs } from "yargs";
import { EXIT, type ExitCode, UsageError } from "./exit.ts";
import type { Io } from "./io.ts";
import { type Argv, SESSION_OPTIONS, SETUP_OPTIONS, sessionArgs, setupArgs } from "./options.ts";
import { VERSION } from "./version.ts";
import { type Flags, partWords } from "./words.ts";

const SAME: Flags = { help: { alias: "h", type: "boolean" }, version: { alias: "v", type: "boolean" } };

const EXPLAIN_OPTIONS = {
  ...SETUP_OPTIONS,
  dry: { type: "string", describe: "Print the request that this prompt would send; nothing is sent" },
  json: { type: "boolean", describe: "Print JSON" },
  session: { type: "string", describe: "Session id, or a beginning of it; else the newest of this folder" },
} as const;
const PLUGINS_OPTIONS = { ...SETUP_OPTIONS, json: EXPLAIN_OPTIONS.json } as const;

const RULES = { type: "string", array: true, nargs: 1 } as const;
const PERMISSIONS_OPTIONS = {
  ...SETUP_OPTIONS,
  mode: { type: "string", describe: "Permission mode to check under" },
  allow: { ...RULES, describe: "One more rule that allows" },
  ask: { ...RULES, describe: "One more rule that asks" },
  deny: { ...RULES, describe: "One more rule that denies" },
  json: EXPLAIN_OPTIONS.json,
  jsonl: { type: "boolean", describe: "Answer each line of stdin, {command, rules, mode, cwd}, with a line" },
} as const;

const TRUST_OPTIONS = {
  settings: SETUP_OPTIONS.settings,
  remove: { type: "boolean", describe: "Trust it no longer" },
} as const;

const SUBCOMMANDS: Readonly<Record<string, Record<string, Options>>> = {
  demo: {},
  explain: EXPLAIN_OPTIONS,
  plugins: PLUGINS_OPTIONS,
  permissions: PERMISSIONS_OPTIONS,
  trust: TRUST_OPTIONS,
  doctor: SETUP_OPTIONS,
};

type Work = (argv: Argv) => Promise<ExitCode>;
/** `words`: how many words the command itself is. */
type Handle = (flags: Flags, words: number, work: Work) => (parsed: Argv) => Promise<void>;

/** Runs one command. Throws a {@link UsageError} for a command line that makes no sense. */
export async function run(argv: readonly string[], io: Io): Promise<ExitCode> {
  let code: ExitCode = EXIT.done;
  const handle: Handle = (flags, words, work) => async (given) => {
    const parsed = lastOnes(given, flags);
    const extra = [...(parsed["_"] as unknown[]).slice(words), ...(words > 0 ? ((parsed["--"] as unknown[] | undefined) ?? []) : [])];
    if (extra.length > 0) throw new UsageError(`one word too many: ${extra.join(" ")} (heddle --help)`);
    refuseNoFolder(parsed["add-dir"], io.cwd);
    if (parsed["version"] === true) io.stdout.write(`${VERSION}\n`);
    else code = await work(parsed);
  };
  // A subcommand is the first word or none: anywhere else such a word is part of a prompt.
  const name = argv[0] ?? "";
  const isSub = Object.hasOwn(SUBCOMMANDS, name);
  const flags: Flags = isSub ? SUBCOMMANDS[name]! : { ...SETUP_OPTIONS, ...SESSION_OPTIONS };
  // A prompt of this one word is a request for help; as the last word of a longer one it is none.
  const parted = argv.length === 1 && name === "help" ? ["--help"] : partWords(argv, { ...flags, ...SAME }, !isSub);
  const y = yargs(parted) as Yargs;
  y.scriptName("heddle")
    .parserConfiguration({
      "camel-case-expansion": false,
      "boolean-negation": false,
      "dot-notation": false,
      "parse-positional-numbers": false,
      "populate--": true,
    })
    // Known before anything is parsed: else `-p explain` would be a flag with a value.
    .options(flags)
    .command(
      "$0 [prompt..]",
      "Start a session, or answer one prompt",
      (c) => c.positional("prompt", { type: "string", array: true, describe: "What to do" }),
      handle(flags, 0, async (a) => (await import("./session.ts")).session(sessionArgs(a), io)),
    );
  if (isSub || parted.includes("--help")) subcommands(y, handle, io);
  await y
    .version(false)
    .option("version", { alias: "v", type: "boolean", describe: "Print the version" })
    .help()
    .alias("help", "h")
    .wrap(Math.min(100, io.stdout.columns ?? 100))
    .exitProcess(false)
    .showHelpOnFail(false)
    // Without a throw here yargs would go on and run the handler.
    .fail((message, error) => {
      throw error && error.name !== "YError"
        ? error
        : new UsageError(`${(message || error.message).split("\n").filter(Boolean).join(" ").replace(/\s+/g, " ")} (heddle --help)`);
    })
    .parseAsync();
  return code;
}

function subcommands(y: Yargs, handle: Handle, io: Io): void {
  y.command(
    "demo",
    "See a real turn on a small project, without a key",
    (c) => c,
    handle({}, 1, async () => (await import("./commands/demo.ts")).demo(io)),
  )
    .command(
      "explain [turn]",
      "Show what each part of a turn did",
      (c) => c.positional("turn", { type: "string", describe: "Turn number from 1, or from the end as -1" }),
      handle(EXPLAIN_OPTIONS, 1, async (a) =>
        (await import("./commands/explain.ts")).explainCommand(
          setupArgs(a),
          { ...textOf(a, "turn"), ...textOf(a, "dry"), ...textOf(a, "session"), json: a["json"] === true },
          io,
        ),
      ),
    )
    .command(
      "plugins <what> [name]",
      "List plugins, check them, or ask who owns a name",
      (c) =>
        c
          .positional("what", { type: "string", choices: ["list", "check", "why"] as const, describe: "What to do" })
          .positional("name", { type: "string", describe: "For why: a tool, a command, …" }),
      handle(PLUGINS_OPTIONS, 1, async (a) =>
        (await import("./commands/plugins.ts")).plugins(
          setupArgs(a),
          { what: String(a["what"]), ...textOf(a, "name"), json: a["json"] === true },
          io,
        ),
      ),
    )
    .command(
      "permissions <what> [subject]",
      "Say what would be decided on a command or a tool call",
      (c) =>
        c
          .positional("what", { type: "string", choices: ["check"] as const, describe: "What to do" })
          .positional("subject", { type: "string", describe: "A shell command, or Tool(input)" }),
      handle(PERMISSIONS_OPTIONS, 1, async (a) =>
        (await import("./commands/permissions.ts")).permissions(
          setupArgs(a),
          {
            ...textOf(a, "subject"),
            ...textOf(a, "mode"),
            allow: listOf(a, "allow"),
            ask: listOf(a, "ask"),
            deny: listOf(a, "deny"),
            json: a["json"] === true,
            jsonl: a["jsonl"] === true,
          },
          io,
        ),
      ),
    )
    .command(
      "trust [folder]",
      "Trust what the settings and plugins of a folder want now",
      (c) => c.positional("folder", { type: "string", describe: "Else the one you are in" }),
      handle(TRUST_OPTIONS, 1, async (a) =>
        (await import("./commands/trust.ts")).trust({ ...textOf(a, "folder"), ...textOf(a, "settings"), remove: a["remove"] === true }, io),
      ),
    )
    .command(
      "doctor",
      "Check that heddle has what it needs",
      (c) => c,
      handle(SETUP_OPTIONS, 1, async (a) => (await import("./commands/doctor.ts")).doctor(setupArgs(a), io)),
    );
}

/** Of a flag that is given twice the last one counts, unless it is a list. */
function lastOnes(argv: Argv, flags: Flags): Argv {
  const last = ([key, value]: [string, unknown]): [string, unknown] => {
    const flag = flags[key];
    return [key, Array.isArray(value) && flag && !("array" in flag) ? value.at(-1) : value];
  };
  return Object.fromEntries(Object.entries(argv).map(last));
}

const textOf = <K extends string>(argv: Argv, key: K): { [P in K]?: string } =>
  (typeof argv[key] === "string" ? { [key]: argv[key] } : {}) as { [P in K]?: string };

const listOf = (argv: Argv, key: string): string[] => (argv[key] as string[] | undefined) ?? [];

function refuseNoFolder(given: unknown, cwd: string): void {
  for (const dir of (given as string[] | undefined) ?? [])
    if (!statSync(resolve(cwd, dir), { throwIfNoEntry: false })?.isDirectory())
      throw new UsageError(`--add-dir ${dir}: there is no such folder`);
}
