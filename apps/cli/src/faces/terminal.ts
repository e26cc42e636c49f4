/** A session in a terminal: what is typed goes in, events come out as running text. */
import { existsSync } from "node:fs";
import { setTimeout as wait } from "node:timers/promises";
import { notAttached } from "@heddle/attachments/reference";
import { type Answer, type Ask, type Message, type RuntimeEvent, type TurnOutcome, textOf } from "@heddle/kernel/protocol";
import { RUNTIME, type Session } from "@heddle/runtime";
import { LOCAL_SETTINGS } from "../config/home.ts";
import { type Engine, type OpenAs, openEngine } from "../engine.ts";
import { EXIT, type ExitCode } from "../exit.ts";
import type { Io } from "../io.ts";
import type { SessionArgs } from "../options.ts";
import { plainLine, visible } from "../plain.ts";
import { ago, dollars, lasting, plural } from "../quantity.ts";
import { VERSION } from "../version.ts";
import { callLine } from "./call-line.ts";
import { choicesOf, permissionAnswer, type Said, whatHappens } from "./dialog.ts";
import { faultText } from "./fault.ts";
import { ForkView } from "./forks.ts";
import { hintFor } from "./hint.ts";
import { retryText } from "./retry.ts";
import { Screen } from "./screen.ts";

const IDLE = "> ";
const BUSY = "+ ";
const ASKING = "? ";
/** How long a question stands before anything answers it: what was typed by then was not meant for it. */
const READING_MS = 150;

export async function terminal(args: SessionArgs, io: Io): Promise<ExitCode> {
  const begun = performance.now();
  const askTrust: OpenAs["askTrust"] = async (question) => (await import("./trust-question.ts")).askTrust(question, io);
  const engine = await openEngine(args, io, { headless: false, askTrust });
  const before = callsOf(engine.session);
  const talk = new Talk(engine, io, args.continue || args.resume !== undefined);
  const first = args.prompt.trim();
  if (first !== "") talk.send(first);
  await talk.over;
  await engine.dispose();
  const { session } = engine;
  if (callsOf(session) > before) io.stdout.write(`${summary(session, performance.now() - begun)}\n`);
  if (session.path !== null && existsSync(session.path) && session.messages.length > 0)
    io.stdout.write(`Go on with this session: heddle --resume ${session.id}\n`);
  return EXIT.done;
}

const callsOf = ({ cost }: Session): number => cost.models.reduce((n, m) => n + m.calls, 0);

/** What the session has cost and changed, in one line. */
export function summary({ cost, lines }: Pick<Session, "cost" | "lines">, wallMs: number): string {
  const { usd, unpriced, models, apiMs } = cost;
  const known = unpriced.length === models.length ? "cost not known" : `cost ${dollars(usd)}`;
  const without = unpriced.length > 0 && unpriced.length < models.length ? ` without ${unpriced.join(", ")}` : "";
  const changed = lines.added + lines.removed > 0 ? ` · +${lines.added} -${lines.removed} lines` : "";
  return `${plainLine(known + without, 500)}${changed} · ${lasting(apiMs)} of waiting for models · ${lasting(wallMs)} in all`;
}

type Tally = { input: number; output: number; cached: number; calls: number };

class Talk {
  readonly over: Promise<void>;
  readonly #engine: Engine;
  readonly #session: Session;
  readonly #screen: Screen;
  #leave: () => void = () => {};
  readonly #forks = new ForkView();
  #asks: Ask[] = [];
  /** What was being typed when an ask came between. */
  #draft = "";
  /** The ask that the person has had time to see: nothing that was typed before answers it. */
  #readable: string | undefined;
  /** Typed while a turn runs: for its next step, or for its end. */
  #held: string[] = [];
  /** What was held when a turn was interrupted: only the person sends it. */
  #parked: string[] = [];
  /** Calls of the reply that have no end yet. */
  #openCalls = 0;
  /** The reply that text on the screen belongs to. */
  #streamed = "";
  #interrupted = false;
  #over = false;
  #leaving = false;
  #said = 0;
  #startedAt = 0;
  #tally: Tally = { input: 0, output: 0, cached: 0, calls: 0 };

