/** Runs contributions, each mode of `points.ts` written once. Every run leaves one stage record, whose changes are computed here. */
import { type CallScope, describe, guard, type Ran, type Watch } from "./guard.ts";
import type { TurnEvent } from "./machine.ts";
import type { Call, CallContext, SessionView, ToolSpec, TurnView, Verdict } from "./plugin.ts";
import { POINTS } from "./points.ts";
import type { Answer, Ask, AttachmentMessage, Change, Content, Draft, Effect, EventBody, Fault, Input, Json, Message } from "./protocol.ts";
import type { PluginId, PointId, RuntimeEvent, StageRecord, Who } from "./protocol.ts";
import { type Entry, type Registry, whoOf } from "./registry.ts";
import { must, Returns } from "./returns.ts";

/** Switches a contribution off for the session after `limit` failures in a row. */
export type Breaker = {
  readonly limit: number;
  isOpen(who: Who): boolean;
  /** Returns true when this very failure opened it. */
  record(who: Who, ok: boolean): boolean;
};

/** What a host gives the loop. Nothing in the kernel reads a clock, makes an id or touches a disk by itself. */
export type TurnEnv = {
  registry: Registry;
  breaker: Breaker;
  now: () => number;
  id: (kind: string) => string;
  /** Rejects when its signal fires. A host that cannot ask answers `deny`. */
  asker: (ask: Ask, signal: AbortSignal) => Promise<Answer>;
  /** Called before an event is visible to anyone, and before what it tells of has an effect. Must not throw. */
  record: (event: RuntimeEvent) => void;
  log: (plugin: PluginId, text: string) => void;
  session: Omit<SessionView, "messages" | "prefix">;
  /** What the model hears of. The same array for as long as the tools are the same. */
  tools: readonly ToolSpec[];
  /** Which provider serves a model, by the names and aliases that the host knows; without a name, that of the session. */
  target: (model: string | undefined) => { provider: string; model: string };
  /** What the input leads to: the points `classifiers`, `commands` and `admission`. */
  read: (env: StageEnv, input: Input) => Promise<Extract<TurnEvent, { type: `input.${string}` }>>;
  /** The view of the history that goes to the model: the point `compaction`. `overflowed`: the API has refused the last one as too long. */
  pack: (env: StageEnv, log: readonly Message[], overflowed: boolean) => Promise<readonly Message[]>;
  capabilities: ReadonlyMap<string, unknown>;
  stateOf: (plugin: PluginId) => Map<string, unknown>;
  /** Remembers the sizes of messages for the session. */
  sizes: WeakMap<object, number>;
  deadlines?: { readonly [P in PointId]?: number };
  watch?: Watch;
};
/** The same within one turn. */
export type StageEnv = TurnEnv & { signal: AbortSignal; emit: (event: EventBody) => void; view: () => SessionView; turn: () => TurnView };

function contextFor(env: StageEnv, e: Entry, scope: CallScope): CallContext {
  const alive =
    <A extends unknown[], R>(fn: (...a: A) => R) =>
    (...a: A): R => {
      if (scope.live()) return fn(...a);
      throw new Error(`${describe(whoOf(e))} used its context after its call was over`);
    };
  const state = env.stateOf(e.plugin);
  const { plugin, options } = e;
  return {
    ...{ plugin, options, now: env.now, id: env.id, signal: scope.signal, session: env.view(), turn: env.turn() },
    log: (text) => env.log(e.plugin, text),
    state: { get: alive((k: string) => state.get(k)), set: alive((k: string, v: unknown) => void state.set(k, v)) },
    use: alive((token: { id: string }) => env.registry.use(token)) as CallContext["use"],
    ask: alive((text: string, choices?: readonly string[]) => {
      const asked = must(Returns.question, { text, ...(choices ? { choices } : {}) });
      const resume = scope.pause();
      const answer = askPerson(env, { kind: "question", id: env.id("ask"), from: plugin, ...asked }, scope.signal).finally(resume);
      answer.catch(() => {}); // whoever asks need not wait for the answer
      return answer;
    }),
    capability: alive((token: { id: string }) => {
      if (!e.capabilities.includes(token.id)) throw new Error(`capability "${token.id}" is not in its heddle.capabilities`);
      if (!env.capabilities.has(token.id)) throw new Error(`capability "${token.id}" was not granted by the host`);
      return env.capabilities.get(token.id);
    }) as CallContext["capability"],
  };
}

export async function askPerson(env: StageEnv, ask: Ask, signal: AbortSignal): Promise<Answer> {
  let answer: Answer = { kind: "deny", reason: "the turn was aborted" };
  env.emit({ type: "ask.opened", ask });
  try {
    answer = await env.asker(ask, signal);
    return answer;
  } finally {
    env.emit({ type: "ask.closed", id: ask.id, answer });
  }
}

export type Seen = { changes?: readonly Change[]; note?: string } & Pick<StageRecord, "lines">;
/** `saw` puts into the record what came back. */
export type Run<T> = (ctx: CallContext, scope: CallScope, saw: (seen: Seen) => void) => T | Promise<T>;
/** `quiet` leaves a record of failures only. */
export type RunOptions = { deadlineMs?: number; graceMs?: number; quiet?: boolean; signal?: AbortSignal };

/** Milliseconds; a timer of more fires at once. */
const MAX_TIMER = 2 ** 31 - 1;

