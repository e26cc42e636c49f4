/** Checks one plugin against the contract of plugins, as its author or a curious user would before it is trusted. */
import { defineTool, type Fault, type Json, POINT_IDS, type PointId, type RuntimeEvent, textOf, z } from "@heddle/kernel";
import { type Candidate, type Host, type Started, startPlugins } from "@heddle/runtime";
import { memoryHost } from "@heddle/runtime/memory";
import { type Reply, type ScriptedCall, scriptedModel } from "../model.ts";
import { plugin } from "../plugin.ts";
import { runTurnWith, startWith } from "../turn.ts";
import { candidateOf } from "./folder.ts";
import { handles, leftOver } from "./handles.ts";

export type CheckOptions = {
  /** Its options, as the settings would give them. */
  readonly options?: unknown;
  /** The plugins that it requires. */
  readonly with?: readonly Candidate[];
  /** What its tools and commands are called with; each gets a turn, and every ask is allowed. Tools run on samples only, commands also without arguments. */
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
  /** There are no findings. */
  readonly ok: boolean;
  readonly findings: readonly Finding[];
  /** What may be right, but not for the made-up input: a command that throws without arguments, a provider that says why it cannot answer. */
  readonly warnings: readonly Finding[];
  /** Findings and warnings, one a line, or one line that says that all is well. */
  readonly text: string;
};
type Say = (check: Finding["check"], message: string) => void;
/** `warn` is for what need not be wrong. */
type Report = { readonly say: Say; readonly warn: Say };
type Names = ReadonlyMap<PointId, readonly string[]>;

/** The longest deadline that any point has by itself. */
const MAX_DEADLINE_MS = 600_000;
/** Milliseconds after which a provider that has not answered is told to stop. */
const PROVIDER_MS = 1_000;

/** `subject`: a candidate, or the folder of a package with a `heddle` key. Never rejects for what the plugin does. */
export async function checkPlugin(subject: string | Candidate, o: CheckOptions = {}): Promise<CheckReport> {
  const before = handles();
  const findings: Finding[] = [];
  const warnings: Finding[] = [];
  const into =
    (list: Finding[]): Say =>
    (check, message) => {
      if (![...findings, ...list].some((f) => f.message === message)) list.push({ check, message });
    };
  const say = into(findings);
  const read = typeof subject === "string" ? candidateOf(subject) : { candidate: subject };
  if ("problem" in read) return reportOf(subject as string, [{ check: "manifest", message: read.problem }], []);
  const candidate = { ...read.candidate, ...(o.options === undefined ? {} : { options: o.options }) };
  const names = await checkSetup(candidate, o, say);
  if (names) await checkCalls(candidate, o, names, { say, warn: into(warnings) });
  for (const line of await leftOver(before))
    say("handles", `plugin "${candidate.id}" leaves ${line} after its dispose; end it in a function given to ctx.onDispose()`);
  return reportOf(candidate.id, findings, warnings);
}

function reportOf(id: string, findings: readonly Finding[], warnings: readonly Finding[]): CheckReport {
  const ok = findings.length === 0;
  const passed = `plugin "${id}": all checks passed${warnings.length > 0 ? ", but:" : ""}`;
  const lines = [...findings.map((f) => `${f.check}: ${f.message}`), ...warnings.map((f) => `warning, ${f.check}: ${f.message}`)];
  return { plugin: id, ok, findings, warnings, text: [...(ok ? [passed] : []), ...lines].join("\n") };
}

