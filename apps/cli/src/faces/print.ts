/** One prompt, one answer: text, one JSON object, or a line of JSON for each message. */
import { randomUUID } from "node:crypto";
import { notAttached } from "@heddle/attachments/reference";
import type { Decision, Message, RuntimeEvent } from "@heddle/kernel/protocol";
import { RETRIES, standingOf } from "@heddle/structured-output/standing";
import { type Engine, openEngine } from "../engine.ts";
import { EXIT, type ExitCode, UsageError } from "../exit.ts";
import { type Io, say } from "../io.ts";
import type { OutputFormat, SessionArgs } from "../options.ts";
import { plain, plainJson } from "../plain.ts";
import { readText } from "../stdin.ts";
import { callLine } from "./call-line.ts";
import { faultText } from "./fault.ts";
import { ForkView } from "./forks.ts";
import { hintFor } from "./hint.ts";
import { type Answered, exitOf, failureOf, printedOf, wireResult } from "./result.ts";
import { retryText } from "./retry.ts";
import { type WireMessage, wireEvent, wireMessages } from "./wire.ts";

/** How long to wait for a first byte of stdin when the command line has a prompt already. */
const PATIENCE_MS = 3_000;

export async function print(args: SessionArgs, io: Io): Promise<ExitCode> {
  const prompt = await promptOf(args, io);
  const hint = hintFor(prompt);
  if (hint !== undefined) throw new UsageError(hint);
  const engine = await openEngine(args, io, { headless: true });
  const printer = new Printer(engine, io, args.outputFormat, args.verbose);
  const code = await printer.turn({ text: prompt, source: "sdk" });
  await engine.dispose();
  return code;
}

/** The words of the command line, then what was piped in. */
async function promptOf(args: SessionArgs, io: Io): Promise<string> {
  const none = 'no prompt: heddle -p "what to do", or pipe one in';
  if (io.stdin.isTTY) {
    if (args.prompt.trim() === "") throw new UsageError(none);
    return args.prompt;
  }
  io.signal.addEventListener("abort", () => io.stdin.destroy(), { once: true });
  const piped = await readText(io.stdin, args.prompt === "" ? null : PATIENCE_MS);
  if (io.signal.aborted) return "";
  if (piped === undefined) say(io, "nothing came through stdin in 3 s, going on without it (</dev/null says so at once)");
  const prompt = [args.prompt, piped?.trimEnd() ?? ""].filter((t) => t.trim() !== "").join("\n\n");
  if (prompt === "") throw new UsageError(none);
  return prompt;
}

/** Prints turns of one session. */
export class Printer {
  readonly #engine: Engine;
  readonly #io: Io;
  readonly #format: OutputFormat;
  readonly #verbose: boolean;
  /** With `json` and `verbose`: what will be printed as one array. */
  readonly #all: WireMessage[] = [];
  readonly #printed = new Set<string>();
  readonly #faults = new Set<string>();
  readonly #forks = new ForkView();
  readonly #denied = new Map<string, Decision>();
  /** What the turn has added so far. */
  #added: Message[] = [];
  #said = 0;

