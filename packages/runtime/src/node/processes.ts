/** The process port on Node: each command in a group of its own, which is ended as a whole; bounded output; nobody to answer a prompt. */
import { type ChildProcess, spawn } from "node:child_process";
import { StringDecoder } from "node:string_decoder";
import type { Processes, ProcessOptions, ProcessResult } from "@heddle/kernel";
import { HeadTail } from "./output.ts";

const MAX_BYTES = 1024 * 1024;
/** Between the polite signal and the other one. */
const KILL_MS = 1_500;
/** How long what a command leaves running may still write before nobody listens any more. */
const LINGER_MS = 200;

/** Heddle's own credentials: no command of a model or a hook gets them. */
const SECRET = /^(ANTHROPIC_|OPENAI_API_KEY$|OPENROUTER_API_KEY$|CLAUDE_CODE_OAUTH_TOKEN$|HEDDLE_.*(KEY|TOKEN|SECRET|PASSWORD))/i;
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
    (pair): pair is [string, string] => pair[1] !== undefined && !SECRET.test(pair[0]) && !o.hide?.includes(pair[0]),
  );
  return { ...Object.fromEntries(kept), ...NON_INTERACTIVE, ...more };
}

export function nodeProcesses(o: ProcessesOptions = {}): Processes {
  const running = new Running();
  return {
    async run(options) {
      if (options.signal?.aborted) return notStarted();
      return new Run(options, environmentFor(o, options.env), running).result;
    },
  };
}

/** Groups that die with this process, should it end before them: those of commands that run, and what ended commands left running. */
class Running {
  readonly #pids = new Set<number>();
  readonly #left = new Set<number>();
  readonly #onExit = (): void => {
    for (const pid of this.#pids) signalGroup(pid, "SIGKILL");
  };
  add(pid: number): void {
    for (const old of this.#left) if (!signalGroup(old, 0)) this.#delete(old);
    if (this.#pids.size === 0) process.once("exit", this.#onExit);
    this.#pids.add(pid);
  }
  /** The command has ended; a group that is still there stays in the book. */
  ended(pid: number): void {
    if (signalGroup(pid, 0)) this.#left.add(pid);
    else this.#delete(pid);
  }
  #delete(pid: number): void {
    this.#left.delete(pid);
    this.#pids.delete(pid);
    if (this.#pids.size === 0) process.removeListener("exit", this.#onExit);
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

/** False when nobody is left in the group. */
function signalGroup(pid: number, signal: NodeJS.Signals | 0): boolean {
  try {
    process.kill(-pid, signal);
    return true;
  } catch {
    return false;
  }
}

class Run {
  readonly result: Promise<ProcessResult>;
  readonly #o: ProcessOptions;
  readonly #running: Running;
  readonly #child: ChildProcess;
  readonly #stdout: HeadTail;
  readonly #stderr: HeadTail;
  readonly #both: HeadTail;
  readonly #timers: NodeJS.Timeout[] = [];
  #ended: ProcessResult["ended"] = "exit";
  #resolve!: (result: ProcessResult) => void;
  #reject!: (error: Error) => void;

  constructor(o: ProcessOptions, env: Record<string, string>, running: Running) {
    this.#o = o;
    this.#running = running;
    const max = o.maxBytes ?? MAX_BYTES;
    [this.#stdout, this.#stderr, this.#both] = [new HeadTail(max), new HeadTail(max), new HeadTail(max)];
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
      this.#finish(pid);
    };
    this.#child.once("exit", () => {
      onExit();
      this.#timers.push(setTimeout(finish, LINGER_MS));
    });
    this.#child.once("close", finish);
  }
  #listen(from: NodeJS.ReadableStream, name: "stdout" | "stderr", kept: HeadTail): void {
    const decoder = new StringDecoder("utf8");
    const take = (text: string): void => {
      if (text === "") return;
      kept.push(text);
      this.#both.push(text);
      this.#o.onOutput?.(text, name);
    };
    from.on("data", (chunk: Buffer) => take(decoder.write(chunk)));
    from.once("end", () => take(decoder.end()));
    from.on("error", () => {});
  }
  #kill(pid: number, why: "timeout" | "abort"): void {
    if (this.#ended !== "exit") return;
    this.#ended = why;
    signalGroup(pid, "SIGTERM");
    this.#timers.push(setTimeout(() => signalGroup(pid, "SIGKILL"), KILL_MS));
  }
  #fail(error: Error): void {
    this.#clear();
    this.#reject(error);
  }
  #finish(pid: number): void {
    if (this.#ended !== "exit") signalGroup(pid, "SIGKILL"); // whoever of the group has not taken the hint
    this.#clear();
    this.#running.ended(pid);
    this.#child.stdout?.destroy();
    this.#child.stderr?.destroy();
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
