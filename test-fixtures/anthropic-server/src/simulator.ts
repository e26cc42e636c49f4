/** The API behind the wire: examines a request, bills it, lets the script answer it, and applies faults. */

import { type CachePlan, PromptCache } from "./cache.ts";
import { hasBeta } from "./context.ts";
import { placedBlocks } from "./conversation.ts";
import { CostLedger } from "./cost.ts";
import type { Exchange } from "./exchange.ts";
import { type Fault, FaultSchedule, faultErrorType } from "./faults.ts";
import { objects } from "./json.ts";
import type { ServerOptions } from "./options.ts";
import type { Random } from "./random.ts";
import { randomText } from "./random.ts";
import type { ErrorType } from "./refusal.ts";
import { Refused, statusOf } from "./refusal.ts";
import { buildReply, finalBlock, type Reply, wholeMessage } from "./reply.ts";
import { breakReply } from "./reply-faults.ts";
import { parseBody } from "./request-bytes.ts";
import { kindOf, type RequestKind } from "./request-kind.ts";
import {
  type Chosen,
  callId,
  type MarkedScript,
  type ResolvedStep,
  resolveStep,
  type Script,
  ScriptPlayer,
  scriptRequest,
} from "./script.ts";
import { DEFAULT_SUMMARY, plainStep, sideStep } from "./side-reply.ts";
import { DEFAULT_PIECES, streamEvents } from "./sse.ts";
import { writeStream } from "./stream-writer.ts";
import { ThinkingSigner } from "./thinking.ts";
import { type Examined, examine, type ValidateOptions } from "./validate.ts";
import { bindingMessage } from "./validate-returned.ts";

interface Answer {
  chosen: Chosen | undefined;
  step: ResolvedStep;
  fault: Fault | undefined;
}

function scriptsOf(script: Script | readonly MarkedScript[] | undefined): readonly MarkedScript[] {
  if (script === undefined) return [];
  if (typeof script === "function") return [{ marker: "", script }];
  const isMarked = (item: object): item is MarkedScript => "marker" in item;
  const marked = script.filter(isMarked);
  return marked.length > 0 ? marked : [{ marker: "", script: script as Script }];
}

export class Simulator {
  readonly #options: ServerOptions;
  readonly #random: Random;
  readonly #signer: ThinkingSigner;
  readonly #cache = new PromptCache();
  readonly #ledger = new CostLedger();
  readonly #faults: FaultSchedule;
  readonly #thoughtCalls = new Set<string>();
  #player: ScriptPlayer;

  constructor(options: ServerOptions, random: Random) {
    this.#options = options;
    this.#random = random;
    this.#signer = new ThinkingSigner(options.secret ?? "a secret of the tests");
    this.#faults = new FaultSchedule(options.faults ?? []);
    this.#player = this.#newPlayer(options.scripts ?? options.script);
  }

  setScript(script: Script | readonly MarkedScript[]): void {
    this.#player = this.#newPlayer(script);
  }

  costRatio(): number {
    return this.#ledger.ratio();
  }

