/** A scripted provider, a tool and a gate, as one candidate each; and a runtime on a host in memory. */
import {
  type Contributions,
  definePlugin,
  defineTool,
  type ModelChunk,
  type ModelRequest,
  POINT_IDS,
  type RuntimeEvent,
  z,
} from "@heddle/kernel";
import { createRuntime, type Session } from "../src/index.ts";
import { type MemoryHost, memoryHost } from "../src/memory.ts";
import type { Candidate, Runtime, RuntimeOptions } from "../src/types.ts";

/** A built-in plugin whose manifest says what it contributes. */
export function pluginOf(id: string, contributions: Contributions, more: Partial<Candidate> & { manifest?: object } = {}): Candidate {
  const contributes = Object.fromEntries(POINT_IDS.map((point) => [point, (contributions[point] ?? []).map((it) => it.name)]));
  const { manifest, ...rest } = more;
  return {
    id,
    version: "1.0.0",
    from: "built in",
    load: async () => definePlugin({ options: z.unknown(), setup: () => contributions }),
    ...rest,
    manifest: { manifest: 1, api: "^1.0.0", main: "./index.js", contributes, ...manifest },
  };
}

export type Reply = readonly ModelChunk[] | ((request: ModelRequest, signal: AbortSignal) => AsyncIterable<ModelChunk>);
export const says = (text: string): Reply => [
  { type: "text", part: 0, text },
  { type: "stop", stop: "end", usage: { input: 10, output: 2, cacheRead: 5 } },
];
export const calls = (tool: string, input: object, callId = "c1"): Reply => [
  { type: "call", part: 0, callId, tool, input: input as never },
  { type: "stop", stop: "tool-calls", usage: { input: 8, output: 4 } },
];

/** Answers with the replies in turn; `requests` is what it was asked. */
export function scripted(replies: readonly Reply[]): { candidate: Candidate; requests: ModelRequest[] } {
  const requests: ModelRequest[] = [];
  const provider = {
    name: "fake",
    async *stream(request: ModelRequest, ctx: { signal: AbortSignal }): AsyncIterable<ModelChunk> {
      const reply = replies[requests.length];
      requests.push(request);
      if (!reply) throw new Error("the script has no reply left");
      if (typeof reply === "function") yield* reply(request, ctx.signal);
      else yield* reply;
    },
    encode: (request: ModelRequest) => ({ model: request.model, messages: request.messages.length }),
    window: () => 1_000,
  };
  return { candidate: pluginOf("fake", { providers: [provider] }), requests };
}

export const echo = (run: (text: string) => string | Promise<string> = (text) => text) =>
  pluginOf("echo", {
    tools: [
      defineTool({
        name: "Echo",
        description: "Says it again.",
        input: z.object({ text: z.string() }),
        overlap: "exclusive",
        effects: (input) => [{ kind: "other", target: input.text }],
        run: (input) => run(input.text),
      }),
    ],
  });
export const allowAll = pluginOf("permissions", {
  gates: [{ name: "rules", judge: () => ({ say: "allow", rule: "everything" }) }],
});

export async function start(
  plugins: readonly Candidate[],
  more: Partial<RuntimeOptions> & { host?: MemoryHost } = {},
): Promise<{ host: MemoryHost; runtime: Runtime }> {
  const host = more.host ?? memoryHost({ files: { "/w/a.txt": "a" } });
  const runtime = await createRuntime({ cwd: "/w", stateDir: "/state", provider: "fake", model: "m", plugins, ...more, host });
  return { host, runtime };
}
/** The lines of the only session log, parsed. */
export function linesOf(host: MemoryHost): { type: string; [key: string]: unknown }[] {
  const [bytes] = [...host.stored].filter(([path]) => path.endsWith(".jsonl")).map(([, b]) => b);
  return new TextDecoder()
    .decode(bytes)
    .split("\n")
    .filter(Boolean)
    .map((line) => JSON.parse(line));
}
/** Resolves from outside. */
export function gateway<T = void>(): { promise: Promise<T>; open: (value: T) => void } {
  let open!: (value: T) => void;
  const promise = new Promise<T>((resolve) => {
    open = resolve;
  });
  return { promise, open };
}

export const seenBy = (session: Session): RuntimeEvent[] => {
  const events: RuntimeEvent[] = [];
  session.subscribe((e) => void events.push(e));
  return events;
};
export const typesOf = (lines: readonly { type: string }[]): string[] => lines.map((l) => l.type);
/** A reply that waits for `door`, and then says `text`. */
export const waits = (door: Promise<unknown>, text: string): Reply =>
  async function* (_, signal): AsyncIterable<ModelChunk> {
    yield { type: "text", part: 0, text: "so far" };
    await Promise.race([door, new Promise((resolve) => signal.addEventListener("abort", resolve))]);
    yield { type: "text", part: 0, text };
    yield { type: "stop", stop: "end" };
  };
/** Commands that change the session, each typed as `/name`. */
export const commands = pluginOf("commands", {
  classifiers: [
    { name: "slash", classify: ({ text }) => (text.startsWith("/") ? { as: "command", command: text.slice(1), args: "" } : undefined) },
  ],
  commands: [
    { name: "clear", kind: "local", summary: "", run: () => ({ kind: "handled", show: "cleared", change: { clear: true } }) },
    {
      name: "big",
      kind: "local",
      summary: "",
      run: () => ({ kind: "handled", change: { model: "big", effort: "high", permissionMode: "plan" } }),
    },
    { name: "again", kind: "local", summary: "", run: () => ({ kind: "handled", controls: { nextInput: "more", submitNextInput: true } }) },
    { name: "offer", kind: "local", summary: "", run: () => ({ kind: "handled", controls: { nextInput: "more" } }) },
  ],
});
