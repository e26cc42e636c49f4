/** Checks one plugin against the contract of plugins, as its author or a curious user would before it is trusted. */
import { type Json, POINT_IDS, type StageRecord, z } from "@heddle/kernel";
import { type Candidate, type Host, type Started, startPlugins } from "@heddle/runtime";
import { memoryHost } from "@heddle/runtime/memory";
import { type Reply, scriptedModel } from "../model.ts";
import { plugin } from "../plugin.ts";
import { runTurnWith } from "../turn.ts";
import { candidateOf } from "./folder.ts";
import { handles, leftOver } from "./handles.ts";

export type CheckOptions = {
  /** Its options, as the settings would give them. */
  readonly options?: unknown;
  /** The plugins that it requires. */
  readonly with?: readonly Candidate[];
  /** What its tools and commands are called with. Each tool gets a step, each command a turn; every ask is allowed. */
  readonly samples?: {
    readonly tools?: Readonly<Record<string, readonly Json[]>>;
    readonly commands?: Readonly<Record<string, readonly string[]>>;
  };
  /** What is typed in the turn in which all other contributions run. Default `hello`. */
  readonly prompt?: string;
  /** Default: one in memory with an empty folder. */
  readonly host?: Host;
  /** Milliseconds that one turn may take. Default 5,000. */
  readonly turnMs?: number;
  /** Milliseconds for loading and setup. Default 2,000. */
  readonly setupMs?: number;
};
export type Finding = {
  readonly check: "manifest" | "setup" | "setup twice" | "schema" | "deadline" | "call" | "dispose" | "handles";
  readonly message: string;
};
export type CheckReport = {
  readonly plugin: string;
  readonly ok: boolean;
  readonly findings: readonly Finding[];
  /** The findings, one a line, or one line that says that all is well. */
  readonly text: string;
};
type Say = (check: Finding["check"], message: string) => void;

/** The longest deadline that any point has by itself. */
const MAX_DEADLINE_MS = 600_000;

/** `subject`: a candidate, or the folder of a package with a `heddle` key. Never rejects for what the plugin does. */
export async function checkPlugin(subject: string | Candidate, o: CheckOptions = {}): Promise<CheckReport> {
  const before = handles();
  const findings: Finding[] = [];
  const say: Say = (check, message) => {
    if (!findings.some((f) => f.message === message)) findings.push({ check, message });
  };
  const read = typeof subject === "string" ? candidateOf(subject) : { candidate: subject };
  if ("problem" in read) return reportOf(subject as string, [{ check: "manifest", message: read.problem }]);
  const candidate = { ...read.candidate, ...(o.options === undefined ? {} : { options: o.options }) };
  if (await checkSetup(candidate, o, say)) {
    await checkTurn(candidate, o, say);
    await checkSamples(candidate, o, say);
  }
  for (const line of await leftOver(before))
    say("handles", `plugin "${candidate.id}" leaves ${line} after its dispose; end it in a function given to ctx.onDispose()`);
  return reportOf(candidate.id, findings);
}

function reportOf(id: string, findings: readonly Finding[]): CheckReport {
  const ok = findings.length === 0;
  const text = ok ? `plugin "${id}": all checks passed` : findings.map((f) => `${f.check}: ${f.message}`).join("\n");
  return { plugin: id, ok, findings, text };
}

/** Three starts: alone, beside the first, and after both are disposed. True when the plugin starts at all. */
async function checkSetup(candidate: Candidate, o: CheckOptions, say: Say): Promise<boolean> {
  const start = (): Promise<Started> =>
    startPlugins([...(o.with ?? []), candidate], { host: o.host ?? memoryHost(), setupMs: o.setupMs ?? 2_000 });
  const end = async (started: Started): Promise<void> => {
    for (const p of await started.dispose()) if (p.plugin === candidate.id) say("dispose", p.message);
  };
  const problemsOf = (started: Started): readonly { stage: string; message: string }[] =>
    started.problems.filter((p) => p.plugin === candidate.id);
  const namesOf = (started: Started): string =>
    JSON.stringify(started.plugins.filter((p) => p.id === candidate.id).map((p) => p.contributes));

  const first = await start();
  for (const p of problemsOf(first)) say(/^(discover|manifest|api)$/.test(p.stage) ? "manifest" : "setup", p.message);
  if (!first.plugins.some((p) => p.id === candidate.id)) {
    await end(first);
    return false;
  }
  checkContributions(first, candidate.id, say);
  const names = namesOf(first);
  const second = await start();
  await end(first);
  await end(second);
  const third = await start();
  await end(third);
  for (const [again, when] of [
    [second, "while it was active already"],
    [third, "after its dispose"],
  ] as const) {
    for (const p of problemsOf(again)) say("setup twice", `set up ${when}: ${p.message}; keep all state in what setup makes`);
    if (problemsOf(again).length === 0 && namesOf(again) !== names)
      say("setup twice", `plugin "${candidate.id}", set up ${when}, contributes ${namesOf(again)}, and at first ${names}`);
  }
  return true;
}

