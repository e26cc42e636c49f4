/** The measured process: one session of the whole program against a server, what it did as one line of JSON on stdout. */
import type { Message, RuntimeEvent } from "@heddle/kernel";
import { nodeHost } from "@heddle/runtime/node";
import { createLog } from "@heddle/sessions";
import { type Engine, openEngine } from "../src/engine.ts";
import type { Io } from "../src/io.ts";
import { sessionArgs } from "../src/options.ts";

/** `ms`: from each submit to the moment when fetch is given the body; the first after a resume is cold. */
export type Packed = { readonly ms: readonly number[]; readonly bytes: number };
/** `cpuMs` of all threads of the process. */
export type Streamed = { readonly cpuMs: number; readonly chars: number };
/** Bytes after a collection; `messages`: what the messages that were added take by themselves. */
export type Grown = { readonly heap: number; readonly messages: number };

const { stdin, stdout, stderr, env } = process;
const cwd = process.cwd();
const MODEL = "claude-opus-5-5";
const io: Io = { stdin, stdout, stderr, env, cwd, userDir: env["HOME"] ?? "", signal: new AbortController().signal };
const open = (argv: Record<string, unknown>): Promise<Engine> =>
  openEngine(sessionArgs({ "permission-mode": "acceptEdits", ...argv }), io, { headless: true });

/** A session log of `count` messages: in each turn a prompt, a reply with a call, its result, an answer. */
function writeLog(count: number): void {
  const host = nodeHost();
  const fail = (message: string): never => {
    throw new Error(message);
  };
  const log = createLog({
    storage: host.storage,
    stateDir: `${io.userDir}/.heddle`,
    cwd,
    now: host.now,
    version: "0.0.0",
    onFailure: fail,
    id: "bench",
  });
  const at = host.now();
  let parentId: string | null = null;
  const words = (n: number): string => `The quick brown fox ${n} jumps over the "lazy" dog.\n`.repeat(4);
  const model = { by: "model", provider: "anthropic", model: MODEL } as const;
  for (let n = 0; n < count / 4; n++) {
    const turn = `turn-${n}`;
    const text = (it: string) => [{ type: "text" as const, text: it }];
    const event = (it: object) => log.append({ ...it, at, turn, step: 0 } as RuntimeEvent);
    const added = (it: object, name: string): void => {
      const id = `${name}-${n}`;
      event({ type: "message.added", message: { ...it, id, parentId, at } as Message });
      parentId = id;
    };
    const call = { type: "tool-call", callId: `toolu_${n}`, tool: "Read", input: { file_path: `${cwd}/a.txt` } };
    event({ type: "turn.started", input: { text: words(n), source: "sdk" }, model: MODEL, permissionMode: "default" });
    added({ role: "user", origin: { by: "user" }, content: text(words(n)) }, "user");
    added({ role: "assistant", origin: model, content: [...text("Reading."), call], stop: "tool-calls" }, "call");
    added({ role: "tool", origin: { by: "kernel" }, callId: call.callId, tool: "Read", outcome: "ok", content: text(words(n)) }, "result");
    added({ role: "assistant", origin: model, content: text(words(n)), stop: "end" }, "answer");
    event({ type: "turn.ended", outcome: { kind: "completed" }, steps: 2 });
  }
  log.close();
}

async function packed(messages: number, turns: number): Promise<Packed> {
  writeLog(messages);
  const { fetch } = globalThis;
  let sentAt: number | undefined;
  let bytes = 0;
  globalThis.fetch = (input, init) => {
    sentAt ??= performance.now();
    bytes = Buffer.byteLength(String(init?.body));
    return fetch(input, init);
  };
  const engine = await open({ resume: "bench" });
  const ms: number[] = [];
  for (let n = 0; n < turns; n++) {
    sentAt = undefined;
    const submitted = performance.now();
    completed(await engine.session.submit("And now?"));
    ms.push((sentAt ?? Number.NaN) - submitted);
  }
  await engine.dispose();
  return { ms, bytes };
}

/** One turn, with somebody who listens. */
async function streamed(): Promise<Streamed> {
  const engine = await open({});
  let chars = 0;
  engine.session.subscribe((event) => {
    if (event.type === "message.delta") chars += event.text.length;
  });
  const before = process.cpuUsage();
  completed(await engine.session.submit("go"));
  const cpuMs = cpuSince(before);
  await engine.dispose();
  return { cpuMs, chars };
}

/** The same reply read by nobody but fetch: what no program can do without. */
async function bare(): Promise<Streamed> {
  const before = process.cpuUsage();
  const response = await fetch(`${env["ANTHROPIC_BASE_URL"]}/v1/messages`, {
    method: "POST",
    headers: { "x-api-key": "bench", "anthropic-version": "2023-06-01", "content-type": "application/json" },
    body: JSON.stringify({ model: MODEL, max_tokens: 100_000, stream: true, messages: [{ role: "user", content: "go" }] }),
  });
  let chars = 0;
  for await (const bytes of response.body as unknown as AsyncIterable<Uint8Array>) chars += bytes.length;
  return { cpuMs: cpuSince(before), chars };
}

/** Between the requests of step `from` and of step `to` of one turn. */
async function grown(from: number, to: number): Promise<Grown> {
  const used = (): number => {
    globalThis.gc?.();
    return process.memoryUsage().heapUsed;
  };
  const engine = await open({});
  const { session } = engine;
  const seen: { readonly used: number; readonly messages: number }[] = [];
  let step = 0;
  session.subscribe((event) => {
    if (event.type === "model.requested" && [from, to].includes(++step)) seen.push({ used: used(), messages: session.messages.length });
  });
  completed(await session.submit("go"));
  const [a, b] = seen;
  if (!a || !b) throw new Error(`the turn had ${step} steps`);
  const text = JSON.stringify(session.messages.slice(a.messages, b.messages));
  const before = used();
  const copy: unknown = JSON.parse(text);
  const messages = used() - before;
  if (!Array.isArray(copy)) throw new Error("it must stay in memory until here");
  await engine.dispose();
  return { heap: b.used - a.used, messages };
}

function completed({ outcome }: { outcome: { kind: string } }): void {
  if (outcome.kind !== "completed") throw new Error(JSON.stringify(outcome));
}
function cpuSince(before: NodeJS.CpuUsage): number {
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1000;
}

const CASES: Readonly<Record<string, (a: number, b: number) => Promise<object>>> = { packed, streamed, bare, grown };
async function main([what = "", a, b]: readonly string[]): Promise<void> {
  const done = await CASES[what]!(Number(a), Number(b));
  stdout.write(`${JSON.stringify(done)}\n`);
}
void main(process.argv.slice(2));