/** Three starts: alone, beside the first, and after both are disposed. What it contributes; undefined when it does not start at all. */
async function checkSetup(candidate: Candidate, o: CheckOptions, say: Say): Promise<Names | undefined> {
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
    return undefined;
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
  const own = (point: PointId): string[] =>
    first.registry
      .all(point)
      .filter((e) => e.plugin === candidate.id)
      .map((e) => e.name);
  return new Map(POINT_IDS.map((point) => [point, own(point)]));
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

const PROBE = "TestkitProbe";
const KINDS = ["read", "write", "execute", "network", "other"] as const;
const TARGETS = {
  read: "/project/a.txt",
  write: "/project/a.txt",
  execute: "ls -la",
  network: "https://example.com/",
  other: "a",
} as const;

/** A tool that gates judge, and a stage for which the kernel asks a provider how much it takes. With `command`, all that is typed is that. */
function probe(command?: string, args = ""): Candidate {
  const tool = defineTool({
    name: PROBE,
    description: "Does nothing.",
    input: z.object({ kind: z.enum(KINDS), target: z.string() }),
    overlap: "shared",
    effects: (input) => [input],
    run: () => "done",
  });
  const compaction = { name: "testkit", compact: (view: readonly never[]) => view };
  const classifiers = command === undefined ? [] : [{ name: "testkit", classify: () => ({ as: "command" as const, command, args }) }];
  const contributes = { tools: [PROBE], compaction: ["testkit"], classifiers: classifiers.map((c) => c.name) };
  return plugin("testkit", contributes, () => ({ tools: [tool], compaction: [compaction], classifiers }));
}

/** Runs all that can be run with an input that is made up, and what there are samples of. */
async function checkCalls(candidate: Candidate, o: CheckOptions, names: Names, report: Report): Promise<void> {
  const run = (t: Turn): Promise<void> => turn(candidate, o, report, t);
  const calls = KINDS.map((kind): ScriptedCall => ({ tool: PROBE, input: { kind, target: TARGETS[kind] } }));
  await run({ input: o.prompt ?? "hello", replies: [{ calls }, "Hello."] });
  for (const provider of names.get("providers") ?? []) {
    await run({ input: "hello", provider });
    await encoded(candidate, o, report, provider);
  }
  const { tools = {}, commands = {} } = o.samples ?? {};
  for (const [tool, inputs] of Object.entries(tools))
    for (const input of inputs) await run({ input: "use the tool", replies: [{ calls: [{ tool, input }] }, "Done."], sample: true });
  for (const command of names.get("commands") ?? []) if (!commands[command]?.includes("")) await run(typed(command, ""));
  for (const [command, list] of Object.entries(commands)) for (const args of list) await run({ ...typed(command, args), sample: true });
}

/** What a provider would send, without sending it. */
async function encoded(candidate: Candidate, o: CheckOptions, report: Report, provider: string): Promise<void> {
  const plugins = [...(o.with ?? []), candidate];
  const runtime = await startWith({ plugins, provider, model: "testkit", ...(o.host ? { host: o.host } : {}) });
  const { session } = await runtime.open();
  for (const e of (await session.dry("hello")).events) judge(e, candidate.id, 0, { input: "hello", provider }, report);
  await runtime.dispose();
}

const typed = (command: string, args: string): Turn => ({ input: `/${command} ${args}`, command, args, replies: ["Done."] });

/** `sample`: the input is the author's, so that it has to work. With `provider`, that one is asked in place of the script. */
type Turn = {
  readonly input: string;
  readonly replies?: readonly Reply[];
  readonly provider?: string;
  readonly command?: string;
  readonly args?: string;
  readonly sample?: true;
};
async function turn(candidate: Candidate, o: CheckOptions, report: Report, t: Turn): Promise<void> {
  const { turnMs = 5_000 } = o;
  const ms = t.provider === undefined ? turnMs : Math.min(turnMs, PROVIDER_MS);
  let timer: ReturnType<typeof setTimeout> | undefined;
  const ran = await runTurnWith({
    plugins: [probe(t.command, t.args), ...(o.with ?? []), candidate],
    replies: scriptedModel(t.replies ?? []),
    input: t.input,
    answers: () => ({ kind: "allow" }),
    ...(o.host ? { host: o.host } : {}),
    ...(t.provider === undefined ? {} : { provider: t.provider, model: "testkit" }),
    onEvent(event, session) {
      if (event.type !== "turn.started") return;
      clearTimeout(timer);
      timer = setTimeout(() => session.abort("checkPlugin's deadline"), ms);
    },
  }).finally(() => clearTimeout(timer));
  for (const e of ran.events) judge(e, candidate.id, ms, t, report);
  for (const line of ran.refused) report.say("call", `with plugin "${candidate.id}", the model gets what no API takes: ${line}`);
}

function judge(e: RuntimeEvent, id: string, ms: number, t: Turn, { say, warn }: Report): void {
  const fault = faultOf(e, id);
  if (fault?.message.endsWith("was aborted")) {
    const { point, name } = fault.who!;
    if (point !== "providers") say("call", `plugin "${id}" (${point} "${name}") gave no answer within ${ms} ms`);
  } else if (fault) {
    const expected = fault.model !== undefined || (fault.who?.point === "commands" && !t.sample);
    (expected ? warn : say)("call", fault.message);
  } else if (e.type !== "message.added" || !t.sample) return;
  else if (e.message.role === "tool" && e.message.outcome !== "ok")
    say("call", `tool "${e.message.tool}" answered its sample with an error: ${textOf(e.message.content)}`);
  else if (e.message.role === "system" && e.message.level === "error") say("call", e.message.text);
}

/** What of a plugin went wrong. That it is switched off after three failures is no news. */
function faultOf(e: RuntimeEvent, id: string): Fault | undefined {
  if (e.type === "stage.ran") return e.record.plugin === id && e.record.status === "failed" ? e.record.fault : undefined;
  return e.type === "fault" && e.fault.who?.plugin === id && e.fault.code !== "plugin-disabled" ? e.fault : undefined;
}