/** Schemas that a model can read, deadlines that end. */
function checkContributions({ registry }: Started, id: string, say: Say): void {
  const schema = (what: string, make: () => unknown, needsObject: boolean): void => {
    try {
      const made = make() as { type?: unknown } | null;
      JSON.stringify(made);
      if (needsObject && made?.type !== "object") say("schema", `${what} is not that of an object; model APIs take nothing else`);
    } catch (error) {
      say("schema", `${what} cannot be turned into a JSON Schema: ${error instanceof Error ? error.message : String(error)}`);
    }
  };
  for (const point of POINT_IDS) {
    for (const e of registry.all(point).filter((e) => e.plugin === id)) {
      const { deadlineMs } = e.it as { deadlineMs?: unknown };
      if (typeof deadlineMs === "number" && !(deadlineMs > 0 && deadlineMs <= MAX_DEADLINE_MS))
        say("deadline", `${point} "${e.name}" has a deadline of ${deadlineMs} ms; choose one above 0 and up to ${MAX_DEADLINE_MS}`);
    }
  }
  for (const e of registry.all("tools").filter((e) => e.plugin === id))
    schema(`the input schema of tool "${e.name}"`, () => e.it.jsonSchema ?? z.toJSONSchema(e.it.input, { io: "input" }), true);
  for (const e of registry.all("attachments").filter((e) => e.plugin === id))
    schema(`the schema of attachment "${e.name}"`, () => z.toJSONSchema(e.it.schema), false);
}

/** One turn in which all that needs no name runs: classifiers, admission, prompt parts, attachments, memory, compaction, closers, observers. */
async function checkTurn(candidate: Candidate, o: CheckOptions, say: Say): Promise<void> {
  await turn(candidate, o, say, { input: o.prompt ?? "hello", replies: ["Hello."], more: [] });
}

async function checkSamples(candidate: Candidate, o: CheckOptions, say: Say): Promise<void> {
  for (const [tool, inputs] of Object.entries(o.samples?.tools ?? {}))
    for (const input of inputs)
      await turn(candidate, o, say, { input: "use the tool", replies: [{ calls: [{ tool, input }] }, "Done."], more: [] });
  for (const [command, list] of Object.entries(o.samples?.commands ?? {})) {
    for (const args of list) {
      const classifier = { name: "testkit", classify: () => ({ as: "command" as const, command, args }) };
      const typed = plugin("testkit", { classifiers: ["testkit"] }, () => ({ classifiers: [classifier] }));
      await turn(candidate, o, say, { input: `/${command} ${args}`, replies: ["Done."], more: [typed] });
    }
  }
}

type Turn = { readonly input: string; readonly replies: readonly Reply[]; readonly more: readonly Candidate[] };
async function turn(candidate: Candidate, o: CheckOptions, say: Say, t: Turn): Promise<void> {
  const turnMs = o.turnMs ?? 5_000;
  let timer: ReturnType<typeof setTimeout> | undefined;
  const ran = await runTurnWith({
    plugins: [...t.more, ...(o.with ?? []), candidate],
    replies: scriptedModel(t.replies),
    input: t.input,
    answers: () => ({ kind: "allow" }),
    ...(o.host ? { host: o.host } : {}),
    onEvent(event, session) {
      if (event.type === "turn.started") timer = setTimeout(() => session.abort("checkPlugin's deadline"), turnMs);
    },
  }).finally(() => clearTimeout(timer));
  for (const e of ran.events) {
    if (e.type === "fault" && e.fault.who?.plugin === candidate.id) say("call", e.fault.message);
    else if (e.type === "stage.ran" && e.record.plugin === candidate.id && hung(e.record))
      say("call", `plugin "${candidate.id}" (${e.record.point} "${e.record.name}") gave no answer within ${turnMs} ms`);
    else if (e.type === "message.added" && e.message.role === "tool" && e.message.outcome !== "ok")
      say(
        "call",
        `tool "${e.message.tool}" answered its sample with an error: ${e.message.content.map((p) => (p.type === "text" ? p.text : "")).join("")}`,
      );
    else if (e.type === "message.added" && e.message.role === "system" && e.message.level === "error") say("call", e.message.text);
  }
  for (const line of ran.refused) say("call", `with plugin "${candidate.id}", the model gets what no API takes: ${line}`);
}
const hung = (r: StageRecord): boolean => r.status === "failed" && /was aborted$/.test(r.fault?.message ?? "");
