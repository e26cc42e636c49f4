/** A session in a terminal: what is typed goes in, events come out as running text. */
import type { Answer, Ask, Message, RuntimeEvent, TurnOutcome } from "@heddle/kernel/protocol";
import type { Session } from "@heddle/runtime";
import { type Engine, openEngine } from "../engine.ts";
import { EXIT, type ExitCode } from "../exit.ts";
import type { Io } from "../io.ts";
import type { SessionArgs } from "../options.ts";
import { VERSION } from "../version.ts";
import { callLine, callText } from "./call-line.ts";
import { Screen } from "./screen.ts";

const IDLE = "> ";
const BUSY = "+ ";
const ASKING = "? ";

export async function terminal(args: SessionArgs, io: Io): Promise<ExitCode> {
  const engine = await openEngine(args, io, { headless: false });
  const talk = new Talk(engine, io);
  const first = args.prompt.trim();
  if (first !== "") talk.send(first);
  await talk.over;
  await engine.dispose();
  const { session } = engine;
  if (session.path !== null && session.messages.length > 0) io.stdout.write(`Go on with this session: heddle --resume ${session.id}\n`);
  return EXIT.done;
}

type Tally = { input: number; output: number; cached: number; calls: number };

class Talk {
  readonly over: Promise<void>;
  readonly #engine: Engine;
  readonly #session: Session;
  readonly #screen: Screen;
  #leave: () => void = () => {};
  #asks: Ask[] = [];
  /** What was being typed when an ask came between. */
  #draft = "";
  #leaving = false;
  #said = 0;
  #startedAt = 0;
  #tally: Tally = { input: 0, output: 0, cached: 0, calls: 0 };

