/** From what the model asked for to results: validation, effects, gates, the person, and the schedule in which approved calls run. */
import type { Call, CallContext, ToolOutput } from "./plugin.ts";
import {
  type CallId,
  type Content,
  type Decision,
  type Draft,
  type Effect,
  frozen,
  type Json,
  type SessionChange,
  type ToolCallPart,
  type ToolMessage,
  type ToolOutcome,
} from "./protocol.ts";
import type { Entry } from "./registry.ts";
import { must, Returns } from "./returns.ts";
import { askPerson, collect, gate, type Judged, noteOf, type Run, runOne, type StageEnv } from "./stages.ts";

/** Shared calls that may run at one time. */
const MAX_SHARED = 10;

/** `call` has the arguments that were judged last, which are those that run; `shown` is what gates and hooks see of them. */
type Checked = { call: ToolCallPart; entry: Entry<"tools">; input: unknown; shown: Json };
type Prepared = Checked & { effects: readonly Effect[]; deadlineMs: number | undefined };
export type Settled = { results: readonly Draft<ToolMessage>[]; notes: readonly Draft[] };

function resultOf(env: StageEnv, call: ToolCallPart, outcome: ToolOutcome, content: string | Content): Draft<ToolMessage> {
  const parts: Content = typeof content === "string" ? [{ type: "text", text: content }] : content;
  const { callId, tool } = call;
  return { role: "tool", id: env.id("tool"), at: env.now(), origin: { by: "kernel" }, callId, tool, outcome, content: parts };
}

/** A call that may run, or the result that says why not. One at a time: a person answers one question at a time. */
async function decide(env: StageEnv, call: ToolCallPart): Promise<Prepared | Draft<ToolMessage>> {
  const fail = (text: string): Draft<ToolMessage> => resultOf(env, call, "error", text);
  const entry = env.registry.find("tools", call.tool);
  if (call.malformed !== undefined) return fail(`The call was not run, because its arguments could not be read: ${call.malformed}`);
  const known = env.registry.all("tools").map((t) => t.name);
  if (!entry) return fail(`There is no tool "${call.tool}". The tools are: ${known.join(", ")}.`);
  let prepared = await prepare(env, entry, call);
  if (typeof prepared === "string") return fail(prepared);
  let verdicts = await gate(env, subjectOf(prepared), prepared.effects);
  const proposals = verdicts.filter((v) => v.input !== undefined);
  if (proposals.length > 0 && verdicts[0]?.say !== "deny") {
    const input = frozen(proposals[0]!.input!);
    const same = (p: Judged): boolean => JSON.stringify(p.input) === JSON.stringify(input);
    if (!proposals.every(same)) return fail("Two gates want to change the arguments in different ways.");
    prepared = await prepare(env, entry, { ...call, input });
    if (typeof prepared === "string") return fail(`plugin "${proposals[0]!.by}" changed the arguments to something unusable. ${prepared}`);
    verdicts = await gate(env, subjectOf(prepared), prepared.effects); // what is judged last is what runs
  }
  if (env.signal.aborted) return resultOf(env, call, "aborted", "interrupted before it was decided");
  const decided = await decision(env, prepared.call, prepared.effects, verdicts[0] ?? { say: "nothing" });
  env.emit({ type: "tool.decided", decision: decided });
  return decided.say === "allow" ? prepared : resultOf(env, call, "denied", decided.why ?? "Denied.");
}

async function decision(env: StageEnv, call: ToolCallPart, effects: readonly Effect[], verdict: Judged): Promise<Decision> {
  const { callId, tool } = call;
  const rule = verdict.rule ? { rule: verdict.rule } : {};
  if (verdict.say === "deny") return { callId, tool, say: "deny", by: verdict.by!, why: `Denied: ${verdict.why}`, ...rule };
  if (verdict.say === "allow") return { callId, tool, say: "allow", by: verdict.by!, ...rule };
  if (verdict.say === "nothing" && effects.length === 0) return { callId, tool, say: "allow", by: "kernel", rule: "touches nothing" };
  const why = verdict.say === "ask" ? verdict.why : "no rule covers this call";
  const from = verdict.say === "ask" && verdict.by ? { by: verdict.by } : {};
  const offer = verdict.say === "ask" && verdict.offer ? { offer: verdict.offer } : {};
  const ask = { kind: "permission" as const, id: env.id("ask"), call, effects, why, ...from, ...rule, ...offer };
  const answer = await askPerson(env, ask, env.signal);
  if (answer.kind === "allow") return { callId, tool, say: "allow", by: "user", ...rule };
  const said = answer.kind === "deny" ? answer.reason : answer.text;
  return { callId, tool, say: "deny", by: "user", why: said ? `Denied: ${said}` : "Denied by the user.", ...rule };
}

