/** The process port on Node: each command in a group of its own, which is ended as a whole; bounded output; nobody to answer a prompt. */
import { type ChildProcess, spawn } from "node:child_process";
import { StringDecoder } from "node:string_decoder";
import { setTimeout as sleep } from "node:timers/promises";
import type { Processes, ProcessOptions, ProcessResult } from "@heddle/kernel";
import { HeadTail } from "./output.ts";
import { Spool } from "./spool.ts";
import { hasVariable, membersOf, signalGroup, signalOne, signalTree } from "./tree.ts";

const MAX_BYTES = 1024 * 1024;
/** Between the polite signal and the other one. */
const KILL_MS = 1_500;
/** How long what a command leaves running may still write before nobody listens any more. */
const LINGER_MS = 200;
/** How often, and how many times, it is looked whether all of a killed command are gone. */
const GONE_MS = 10;
const GONE_TRIES = 100;

/** In the environment of every command, so that what outlives a killed heddle can be found. */
const MARK = `HEDDLE_PID=${process.pid}`;

/** Heddle's own credentials: no command of a model or a hook gets them. */
const SECRET = /^(ANTHROPIC_|OPENAI_API_KEY$|OPENROUTER_API_KEY$|CLAUDE_CODE_OAUTH_TOKEN$|HEDDLE_.*(KEY|TOKEN|SECRET|PASSWORD))/i;
/** What a person's shell exports to change the shells below it: options, search paths for cd, start-up files, replaced builtins. */
const SHELL_HABITS =
  /^(SHELLOPTS|BASHOPTS|BASH_ENV|ENV|CDPATH|GLOBIGNORE|POSIXLY_CORRECT|PROMPT_COMMAND|PS4|BASH_FUNC_(cd|command|eval|exec|exit|jobs|printf|pwd|read|rm|set|trap)%%)$/;
/** There is no terminal behind a command; whatever would wait for a person must fail or go on instead. */
const NON_INTERACTIVE: Readonly<Record<string, string>> = {
  TERM: "dumb",
  EDITOR: "true",
  VISUAL: "true",
  GIT_EDITOR: "true",
  GIT_SEQUENCE_EDITOR: "true",
  GIT_TERMINAL_PROMPT: "0",
  GCM_INTERACTIVE: "never",
  SSH_ASKPASS_REQUIRE: "never",
  PAGER: "cat",
  GIT_PAGER: "cat",
  MANPAGER: "cat",
  SYSTEMD_PAGER: "cat",
  DEBIAN_FRONTEND: "noninteractive",
  PIP_NO_INPUT: "1",
};

/** `hide`: further variables that commands do not get. */
export type ProcessesOptions = { readonly env?: NodeJS.ProcessEnv; readonly hide?: readonly string[] };

export function environmentFor(o: ProcessesOptions, more: Readonly<Record<string, string>> = {}): Record<string, string> {
  const kept = Object.entries(o.env ?? process.env).filter(
    (pair): pair is [string, string] =>
      pair[1] !== undefined && !SECRET.test(pair[0]) && !SHELL_HABITS.test(pair[0]) && !o.hide?.includes(pair[0]),
  );
  return { ...Object.fromEntries(kept), ...NON_INTERACTIVE, HEDDLE_PID: String(process.pid), ...more };
}

export function nodeProcesses(o: ProcessesOptions = {}): Processes {
  const running = new Running();
  return {
    async run(options) {
      if (options.sandbox) throw Object.assign(new Error("this host has no sandbox"), { code: "ENOSANDBOX" });
      if (options.signal?.aborted) return notStarted();
      return new Run(options, environmentFor(o, options.env), running).result;
    },
  };
}

