/** Runs contributions, each mode of `points.ts` written once. Every run leaves one stage record, whose changes are computed here. */
import { BadOutput, type Breaker, type CallScope, describe, guard, type Ran, type Watch } from "./guard.ts";
import type { Admitted, Call, CallContext, SessionView, TurnView, Verdict } from "./plugin.ts";
import { POINTS } from "./points.ts";
import type { Answer, Ask, AttachmentMessage, Change, Content, Draft, Effect, EventBody, Fault, Json, Message } from "./protocol.ts";
import { type PluginId, type PointId, type RuntimeEvent, type StageRecord, unpaired } from "./protocol.ts";
import { type Entry, type Registry, whoOf } from "./registry.ts";
import { must, Returns } from "./returns.ts";

/** What a host gives the loop. Nothing in the kernel reads a clock, makes an id or touches a disk by itself. */
export type TurnEnv = {
  readonly registry: Registry;
  readonly breaker: Breaker;
  readonly now: () => number;
  readonly id: (kind: string) => string;
  /** Rejects when its signal fires. A host that cannot ask answers `deny`. */
  readonly asker: (ask: Ask, signal: AbortSignal) => Promise<Answer>;
  /** Called before an event is visible to anyone, and before what it tells of has an effect. Must not throw. */
  readonly record: (event: RuntimeEvent) => void;
  readonly log: (plugin: PluginId, text: string) => void;
  readonly session: Omit<SessionView, "messages" | "prefix" | "list">;
  readonly capabilities: ReadonlyMap<string, unknown>;
  readonly stateOf: (plugin: PluginId) => Map<string, unknown>;
  /** Remembers the sizes of messages for the session. */
  readonly sizes: WeakMap<object, number>;
  readonly deadlines?: { readonly [P in PointId]?: number };
  readonly watch?: Watch;
};
/** The same within one turn. */
export type StageEnv = TurnEnv & {
  readonly signal: AbortSignal;
  readonly emit: (event: EventBody) => void;
  readonly view: () => SessionView;
  readonly turn: () => TurnView;
};

function contextFor(env: StageEnv, e: Entry, scope: CallScope): CallContext {
  const alive =
    <A extends unknown[], R>(fn: (...a: A) => R) =>
    (...a: A): R => {
      if (scope.live()) return fn(...a);
      throw new Error(`${describe(whoOf(e))} used its context after its call was over`);
    };
  const state = env.stateOf(e.plugin);
  return {
    plugin: e.plugin,
    signal: scope.signal,
    session: env.view(),
    turn: env.turn(),
    options: e.options,
    now: env.now,
    id: env.id,
    log: (text) => env.log(e.plugin, text),
    state: { get: alive((k: string) => state.get(k)), set: alive((k: string, v: unknown) => void state.set(k, v)) },
    use: alive((token: { id: string }) => env.registry.use(token)) as CallContext["use"],
    ask: alive(async (text: string, choices?: readonly string[]) => {
      const resume = scope.pause();
      const ask = { kind: "question" as const, id: env.id("ask"), from: e.plugin, text, ...(choices ? { choices } : {}) };
      return askPerson(env, ask).finally(resume);
    }),
    capability: alive((token: { id: string }) => {
      if (!e.capabilities.includes(token.id)) throw new Error(`capability "${token.id}" is not in its heddle.capabilities`);
      if (!env.capabilities.has(token.id)) throw new Error(`capability "${token.id}" was not granted by the host`);
      return env.capabilities.get(token.id);
    }) as CallContext["capability"],
  };
}

export async function askPerson(env: StageEnv, ask: Ask): Promise<Answer> {
  env.emit({ type: "ask.opened", ask });
  const answer = await env.asker(ask, env.signal);
  env.emit({ type: "ask.closed", id: ask.id, answer });
  return answer;
}

export type Seen = { readonly changes?: readonly Change[]; readonly note?: string };
export type RunOptions = { readonly deadlineMs?: number; readonly graceMs?: number; readonly signal?: AbortSignal };

