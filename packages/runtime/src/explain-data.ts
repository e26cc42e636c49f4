/** What happened in a turn, as rows under the phases they belong to. Pure: the same events give the same table. */
import {
  type Change,
  callsOf,
  type Json,
  type Phase,
  POINT_IDS,
  type PointId,
  type RuntimeEvent,
  type StageRecord,
  type TurnOutcome,
  textOf,
  type Usage,
} from "@heddle/kernel";
import { dollars } from "./session/cost.ts";

/** `ms` is absent where nothing was measured. `stage` is the record of the kernel, with ids and sizes in characters. */
export type TableRow = {
  readonly kind: string;
  readonly name: string;
  readonly status: string;
  readonly text: string;
  readonly ms?: number;
  /** Until the first chunk of a reply. */
  readonly firstMs?: number;
  /** Which call of its reply it tells of, from 1. */
  readonly call?: number;
  readonly stage?: StageRecord;
};
export type TableSection = { readonly phase: Phase; readonly step: number; readonly rows: readonly TableRow[] };
export type TurnTable = {
  readonly turn: string | null;
  readonly input: string;
  readonly source: string;
  readonly model: string;
  readonly permissionMode: string;
  readonly sections: readonly TableSection[];
  readonly outcome: TurnOutcome | null;
  readonly modelCalls: number;
  readonly usage: Usage;
  /** From the first event of the turn to its end. */
  readonly ms: number;
};

type Section = { phase: Phase; step: number; rows: TableRow[] };
type Started = Extract<RuntimeEvent, { type: "turn.started" }>;

const CHARS_PER_TOKEN = 3.6;
/** Points whose contributions run together: in a table they stand in the order of the points and of their names. */
const TOGETHER: readonly PointId[] = ["admission", "systemPrompt", "memory", "attachments", "gates", "afterTool", "closers"];

export const tokens = (chars: number): string => thousands(Math.ceil(chars / CHARS_PER_TOKEN));
export const thousands = (n: number): string => String(n).replace(/\B(?=(\d{3})+$)/g, ",");

/** `events` of one turn, as the log or a subscriber has them. */
export function explainData(events: readonly RuntimeEvent[]): TurnTable {
  const started = events.find((e): e is Started => e.type === "turn.started");
  const ended = events.findLast((e) => e.type === "turn.ended");
  const turn = started?.turn ?? events[0]?.turn ?? null;
  const sections: Section[] = [{ phase: "input", step: 0, rows: [] }];
  const last: Section = { phase: "done", step: 0, rows: [] };
  const known = new Set(
    events.flatMap((e) => (e.type === "tool.decided" ? [e.decision.callId] : e.type === "tool.finished" ? [e.callId] : [])),
  );
  const places = placesOf(events);
  const dry = isDry(events);
  let early: { readonly phase: Phase; readonly row: TableRow }[] = [];
  const taken = (phase: Phase): TableRow[] => {
    const now = early.filter((it) => it.phase === phase || phase === "done");
    early = early.filter((it) => !now.includes(it));
    return now.map((it) => it.row);
  };
  for (const event of events) {
    if (event.turn !== turn) continue;
    if (event.type === "turn.phase") {
      if (event.to !== "done") sections.push({ phase: event.to, step: event.step, rows: taken(event.to) });
      continue;
    }
    const made = rowOf(event) ?? unrun(event, known);
    if (!made) continue;
    const call = places.get(callIdOf(event) ?? "");
    const row = {
      ...made,
      ...(call === undefined ? {} : { call }),
      ...(dry && event.type === "model.requested" ? { status: "would send" } : {}),
    };
    const late = event.type === "stage.ran" && event.record.point === "observers";
    const phase = phaseOf(event);
    if (late) last.rows.push(row);
    else if (phase && CALLS.indexOf(phase) > CALLS.indexOf(sections.at(-1)!.phase)) early.push({ phase, row });
    else sections.at(-1)!.rows.push(row);
  }
  sections.at(-1)!.rows.push(...taken("done"));
  const all = last.rows.length > 0 ? [...sections, last] : sections;
  return {
    turn,
    input: started?.input.text ?? "",
    source: started?.input.source ?? "",
    model: started?.model ?? "",
    permissionMode: started?.permissionMode ?? "",
    sections: all.map((s) => ({ ...s, rows: s.phase === "done" ? sorted(s.rows) : settled(s.rows) })),
    outcome: ended?.type === "turn.ended" ? ended.outcome : null,
    modelCalls: dry ? 0 : events.filter((e) => e.type === "model.requested" && e.turn === turn).length,
    usage: usageOf(events),
    ms: ended && started ? ended.at - started.at : 0,
  };
}

