/** The allow rules that would spare the person a question like the one that is about to be asked: as narrow as can be, or none. */
import { relative, resolve, sep } from "node:path";
import type { Effect, Verdict } from "@heddle/kernel/plugin";
import { CHANGERS, runsWhatItIsTold } from "./cover.ts";
import { explain, type Subject } from "./decide.ts";
import type { Mode } from "./modes.ts";
import type { Place } from "./paths.ts";
import { unwrapped } from "./programs/wrappers.ts";
import { FILE_TOOLS } from "./rule.ts";
import { type Rules, readRules } from "./rules.ts";
import type { Part } from "./shell/narrow.ts";
import { baseName, canonical } from "./shell/text.ts";
import type { ShellCommand } from "./shell-command.ts";

/** A longer rule is nothing that a person would read. */
const MAX_RULE = 300;
const MAX_RULES = 8;
/** What they run stands in a file, in their arguments, or on another machine. */
const INTERPRETERS =
  /^(ba|z|da|k|c|tc|a|fi)?sh$|^(python|pypy|node|nodejs|deno|bun|perl|ruby|php|lua|luajit|tclsh|Rscript|julia|java|groovy|elixir|osascript|pwsh|powershell|cmd|awk|gawk|mawk|sed|ssh|expect|gdb|ts-node|tsx|npx|bunx|uvx|pipx|corepack|busybox|script|parallel|entr|strace|ltrace|su|runuser|pkexec|systemd-run|tmux|screen|at|unshare|chroot|nsenter|bwrap|docker|podman|kubectl)[\d.]*$/;
const RUNNING = /^((npm|pnpm|yarn) (exec|x|dlx|create|init)|(uv|poetry|pipenv) run|(uv|dotnet) tool)$/;
/** Further words after these do not make them run or write anything else. */
const OPEN_ENDED: readonly string[] = ["git add", "git commit"];

/** For a verdict that asks. Every rule is needed, and together they allow the call in this mode, which is tried before they are offered. */
export async function offerFor(
  call: Subject,
  effects: readonly Effect[],
  { rules, mode, place }: { readonly rules: Rules; readonly mode: Mode; readonly place: Place },
  asked: Verdict,
): Promise<readonly string[]> {
  if (asked.say !== "ask" || asked.rule !== `mode ${mode}`) return [];
  const explained = async (texts: readonly string[]) => {
    const more = readRules({ allow: texts.map((rule) => ({ rule, source: "offer" })), ask: [], deny: [] }, place.home);
    return explain(call, effects, { ...rules, allow: [...rules.allow, ...more.rules.allow] }, mode, place);
  };
  const { commands } = await explained([]);
  const found = call.tool === "Bash" ? await ofCommands(commands, rules) : ofEffects(call.tool, effects, place);
  const all = [...new Set(found ?? [])];
  if (all.length === 0 || all.length > MAX_RULES || all.some((r) => r.length > MAX_RULE || UNCLEAR.test(r))) return [];
  return (await explained(all)).verdict.say === "allow" ? all : [];
}

/** What a person does not see as it is, or would read as more than one thing. */
const UNCLEAR = /\p{C}|\p{Zl}|\p{Zp}|(?! )\p{Zs}/u;

/** One rule for each simple command that is not covered; undefined when one of them must always be asked for. */
async function ofCommands(commands: readonly ShellCommand[], rules: Rules): Promise<readonly string[] | undefined> {
  const parts: Part[] = [];
  for (const command of commands) parts.push(...(await command.open({ allow: rules.allow, bounds: [], edits: false })));
  const offered = parts.map(ofPart);
  return offered.every((r) => r !== undefined) ? offered : undefined;
}

function ofPart({ words }: Part): string | undefined {
  if (words.length === 0 || unwrapped(words).length > 1 || words.some((w) => w.glob || w.unknown || /[*()]/.test(w.text))) return undefined;
  const texts = words.map((w) => w.text);
  const [program = "", verb = ""] = texts;
  const name = baseName(program);
  if (CHANGERS.includes(name) || INTERPRETERS.test(name) || RUNNING.test(`${name} ${verb}`) || runsWhatItIsTold([name, ...texts.slice(1)]))
    return undefined;
  const start = `${program} ${verb}`;
  return OPEN_ENDED.includes(start) ? `Bash(${start} *)` : `Bash(${canonical(texts)})`;
}

function ofEffects(tool: string, effects: readonly Effect[], { cwd }: Place): readonly string[] | undefined {
  const offered = effects.map(({ kind, target }) => {
    const access = FILE_TOOLS[tool];
    if (kind === "network" && tool === "WebFetch")
      return URL.canParse(target) && !target.includes("*") ? `WebFetch(domain:${new URL(target).hostname})` : undefined;
    if (access === undefined || kind !== access) return undefined;
    const path = relative(cwd, resolve(target)).split(sep).join("/");
    // what a pattern would read as more than this one file
    if (path === "" || /[*?[\]\\!#()]|\s$/.test(path)) return undefined;
    if (access === "write") return path.startsWith("../") ? undefined : `Edit(/${path})`;
    return tool === "Read" ? `Read(/${resolve(target)})` : undefined;
  });
  return offered.every((r) => r !== undefined) ? offered : undefined;
}
