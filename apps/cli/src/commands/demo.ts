/** `heddle demo`: one real turn on a small project, with replies from a tape: no key, no network. */
import { spawnSync } from "node:child_process";
import { cpSync, existsSync, mkdtempSync, readdirSync, readFileSync, realpathSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import { type Message, type RuntimeEvent, textOf } from "@heddle/kernel/protocol";
import { explain } from "@heddle/runtime";
import { createTwoFilesPatch } from "diff";
import { demoAssets } from "../assets.ts";
import { openEngine } from "../engine.ts";
import { CliError, EXIT, type ExitCode } from "../exit.ts";
import { callLine } from "../faces/call-line.ts";
import { failureOf } from "../faces/result.ts";
import { type Io, say } from "../io.ts";
import { setupArgs } from "../options.ts";
import { plain } from "../plain.ts";

export const DEMO_PROMPT = "The tests of this project fail. Find out why, fix the code, and run the tests again.";
const MODEL = "tape";

export async function demo(io: Io): Promise<ExitCode> {
  const { project, tape } = demoAssets();
  if (!existsSync(project)) throw new CliError("the demo project is missing: install heddle again");
  const cwd = realpathSync(mkdtempSync(join(tmpdir(), "heddle-demo-")));
  cpSync(project, cwd, { recursive: true });
  repository(cwd);
  const write = (text: string): void => void io.stdout.write(`${plain(text)}\n`);
  write(`This is heddle's demo: the model's replies come from a tape, and everything else is real.\nFolder: ${cwd}\n\n> ${DEMO_PROMPT}\n`);

  const args = { ...setupArgs({}), safe: true, permissionMode: "acceptEdits", allowedTools: ["Bash(node --test:*)"] };
  const over = { provider: "replay", model: MODEL, bare: true, options: { "@heddle/provider-replay": { tape } } };
  const engine = await openEngine(args, { ...io, cwd }, { headless: true, over });
  const { session } = engine;
  const said = engine.notices.length;
  for (const notice of engine.notices) say(io, notice);
  const events: RuntimeEvent[] = [];
  session.subscribe((event) => {
    events.push(event);
    if (event.type === "tool.started") write(`· ${callLine(event.call.tool, event.call.input, cwd)}`);
  });
  io.signal.addEventListener("abort", () => session.abort("interrupted"), { once: true });
  const turn = await session.submit({ text: DEMO_PROMPT, source: "repl" });
  await engine.dispose();

  write(`\n${turn.text}\n\n${changes(project, cwd)}\n`);
  write(explain(events));
  for (const notice of engine.notices.slice(said)) say(io, notice);
  const kept = session.path === null || !existsSync(session.path) ? "" : `\nThe session is kept: cd ${cwd} && heddle explain`;
  write(`That was the demo, in ${cwd}.${kept}\nTo work on your own project, set ANTHROPIC_API_KEY and run heddle there.`);
  const failure = failureOf(turn) ?? lastRun(turn.messages);
  if (failure !== undefined) say(io, failure);
  return failure === undefined ? EXIT.done : EXIT.failed;
}

/** A tape says what it says: whether the tests really passed, their own run tells. */
function lastRun(messages: readonly Message[]): string | undefined {
  const last = messages.findLast((m) => m.role === "tool");
  if (last?.outcome === "ok") return undefined;
  return `the tests could not be run here: ${last ? textOf(last.content) : "no tool ran"}`;
}

/** A repository of its own, where git is there; without it the demo works as well. */
function repository(cwd: string): void {
  const env = { ...process.env, GIT_CONFIG_GLOBAL: "/dev/null", GIT_CONFIG_NOSYSTEM: "1" };
  const git = (...args: string[]): boolean =>
    spawnSync("git", ["-c", "user.name=heddle", "-c", "user.email=demo@heddle.invalid", ...args], { cwd, env, stdio: "ignore" }).status ===
    0;
  if (git("init", "--quiet")) git("add", "--all") && git("commit", "--quiet", "--message", "The project as it came");
}

/** What is different from the project as it was shipped. */
function changes(before: string, after: string): string {
  const text = (root: string, file: string): string => (existsSync(join(root, file)) ? readFileSync(join(root, file), "utf8") : "");
  const names = [...new Set([...files(before), ...files(after)])].sort();
  return names
    .filter((name) => text(before, name) !== text(after, name))
    .map((name) => createTwoFilesPatch(`a/${name}`, `b/${name}`, text(before, name), text(after, name)).replace(/^=+\n/, "").trimEnd())
    .join("\n");
}

function files(root: string): string[] {
  return readdirSync(root, { withFileTypes: true, recursive: true })
    .filter((e) => e.isFile())
    .map((e) => relative(root, join(e.parentPath ?? e.path, e.name)))
    .filter((name) => !name.startsWith(".git/"));
}
