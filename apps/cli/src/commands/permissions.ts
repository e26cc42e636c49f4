/** `heddle permissions check`: what would be decided on a command or a tool call, and which rule decides; nothing is run. */
import { resolve } from "node:path";
import { createInterface } from "node:readline";
import { type Checked, check, MODES, type Mode, type RuleText } from "@heddle/permissions";
import { nodeFiles } from "@heddle/runtime/node";
import * as z from "zod";
import { CliError, EXIT, type ExitCode, UsageError } from "../exit.ts";
import { type Io, say } from "../io.ts";
import type { SetupArgs } from "../options.ts";
import { plainJson, plainLine } from "../plain.ts";
import { configOf, gateOptions } from "../plan.ts";

type Lists = { readonly [list in "allow" | "ask" | "deny"]: readonly string[] };
type Ask = Lists & { readonly subject?: string; readonly mode?: string; readonly json: boolean; readonly jsonl: boolean };

const list = z.array(z.string()).default([]);
const Line = z.object({
  command: z.string(),
  rules: z.object({ allow: list, ask: list, deny: list }).partial().default({}),
  mode: z.string().default("default"),
  cwd: z.string().optional(),
});

export async function permissions(args: SetupArgs, ask: Ask, io: Io): Promise<ExitCode> {
  if (ask.jsonl) {
    if (ask.subject !== undefined) throw new UsageError("with --jsonl the questions come from stdin: leave the command out");
    return answerLines(io);
  }
  if (ask.subject === undefined) throw new UsageError("heddle permissions check 'COMMAND or Tool(input)': what to check");
  const config = await configOf(args, io);
  for (const notice of config.notices) say(io, notice);
  const { allow, ask: asks, deny, home, bypass } = gateOptions(args, config, io);
  const more = texts(ask, "the command line", io.cwd);
  const mode = modeOf(ask.mode ?? args.permissionMode ?? config.permissionMode ?? "default");
  const checked = await check({
    what: ask.subject,
    rules: { allow: [...allow, ...more.allow], ask: [...asks, ...more.ask], deny: [...deny, ...more.deny] },
    mode: mode === "bypassPermissions" && !bypass ? "default" : mode,
    cwd: io.cwd,
    directories: [...config.directories, ...args.addDir].map((dir) => resolve(io.cwd, dir)),
    home,
    fs: nodeFiles(),
  });
  for (const report of checked.reports) say(io, report);
  io.stdout.write(`${ask.json ? plainJson(answer(checked), 2) : lines(checked)}\n`);
  return EXIT.done;
}

/** One answer for each line, in order, each as soon as it is known. Rules of a line count as those of the project. */
async function answerLines(io: Io): Promise<ExitCode> {
  const fs = nodeFiles();
  let number = 0;
  for await (const text of createInterface({ input: io.stdin, crlfDelay: Number.POSITIVE_INFINITY })) {
    number++;
    if (text.trim() === "") continue;
    const { command, rules, mode, cwd = io.cwd } = lineOf(text, number);
    const { allow = [], ask = [], deny = [] } = rules;
    const at = resolve(io.cwd, cwd);
    const checked = await check({
      what: command,
      rules: texts({ allow, ask, deny }, "the line", at),
      mode: modeOf(mode),
      cwd: at,
      home: io.userDir,
      fs,
    });
    io.stdout.write(`${JSON.stringify(answer(checked))}\n`);
  }
  return EXIT.done;
}

function lineOf(text: string, number: number): z.infer<typeof Line> {
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch (error) {
    throw new CliError(`line ${number} of stdin is not JSON: ${(error as Error).message}`);
  }
  const line = Line.safeParse(json);
  if (line.success) return line.data;
  const issue = line.error.issues[0]!;
  throw new CliError(`line ${number} of stdin: ${issue.path.join(".")}: ${issue.message}`);
}

const answer = ({ reports: _, ...rest }: Checked): Omit<Checked, "reports"> => rest;

const texts = (lists: Lists, source: string, root: string): { [list in keyof Lists]: RuleText[] } => {
  const of = (rules: readonly string[]): RuleText[] => rules.map((rule) => ({ rule, source, root }));
  return { allow: of(lists.allow), ask: of(lists.ask), deny: of(lists.deny) };
};

function modeOf(name: string): Mode {
  const mode = name === "manual" ? "default" : MODES.find((m) => m === name);
  if (!mode) throw new UsageError(`there is no permission mode "${name}": it is one of ${MODES.join(", ")}`);
  return mode;
}

function lines({ decision, rule, reason, commands, effects }: Checked): string {
  return [
    `${decision}: ${plainLine(reason, 2000)}`,
    ...(rule === reason || rule === "" ? [] : [`decided by: ${plainLine(rule, 500)}`]),
    ...commands.map((c) => `command: ${plainLine(c, 500)}`),
    ...effects.map((e) => `${e.kind}: ${plainLine(e.target, 500)}`),
  ].join("\n");
}
