/** The scripted model: steps, and which of them answers a request. */

import { contentBlocks, messagesOf } from "./conversation.ts";
import type { FaultSpec } from "./faults.ts";
import { isObject, type Json, type JsonObject } from "./json.ts";
import { type Random, randomText } from "./random.ts";
import { lastUserText } from "./request-kind.ts";

export interface ToolResult {
  id: string;
  text: string;
  isError: boolean;
}

/** A request as script functions see it. */
export interface ScriptRequest {
  body: JsonObject;
  /** Text of the newest user message. */
  userText: string;
  /** Results in the newest user message. */
  results: ToolResult[];
}

export interface ScriptedCall {
  name: string;
  input?: Json | ((request: ScriptRequest) => Json);
}

export interface Step {
  thinking?: string;
  text?: string | ((request: ScriptRequest) => string);
  calls?: ScriptedCall[];
  /** Raw blocks of server tools, sent behind text and calls as they are. */
  serverBlocks?: JsonObject[];
  stop_reason?: string;
  /** Strikes when this step is due, as often as the fault's `times` says. */
  fault?: FaultSpec;
}

export type Script = readonly Step[] | ((request: ScriptRequest, stepIndex: number) => Step | undefined);

/** One of several scripts: it answers from the newest prompt on that contains the marker. */
export interface MarkedScript {
  marker: string;
  script: Script;
}

export interface ResolvedCall {
  id: string;
  name: string;
  input: Json;
}

export interface ResolvedStep {
  thinking: string | undefined;
  text: string | undefined;
  calls: ResolvedCall[];
  serverBlocks: JsonObject[];
  stopReason: string | undefined;
}

export type Vars = Readonly<Record<string, string>>;

export interface Chosen {
  script: number;
  index: number;
  step: Step;
}

const CALL_ID = /^toolu_01s(\d{4})x\d+([a-z]{2})/;
const LETTERS = "abcdefghijklmnopqrstuvwxyz";
const END: Step = { text: "Done." };

/** The script's number travels in the id next to the step's, so that compaction cannot mix scripts up. */
function scriptCode(script: number): string {
  return `${LETTERS[Math.floor(script / 26) % 26]}${LETTERS[script % 26]}`;
}

export function callId(script: number, step: number, call: number, random: Random): string {
  return `toolu_01s${String(step).padStart(4, "0")}x${call}${scriptCode(script)}${randomText(random, 10)}`;
}

function fill(value: Json, vars: Vars): Json {
  if (typeof value === "string")
    return value.replace(/\{\{(\w+)\}\}/g, (whole, name: string) => (Object.hasOwn(vars, name) ? (vars[name] ?? "") : whole));
  if (Array.isArray(value)) return value.map((item) => fill(item, vars));
  if (!isObject(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, item === undefined ? item : fill(item, vars)]));
}

function textWith(step: Step, request: ScriptRequest, vars: Vars): string | undefined {
  const text = typeof step.text === "function" ? step.text(request) : step.text;
  return text === undefined ? undefined : String(fill(text, vars));
}

export function scriptRequest(body: JsonObject): ScriptRequest {
  const user = messagesOf(body).findLast((message) => message["role"] === "user");
  const results = contentBlocks(user?.["content"]).filter((block) => block["type"] === "tool_result");
  return {
    body,
    userText: lastUserText(body),
    results: results.map((block) => ({
      id: String(block["tool_use_id"]),
      isError: block["is_error"] === true,
      text: contentBlocks(block["content"])
        .map((part) => part["text"] ?? "")
        .join("\n"),
    })),
  };
}

export interface ResolveContext {
  request: ScriptRequest;
  vars: Vars;
  random: Random;
}

export function resolveStep({ script, index, step }: Chosen, { request, vars, random }: ResolveContext): ResolvedStep {
  const calls = (step.calls ?? []).map((call, k): ResolvedCall => {
    const input = typeof call.input === "function" ? call.input(request) : (call.input ?? {});
    return { id: callId(script, index, k, random), name: call.name, input: fill(input, vars) };
  });
  return {
    thinking: step.thinking === undefined ? undefined : String(fill(step.thinking, vars)),
    text: textWith(step, request, vars),
    calls,
    serverBlocks: step.serverBlocks ?? [],
    stopReason: step.stop_reason,
  };
}

