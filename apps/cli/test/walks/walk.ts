/** One random life of a session: turns, interrupts, faults, blocked prompts, denials, other models, kills and resumes, against the strict server. */
import { type FaultName, type Script, type Step, startAnthropicServer } from "@heddle/anthropic-server";
import compaction from "@heddle/compaction";
import compactionJson from "@heddle/compaction/package.json" with { type: "json" };
import { callsOf, definePlugin, defineTool, textOf, unpaired, z } from "@heddle/kernel";
import anthropic from "@heddle/provider-anthropic";
import anthropicJson from "@heddle/provider-anthropic/package.json" with { type: "json" };
import { type Candidate, createRuntime, type Runtime, type Session, type TurnResult } from "@heddle/runtime";
import { type MemoryHost, memoryHost } from "@heddle/runtime/memory";

const MODELS = ["claude-opus-5-5", "claude-sonnet-5-5", "claude-haiku-4-5", "claude-opus-4-6"];
/** Those that end without a long wait; each strikes one request. */
export const FAULTS: readonly FaultName[] = [
  "529",
  "500",
  "504",
  "401",
  "400-other",
  "400-too-long",
  "413",
  "html-502",
  "reset",
  "cut-text",
  "cut-in-tool",
  "sse-error",
  "sse-error-first",
  "no-message-stop",
  "malformed-json",
  "max-tokens-text",
  "max-tokens-tool",
  "refusal",
  "pause-turn",
  "empty-end-turn",
  "unknown-tool",
  "bad-tool-args",
];

type Random = { next(): number; below(n: number): number; pick<T>(list: readonly T[]): T; chance(p: number): boolean };
export function randomOf(seed: number): Random {
  let state = seed >>> 0 || 1;
  const next = (): number => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    state >>>= 0;
    return state / 4_294_967_296;
  };
  const below = (n: number): number => Math.floor(next() * n);
  return { next, below, pick: (list) => list[below(list.length)]!, chance: (p) => next() < p };
}

function stepOf(r: Random): Step {
  const fault = r.chance(0.2) ? { fault: { name: r.pick(FAULTS), times: 1 } } : {};
  if (r.chance(0.02)) return { text: "I would rather", stop_reason: "refusal" };
  const thinking = r.chance(0.3) ? { thinking: "Let me think about that." } : {};
  const calls = Array.from({ length: r.below(4) }, () => ({
    name: r.pick(["Echo", "Echo", "Fails", "Slow", "Guarded"]),
    input: { text: `t${r.below(100)}` },
  }));
  if (calls.length === 0 || r.chance(0.35)) return { ...thinking, text: `Answer ${r.below(1000)} with some words in it.`, ...fault };
  return { ...thinking, ...(r.chance(0.5) ? { text: "Working on it." } : {}), calls, ...fault };
}

const input = z.object({ text: z.string() });
const tool = (name: string, run: (text: string, signal: AbortSignal) => Promise<string>, effects = false) =>
  defineTool({
    name,
    description: name,
    input,
    overlap: name === "Slow" ? "exclusive" : "shared",
    effects: (i) => (effects ? [{ kind: "write", target: i.text }] : []),
    run: (i, ctx) => run(i.text, ctx.signal),
  });
const workshop = definePlugin({
  setup: () => ({
    tools: [
      tool("Echo", async (text) => text.repeat(20)),
      tool("Fails", async () => {
        throw new Error("it failed");
      }),
      tool("Slow", async (text) => {
        for (let i = 0; i < 5; i++) await new Promise((resolve) => setImmediate(resolve));
        return text;
      }),
      tool("Guarded", async (text) => text, true),
    ],
    gates: [{ name: "odd", judge: (_, effects) => (effects.length === 0 ? { say: "nothing" } : { say: "deny", why: "not here" }) }],
    admission: [
      {
        name: "bouncer",
        admit: (content) => (textOf(content).includes("forbidden") ? { say: "block", why: "forbidden" } : { say: "pass" }),
      },
    ],
    systemPrompt: [{ name: "rules", placement: "system", build: () => "Be brief. ".repeat(120) }],
  }),
});
const contributes = { tools: ["Echo", "Fails", "Slow", "Guarded"], gates: ["odd"], admission: ["bouncer"], systemPrompt: ["rules"] };

const candidate = (id: string, manifest: unknown, plugin: unknown, options?: unknown): Candidate => ({
  id,
  version: "1.0.0",
  from: "walk",
  manifest,
  ...(options === undefined ? {} : { options }),
  load: async () => plugin,
});

/** What happened in a walk, so that a test can see that its walks were worth something. */
export type Seen = { faults: FaultName[]; outcomes: string[]; kills: number; retries: number; voided: number; dropped: number };