const subjectOf = ({ call, entry, shown }: Prepared): Call => ({
  callId: call.callId,
  tool: entry.name,
  plugin: entry.plugin,
  input: shown,
});

/** A schema and the functions beside it are foreign code too. A string says what is wrong. */
async function prepare(env: StageEnv, entry: Entry<"tools">, asked: ToolCallPart): Promise<Prepared | string> {
  const call = { ...asked, tool: entry.name };
  const check = async (ctx: CallContext): Promise<Prepared | string> => {
    const parsed = await entry.it.input.safeParseAsync(call.input);
    if (parsed.success) {
      const effects = frozen(must(Returns.effects, await entry.it.effects(parsed.data, ctx)));
      const shown = entry.it.observable ? frozen(must(Returns.json, await entry.it.observable(parsed.data, ctx))) : call.input;
      const { deadlineMs } = entry.it;
      const own = typeof deadlineMs === "function" ? deadlineMs.call(entry.it, parsed.data) : deadlineMs;
      return { call, entry, input: parsed.data, shown, effects, deadlineMs: own };
    }
    const wrong = parsed.error.issues.map((i) => `${i.path.join(".") || "input"}: ${i.message}`).join("; ");
    const unseen = entry.it.deferred ? " If you have not seen its schema, find it with ToolSearch first." : "";
    return `The call was not run, because its arguments are wrong. ${wrong}${unseen}`;
  };
  const ran = await runOne(env, entry, check, { deadlineMs: 10_000, quiet: true });
  return ran.ok ? ran.value : ran.fault.message;
}

type Item = {
  call: ToolCallPart;
  ready?: Prepared;
  state: "queued" | "executing" | "completed";
  stop: AbortController;
  result?: Draft<ToolMessage>;
  notes: readonly Draft[];
  change?: SessionChange | undefined;
};

/** Judges calls in their order, runs them as their overlap allows, and yields results in call order. Calls may be added while others run. */
export class Calls {
  #items: Item[] = [];
  #wake: () => void = () => {};
  #judging: Promise<void> = Promise.resolve();
  #approved: CallId[] = [];
  readonly #taken = new Set<CallId>();
  /** Why those calls of the reply that have not begun never will. */
  #off: string | undefined;

