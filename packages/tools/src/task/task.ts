/** The tool Task: hands work to an agent with a context of its own. */
import {
  type CallContext,
  defineTool,
  FORKS,
  type ForkEnd,
  type ForkOptions,
  type Json,
  SESSION,
  type SessionView,
  type Tool,
  type ToolContext,
  type ToolOutput,
  textOf,
  z,
} from "@heddle/kernel/plugin";
import { failed } from "../answer.ts";
import { flag, lenient } from "../input.ts";
import { prompts } from "../prompts.generated.ts";
import { leanSchema } from "../schema.ts";
import { backgroundOf, definitionsOf, pick, toolsOf, typeOf } from "./agents.ts";
import { type AgentDefinition, modelOf } from "./definition.ts";
import { begun, report } from "./report.ts";

const DEFAULT = "general-purpose";
/** As long as it takes: the agent's own calls have deadlines. */
const DEADLINE_MS = 2 ** 31 - 1;
/** For what an agent that is stopped has to hand over; its own tools have less. */
const GRACE_MS = 10_000;

const input = lenient({
  description: z.string().min(1).describe("3 to 5 words"),
  prompt: z.string().min(1),
  subagent_type: z.string().min(1).optional(),
  model: z.string().min(1).optional(),
  run_in_background: flag,
  resume: z.string().min(1).optional().describe("id of an agent to go on with"),
});
type Input = z.output<typeof input>;

/** `home`: where the person's own agents are. */
export const taskTool = (home: string | undefined): Tool =>
  defineTool({
    name: "Task",
    aliases: ["Agent"],
    description: prompts.task,
    input,
    jsonSchema: () => leanSchema(input),
    overlap: "shared",
    deadlineMs: DEADLINE_MS,
    graceMs: GRACE_MS,
    effects: async (i, ctx) => [{ kind: "other", target: await typeName(i, ctx, home) }],
    observable: async (i, ctx) => ({ ...i, subagent_type: await typeName(i, ctx, home) }) as Json, // rules and hooks go by it
    run: (i, ctx) => task(i, ctx, home),
  });

const typeFor = (i: Input, session: SessionView): string =>
  (i.resume === undefined ? undefined : typeOf(session, i.resume)) ?? i.subagent_type ?? DEFAULT;

/** As its definition spells it, where there is one. */
async function typeName(i: Input, ctx: CallContext, home: string | undefined): Promise<string> {
  const wanted = typeFor(i, ctx.session);
  return pick(await definitionsOf(ctx, home), wanted)?.name ?? wanted;
}

async function task(i: Input, ctx: ToolContext, home: string | undefined): Promise<ToolOutput> {
  const definitions = await definitionsOf(ctx, home);
  const wanted = typeFor(i, ctx.session);
  const type = pick(definitions, wanted);
  if (!type)
    return failed(`There is no agent "${wanted}". There are:\n${definitions.map((d) => `- ${d.name}: ${d.description}`).join("\n")}`);
  const options = optionsFor(i, type, ctx);
  if (typeof options === "string") return failed(options);
  const background = (i.run_in_background ?? type.background ?? false) && !ctx.session.headless; // nobody would be there to hear its end
  try {
    const { id, end } = ctx.capability(FORKS).start(options, background ? undefined : ctx.signal);
    if (!background) return report(await end, type.name);
    follow(id, end, i.description, type.name, ctx);
    return { content: begun(id, type.name), loads: ["TaskOutput", "TaskStop"] };
  } catch (error) {
    return failed(`The agent did not start: ${error instanceof Error ? error.message : String(error)}.`);
  }
}

function optionsFor(i: Input, type: AgentDefinition, ctx: ToolContext): ForkOptions | string {
  const tools = toolsOf(type, ctx.session);
  if (typeof tools === "string") return tools;
  const copy = type.prompt === null;
  const model = modelOf(i.model) ?? type.model;
  const { effort, permissionMode, maxTurns } = type;
  const begin: ForkOptions["from"] = copy
    ? { kind: "fork" }
    : { kind: "new", system: `${type.prompt}\n\n${environment(ctx.session)}`, context: type.context };
  return {
    title: i.description,
    prompt: copy && i.resume === undefined ? `${prompts.fork}\n\n${i.prompt}` : i.prompt,
    from: i.resume === undefined ? begin : { kind: "resume", id: i.resume },
    callId: ctx.callId,
    ...tools,
    ...(model === undefined || copy ? {} : { model }),
    ...(effort === undefined ? {} : { effort }),
    ...(permissionMode === undefined ? {} : { permissionMode }),
    ...(maxTurns === undefined ? {} : { maxSteps: maxTurns }),
  };
}

/** What the session's own prompt says of it, where it does. */
function environment({ prefix, cwd, directories }: SessionView): string {
  const said = prefix?.system.find((part) => part.name === "environment")?.text;
  return said ?? `Working directory: ${[cwd, ...directories].join(", ")}`;
}

/** One that was stopped is not told of: whoever stopped it knows, and what ends with the session is told by the runtime. */
function follow(id: string, end: Promise<ForkEnd>, title: string, type: string, ctx: ToolContext): void {
  const port = ctx.capability(SESSION);
  const known = backgroundOf(ctx);
  const done = end.then(
    (it) => {
      const result = report(it, type);
      const { content } = result;
      if (it.outcome.kind !== "aborted")
        port.tell(`The agent "${title}" in the background has ended. ${typeof content === "string" ? content : textOf(content)}`, {
          isMeta: true,
        });
      return result;
    },
    (error) => {
      const result = failed(`The agent "${title}" (${id}) did not start: ${error instanceof Error ? error.message : String(error)}.`);
      port.tell(result.content as string, { isMeta: true });
      return result;
    },
  );
  const entry = { end: done };
  known.set(id, entry);
  void done.then((result) => Object.assign(entry, { result }));
}
