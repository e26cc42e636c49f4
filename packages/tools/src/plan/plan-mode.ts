/** The tools EnterPlanMode and ExitPlanMode. The mode itself is a permission mode of the session; whoever judges calls keeps it. */
import { posix } from "node:path";
import {
  type Answer,
  type CallContext,
  defineTool,
  FS,
  SESSION,
  type Tool,
  type ToolContext,
  type ToolOutput,
  z,
} from "@heddle/kernel/plugin";
import { failed } from "../answer.ts";
import { lenient } from "../input.ts";
import { prompts } from "../prompts.generated.ts";
import { leanSchema } from "../schema.ts";

const PLAN = "plan";
/** In the plugin's state: the mode that the session was in. */
const BEFORE = "mode before plan";

const NO = "No, keep planning";

const nothing = z.object({});

export const enterPlanModeTool = (): Tool =>
  defineTool({
    name: "EnterPlanMode",
    description: prompts["enter-plan-mode"],
    input: nothing,
    jsonSchema: () => leanSchema(nothing),
    overlap: "exclusive",
    deferred: true,
    isEnabled: (session) => !session.headless,
    effects: () => [{ kind: "other", target: "the permission mode: plan mode, in which nothing may be changed" }],
    async run(_, ctx) {
      const { permissionMode } = ctx.session;
      if (permissionMode === PLAN) return prompts.entered;
      const path = planPath(ctx);
      if (path !== undefined) await ctx.capability(FS).remove(path); // what was planned before is another task's
      ctx.state.set(BEFORE, permissionMode);
      return { content: prompts.entered, change: { permissionMode: PLAN } };
    },
  });

const input = lenient({ plan: z.string().trim().min(1) });

/** Not deferred: a session may start in plan mode, and a switch of the mode may not change what a request begins with. */
export const exitPlanModeTool = (): Tool =>
  defineTool({
    name: "ExitPlanMode",
    description: prompts["exit-plan-mode"],
    input,
    jsonSchema: () => leanSchema(input),
    overlap: "exclusive",
    isEnabled: (session) => !session.headless,
    observable({ plan }, ctx) {
      const path = planPath(ctx);
      return { plan, ...(path === undefined ? {} : { planFilePath: path }) };
    },
    /** The plan is kept among the session's own files, as its log is. */
    effects: () => [],
    run: ({ plan }, ctx) => present(plan, ctx),
  });

/** Of this session, so that no other finds it. Undefined where nothing is kept. */
function planPath(ctx: CallContext): string | undefined {
  const { folder } = ctx.capability(SESSION);
  return folder === null ? undefined : posix.join(folder, "plan.md");
}

async function present(plan: string, ctx: ToolContext): Promise<ToolOutput> {
  const { permissionMode, headless } = ctx.session;
  if (permissionMode !== PLAN) return failed("Plan mode is not on, so there is nothing to leave. Go on with the work.");
  if (headless) return failed("Nobody can accept a plan here. Give it as your reply.");
  const before = ctx.state.get(BEFORE);
  const back = typeof before === "string" && before !== PLAN ? before : "default";
  const ways = [
    { choice: "Yes, and accept edits", mode: "acceptEdits" },
    ...(back === "acceptEdits" ? [] : [{ choice: `Yes, in the mode ${back}`, mode: back }]),
  ];
  const answer = await ctx.ask(`Carry out this plan?\n\n${plan}\n`, [...ways.map((w) => w.choice), NO]);
  const mode = modeOf(answer, ways);
  if (mode === undefined) return { content: `The plan was not accepted, and plan mode stays on.${wordsOf(answer)}` };
  const kept = await keep(plan, ctx);
  ctx.state.set(BEFORE, undefined);
  return { content: `The plan is accepted. Carry it out now.${kept}`, change: { permissionMode: mode } };
}

type Way = { readonly choice: string; readonly mode: string };
/** Whatever is not clearly a yes is a no. */
function modeOf(answer: Answer, ways: readonly Way[]): string | undefined {
  if (answer.kind === "deny") return undefined;
  if (answer.kind === "allow" || /^y(es)?$/i.test(answer.text.trim())) return ways.at(-1)!.mode;
  return ways.find((w) => w.choice === answer.text)?.mode;
}

function wordsOf(answer: Answer): string {
  const words = answer.kind === "text" ? answer.text.trim() : answer.kind === "deny" ? (answer.reason ?? "") : "";
  return words === "" || words === NO ? "" : ` They say: ${words}`;
}

async function keep(plan: string, ctx: ToolContext): Promise<string> {
  const path = planPath(ctx);
  if (path === undefined) return "";
  try {
    await ctx.capability(FS).writeFile(path, new TextEncoder().encode(`${plan}\n`), { mode: 0o600 });
    return ` It is kept in ${path}.`;
  } catch (error) {
    return ` It could not be kept: ${(error as Error).message}.`;
  }
}