/** One call of one contribution: breaker, guard, record. `check` may throw BadOutput. */
export async function runOne<K extends PointId, T>(
  env: StageEnv,
  e: Entry<K>,
  call: (ctx: CallContext, scope: CallScope) => T | Promise<T>,
  check: (value: T) => Seen,
  o: RunOptions = {},
): Promise<Ran<T>> {
  const who = whoOf(e);
  const record = (r: Omit<StageRecord, keyof typeof who>): void => env.emit({ type: "stage.ran", record: { ...who, ...r } });
  if (env.breaker.isOpen(who)) {
    const fault: Fault = { code: "plugin-disabled", who, message: `${describe(who)} is off for this session` };
    record({ status: "skipped", ms: 0, changes: [], fault });
    return { ok: false, fault, aborted: false, ms: 0 };
  }
  const deadlineMs = o.deadlineMs ?? (e.it as { deadlineMs?: number }).deadlineMs ?? env.deadlines?.[e.point] ?? POINTS[e.point].deadlineMs;
  const { signal = env.signal, graceMs = 0 } = o;
  let seen: Seen = {};
  const ran = await guard(who, { deadlineMs, graceMs, signal, now: env.now, watch: env.watch }, async (scope) => {
    const value = await call(contextFor(env, e as Entry, scope), scope);
    seen = check(value);
    return value;
  });
  if (ran.ok) {
    env.breaker.record(who, true);
    const changes = seen.changes ?? [];
    record({ status: changes.length > 0 || seen.note ? "ran" : "no-op", ms: ran.ms, changes, ...(seen.note ? { note: seen.note } : {}) });
    return ran;
  }
  record({ status: "failed", ms: ran.ms, changes: [], fault: ran.fault });
  if (ran.aborted || ran.fault.model) return ran; // what a server answers is no fault of the plugin
  env.emit({ type: "fault", fault: ran.fault });
  if (env.breaker.record(who, false)) {
    const message = `${describe(who)} failed ${env.breaker.limit} times in a row and is off for this session: ${POINTS[e.point].failure}`;
    env.emit({ type: "fault", fault: { code: "plugin-disabled", who, message } });
  }
  return ran;
}

type Caller<K extends PointId, T> = (it: Entry<K>["it"], ctx: CallContext) => T | Promise<T>;

export async function first<T>(env: StageEnv, call: Caller<"classifiers", T>, show: (v: T) => string | undefined): Promise<T | undefined> {
  for (const e of env.registry.all("classifiers")) {
    const note = (v: T): Seen => {
      const text = show(v);
      return text ? { note: text } : {};
    };
    const ran = await runOne(env, e, (ctx) => call(e.it, ctx), note);
    if (ran.ok && ran.value !== undefined) return ran.value;
  }
  return undefined;
}

/** Runs all at once; what `read` makes of each answer is kept in registry order, and nothing of those that failed. */
export async function collect<K extends PointId, T, M>(
  env: StageEnv,
  entries: readonly Entry<K>[],
  call: Caller<K, T>,
  read: (value: T, e: Entry<K>) => readonly M[],
): Promise<M[]> {
  const lists = await Promise.all(
    entries.map(async (e) => {
      let made: readonly M[] = [];
      const check = (value: T): Seen => {
        made = read(value, e);
        return {
          changes: made.map((m, i) => ({ op: "add", id: (m as { id?: string }).id ?? `${e.name}.${i}`, size: sizeOf(env, m as object) })),
        };
      };
      const ran = await runOne(env, e, (ctx) => call(e.it, ctx), check);
      return ran.ok ? made : [];
    }),
  );
  return lists.flat();
}

export async function pipe(env: StageEnv, messages: readonly Message[], limit: number, overflowed: boolean): Promise<readonly Message[]> {
  let view = messages;
  for (const e of env.registry.all("compaction")) {
    const before = view;
    const budget = { limit, size: total(env, before), overflowed };
    const make = (kind: string, content: Content, data?: Json): AttachmentMessage => ({
      ...attachment(env, e, kind, content, data),
      parentId: null,
    });
    const ran = await runOne(
      env,
      e,
      (ctx) => e.it.compact(before, budget, make, ctx),
      (after) => {
        if (after === before) return {};
        checkView(before, after);
        return { changes: diff(env, before, after) };
      },
    );
    if (ran.ok) view = ran.value; // a stage that failed is as if it were not there
  }
  return view;
}