  constructor(private readonly env: StageEnv) {}
  /** Whether the reply that is coming in has led to calls. */
  get begun(): boolean {
    return this.#taken.size > 0;
  }
  /** Judges a call of the reply after those before it, and runs it as soon as they allow it. A second time does nothing. */
  take(call: ToolCallPart): void {
    if (!this.begun) [this.#off, this.#approved] = [undefined, []];
    if (this.#taken.has(call.callId)) return;
    this.#taken.add(call.callId);
    this.#judging = this.#judging.then(() => this.#judge(call)).catch(this.#failed);
    this.#judging.catch(() => {}); // `judged` throws it
  }
  /** Which calls may run, once all of the reply are taken. */
  async judged(): Promise<readonly CallId[]> {
    await this.#judging;
    this.#taken.clear();
    return this.#approved;
  }
  /** Stops what runs and waits, provided that all that runs may be cancelled. */
  interrupt(why: string): boolean {
    if (this.#items.some((i) => i.state === "executing" && i.ready!.entry.it.interrupt !== "cancel")) return false;
    this.#cancel(why);
    return true;
  }
  /** The next results in call order; after an abort all that are finished, once nothing runs any more. */
  async next(): Promise<Settled> {
    for (;;) {
      const aborted = this.env.signal.aborted && !this.#items.some((i) => i.state === "executing");
      const cut = this.#items.findIndex((i) => i.state !== "completed");
      const done = this.#items.filter((i, n) => i.state === "completed" && (aborted || cut < 0 || n < cut));
      this.#items = this.#items.filter((i) => !done.includes(i));
      for (const { change } of done) if (change) this.env.emit({ type: "session.changed", change });
      const settled = done.length > 0 || aborted || this.#items.length === 0;
      if (settled) return { results: done.map((i) => i.result!), notes: done.flatMap((i) => i.notes) };
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
  }

  /** Whoever was asked when the turn was aborted gives no answer. */
  readonly #failed = (error: unknown): void => {
    if (!this.env.signal.aborted) throw error;
  };
  async #judge(call: ToolCallPart): Promise<void> {
    if (this.env.signal.aborted) return;
    const decided = this.#off === undefined ? await decide(this.env, call) : undefined;
    const item: Item = { call, state: "queued", stop: new AbortController(), notes: [] };
    this.#items.push(item);
    if (decided && "role" in decided) this.#complete(item, decided);
    else if (this.#off !== undefined) this.#complete(item, resultOf(this.env, call, "aborted", this.#off));
    else {
      this.#approved.push(call.callId);
      item.ready = decided!;
      this.#start();
    }
  }
  #complete(item: Item, result: Draft<ToolMessage>): void {
    Object.assign(item, { result, state: "completed" });
    this.#start();
    this.#wake();
  }
  #cancel(why: string): void {
    this.#off = why;
    for (const item of this.#items)
      if (item.state === "executing") item.stop.abort(why);
      else if (item.state === "queued") this.#complete(item, resultOf(this.env, item.call, "aborted", why));
  }
  #start(): void {
    for (const item of this.#items) {
      if (item.state !== "queued") continue;
      const running = this.#items.filter((i) => i.state === "executing");
      const exclusive = (i: Item): boolean => i.ready!.entry.it.overlap === "exclusive";
      if (this.env.signal.aborted || running.length >= MAX_SHARED || running.some(exclusive)) return;
      if (exclusive(item) && running.length > 0) return;
      item.state = "executing";
      void this.#run(item, item.ready!).then((result) => this.#complete(item, result));
    }
  }
  async #run(item: Item, ready: Prepared): Promise<Draft<ToolMessage>> {
    const env = this.env;
    const { callId, tool } = ready.call;
    env.emit({ type: "tool.started", call: ready.call });
    const started = env.now();
    const { change, ...result } = await runTool(env, ready, item.stop.signal);
    const { outcome, content } = result;
    const early = this.begun ? { early: result } : {};
    env.emit({ type: "tool.finished", callId, tool, outcome, ms: env.now() - started, ...early });
    item.change = change;
    if ((outcome === "error" || outcome === "timeout") && ready.entry.it.failureCancels)
      this.#cancel(`Not run: the call of ${tool} before it failed.`);
    const after = env.signal.aborted ? [] : env.registry.all("afterTool");
    item.notes = await collect(env, after, (it, ctx) => it.after(subjectOf(ready), frozen({ outcome, content }), ctx), noteOf(env));
    return result;
  }
}

type Outcome = Draft<ToolMessage> & { change?: SessionChange };
async function runTool(env: StageEnv, { call, entry, input, deadlineMs }: Prepared, stop: AbortSignal): Promise<Outcome> {
  const { callId } = call;
  const work: Run<ToolOutput> = async (ctx, scope, saw) => {
    const progress = (text: string): void => {
      if (scope.live()) env.emit({ type: "tool.progress", callId, text: String(text) });
    };
    const output = must(Returns.tool, await entry.it.run(input, { ...ctx, callId, progress })) as ToolOutput;
    saw({ note: output.isError ? "error" : "ok", ...(output.lines ? { lines: output.lines } : {}) });
    return output;
  };
  const signal = AbortSignal.any([env.signal, stop]);
  const own = deadlineMs === undefined ? {} : { deadlineMs };
  const ran = await runOne(env, entry, work, { graceMs: entry.it.graceMs ?? 0, signal, ...own });
  if (!ran.ok) {
    const outcome = ran.aborted ? "aborted" : ran.fault.code === "plugin-timeout" ? "timeout" : "error";
    const why = ran.aborted ? "Stopped by the user." : ran.fault.message;
    return resultOf(env, call, outcome, stop.aborted ? String(stop.reason) : why);
  }
  const { content, isError, loads, change } = ran.value;
  const result = resultOf(env, call, signal.aborted ? "aborted" : isError ? "error" : "ok", content);
  return { ...result, ...(loads ? { loads } : {}), ...(change ? { change } : {}) };
}