  async messages(exchange: Exchange, bytes: Buffer): Promise<void> {
    const startedAt = exchange.record.receivedAt;
    this.#noteBody(exchange, bytes);
    const examined = this.#examine(exchange, bytes);
    if (!examined) return;
    const plan = this.#cache.plan(examined.body, examined.prompt, examined.model, startedAt);
    exchange.record.breakpoints = plan.breakpoints;
    const answer = this.#answer(exchange, examined);
    await exchange.pause(answer.fault?.delayMs ?? this.#options.latency?.headers ?? 0);
    if (await this.#failsEarly(exchange, examined, answer.fault)) return;
    const reply = this.#reply(examined, plan, answer);
    this.#begin(exchange, examined, plan, reply);
    const delivered = await this.#send(exchange, examined, reply, answer.fault);
    exchange.record.delivered = delivered;
    if (delivered && answer.chosen && !answer.fault?.reply) this.#player.delivered(answer.chosen);
  }

  countTokens(exchange: Exchange, bytes: Buffer): void {
    this.#noteBody(exchange, bytes);
    exchange.record.kind = "count_tokens";
    const examined = this.#examine(exchange, bytes, { endpoint: "count_tokens" });
    if (examined) exchange.sendJson(200, { input_tokens: examined.prompt.tokens });
  }

  #newPlayer(script: Script | readonly MarkedScript[] | undefined): ScriptPlayer {
    return new ScriptPlayer(scriptsOf(script), this.#options.vars ?? {});
  }

  /** Kept even for requests that are refused, so that a test can see what was wrong with them. */
  #noteBody({ record }: Exchange, bytes: Buffer): void {
    record.bytes = bytes.length;
    if (this.#options.keepText) record.text = bytes.toString();
    try {
      record.body = parseBody(bytes);
      record.kind = this.#kind(record.body);
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
    }
  }

  #kind(body: NonNullable<Exchange["record"]["body"]>): RequestKind {
    return this.#options.classify?.(body) ?? kindOf(body, this.#options.compactionMarker);
  }

  #examine(exchange: Exchange, bytes: Buffer, more: ValidateOptions = {}): Examined | undefined {
    const { keys, betas, models, window, binding } = this.#options;
    const thoughtBefore = (id: string) => this.#thoughtCalls.has(id);
    try {
      const rules = { keys, betas, models, window, binding, signer: this.#signer, thoughtBefore, ...more };
      const examined = examine(bytes, exchange.record.headers, rules);
      exchange.record.warnings = examined.warnings;
      exchange.record.dropped = examined.dropped;
      return examined;
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      exchange.refuse(error.refusal);
      return undefined;
    }
  }

  #answer({ record }: Exchange, { body }: Examined): Answer {
    const { kind } = record;
    const scheduled = this.#faults.next(kind);
    const request = scriptRequest(body);
    const context = { request, vars: this.#options.vars ?? {}, random: this.#random };
    if (kind !== "main") {
      record.fault = scheduled?.name;
      if (kind === "compaction") return { chosen: undefined, step: plainStep(this.#options.summary ?? DEFAULT_SUMMARY), fault: scheduled };
      const own = this.#options.side?.(body);
      const step = own ? resolveStep({ script: 0, index: 0, step: own }, context) : sideStep(body, this.#random);
      return { chosen: undefined, step, fault: scheduled };
    }
    const chosen = this.#player.choose(request);
    const fault = scheduled ?? this.#faults.ofStep(chosen.step.fault);
    record.script = chosen.script;
    record.step = chosen.index;
    record.fault = fault?.name;
    return { chosen, step: resolveStep(chosen, context), fault };
  }

  /** Faults that strike before the headers of a reply: no cache is written and nothing is billed. */
  async #failsEarly(exchange: Exchange, { body }: Examined, fault: Fault | undefined): Promise<boolean> {
    if (exchange.isClosed) return true;
    if (fault?.reset) exchange.breakOff();
    else if (fault?.hang) await exchange.untilClosed();
    else if (fault?.html !== undefined)
      exchange.sendText(fault.status ?? 502, fault.html, { "content-type": "text/html", ...fault.headers });
    else if (fault?.status !== undefined) {
      const thought = placedBlocks(body).find(({ block }) => block["type"] === "thinking");
      const message = fault.message ?? bindingMessage(thought?.path ?? "messages.1.content.0", "messages");
      const details = fault.details ? { details: fault.details } : {};
      exchange.sendError(fault.status, { type: faultErrorType(fault), message, ...details }, fault.headers);
    } else return false;
    return true;
  }

  #reply({ body, model, headers, dropped, lastThought }: Examined, plan: CachePlan, answer: Answer): Reply {
    const reportsDrops = hasBeta(headers.betas, "thinking-binding-controls");
    const reply = buildReply(answer.step, {
      id: `msg_01${randomText(this.#random, 22)}`,
      body,
      model,
      usage: plan.usage,
      signer: this.#signer,
      random: this.#random,
      lastThought,
      inputTransformations: reportsDrops ? dropped : undefined,
    });
    if (!answer.fault?.reply) return reply;
    const { script, index } = answer.chosen ?? { script: 0, index: 0 };
    const name = objects(body["tools"])[0]?.["name"];
    return breakReply(reply, answer.fault.reply, {
      call: {
        type: "tool_use",
        id: callId(script, index, 0, this.#random),
        name: typeof name === "string" ? name : "tool",
        input: { value: "an input that is never sent whole" },
      },
    });
  }

  #begin({ record }: Exchange, { prompt, model }: Examined, plan: CachePlan, reply: Reply): void {
    plan.commit();
    record.usage = reply.usage;
    record.stopReason = reply.stopReason;
    record.reply = reply.content.map(finalBlock);
    if (record.kind === "main" || record.kind === "compaction") record.cost = this.#ledger.add(prompt, plan.usage, model);
    if (!reply.content.some((block) => block.type === "thinking")) return;
    for (const block of reply.content) if (block.type === "tool_use") this.#thoughtCalls.add(block.id);
  }

  async #send(exchange: Exchange, { body }: Examined, reply: Reply, fault: Fault | undefined): Promise<boolean> {
    if (body["stream"] === true) {
      return writeStream(exchange, streamEvents(reply, { ...DEFAULT_PIECES, ...this.#options.pieces }), {
        fault,
        splitUtf8: this.#options.splitUtf8 ?? false,
        eventMs: this.#options.latency?.event ?? 0,
      });
    }
    return this.#sendWhole(exchange, reply, fault);
  }

  /** What befalls a stream half way has its nearest likeness here, for clients that fall back to plain JSON. */
  async #sendWhole(exchange: Exchange, reply: Reply, fault: Fault | undefined): Promise<boolean> {
    if (fault?.errorAtByte !== undefined) {
      const type = faultErrorType(fault);
      exchange.sendError(statusOf(type as ErrorType) ?? 500, { type, message: fault.message ?? "Overloaded" });
      return false;
    }
    if (fault?.cutAtByte !== undefined || fault?.omitsEnd) {
      await exchange.sendPart(JSON.stringify(wholeMessage(reply)));
      return false;
    }
    if (fault?.stallAtByte !== undefined || fault?.pingMs !== undefined) {
      await exchange.untilClosed();
      return false;
    }
    exchange.sendJson(200, wholeMessage(reply));
    return true;
  }
}
