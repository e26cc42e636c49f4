/** The tool Monitor: tells the session of lines that match, while a command in the background writes them. */
import { defineTool, PROCESS, SESSION, type Tool, type ToolContext, type ToolOutput, z } from "@heddle/kernel/plugin";
import { failed, plural } from "../answer.ts";
import { lenient } from "../input.ts";
import { prompts } from "../prompts.generated.ts";
import { leanSchema } from "../schema.ts";
import { cutLine } from "../text.ts";
import type { BackgroundRuns } from "./background.ts";
import { unknown } from "./bash-output.ts";
import { type Matched, matcherOf } from "./lines.ts";
import type { Watcher } from "./run.ts";

const EVERY_MS = 2_000;
const MAX_TELLS = 20;
/** Per message. */
const MAX_LINES = 20;
const MAX_LINE = 500;
/** Characters of output that may wait to be looked at. */
const MAX_WAITING = 256 * 1024;
const MAX_TIMEOUT = 2 ** 31 - 1;

const input = lenient({ bash_id: z.string(), pattern: z.string().min(1), timeout: z.number().min(1).optional() });
type Input = z.output<typeof input>;

export const monitorTool = (background: BackgroundRuns, ripgrep: string): Tool =>
  defineTool({
    name: "Monitor",
    description: prompts.monitor,
    input,
    jsonSchema: () => leanSchema(input),
    deferred: true,
    overlap: "shared",
    effects: () => [],
    run: (i, ctx) => monitor(i, ctx, background, ripgrep),
  });

async function monitor(i: Input, ctx: ToolContext, background: BackgroundRuns, ripgrep: string): Promise<ToolOutput> {
  const { id: sessionId, cwd } = ctx.session;
  const entry = background.get(sessionId, i.bash_id);
  if (!entry) return unknown(background, sessionId, i.bash_id);
  const { run } = entry;
  if (run.ended !== undefined) return failed(`${i.bash_id} has ended: ${run.ended}. BashOutput shows what it wrote.`);
  const match = matcherOf(ctx.capability(PROCESS), ripgrep, cwd, i.pattern);
  const { problem } = await match("");
  if (problem !== undefined) return failed(problem);
  const { tell } = ctx.capability(SESSION);
  const say = (text: string): void => background.tell(sessionId, (t) => tell(t, { isMeta: true }), text);
  const watching = new Watching(i.bash_id, match, say, () => run.watchers.delete(watching));
  run.watchers.add(watching);
  if (i.timeout !== undefined) watching.endAfter(Math.min(MAX_TIMEOUT, i.timeout));
  watching.push(run.waiting());
  return { content: `You are told of lines that match, until ${i.bash_id} ends.` };
}

/** One message for what comes within two seconds, and a bounded number of them. */
class Watching implements Watcher {
  #text = "";
  #dropped = false;
  #tells = 0;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #limit: ReturnType<typeof setTimeout> | undefined;
  #looking: Promise<void> = Promise.resolve();

  constructor(
    private readonly id: string,
    private readonly match: (text: string) => Promise<Matched>,
    private readonly say: (text: string) => void,
    private readonly leave: () => void,
  ) {}
  push(text: string): void {
    this.#text += text;
    if (this.#text.length > MAX_WAITING) {
      this.#text = this.#text.slice(-MAX_WAITING);
      this.#dropped = true;
    }
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined;
      this.#look(this.#text.lastIndexOf("\n") + 1);
    }, EVERY_MS);
  }
  endAfter(ms: number): void {
    this.#limit = setTimeout(() => void this.#stop(`its time is over`), ms);
  }
  /** The command has ended. */
  async end(): Promise<void> {
    clearTimeout(this.#timer);
    clearTimeout(this.#limit);
    this.#look(this.#text.length);
    await this.#looking;
  }
  #look(length: number): void {
    const lines = this.#text.slice(0, length);
    this.#text = this.#text.slice(length);
    if (lines !== "") this.#looking = this.#looking.then(() => this.#tellOf(lines));
  }
  async #tellOf(text: string): Promise<void> {
    if (this.#tells >= MAX_TELLS) return;
    const { lines, problem } = await this.match(text);
    if (problem !== undefined) return this.#stop(problem);
    if (lines.length === 0) return;
    const more = lines.length > MAX_LINES ? [`[... and ${plural(lines.length - MAX_LINES, "more line")}]`] : [];
    const gap = this.#dropped ? " (some output came too fast to be looked at)" : "";
    this.#dropped = false;
    this.say([`[Monitor of ${this.id}${gap}:]`, ...lines.slice(0, MAX_LINES).map((line) => cutLine(line, MAX_LINE)), ...more].join("\n"));
    if (++this.#tells >= MAX_TELLS) this.#stop(`it has told ${MAX_TELLS} times; BashOutput shows the rest`);
  }
  #stop(why: string): void {
    this.leave();
    clearTimeout(this.#timer);
    clearTimeout(this.#limit);
    this.#tells = MAX_TELLS;
    this.say(`[The Monitor of ${this.id} has stopped: ${why}.]`);
  }
}