/** One call of one contribution: breaker, guard, record. `call` may throw BadOutput. */
export async function runOne<T>(env: StageEnv, e: Entry, call: Run<T>, o: RunOptions = {}): Promise<Ran<T>> {
  const who = whoOf(e);
  const record = (r: Omit<StageRecord, keyof typeof who>): void => env.emit({ type: "stage.ran", record: { ...who, ...r } });
  if (env.breaker.isOpen(who)) {
    const fault: Fault = { code: "plugin-disabled", who, message: `${describe(who)} is off for this session` };
    if (!o.quiet) record({ status: "skipped", ms: 0, changes: [], fault });
    return { ok: false, fault, aborted: false, ms: 0 };
  }
  const own = o.deadlineMs ?? (e.it as { deadlineMs?: unknown }).deadlineMs;
  const usual = env.deadlines?.[e.point] ?? POINTS[e.point].deadlineMs;
  const deadlineMs = typeof own === "number" && own > 0 ? Math.min(own, MAX_TIMER) : usual;
  let seen: Seen = {};
  const options = { deadlineMs, graceMs: o.graceMs ?? 0, signal: o.signal ?? env.signal, now: env.now, watch: env.watch };
  const saw = (it: Seen): void => {
    seen = it;
  };
  const ran = await guard(who, options, (scope) => call(contextFor(env, e, scope), scope, saw));
  if (ran.ok) {
    if (!o.quiet || e.point === "observers") env.breaker.record(who, true); // a check before a call says nothing of the call
    const { changes = [], ...more } = seen;
    if (!o.quiet) record({ status: changes.length > 0 || more.note ? "ran" : "no-op", ms: ran.ms, changes, ...more });
    return ran;
  }
  record({ status: "failed", ms: ran.ms, changes: [], fault: ran.fault });
  if (ran.aborted || e.point === "providers") return ran; // the turn itself tells of it, and a session needs its provider
  env.emit({ type: "fault", fault: ran.fault });
  if (env.breaker.record(who, false)) {
    const message = `${describe(who)} failed ${env.breaker.limit} times in a row and is off for this session: ${POINTS[e.point].failure}`;
    env.emit({ type: "fault", fault: { code: "plugin-disabled", who, message } });
  }
  return ran;
}

type Caller<K extends PointId, T> = (it: Entry<K>["it"], ctx: CallContext) => T | Promise<T>;

/** Runs all at once; what `read` makes of each answer is kept in registry order, and nothing of those that failed. */
export async function collect<K extends PointId, T, M extends object>(
  env: StageEnv,
  entries: readonly Entry<K>[],
  call: Caller<K, T>,
  read: (value: T, e: Entry<K>) => readonly M[],
): Promise<M[]> {
  const runs = entries.map((e) =>
    runOne(env, e, async (ctx, _, saw) => {
      const made = read(await call(e.it, ctx), e);
      saw({ changes: made.map((m, i) => ({ op: "add", id: (m as { id?: string }).id ?? `${e.name}.${i}`, size: sizeOf(env, m) })) });
      return made;
    }),
  );
  return (await Promise.all(runs)).flatMap((ran) => (ran.ok ? ran.value : []));
}

/** What a point that answers with text adds to the conversation. */
export const noteOf = (env: StageEnv) => (said: string | undefined, e: Entry) => {
  const text = must(Returns.text, said);
  return text ? [attachment(env, e, e.name, [{ type: "text", text }])] : [];
};

export type Judged = Verdict & { by?: PluginId };
const STRENGTH = ["deny", "ask", "allow", "nothing"] as const;

/** Strictest first: deny > ask > allow. A gate that cannot answer is not a gate that is open. */
export async function gate(env: StageEnv, call: Call, effects: readonly Effect[]): Promise<readonly Judged[]> {
  const judge = async (e: Entry<"gates">): Promise<Judged> => {
    const ran = await runOne(env, e, async (ctx, _, saw) => {
      const verdict = must(Returns.verdict, await e.it.judge(call, effects, ctx));
      if (verdict.say !== "nothing") saw({ note: verdict.rule ? `${verdict.say}: ${verdict.rule}` : verdict.say });
      return verdict;
    });
    return ran.ok ? { ...ran.value, by: e.plugin } : { say: "deny", why: ran.fault.message, by: e.plugin };
  };
  const verdicts = await Promise.all(env.registry.all("gates").map(judge));
  return verdicts.sort((a, b) => STRENGTH.indexOf(a.say) - STRENGTH.indexOf(b.say));
}

export function attachment(env: StageEnv, e: Entry, kind: string, content: Content, data?: Json): Draft<AttachmentMessage> {
  const origin = { by: "plugin" as const, ...whoOf(e) };
  return { role: "attachment", id: env.id("attachment"), at: env.now(), origin, kind, content, ...(data === undefined ? {} : { data }) };
}

/** Characters of JSON of what a model would read of it. */
export function sizeOf(env: TurnEnv, it: object): number {
  const known = env.sizes.get(it);
  if (known !== undefined) return known;
  const size = JSON.stringify((it as { content?: unknown }).content ?? it).length;
  env.sizes.set(it, size);
  return size;
}
export const total = (env: TurnEnv, messages: readonly Message[]): number => messages.reduce((n, m) => n + sizeOf(env, m), 0);
