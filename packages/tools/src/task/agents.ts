/** The agents of a session: which types there are, which run, and how those in the background have ended. */
import { type CallContext, type ForkOptions, FS, type SessionView, type ToolOutput, textOf } from "@heddle/kernel/plugin";
import type { AgentDefinition } from "./definition.ts";
import { findAgents } from "./find.ts";
import { typeIn } from "./report.ts";

type Context = Pick<CallContext, "state" | "session" | "capability" | "log">;

/** Read at the first use, and kept for the session. */
export function definitionsOf(ctx: Context, home: string | undefined): Promise<readonly AgentDefinition[]> {
  const known = ctx.state.get("definitions") as Promise<readonly AgentDefinition[]> | undefined;
  if (known) return known;
  const found = findAgents({ fs: ctx.capability(FS), cwd: ctx.session.cwd, home, log: (text) => ctx.log(text) });
  ctx.state.set("definitions", found);
  return found;
}

/** Case does not matter where only one fits. */
export function pick(definitions: readonly AgentDefinition[], type: string): AgentDefinition | undefined {
  const exact = definitions.find((d) => d.name === type);
  const near = definitions.filter((d) => d.name.toLowerCase() === type.toLowerCase());
  return exact ?? (near.length === 1 ? near[0] : undefined);
}

/** The type that an agent was started with; undefined when the conversation does not know it. */
export function typeOf({ messages }: SessionView, id: string): string | undefined {
  for (const m of [...messages].reverse()) {
    const type = m.role === "tool" || m.role === "user" ? typeIn(textOf(m.content), id) : undefined;
    if (type !== undefined) return type;
  }
  return undefined;
}

/** What no agent has: it would speak with the person, or belongs to whoever speaks with them. */
export const NEVER = ["AskUserQuestion", "EnterPlanMode", "ExitPlanMode", "StructuredOutput", "TaskOutput"];

/** The tools of a definition by their own names, or what is wrong with it. What is disallowed counts first. */
export function toolsOf(
  { name, tools, disallowedTools = [] }: AgentDefinition,
  session: SessionView,
): Pick<ForkOptions, "tools" | "withoutTools"> | string {
  const all = session.list("tools");
  const named = (wanted: readonly string[]): string[] =>
    all.filter((t) => wanted.some((w) => covers(w, t.name) || t.aliases?.includes(w))).map((t) => t.name);
  const withoutTools = [...NEVER, ...named(disallowedTools)];
  if (!tools) return { withoutTools };
  const has = named(tools).filter((t) => !withoutTools.includes(t));
  if (has.length === 0 && tools.length > 0) return `The agent "${name}" cannot start: none of its tools is here (${tools.join(", ")}).`;
  return { tools: has };
}
const covers = (wanted: string, tool: string): boolean =>
  wanted === tool || (/^mcp__/.test(wanted) && tool.startsWith(`${wanted.replace(/(__)?\*$/, "")}${wanted === "mcp__*" ? "" : "__"}`));

/** `end` never rejects. */
export type Background = { readonly end: Promise<ToolOutput>; result?: ToolOutput };
/** By id; what ended before this process began is not in it. */
export function backgroundOf(ctx: Pick<Context, "state">): Map<string, Background> {
  const known = ctx.state.get("background") as Map<string, Background> | undefined;
  if (known) return known;
  const made = new Map<string, Background>();
  ctx.state.set("background", made);
  return made;
}
