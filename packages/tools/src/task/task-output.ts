/** The tools TaskOutput and TaskStop: look at an agent in the background, and end it. */
import { type CallContext, defineTool, FORKS, type Tool, type ToolOutput, z } from "@heddle/kernel/plugin";
import { failed, plural } from "../answer.ts";
import { flag, lenient } from "../input.ts";
import { prompts } from "../prompts.generated.ts";
import { leanSchema } from "../schema.ts";
import { backgroundOf } from "./agents.ts";

const TIMEOUT_MS = 30_000;
const MAX_TIMEOUT_MS = 600_000;

const wanted = lenient({ task_id: z.string().min(1), block: flag, timeout: z.number().min(0).optional() });

export const taskOutputTool = (): Tool =>
  defineTool({
    name: "TaskOutput",
    description: prompts["task-output"],
    input: wanted,
    jsonSchema: () => leanSchema(wanted),
    deferred: true,
    overlap: "shared",
    deadlineMs: MAX_TIMEOUT_MS + TIMEOUT_MS,
    effects: () => [],
    async run({ task_id: id, block = true, timeout = TIMEOUT_MS }, ctx): Promise<ToolOutput> {
      const entry = backgroundOf(ctx).get(id);
      if (!entry) return unknown(id, ctx);
      if (!entry.result && block) await first(entry.end, Math.min(timeout, MAX_TIMEOUT_MS), ctx.signal);
      if (entry.result) return entry.result;
      const state = ctx
        .capability(FORKS)
        .list()
        .find((f) => f.id === id);
      return {
        content: `It is still running, after ${plural(state?.steps ?? 0, "model call")}. The last it said: ${state?.text || "nothing yet"}`,
      };
    },
  });

const stopped = lenient({ task_id: z.string().min(1) });

export const taskStopTool = (): Tool =>
  defineTool({
    name: "TaskStop",
    description: prompts["task-stop"],
    input: stopped,
    jsonSchema: () => leanSchema(stopped),
    deferred: true,
    overlap: "shared",
    effects: () => [],
    async run({ task_id: id }, ctx): Promise<ToolOutput> {
      const entry = backgroundOf(ctx).get(id);
      if (!entry) return unknown(id, ctx);
      ctx.capability(FORKS).stop(id);
      return { content: (await entry.end).content };
    },
  });

function unknown(id: string, ctx: CallContext): ToolOutput {
  const running = ctx
    .capability(FORKS)
    .list()
    .filter((f) => f.running);
  const those = running.map((f) => `${f.id} (${f.title})`).join(", ");
  return failed(`No agent "${id}" was started in the background. ${those === "" ? "None is running." : `Running: ${those}.`}`);
}

/** Never rejects. */
function first(end: Promise<unknown>, ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, ms);
    const done = (): void => {
      clearTimeout(timer);
      resolve();
    };
    void end.then(done);
    signal.addEventListener("abort", done, { once: true });
  });
}