/** What dies with this process, should it end before it: commands that run, and what ended commands left running. */
class Running {
  readonly #groups = new Set<number>();
  /** Those of them that have ended. */
  readonly #left = new Set<number>();
  /** Their groups are empty, but a process in another group may still be there; the numbers may by now be those of strangers. */
  readonly #gone = new Set<number>();
  readonly #onExit = (): void => {
    for (const leader of this.#groups) signalGroup(leader, "SIGKILL");
    for (const { pid, leader } of membersOf(new Set([...this.#groups, ...this.#gone])))
      if (this.#groups.has(leader) || hasVariable(pid, MARK)) signalOne(pid, "SIGKILL");
  };
  add(leader: number): void {
    for (const old of this.#left) if (!signalGroup(old, 0)) this.#empty(old);
    if (this.#groups.size + this.#gone.size === 0) process.once("exit", this.#onExit);
    this.#gone.delete(leader);
    this.#groups.add(leader);
  }
  /** The command has ended; a group that is still there stays in the book. */
  ended(leader: number): void {
    if (signalGroup(leader, 0)) this.#left.add(leader);
    else this.#empty(leader);
  }
  #empty(leader: number): void {
    this.#left.delete(leader);
    this.#groups.delete(leader);
    this.#gone.add(leader);
  }
}

const notStarted = (): ProcessResult => ({
  exitCode: null,
  signal: null,
  stdout: "",
  stderr: "",
  output: "",
  droppedBytes: 0,
  ended: "abort",
});

class Run {
  readonly result: Promise<ProcessResult>;
  readonly #o: ProcessOptions;
  readonly #running: Running;
  readonly #child: ChildProcess;
  readonly #stdout: HeadTail;
  readonly #stderr: HeadTail;
  readonly #both: HeadTail;
  readonly #spool: Spool | undefined;
  readonly #timers: NodeJS.Timeout[] = [];
  #ended: ProcessResult["ended"] = "exit";
  #finished = false;
  #resolve!: (result: ProcessResult) => void;
  #reject!: (error: Error) => void;

  constructor(o: ProcessOptions, env: Record<string, string>, running: Running) {
    this.#o = o;
    this.#running = running;
    const max = o.maxBytes ?? MAX_BYTES;
    [this.#stdout, this.#stderr, this.#both] = [new HeadTail(max), new HeadTail(max), new HeadTail(max)];
    this.#spool = o.spool === undefined ? undefined : new Spool(o.spool, max);
    this.result = new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
    const stdin = o.stdin === undefined ? "ignore" : "pipe";
    this.#child = spawn(o.command, [...(o.args ?? [])], {
      cwd: o.cwd,
      env,
      detached: true,
      stdio: [stdin, "pipe", "pipe"],
      windowsHide: true,
    });
    this.#watch();
  }
  #watch(): void {
    const { pid, stdin, stdout, stderr } = this.#child;
    this.#child.once("error", (error) => this.#fail(error));
    if (pid === undefined) return;
    this.#running.add(pid);
    this.#listen(stdout!, "stdout", this.#stdout);
    this.#listen(stderr!, "stderr", this.#stderr);
    stdin?.on("error", () => {}); // it may end without reading all of it
    stdin?.end(this.#o.stdin);
    const onAbort = (): void => this.#kill(pid, "abort");
    this.#o.signal?.addEventListener("abort", onAbort, { once: true });
    if (this.#o.timeoutMs !== undefined) this.#timers.push(setTimeout(() => this.#kill(pid, "timeout"), this.#o.timeoutMs));
    const onExit = (): void => {
      this.#o.signal?.removeEventListener("abort", onAbort);
      if (this.#ended === "exit") this.#clear(); // it has ended by itself, whatever it leaves running
    };
    const finish = (): void => {
      onExit();
      void this.#finish(pid);
    };
    const linger = (): void => void this.#timers.push(setTimeout(finish, LINGER_MS));
    this.#child.once("exit", () => {
      onExit();
      if (this.#spool) this.#spool.free(linger);
      else linger();
    });
    this.#child.once("close", finish);
  }
  #listen(from: NodeJS.ReadableStream, name: "stdout" | "stderr", kept: HeadTail): void {
    const decoder = new StringDecoder("utf8");
    const spool = name === "stdout" ? this.#spool : undefined;
    const take = (text: string): void => {
      if (text === "") return;
      const bytes = Buffer.from(text);
      kept.push(bytes);
      this.#both.push(bytes);
      this.#o.onOutput?.(text, name);
    };
    from.on("data", (chunk: Buffer) => {
      spool?.push(chunk);
      take(decoder.write(chunk));
      if (!spool?.full) return;
      from.pause();
      spool.free(() => from.resume());
    });
    from.once("end", () => take(decoder.end()));
    from.on("error", () => {});
  }
  #kill(pid: number, why: "timeout" | "abort"): void {
    if (this.#ended !== "exit") return;
    this.#ended = why;
    signalTree(pid, "SIGTERM");
    this.#timers.push(setTimeout(() => signalTree(pid, "SIGKILL"), KILL_MS));
  }
  #fail(error: Error): void {
    this.#clear();
    this.#reject(error);
  }
  async #finish(pid: number): Promise<void> {
    if (this.#finished) return;
    this.#finished = true;
    this.#clear();
    this.#child.stdout?.destroy();
    this.#child.stderr?.destroy();
    if (this.#ended !== "exit") await killed(pid);
    await this.#spool?.end();
    this.#running.ended(pid);
    this.#resolve({
      exitCode: this.#child.exitCode,
      signal: this.#child.signalCode,
      stdout: this.#stdout.text(),
      stderr: this.#stderr.text(),
      output: this.#both.text(),
      droppedBytes: this.#both.dropped,
      ended: this.#ended,
    });
  }
  #clear(): void {
    for (const timer of this.#timers) clearTimeout(timer);
  }
}

/** Kills whoever has not taken the hint, and comes back when all are gone, at the latest after a second. */
async function killed(leader: number): Promise<void> {
  for (let tries = 0; tries < GONE_TRIES && signalTree(leader, "SIGKILL"); tries++) await sleep(GONE_MS);
}