interface Position {
  message: number;
  block: number;
}

function newestMarker(body: JsonObject, scripts: readonly MarkedScript[]): { script: number; at: Position } | undefined {
  const messages = messagesOf(body);
  for (let message = messages.length - 1; message >= 0; message--) {
    if (messages[message]?.["role"] !== "user") continue;
    const blocks = contentBlocks(messages[message]?.["content"]);
    for (let block = blocks.length - 1; block >= 0; block--) {
      const text = blocks[block]?.["text"];
      if (typeof text !== "string") continue;
      const script = scripts.findIndex(({ marker }) => marker !== "" && text.includes(marker));
      if (script >= 0) return { script, at: { message, block } };
    }
  }
  return undefined;
}

interface Progress {
  script: number;
  /** The highest step among the calls, -1 without any. */
  highest: number;
  /** Assistant texts behind the newest call. */
  textsSince: string[];
}

/** Keeps only what no request can carry: which steps were delivered, and which script was last in use. */
export class ScriptPlayer {
  readonly #scripts: readonly MarkedScript[];
  readonly #vars: Vars;
  readonly #delivered = new Map<number, number>();
  #current = 0;

  constructor(scripts: readonly MarkedScript[], vars: Vars) {
    this.#scripts = scripts.length > 0 ? scripts : [{ marker: "", script: [{ text: "ok" }] }];
    this.#vars = vars;
  }

  choose(request: ScriptRequest): Chosen {
    const progress = this.#progress(request.body);
    this.#current = progress.script;
    const script = this.#scripts[progress.script]?.script ?? [];
    const next = progress.highest >= 0 ? progress.highest + 1 : (this.#delivered.get(progress.script) ?? -1) + 1;
    if (typeof script === "function") return { script: progress.script, index: next, step: script(request, next) ?? END };
    const index = this.#skipSaid(script, Math.min(next, Math.max(0, script.length - 1)), progress, request);
    return { script: progress.script, index, step: script[index] ?? END };
  }

  /** To be called once the whole reply was sent. */
  delivered({ script, index }: Chosen): void {
    this.#delivered.set(script, index);
  }

  /** A step without calls leaves no id behind, so its text in the history shows that it was played. */
  #skipSaid(script: readonly Step[], from: number, { highest, textsSince }: Progress, request: ScriptRequest): number {
    let index = from;
    while (highest >= 0 && index < script.length - 1) {
      const step = script[index];
      if (!step || (step.calls ?? []).length > 0) break;
      const text = textWith(step, request, this.#vars);
      const said = text === undefined ? -1 : textsSince.indexOf(text);
      if (said < 0) break;
      textsSince.splice(0, said + 1);
      index += 1;
    }
    return index;
  }

  #progress(body: JsonObject): Progress {
    const marked = newestMarker(body, this.#scripts);
    const from = marked?.at.message ?? -1;
    const found: Progress = { script: marked?.script ?? -1, highest: -1, textsSince: [] };
    messagesOf(body).forEach((message, i) => {
      if (message["role"] !== "assistant" || i < from) return;
      for (const block of contentBlocks(message["content"])) this.#note(block, found, marked !== undefined);
    });
    if (found.script < 0) found.script = this.#current;
    return found;
  }

  #note(block: JsonObject, found: Progress, isMarked: boolean): void {
    if (block["type"] === "text") found.textsSince.push(String(block["text"]));
    const match = block["type"] === "tool_use" ? CALL_ID.exec(String(block["id"])) : null;
    if (!match) return;
    const script = this.#scripts.findIndex((_, number) => scriptCode(number) === match[2]);
    if (script < 0) return;
    // Without a marker in sight the newest call tells which script is being played.
    if (!isMarked && script !== found.script) {
      found.script = script;
      found.highest = -1;
    }
    if (script !== found.script) return;
    found.highest = Math.max(found.highest, Number(match[1]));
    found.textsSince = [];
  }
}
