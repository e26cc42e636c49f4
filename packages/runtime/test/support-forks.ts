/** A model that is told what to say by what was said to it last, and a tool that starts forks. */
import { defineTool, FORKS, type ForkEnd, type ForkOptions, type ModelChunk, type ModelRequest, SESSION, textOf, z } from "@heddle/kernel";
import type { Candidate } from "../src/types.ts";
import { pluginOf } from "./support.ts";

export type Reply = readonly ModelChunk[] | ((signal: AbortSignal) => AsyncIterable<ModelChunk>);
/** The text of the last message that is no attachment: of a user, or of a tool. */
export function lastText({ messages }: ModelRequest): string {
  const last = messages.findLast((m) => m.role === "user" || m.role === "tool");
  return last && "content" in last ? textOf(last.content) : "";
}
export type Brain = { readonly candidate: Candidate; readonly requests: ModelRequest[] };

/** `think` gets the last text, and the request. */
export function brain(think: (text: string, request: ModelRequest) => Reply): Brain {
  const requests: ModelRequest[] = [];
  const provider = {
    name: "fake",
    async *stream(request: ModelRequest, ctx: { signal: AbortSignal }): AsyncIterable<ModelChunk> {
      requests.push(request);
      const reply = think(lastText(request), request);
      if (typeof reply === "function") yield* reply(ctx.signal);
      else yield* reply;
    },
    window: () => 100_000,
    info: (id: string) => ({ id, prices: { at: "2026-01-01", tiers: [{ input: 1_000_000, output: 0, cacheRead: 0, cacheWrite: 0 }] } }),
  };
  return { candidate: pluginOf("fake", { providers: [provider] }), requests };
}

const From = z.discriminatedUnion("kind", [
  z.object({ kind: z.literal("fork") }),
  z.object({ kind: z.literal("new"), system: z.string(), context: z.boolean().optional() }),
  z.object({ kind: z.literal("resume"), id: z.string() }),
]);
const Spawned = z.object({
  prompt: z.string(),
  from: From.default({ kind: "new", system: "You help." }),
  background: z.boolean().optional(),
  tools: z.array(z.string()).optional(),
  permissionMode: z.string().optional(),
  maxSteps: z.number().optional(),
});
export const endText = ({ outcome, text }: ForkEnd): string =>
  [outcome.kind === "aborted" ? `aborted (${outcome.reason})` : outcome.kind, text].filter(Boolean).join(": ");

/** `Spawn` starts a fork, waits for its end unless `background` says otherwise, and gives its outcome and text. */
export const spawner = pluginOf(
  "spawner",
  {
    tools: [
      defineTool({
        name: "Spawn",
        description: "Starts a fork.",
        input: Spawned,
        overlap: "shared",
        graceMs: 1_000,
        effects: () => [],
        async run({ background, ...i }, ctx) {
          const port = ctx.capability(SESSION);
          const options: ForkOptions = {
            title: i.prompt,
            callId: ctx.callId,
            ...(JSON.parse(JSON.stringify(i)) as Omit<ForkOptions, "title">),
          };
          const { id, end } = ctx.capability(FORKS).start(options, background ? undefined : ctx.signal);
          if (!background) return endText(await end);
          void end.then((it) => it.outcome.kind === "aborted" || port.tell(`${i.prompt} ended: ${endText(it)}`, { isMeta: true }));
          return `started ${id}`;
        },
      }),
    ],
  },
  { manifest: { capabilities: ["forks", "session"] } },
);