/** The place of each call in its reply, from 1. */
function placesOf(events: readonly RuntimeEvent[]): ReadonlyMap<string, number> {
  const replies = events.flatMap((e) => (e.type === "message.added" && e.message.role === "assistant" ? [e.message] : []));
  return new Map(replies.flatMap((m) => callsOf(m).map(({ callId }, i) => [callId, i + 1] as const)));
}
function callIdOf(e: RuntimeEvent): string | undefined {
  if (e.type === "tool.finished") return e.callId;
  return e.type === "message.added" && e.message.role === "tool" ? e.message.callId : undefined;
}

const CALLS: readonly Phase[] = ["sampling", "gating", "executing"];
/** Where a table tells of a call, which may begin while its reply still comes in. */
function phaseOf(e: RuntimeEvent): Phase | undefined {
  const point = e.type === "stage.ran" ? e.record.point : undefined;
  if (point === "gates" || e.type === "tool.decided" || e.type === "ask.opened" || e.type === "ask.closed") return "gating";
  if (point === "tools" || point === "afterTool" || e.type === "tool.finished") return "executing";
  return undefined;
}

/** Only a turn that was built and not sent is complete without a reply. */
function isDry(events: readonly RuntimeEvent[]): boolean {
  const has = (type: RuntimeEvent["type"]): boolean => events.some((e) => e.type === type);
  const complete = events.some((e) => e.type === "turn.ended" && e.outcome.kind === "completed");
  return complete && has("model.requested") && !has("model.replied");
}

function usageOf(events: readonly RuntimeEvent[]): Usage {
  let sum = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 };
  for (const e of events) {
    if ((e.type !== "model.replied" && e.type !== "model.billed") || !e.usage) continue;
    const { input, output, cacheRead = 0, cacheWrite = 0 } = e.usage;
    sum = {
      input: sum.input + input,
      output: sum.output + output,
      cacheRead: sum.cacheRead + cacheRead,
      cacheWrite: sum.cacheWrite + cacheWrite,
    };
  }
  return sum;
}

/** Calls that a gate decided on or that ran have rows of their own; what is left never got that far. */
function unrun(e: RuntimeEvent, known: ReadonlySet<string>): TableRow | undefined {
  if (e.type !== "message.added" || e.message.role !== "tool" || known.has(e.message.callId)) return undefined;
  return row("call", e.message.tool, e.message.outcome, cut(textOf(e.message.content)));
}

function rowOf(e: RuntimeEvent): TableRow | undefined {
  switch (e.type) {
    case "stage.ran":
      return stageRow(e.record);
    case "prefix.built": {
      const size = (parts: readonly { text: string }[]): string => tokens(parts.reduce((n, p) => n + p.text.length, 0));
      const { system, context } = e.prefix;
      return row("prefix", "", "built", `system ${size(system)} tokens, context ${size(context)} tokens`);
    }
    case "model.requested": {
      const { tools, system, context, messages } = e.size;
      const parts = `tools ${tokens(tools)}, system ${tokens(system)}, context ${tokens(context)}, messages ${tokens(messages)}`;
      const total = tokens(tools + system + context + messages);
      return row(
        "request",
        `${e.provider}/${e.model}`,
        "sent",
        `${total} tokens: ${parts}; ${count(e.messages, "message")}, ${count(e.tools.length, "tool")}`,
      );
    }
    case "model.replied":
      return { ...row("reply", "", e.stop, usageText(e.usage)), ms: e.ms, firstMs: e.firstMs };
    case "model.retry": {
      const where = e.model === undefined ? "" : `${e.model}: `;
      return row("retry", e.cause, `${e.attempt} of ${e.of}`, `${where}after ${thousands(e.waitMs)} ms; ${e.message}`);
    }
    case "message.voided":
      return row("void", "", "voided", e.why);
    case "prefix.broken":
      return row("prefix", "", "broken", `${e.cause}: about ${thousands(e.tokens)} tokens paid for anew, ${extra(e.usd)}`);
    case "model.billed":
      return row("billed", `${e.provider}/${e.model}`, "no reply", usageText(e.usage));
    case "history.dropped":
      return row("history", "", "dropped", `${count(e.ids.length, "message")}: ${e.why}`);
    case "message.added":
      return messageRow(e.message);
    case "tool.decided": {
      const { tool, say, by, rule, why } = e.decision;
      return row("decision", tool, say, [`by ${by}`, rule, why].filter(Boolean).join(": "));
    }
    case "tool.finished":
      return { ...row("tool", e.tool, e.outcome, ""), ms: e.ms };
    case "ask.opened":
      return e.ask.kind === "permission"
        ? row("ask", e.ask.call.tool, "opened", `${e.ask.why}${e.ask.by ? ` (${e.ask.by})` : ""}`)
        : row("ask", e.ask.from, "opened", e.ask.text);
    case "ask.closed":
      return row(
        "answer",
        "",
        e.answer.kind,
        e.answer.kind === "deny" ? (e.answer.reason ?? "") : e.answer.kind === "text" ? e.answer.text : "",
      );
    case "fault":
      return e.fault.who && e.fault.code !== "plugin-disabled" ? undefined : row("fault", "", e.fault.code, e.fault.message);
    case "session.changed":
      return row(
        "change",
        "",
        "session",
        Object.entries(e.change)
          .map(([key, value]) => `${key} ${String(value)}`)
          .join(", "),
      );
    default:
      return undefined;
  }
}