  constructor(engine: Engine, io: Io) {
    this.#engine = engine;
    this.#session = engine.session;
    this.over = new Promise((resolve) => {
      this.#leave = resolve;
    });
    const color = !io.env["NO_COLOR"] && io.env["TERM"] !== "dumb";
    this.#screen = new Screen(io.stdin as NodeJS.ReadStream, io.stdout as NodeJS.WriteStream, color, {
      line: (text) => this.#line(text),
      interrupt: (draft) => this.#interrupt(draft),
      close: () => this.#end(),
    });
    this.#screen.print(`heddle ${VERSION}`, "bold");
    this.#screen.print(`${this.#session.model} · ${engine.cwd} · permissions: ${this.#session.permissionMode}`, "dim");
    this.#screen.print("/help lists commands · Ctrl-C interrupts · /exit leaves\n", "dim");
    this.#notices();
    this.#session.subscribe((event) => this.#show(event));
    io.signal.addEventListener("abort", () => this.#end(), { once: true });
    this.#screen.prompt(IDLE);
    const waiting = this.#session.pendingInputs.map((input) => input.text).join("\n");
    if (waiting === "") return;
    this.#screen.print("typed last time and never sent:", "dim");
    this.#screen.draft(waiting);
  }

  send(text: string): void {
    void this.#session.submit({ text, source: "repl" });
  }

  #line(text: string): void {
    this.#leaving = false;
    const ask = this.#asks[0];
    if (ask) this.#answer(ask, text.trim());
    else if (text.trim() === "") this.#prompt();
    else if (!this.#session.busy) this.send(text);
    else {
      this.#session.steer({ text, source: "repl" });
      this.#screen.print("  said to the running turn at its next step", "dim");
      this.#prompt();
    }
  }
  #interrupt(draft: string): void {
    if (this.#session.busy) this.#session.abort("interrupted");
    else if (draft !== "") this.#screen.draft("");
    else if (this.#leaving) this.#end();
    else {
      this.#leaving = true;
      this.#screen.print("Ctrl-C again to leave", "dim");
    }
  }
  #end(): void {
    this.#session.abort("the session ends");
    this.#screen.close();
    this.#leave();
  }
  #prompt(): void {
    this.#screen.prompt(this.#asks.length > 0 ? ASKING : this.#session.busy ? BUSY : IDLE);
  }

  #show(event: RuntimeEvent): void {
    switch (event.type) {
      case "turn.started":
        this.#startedAt = event.at;
        this.#tally = { input: 0, output: 0, cached: 0, calls: 0 };
        this.#screen.prompt(BUSY);
        break;
      case "message.delta":
        if (event.of !== "text") break;
        this.#screen.stream(event.text);
        break;
      case "message.added":
        this.#message(event.message);
        break;
      case "model.replied": {
        const { input = 0, output = 0, cacheRead = 0, cacheWrite = 0 } = event.usage ?? {};
        const t = this.#tally;
        this.#tally = {
          input: t.input + input + cacheRead + cacheWrite,
          output: t.output + output,
          cached: t.cached + cacheRead,
          calls: t.calls + 1,
        };
        break;
      }
      case "tool.started":
        this.#screen.print(`· ${callLine(event.call.tool, event.call.input, this.#engine.cwd)}`, "dim");
        break;
      case "tool.finished":
        if (event.outcome !== "ok") this.#screen.print(`  ${event.tool}: ${event.outcome}`, "error");
        break;
      case "tool.decided":
        if (event.decision.say === "deny" && event.decision.by !== "user")
          this.#screen.print(`· ${event.decision.tool}: denied, ${event.decision.why ?? event.decision.rule ?? event.decision.by}`, "dim");
        break;
      case "ask.opened":
        this.#asks.push(event.ask);
        if (this.#asks.length === 1) this.#pose(event.ask);
        break;
      case "ask.closed":
        this.#closed(event.id);
        break;
      case "fault":
        this.#screen.print(event.fault.message, "error");
        break;
      case "session.changed":
        if (event.change.exit) this.#end();
        break;
      case "turn.ended":
        this.#ended(event.outcome, event.at);
        if (event.next && !event.next.submit) this.#screen.draft(event.next.text);
        break;
      default:
    }
  }
  #message(message: Message): void {
    if (message.role === "assistant") this.#screen.end();
    if (message.role === "system") this.#screen.print(message.text, message.level === "info" ? "plain" : "error");
  }
  #notices(): void {
    const { notices } = this.#engine;
    for (const notice of notices.slice(this.#said)) this.#screen.print(notice, "error");
    this.#said = notices.length;
  }
  #ended(outcome: TurnOutcome, at: number): void {
    this.#asks = [];
    this.#notices();
    const { calls, input, output, cached } = this.#tally;
    if (outcome.kind === "aborted") this.#screen.print("interrupted", "error");
    if (outcome.kind === "refused") this.#screen.print("The model refused to answer.", "error");
    if (outcome.kind === "step-limit") this.#screen.print(`Stopped after ${outcome.steps} model calls.`, "error");
    if (calls > 0) {
      const share = input > 0 ? ` (${Math.round((100 * cached) / input)} % cached)` : "";
      const seconds = ((at - this.#startedAt) / 1000).toFixed(1);
      this.#screen.print(`${plural(calls, "model call")} · ${input} tokens in${share} · ${output} out · ${seconds} s\n`, "dim");
    }
    this.#screen.prompt(IDLE);
  }

  #pose(ask: Ask): void {
    const draft = this.#screen.draft("");
    if (draft !== "") this.#draft = draft;
    if (ask.kind === "permission") {
      this.#screen.print(`\n${callText(ask.call.tool, ask.call.input)}`, "bold");
      this.#screen.print(`${ask.why}\nAllow? y yes · n no · or say what to do instead`, "dim");
    } else {
      this.#screen.print(`\n${ask.from} asks: ${ask.text}`, "bold");
      for (const [i, choice] of (ask.choices ?? []).entries()) this.#screen.print(`  ${i + 1} ${choice}`);
    }
    this.#screen.prompt(ASKING);
  }
  #answer(ask: Ask, text: string): void {
    const answer = ask.kind === "permission" ? permissionAnswer(text) : questionAnswer(ask.choices, text);
    if (answer) this.#session.answer(ask.id, answer);
    else this.#screen.prompt(ASKING);
  }
  #closed(id: string): void {
    this.#asks = this.#asks.filter((a) => a.id !== id);
    const next = this.#asks[0];
    if (next) this.#pose(next);
    else {
      this.#prompt();
      if (this.#draft !== "") this.#screen.draft(this.#draft);
      this.#draft = "";
    }
  }
}

/** Anything that is not clearly a yes is a no; a sentence is the reason. Undefined for nothing. */
export function permissionAnswer(text: string): Answer | undefined {
  if (text === "") return undefined;
  if (/^y(es)?$/i.test(text)) return { kind: "allow" };
  return /^no?$/i.test(text) ? { kind: "deny" } : { kind: "deny", reason: text };
}
function questionAnswer(choices: readonly string[] | undefined, text: string): Answer | undefined {
  if (text === "") return undefined;
  const chosen = /^\d+$/.test(text) ? choices?.[Number(text) - 1] : undefined;
  return { kind: "text", text: chosen ?? text };
}

const plural = (n: number, word: string): string => `${n} ${word}${n === 1 ? "" : "s"}`;