  constructor(engine: Engine, io: Io, format: OutputFormat, verbose: boolean) {
    this.#engine = engine;
    this.#io = io;
    this.#format = format;
    this.#verbose = verbose;
    this.#notices();
    io.signal.addEventListener("abort", () => engine.session.abort("interrupted"), { once: true });
    engine.session.subscribe((event) => this.#show(event));
  }

  async turn(input: {
    text: string;
    source: "sdk";
    images?: readonly { type: "image"; mimeType: string; data: string }[];
  }): Promise<ExitCode> {
    const { session } = this.#engine;
    if (this.#io.signal.aborted) return EXIT.failed;
    this.#wire(this.#engine.init(randomUUID()));
    this.#added = [];
    const ran = await session.submit(input);
    const turn = this.#engine.structured ? { ...ran, structured: standingOf(ran.messages) } : ran;
    for (const message of turn.messages) this.#message(message);
    this.#notices();
    this.#end(turn);
    return exitOf(turn);
  }
  /** A line that belongs to no turn. */
  informational(level: "info" | "warning" | "error", content: string): void {
    this.#wire({ type: "system", subtype: "informational", content, level, session_id: this.#engine.session.id, uuid: randomUUID() });
  }

  /** An input that cannot be read: no turn of it begins. */
  unread(why: string, waits: boolean): ExitCode {
    this.informational("error", why);
    if (!waits) return EXIT.failed;
    const none = { turn: "", ms: 0, apiMs: 0, steps: 0, messages: [], text: "", usage: { input: 0, output: 0 }, denials: [] };
    const result = wireResult({ ...none, outcome: { kind: "blocked", why } }, this.#engine.session, randomUUID());
    this.#wire({ ...result, terminal_reason: "turn_setup_failed" });
    return EXIT.failed;
  }

  #end(turn: Answered): void {
    const result = wireResult(turn, this.#engine.session, randomUUID());
    if (this.#format === "stream-json") this.#wire(result);
    else if (this.#format === "json") this.#json(this.#verbose ? [...this.#all, result] : result);
    else this.#text(turn);
  }
  #text(turn: Answered): void {
    const failure = failureOf(turn);
    for (const { tool, callId, input } of turn.denials)
      say(this.#io, `denied: ${callLine(tool, input, this.#engine.cwd)} ${this.#whyDenied(callId)}`);
    const { outcome, structured } = turn;
    const fits = failure === undefined && structured?.value !== undefined;
    // Of an answer that is not whole there is still what there is, unless it had to satisfy a schema.
    const plain = structured && failure !== undefined ? undefined : printedOf(turn);
    const answer = fits ? JSON.stringify(structured.value) : plain;
    if (answer !== undefined) this.#answer(answer.trim() === "" && outcome.kind === "handled" ? `/${outcome.command}: done.` : answer);
    if (failure !== undefined && !(outcome.kind === "failed" && this.#faults.has(outcome.fault.message))) say(this.#io, failure);
  }
  #answer(text: string): void {
    // What reads a pipe gets the bytes; what a terminal gets must not steer it.
    const safe = this.#io.stdout.isTTY ? plain(text) : text;
    this.#io.stdout.write(safe.endsWith("\n") ? safe : `${safe}\n`);
  }
  /** Flags help only where nothing but an answer was missing. */
  #whyDenied(callId: string): string {
    const decision = this.#denied.get(callId);
    if (decision?.by === "user") return "(--allowedTools or --permission-mode allow it)";
    return `(${[decision?.rule, decision?.why?.replace(/^Denied: /, "")].filter(Boolean).join(": ")})`;
  }
  /** A session finds out only when it writes its log that it cannot. */
  #notices(): void {
    const { notices } = this.#engine;
    for (const notice of notices.slice(this.#said)) say(this.#io, notice);
    this.#said = notices.length;
  }
  #show(event: RuntimeEvent): void {
    const within = this.#forks.see(event);
    if (within?.event.type === "message.added" && within.callId !== undefined) this.#message(within.event.message, within.callId);
    if (event.type === "message.added") {
      this.#message(event.message);
      const without = notAttached(event.message);
      if (without !== undefined) say(this.#io, without);
      if (this.#engine.structured) this.#judge(event.message);
    }
    if (event.type === "model.retry" && this.#format === "text") say(this.#io, retryText(event));
    if (this.#format !== "text") for (const wire of wireEvent(event, this.#engine.session.id, randomUUID)) this.#wire(wire);
    if (event.type === "fault") {
      this.#faults.add(event.fault.message);
      say(this.#io, faultText(event.fault));
    }
    if (event.type === "tool.decided" && event.decision.say === "deny") this.#denied.set(event.decision.callId, event.decision);
    if (this.#verbose && event.type === "tool.started") say(this.#io, callLine(event.call.tool, event.call.input, this.#engine.cwd));
    if (this.#verbose && event.type === "tool.finished" && event.outcome !== "ok") say(this.#io, `${event.tool}: ${event.outcome}`);
  }
  /** A model that gives one answer after the other that does not fit is asked no more. */
  #judge(message: Message): void {
    this.#added.push(message);
    const { value, missed } = standingOf(this.#added);
    if (value === undefined && missed > RETRIES) this.#engine.session.abort("no answer fits --json-schema");
  }
  /** `parent`: the call that started the sub-agent; of that, what it and its tools say. */
  #message(message: Message, parent: string | null = null): void {
    if (this.#format === "text" || this.#printed.has(message.id) || (parent !== null && message.role === "system")) return;
    this.#printed.add(message.id);
    for (const wire of wireMessages(message, this.#engine.session.id, randomUUID, parent)) this.#wire(wire);
  }
  #wire(message: WireMessage): void {
    if (this.#format === "stream-json") this.#json(message);
    else if (this.#format === "json" && this.#verbose) this.#all.push(message);
  }
  #json(value: unknown): void {
    this.#io.stdout.write(`${plainJson(value)}\n`);
  }
}
