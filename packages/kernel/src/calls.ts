/** From what the model asked for to results: validation, effects, gates, the person, and the schedule in which approved calls run. */
import type { Call, CallContext, ToolOutput } from "./plugin.ts";
import type { Content, Decision, Draft, Effect, Json, ToolCallPart, ToolMessage, ToolOutcome } from "./protocol.ts";
import type { Entry } from "./registry.ts";
import { must, Returns } from "./returns.ts";
import { askPerson, collect, gate, type Judged, noteOf, type Run, runOne, type StageEnv } from "./stages.ts";

/** Shared calls that may run at one time. */
export const MAX_SHARED = 10;

type Prepared = { entry: Entry<"tools">; input: unknown; effects: readonly Effect[] };
export type Settled = { results: readonly Draft<ToolMessage>[]; notes: readonly Draft[] };

export function resultOf(env: StageEnv, call: ToolCallPart, outcome: ToolOutcome, content: string | Content): Draft<ToolMessage> {
  const parts: Content = typeof content === "string" ? [{ type: "text", text: content }] : content;
  const { callId, tool } = call;
  return { role: "tool", id: env.id("tool"), at: env.now(), origin: { by: "kernel" }, callId, tool, outcome, content: parts };
}

/** A call that may run, or the result that says why not. One at a time: a person answers one question at a time. */
export async function decide(env: StageEnv, call: ToolCallPart): Promise<Prepared | Draft<ToolMessage>> {
  const fail = (text: string): Draft<ToolMessage> => resultOf(env, call, "error", text);
  const entry = env.registry.find("tools", call.tool);
  if (call.malformed !== undefined) return fail(`The call was not run, because its arguments could not be read: ${call.malformed}`);
  if (!entry) {
    const known = env.registry.all("tools").map((t) => t.name);
    return fail(`There is no tool "${call.tool}". The tools are: ${known.join(", ")}.`);
  }
  let prepared = await prepare(env, entry, call.input);
  if (typeof prepared === "string") return fail(prepared);
  const subject = (input: Json): Call => ({ callId: call.callId, tool: entry.name, plugin: entry.plugin, input });
  let verdicts = await gate(env, subject(call.input), prepared.effects);
  let input = call.input;
  const proposals = verdicts.filter((v) => v.input !== undefined);
  if (proposals.length > 0 && verdicts[0]?.say !== "deny") {
    input = proposals[0]!.input!;
    const differ = proposals.some((p) => JSON.stringify(p.input) !== JSON.stringify(input));
    if (differ) return fail("Two gates want to change the arguments in different ways.");
    prepared = await prepare(env, entry, input);
    if (typeof prepared === "string") return fail(`plugin "${proposals[0]!.by}" changed the arguments to something unusable. ${prepared}`);
    verdicts = await gate(env, subject(input), prepared.effects); // what is judged last is what runs
  }
  const decided = await decision(env, { ...call, tool: entry.name, input }, prepared.effects, verdicts[0] ?? { say: "nothing" });
  env.emit({ type: "tool.decided", decision: decided });
  return decided.say === "allow" ? prepared : resultOf(env, call, "denied", decided.why ?? "Denied.");
}

async function decision(env: StageEnv, call: ToolCallPart, effects: readonly Effect[], verdict: Judged): Promise<Decision> {
  const { callId, tool } = call;
  const by = verdict.by ?? "kernel";
  const rule = verdict.rule ? { rule: verdict.rule } : {};
  if (verdict.say === "deny") return { callId, tool, say: "deny", by, why: `Denied: ${verdict.why}`, ...rule };
  if (verdict.say === "allow") return { callId, tool, say: "allow", by, ...rule };
  if (verdict.say === "nothing" && effects.length === 0) return { callId, tool, say: "allow", by: "kernel", rule: "touches nothing" };
  const why = verdict.say === "ask" ? verdict.why : "no rule covers this call";
  const from = verdict.by ? { by: verdict.by } : {};
  const answer = await askPerson(env, { kind: "permission", id: env.id("ask"), call, effects, why, ...from });
  if (answer.kind === "allow") return { callId, tool, say: "allow", by: "user", ...rule };
  const said = answer.kind === "deny" ? answer.reason : answer.text;
  return { callId, tool, say: "deny", by: "user", why: said ? `Denied: ${said}` : "Denied by the user.", ...rule };
}