/** Rejects with the seed when an invariant does not hold. */
export async function walk(seed: number): Promise<Seen> {
  const saw: Seen = { faults: [], outcomes: [], kills: 0, retries: 0, voided: 0, dropped: 0 };
  const r = randomOf(seed);
  const steps = new Map<number, Step>();
  const script: Script = (_, index) => {
    if (!steps.has(index)) steps.set(index, stepOf(r));
    return steps.get(index);
  };
  const server = await startAnthropicServer({ script, seed: String(seed) as never });
  const options = { apiKey: "walk", baseURL: server.url };
  const open = async (host: MemoryHost, resume: boolean): Promise<{ runtime: Runtime; session: Session }> => {
    const life = ++lives; // ids are unique for ever, also over a kill
    const runtime = await createRuntime({
      host: { ...host, id: (kind) => `${host.id(kind)}-${life}` },
      cwd: "/w",
      stateDir: "/state",
      plugins: [
        candidate("workshop", { manifest: 1, api: "^1.0.0", main: "x", contributes }, workshop),
        candidate("anthropic", { ...anthropicJson.heddle }, anthropic, options),
        candidate("compaction", { ...compactionJson.heddle }, compaction),
      ],
      provider: "anthropic",
      model: MODELS[0]!,
    });
    if (runtime.problems.length > 0) throw new Error(runtime.problems.map((p) => p.message).join("; "));
    return { runtime, session: await runtime.open({ headless: true, maxSteps: 12, ...(resume ? { resume: "latest" } : {}) }) };
  };
  let lives = 0;
  let host = memoryHost();
  let { runtime, session } = await open(host, false);
  const accepted: string[] = [];
  let typed = 0;
  try {
    for (let op = 0; op < 6; op++) {
      if (r.chance(0.2)) session.setModel(r.pick(MODELS));
      const text = `${r.chance(0.08) ? "forbidden " : ""}prompt-${seed}-${typed++}`;
      const stopAt = r.chance(0.3) ? 1 + r.below(40) : 0;
      const killAt = r.chance(0.25) ? 1 + r.below(40) : 0;
      const steerAt = r.chance(0.2) ? 1 + r.below(25) : 0;
      let seen = 0;
      let snapshot: ReadonlyMap<string, Uint8Array> | undefined;
      const unsubscribe = session.subscribe((e) => {
        seen++;
        if (e.type === "model.retry") saw.retries++;
        if (e.type === "message.voided") saw.voided++;
        if (e.type === "history.dropped") saw.dropped++;
        if (e.type === "turn.ended") saw.outcomes.push(e.outcome.kind);
        if (seen === steerAt) {
          const more = `steered-${seed}-${typed++}`;
          accepted.push(more);
          session.steer(more);
        }
        if (seen === stopAt) session.abort("Esc");
        if (seen === killAt) snapshot = new Map([...host.stored].map(([k, v]) => [k, v.slice()]));
      });
      accepted.push(text);
      await session.submit(text);
      await session.idle();
      unsubscribe();
      check(session, server.refusals(), accepted, host, seed);
      if (!snapshot) continue;
      saw.kills++;
      // what a killed process leaves behind is what the disk held at that moment, without the locks of the living
      const kept = [...snapshot].filter(([path]) => !path.endsWith(".lock"));
      await runtime.dispose();
      host = memoryHost({ at: host.now() });
      for (const [path, bytes] of kept) host.stored.set(path, bytes);
      const log = kept.map(([, bytes]) => new TextDecoder().decode(bytes)).join("\n");
      accepted.splice(0, accepted.length, ...accepted.filter((a) => log.includes(a)));
      ({ runtime, session } = await open(host, log !== ""));
      const unread = session.notices.filter((n) => /left out|twice/.test(n));
      if (unread.length > 0) throw new Error(`a log of whole lines is not read whole: ${unread.join("; ")}`);
    }
    steps.clear();
    server.setScript(() => ({ text: "I am here." }));
    const last: TurnResult = await session.submit(`last-${seed}`);
    if (last.outcome.kind !== "completed" || last.text === "")
      throw new Error(`the session is of no use any more: ${JSON.stringify(last.outcome)}`);
    check(session, server.refusals(), accepted, host, seed);
    for (const { fault } of server.requests) if (fault) saw.faults.push(fault as FaultName);
    return saw;
  } catch (error) {
    throw new Error(`walk ${seed}: ${error instanceof Error ? error.message : String(error)}`);
  } finally {
    await runtime.dispose();
    await server.close();
  }
}

function check(
  session: Session,
  refusals: readonly { refusal?: unknown }[],
  accepted: readonly string[],
  host: MemoryHost,
  seed: number,
): void {
  if (refusals.length > 0) throw new Error(`walk ${seed}: the server refused ${JSON.stringify(refusals.map((x) => x.refusal))}`);
  const { open, orphan } = unpaired(session.messages);
  if (open.length + orphan.length > 0) throw new Error(`walk ${seed}: calls without results ${[...open, ...orphan].join(", ")}`);
  const ids = session.messages.flatMap((m) => (m.role === "assistant" ? callsOf(m).map((c) => c.callId) : []));
  if (new Set(ids).size !== ids.length) throw new Error(`walk ${seed}: a call id is used twice`);
  const log = [...host.stored.values()].map((bytes) => new TextDecoder().decode(bytes)).join("\n");
  const lost = accepted.filter((text) => !log.includes(text));
  if (lost.length > 0) throw new Error(`walk ${seed}: lost ${lost.join(", ")}`);
}