const extra = (usd: number | undefined): string => (usd === undefined ? "price unknown" : `${dollars(usd)} more than from the cache`);
const row = (kind: string, name: string, status: string, text: string): TableRow => ({ kind, name, status, text: oneLine(text) });
const count = (n: number, what: string): string => `${thousands(n)} ${what}${n === 1 ? "" : "s"}`;
const oneLine = (text: string): string => text.replace(/\s+/g, " ").trim();
const SHOWN = 120;
const cut = (text: string): string => {
  const line = oneLine(text);
  return line.length > SHOWN ? `${line.slice(0, SHOWN - 1)}…` : line;
};

/** What a provider or a tool did is in the rows of its call; here it only counts when it failed. */
function stageRow(r: StageRecord): TableRow | undefined {
  const own = r.point === "providers" || r.point === "tools" || r.point === "observers";
  if (own && r.status !== "failed" && r.status !== "skipped") return undefined;
  const text = r.fault ? r.fault.message : [changesText(r.changes), r.note].filter(Boolean).join("; ");
  return { ...row(r.point, `${r.plugin}/${r.name}`, r.status, text), ms: r.ms, stage: r };
}

function changesText(changes: readonly Change[]): string {
  const of = (op: Change["op"]): readonly Change[] => changes.filter((c) => c.op === op);
  const size = (list: readonly Change[]): number => list.reduce((n, c) => n + c.size, 0);
  const [added, removed, replaced] = [of("add"), of("remove"), of("replace")];
  const was = replaced.reduce((n, c) => n + (c.op === "replace" ? c.was : 0), 0);
  return [
    added.length > 0 ? `added ${added.length} (${tokens(size(added))} tokens)` : "",
    removed.length > 0 ? `removed ${removed.length} (${tokens(size(removed))} tokens)` : "",
    replaced.length > 0 ? `replaced ${replaced.length} (${tokens(was)} to ${tokens(size(replaced))} tokens)` : "",
  ]
    .filter(Boolean)
    .join(", ");
}

function usageText(usage: Usage | undefined): string {
  if (!usage) return "";
  const { input, output, cacheRead, cacheWrite } = usage;
  const parts = [`in ${thousands(input)}`, `out ${thousands(output)}`];
  if (cacheRead !== undefined) parts.push(`cache read ${thousands(cacheRead)}`);
  if (cacheWrite !== undefined) parts.push(`written ${thousands(cacheWrite)}`);
  return `tokens: ${parts.join(", ")}`;
}

function messageRow(m: Extract<RuntimeEvent, { type: "message.added" }>["message"]): TableRow | undefined {
  if (m.role === "system") return row("said", m.subtype, m.level, cut(m.text));
  if (m.role === "user")
    return row(
      "message",
      m.origin.by === "plugin" ? `${m.origin.plugin}/${m.origin.name}` : m.origin.by,
      m.isMeta ? "meta" : "user",
      cut(textOf(m.content)),
    );
  if (m.role !== "assistant") return undefined;
  const said = cut(textOf(m.content));
  const calls = callsOf(m).map((c) => `${c.tool} ${cut(jsonOf(c.input))}`);
  return row("message", "", "model", [said, ...calls].filter(Boolean).join("; "));
}

const jsonOf = (value: Json): string => JSON.stringify(value) ?? "";

/** Rows of what ran together, in an order that does not depend on which was faster: calls as the model made them. */
function settled(rows: readonly TableRow[]): TableRow[] {
  const out: TableRow[] = [];
  let run: TableRow[] = [];
  let prefix: TableRow[] = [];
  const flush = (): void => {
    out.push(...sorted(run), ...prefix);
    run = [];
    prefix = [];
  };
  for (const r of rows) {
    if (TOGETHER.some((point) => point === r.kind) || r.call !== undefined) run.push(r);
    else if (r.kind === "prefix") prefix.push(r);
    else {
      flush();
      out.push(r);
    }
  }
  flush();
  return out;
}

function sorted(rows: readonly TableRow[]): TableRow[] {
  const padded = (n: number): string => String(n).padStart(3, "0");
  const kind = (r: TableRow): number => (r.call === undefined ? POINT_IDS.indexOf(r.kind as PointId) + 1 : 0);
  const key = (r: TableRow): string => `${padded(kind(r))} ${padded(r.call ?? 0)} ${r.name} ${r.status} ${r.text}`;
  return [...rows].sort((a, b) => (key(a) < key(b) ? -1 : key(a) > key(b) ? 1 : 0));
}