/** A schema and an effects function are foreign code too. A string says what is wrong. */
async function prepare(env: StageEnv, entry: Entry<"tools">, input: Json): Promise<Prepared | string> {
  const check = async (ctx: CallContext): Promise<Prepared | string> => {
    const parsed = await entry.it.input.safeParseAsync(input);
    if (parsed.success) return { entry, input: parsed.data, effects: must(Returns.effects, await entry.it.effects(parsed.data, ctx)) };
    const wrong = parsed.error.issues.map((i) => `${i.path.join(".") || "input"}: ${i.message}`).join("; ");
    return `The call was not run, because its arguments are wrong. ${wrong}`;
  };
  const ran = await runOne(env, entry, check, { deadlineMs: 10_000, quiet: true });
  return ran.ok ? ran.value : ran.fault.message;
}

type Item = {
  call: ToolCallPart;
  ready?: Prepared;
  state: "queued" | "executing" | "completed";
  result?: Draft<ToolMessage>;
  notes: readonly Draft[];
};

/** Runs calls as their overlap allows and yields results in call order. Calls may be added while others run. */
export class Calls {
  #items: Item[] = [];
  readonly #env: StageEnv;
  #wake: () => void = () => {};

  constructor(env: StageEnv) {
    this.#env = env;
  }
  add(call: ToolCallPart, it: Prepared | Draft<ToolMessage>): void {
    if ("role" in it) this.#items.push({ call, state: "completed", result: it, notes: [] });
    else this.#items.push({ call, ready: it, state: "queued", notes: [] });
    this.#start();
  }
  /** The next results in call order; after an abort all that are finished, once nothing runs any more. */
  async next(): Promise<Settled> {
    for (;;) {
      const aborted = this.#env.signal.aborted && !this.#items.some((i) => i.state === "executing");
      const cut = this.#items.findIndex((i) => i.state !== "completed");
      const done = this.#items.filter((i, n) => i.state === "completed" && (aborted || cut < 0 || n < cut));
      this.#items = this.#items.filter((i) => !done.includes(i));
      const settled = done.length > 0 || aborted || this.#items.length === 0;
      if (settled) return { results: done.map((i) => i.result!), notes: done.flatMap((i) => i.notes) };
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
  }
  #start(): void {
    for (const item of this.#items) {
      if (item.state !== "queued") continue;
      const running = this.#items.filter((i) => i.state === "executing");
      const exclusive = (i: Item): boolean => i.ready!.entry.it.overlap === "exclusive";
      if (this.#env.signal.aborted || running.length >= MAX_SHARED || running.some(exclusive)) return;
      if (exclusive(item) && running.length > 0) return;
      item.state = "executing";
      void this.#run(item).finally(() => {
        item.state = "completed";
        this.#start();
        this.#wake();
      });
    }
  }
  async #run(item: Item): Promise<void> {
    const env = this.#env;
    const { call } = item;
    const { entry, input } = item.ready!;
    env.emit({ type: "tool.started", call });
    const started = env.now();
    item.result = await runTool(env, entry, call, input);
    env.emit({ type: "tool.finished", callId: call.callId, tool: call.tool, outcome: item.result.outcome, ms: env.now() - started });
    if (env.signal.aborted) return;
    const { outcome, content } = item.result;
    const subject: Call = { callId: call.callId, tool: entry.name, plugin: entry.plugin, input: call.input };
    const after = env.registry.all("afterTool");
    item.notes = await collect(env, after, (it, ctx) => it.after(subject, { outcome, content }, ctx), noteOf(env));
  }
}

async function runTool(env: StageEnv, entry: Entry<"tools">, call: ToolCallPart, input: unknown): Promise<Draft<ToolMessage>> {
  const { run, deadlineMs, graceMs = 0 } = entry.it;
  const own = (): number | undefined => (typeof deadlineMs === "function" ? deadlineMs.call(entry.it, input) : deadlineMs);
  const deadline = await runOne(env, entry, own, { deadlineMs: 1_000, quiet: true });
  const work: Run<ToolOutput> = async (ctx, scope, saw) => {
    const progress = (text: string): void => {
      if (scope.live()) env.emit({ type: "tool.progress", callId: call.callId, text: String(text) });
    };
    const output = await run.call(entry.it, input, { ...ctx, callId: call.callId, progress });
    must(Returns.tool, output);
    saw({ note: typeof output !== "string" && output.isError ? "error" : "ok" });
    return typeof output === "string" ? { content: output } : output;
  };
  const o = deadline.ok && deadline.value !== undefined ? { deadlineMs: deadline.value, graceMs } : { graceMs };
  const ran = await runOne(env, entry, work, o);
  if (ran.ok) return resultOf(env, call, env.signal.aborted ? "aborted" : ran.value.isError ? "error" : "ok", ran.value.content);
  const outcome = ran.aborted ? "aborted" : ran.fault.code === "plugin-timeout" ? "timeout" : "error";
  return resultOf(env, call, outcome, ran.fault.message);
}