export type Judged = Verdict & { readonly by?: PluginId };
const STRENGTH = ["deny", "ask", "allow", "nothing"] as const;

/** deny > ask > allow. A gate that cannot answer is not a gate that is open. */
export async function gate(env: StageEnv, call: Call, effects: readonly Effect[]): Promise<readonly Judged[]> {
  const judge = async (e: Entry<"gates">): Promise<Judged> => {
    const ran = await runOne(
      env,
      e,
      (ctx) => e.it.judge(call, effects, ctx),
      (v) => (must(Returns.verdict, v).say === "nothing" ? {} : { note: v.rule ? `${v.say}: ${v.rule}` : v.say }),
    );
    return ran.ok ? { ...ran.value, by: e.plugin } : { say: "deny", why: ran.fault.message, by: e.plugin };
  };
  const verdicts = await Promise.all(env.registry.all("gates").map(judge));
  return verdicts.sort((a, b) => STRENGTH.indexOf(a.say) - STRENGTH.indexOf(b.say));
}

/** block > stop > pass. A blocker that cannot answer blocks, and says how to get rid of it. */
export async function admit(env: StageEnv, content: Content): Promise<{ verdict: Admitted; notes: Draft<AttachmentMessage>[] }> {
  const notes: Draft<AttachmentMessage>[] = [];
  const answers = await Promise.all(
    env.registry.all("admission").map(async (e): Promise<Admitted> => {
      const ran = await runOne(
        env,
        e,
        (ctx) => e.it.admit(content, ctx),
        (v) => (must(Returns.admitted, v).say === "pass" ? {} : { note: v.say }),
      );
      if (!ran.ok) return { say: "block", why: `${ran.fault.message}. Fix it, or disable plugin "${e.plugin}" in the settings.` };
      if (ran.value.say === "pass" && ran.value.context)
        notes.push(attachment(env, e, e.name, [{ type: "text", text: ran.value.context }]));
      return ran.value;
    }),
  );
  const verdict = answers.find((a) => a.say === "block") ?? answers.find((a) => a.say === "stop") ?? { say: "pass" as const };
  return { verdict, notes };
}

export function attachment(env: StageEnv, e: Entry, kind: string, content: Content, data?: Json): Draft<AttachmentMessage> {
  const origin = { by: "plugin" as const, ...whoOf(e) };
  return { role: "attachment", id: env.id("attachment"), at: env.now(), origin, kind, content, ...(data === undefined ? {} : { data }) };
}

/** A stage may drop messages, shorten results and add attachments; it may not invent or alter what the person or the model said. */
function checkView(before: readonly Message[], after: readonly Message[]): void {
  if (!Array.isArray(after)) throw new BadOutput("not a list of messages");
  const was = new Map(before.map((m) => [m.id, m]));
  for (const m of after as readonly Message[]) {
    const old = was.get(m?.id);
    if (old === m || (m?.role === "attachment" && !old)) must(Returns.content.optional(), m.role === "attachment" ? m.content : undefined);
    else if (!old || old.role !== m.role) throw new BadOutput(`a ${String(m?.role)} message "${String(m?.id)}" that was not there before`);
    else if (m.role === "tool" && old.role === "tool" && m.callId === old.callId) must(Returns.content, m.content);
    else throw new BadOutput(`an altered ${m.role} message "${m.id}"`);
  }
  const { open, orphan } = unpaired(after);
  if (open.length + orphan.length > 0) throw new BadOutput(`calls parted from their results: ${[...open, ...orphan].join(", ")}`);
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

function diff(env: TurnEnv, before: readonly Message[], after: readonly Message[]): Change[] {
  const was = new Map(before.map((m) => [m.id, m]));
  const is = new Set(after.map((m) => m.id));
  const removed = before.filter((m) => !is.has(m.id)).map((m): Change => ({ op: "remove", id: m.id, size: sizeOf(env, m) }));
  const rest = after.flatMap((m): Change[] => {
    const old = was.get(m.id);
    if (!old) return [{ op: "add", id: m.id, size: sizeOf(env, m) }];
    return old === m ? [] : [{ op: "replace", id: m.id, size: sizeOf(env, m), was: sizeOf(env, old) }];
  });
  return [...removed, ...rest];
}