  constructor(engine: Engine, io: Io, resumed: boolean) {
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
    if (resumed) this.#screen.print(`resumed: ${resumedText(this.#session.messages)}\n`, "dim");
    this.#notices();
    this.#session.subscribe((event) => this.#show(event));
    io.signal.addEventListener("abort", () => this.#end(), { once: true });
    this.#screen.prompt(IDLE);
    this.#park(this.#session.pendingInputs.map((input) => input.text));
  }

  send(text: string): void {
    void this.#session.submit({ text, source: "repl" });
  }

  #line(text: string): void {
    this.#leaving = false;
    const ask = this.#asks[0];
    const hint = hintFor(text);
    if (ask && ask.id !== this.#readable) this.#setAside(text);
    else if (ask) void this.#answer(ask, text.trim());
    else if (hint !== undefined) {
      this.#screen.note(hint, "dim");
      this.#prompt();
    } else if (this.#session.busy && text.trim() !== "") this.#hold(text);
    else if (text.trim() !== "") this.send(text);
    else if (!this.#session.busy && this.#parked.length > 0) {
      const [first, ...others] = this.#parked.splice(0);
      this.#held.push(...others);
      this.send(first!);
    } else this.#prompt();
  }
  #hold(text: string): void {
    this.#held.push(text);
    this.#screen.note(isCommand(text) ? "  runs when this turn has ended" : "  said to the running turn at its next step", "dim");
    this.#prompt();
  }
  /** What is said before the next step is handed over as late as can be: until then the person can still interrupt and have it back. */
  #callEnded(): void {
    this.#openCalls--;
    if (this.#openCalls > 0 || this.#interrupted) return;
    const first = this.#held.findIndex(isCommand);
    for (const text of this.#held.splice(0, first < 0 ? this.#held.length : first)) this.#session.steer({ text, source: "repl" });
  }
  /** Gives back what was typed: one text to the line that is typed on, several as a list. */
  #park(texts: readonly string[]): void {
    const all = [...this.#parked, ...texts];
    if (all.length === 0) return;
    if (all.length === 1 && this.#screen.typed === "") {
      this.#parked = [];
      this.#screen.note("not sent yet:", "dim");
      this.#screen.draft(all[0]!);
      return;
    }
    this.#parked = all;
    this.#screen.note(`not sent yet; Enter on an empty line sends:\n${all.map((t) => `  ${t.replace(/\n/g, "\n  ")}`).join("\n")}`, "dim");
  }
  #interrupt(draft: string): void {
    if (this.#session.busy) {
      this.#interrupted = true;
      this.#session.abort("interrupted");
    } else if (draft !== "") this.#screen.draft("");
    else if (this.#leaving) this.#end();
    else {
      this.#leaving = true;
      this.#screen.print("Ctrl-C again to leave", "dim");
    }
  }
  #end(): void {
    if (this.#over) return;
    this.#over = true;
    // The log keeps what a turn was told and did not take.
    if (this.#session.busy) for (const text of this.#held.splice(0)) this.#session.steer({ text, source: "repl" });
    this.#session.abort("the session ends");
    this.#screen.close();
    for (const text of [...this.#parked, ...this.#held]) this.#screen.print(`never sent: ${text}`, "dim");
    this.#leave();
  }
  #prompt(): void {
    this.#screen.prompt(this.#asks.length > 0 ? ASKING : this.#session.busy ? BUSY : IDLE);
  }

  #show(event: RuntimeEvent): void {
    this.#showFork(event);
    switch (event.type) {
      case "turn.started":
        this.#startedAt = event.at;
        this.#tally = { input: 0, output: 0, cached: 0, calls: 0 };
        this.#openCalls = 0;
        this.#interrupted = false;
        this.#screen.prompt(BUSY);
        break;
      case "message.delta":
        if (event.of !== "text") break;
        this.#screen.stream(event.text);
        this.#streamed = event.id;
        break;
      case "message.voided":
        if (this.#streamed === event.id) this.#screen.print(visible(`(${event.why} What is above of it is void.)`), "dim");
        this.#streamed = "";
        break;
      case "model.retry":
        this.#screen.print(visible(retryText(event)), "dim");
        break;
      case "message.added":
        this.#message(event.message);
        break;
      case "model.billed":
      case "model.replied": {
        const { input = 0, output = 0, cacheRead = 0, cacheWrite = 0 } = event.usage ?? {};
        const t = this.#tally;
        this.#tally = {
          input: t.input + input + cacheRead + cacheWrite,
          output: t.output + output,
          cached: t.cached + cacheRead,
          calls: t.calls + (event.type === "model.replied" ? 1 : 0),
        };
        break;
      }
      case "tool.started":
        this.#screen.print(`· ${callLine(event.call.tool, event.call.input, this.#engine.cwd)}`, "dim");
        break;
      case "tool.finished":
        this.#callEnded();
        if (event.outcome !== "ok") this.#screen.print(`  ${event.tool}: ${event.outcome}`, "error");
        break;
      case "tool.decided":
        if (event.decision.say !== "deny") break;
        this.#callEnded();
        if (event.decision.by !== "user")
          this.#screen.print(
            visible(`· ${event.decision.tool}: denied, ${event.decision.why ?? event.decision.rule ?? event.decision.by}`),
            "dim",
          );
        break;
      case "ask.opened":
        this.#asks.push(event.ask);
        if (this.#asks.length === 1) void this.#pose(event.ask);
        break;
      case "ask.closed":
        this.#closed(event.id);
        break;
      case "fault":
        this.#screen.print(faultText(event.fault), "error");
        break;
      case "session.changed":
        if (event.change.exit) this.#end();
        else if (event.change.model !== undefined) this.#check(event.change.model);
        break;
      case "turn.ended":
        this.#ended(event.outcome, event.at);
        if (event.next && !event.next.submit) this.#screen.draft(event.next.text);
        this.#goOn(event.outcome);
        break;
      default:
    }
  }
  /** A line for each call, and one for the end. */
  #showFork(event: RuntimeEvent): void {
    const within = this.#forks.see(event);
    if (within?.event.type === "tool.started") {
      const { tool, input } = within.event.call;
      const who = plainLine(within.title, 40);
      this.#screen.note(`${"  ".repeat(within.depth)}${who} · ${callLine(tool, input, this.#engine.cwd)}`, "dim");
    } else if (event.type === "fork.ended")
      this.#screen.note(`  ${plainLine(this.#forks.title(event.fork), 40)}: ${event.outcome.kind}`, "dim");
  }
  #check(model: string): void {
    const problem = this.#engine.problemWith(model);
    if (problem !== undefined) this.#screen.print(visible(problem), "error");
  }
  #message(message: Message): void {
    if (message.role === "assistant") {
      this.#screen.end();
      this.#openCalls = message.content.filter((p) => p.type === "tool-call" && p.malformed === undefined).length;
    }
    const without = notAttached(message);
    if (without !== undefined) this.#screen.print(visible(without), "dim");
    if (message.role === "system") this.#screen.print(message.text, message.level === "info" ? "plain" : "error");
  }
  #notices(): void {
    const { notices } = this.#engine;
    for (const notice of notices.slice(this.#said)) this.#screen.print(notice, "error");
    this.#said = notices.length;
  }
  #ended(outcome: TurnOutcome, at: number): void {
    this.#asks = this.#asks.filter((ask) => ask.agent !== undefined); // a sub-agent in the background still waits for its answer
    this.#notices();
    const { calls, input, output, cached } = this.#tally;
    if (outcome.kind === "aborted") this.#screen.print(abortText(outcome.reason), "error");
    if (outcome.kind === "refused") this.#screen.print("The model refused to answer: ask in another way, or another model.", "error");
    if (outcome.kind === "step-limit") this.#screen.print(`Stopped after ${plural(outcome.steps, "model call")}.`, "error");
    if (calls > 0) {
      const share = input > 0 ? ` (${Math.round((100 * cached) / input)} % cached)` : "";
      const seconds = ((at - this.#startedAt) / 1000).toFixed(1);
      this.#screen.print(`${plural(calls, "model call")} · ${input} tokens in${share} · ${output} out · ${seconds} s\n`, "dim");
    }
    this.#screen.prompt(this.#asks.length > 0 ? ASKING : IDLE);
  }

  /** What is still held when a turn ends becomes the next one; after an interrupt it waits for the person. */
  #goOn(outcome: TurnOutcome): void {
    if (outcome.kind === "aborted") this.#park(this.#held.splice(0));
    else if (this.#held.length > 0) {
      const text = this.#held.shift()!;
      this.#screen.print(`${IDLE}${text}`, "dim");
      this.send(text);
    }
  }

  #setAside(text: string): void {
    this.#draft = [this.#draft, text].filter((t) => t.trim() !== "").join("\n");
  }
  async #pose(ask: Ask): Promise<void> {
    this.#setAside(this.#screen.draft(""));
    if (ask.agent !== undefined) this.#screen.print(`\n${plainLine(ask.agent, 60)} asks:`, "bold");
    if (ask.kind === "permission") this.#screen.print(`\n${await whatHappens(ask)}`, "bold");
    else this.#screen.print(`\n${visible(`${ask.from} asks: ${ask.text}`)}`, "bold");
    await wait(READING_MS);
    if (this.#over || this.#asks[0] !== ask) return;
    this.#setAside(this.#screen.draft(""));
    this.#readable = ask.id;
    if (ask.kind === "permission") this.#screen.print(choicesOf(ask), "dim");
    else {
      for (const [i, choice] of (ask.choices ?? []).entries()) this.#screen.print(`  ${i + 1} ${visible(choice)}`);
      if (ask.choices) this.#screen.print("A number, or words of your own", "dim");
    }
    this.#screen.prompt(ASKING);
  }
  async #answer(ask: Ask, text: string): Promise<void> {
    const ofMoney = ask.kind === "question" && ask.from === RUNTIME;
    if (ofMoney && text !== "" && !CLEAR.test(text)) {
      this.#setAside(text);
      this.#screen.note("  1 or y goes on, 2 or n stops; what you typed is kept until then", "dim");
      this.#screen.prompt(ASKING);
      return;
    }
    const said: Said | undefined = ask.kind === "permission" ? permissionAnswer(text, ask.offer) : questionAnswer(ask.choices, text);
    if (said === undefined) return this.#screen.prompt(ASKING);
    if (said.kind === "allow" && said.save) await this.#save(said.rules ?? []);
    const { save: _, ...answer } = { save: false, ...said };
    this.#session.answer(ask.id, answer);
  }
  /** Where that fails, they count for this session all the same. */
  async #save(rules: readonly string[]): Promise<void> {
    try {
      await this.#engine.saveRules(rules);
      this.#screen.note(`  saved in ${LOCAL_SETTINGS}`, "dim");
    } catch (error) {
      this.#screen.note(visible(`  not saved, and allowed for this session: ${(error as Error).message}`), "error");
    }
  }
  #closed(id: string): void {
    this.#asks = this.#asks.filter((a) => a.id !== id);
    const next = this.#asks[0];
    if (next) void this.#pose(next);
    else {
      this.#prompt();
      if (this.#draft !== "") this.#screen.draft(this.#draft);
      this.#draft = "";
    }
  }
}

const abortText = (reason: string): string => (reason === "interrupted" ? reason : `interrupted: ${reason}`);

/** What answers whether a session may cost more. */
const CLEAR = /^([12]|y(es)?|no?|go on|stop)$/i;

/** A leading blank makes text of it. */
const isCommand = (text: string): boolean => /^[/!]/.test(text);

function resumedText(messages: readonly Message[]): string {
  const said = messages.filter((m) => m.role === "assistant" || (m.role === "user" && m.isMeta !== true));
  const first = said.find((m) => m.role === "user");
  const last = messages.at(-1);
  if (!first || !last) return "a session without messages";
  return `"${plainLine(textOf(first.content), 60)}" · ${ago(Date.now() - last.at)} · ${plural(said.length, "message")}`;
}

function questionAnswer(choices: readonly string[] | undefined, text: string): Answer | undefined {
  if (text === "") return undefined;
  const chosen = /^\d+$/.test(text) ? choices?.[Number(text) - 1] : undefined;
  return { kind: "text", text: chosen ?? text };
}
