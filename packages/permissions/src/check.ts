/** Answers what would be decided on a command or a tool call, without running anything. */
import { resolve } from "node:path";
import type { Effect, Json } from "@heddle/kernel/plugin";
import { explain, type Subject } from "./decide.ts";
import type { Sight } from "./memo.ts";
import type { Mode } from "./modes.ts";
import { FILE_TOOLS } from "./rule.ts";
import { type RuleTexts, readRules } from "./rules.ts";

/** `what`: a shell command, or `Tool(path or input)` of a tool that is known here, the input as JSON. Paths are absolute. */
export type Question = {
  readonly what: string;
  readonly rules: RuleTexts;
  readonly mode: Mode;
  readonly cwd: string;
  readonly directories?: readonly string[];
  readonly home?: string;
  readonly fs: Sight;
};
/** `rule` is what decided: a rule with its source, or the name of a built-in one. `reports`: rules that cannot be used. */
export type Checked = {
  readonly decision: "allow" | "ask" | "deny";
  readonly rule: string;
  readonly reason: string;
  readonly commands: readonly string[];
  readonly effects: readonly Effect[];
  readonly reports: readonly string[];
};

export async function check({ what, rules: texts, mode, cwd, directories = [], home, fs }: Question): Promise<Checked> {
  const { rules, reports } = readRules(texts, home);
  const { subject, effects } = subjectOf(what, cwd, home);
  const place = { cwd, directories, fs, ...(home === undefined ? {} : { home }) };
  const { verdict, commands } = await explain(subject, effects, rules, mode, place);
  const { describe } = await import("./effects.ts");
  const described = commands.map((c) => describe(c.reading, cwd));
  return {
    decision: verdict.say === "nothing" ? "ask" : verdict.say,
    rule: verdict.rule ?? "",
    reason: "why" in verdict ? verdict.why : (verdict.rule ?? ""),
    commands: described.flatMap((d) => d.commands),
    effects: described.length > 0 ? described.flatMap((d) => d.effects) : effects,
    reports,
  };
}

const OTHERS: readonly string[] = ["Bash", "WebFetch", "WebSearch", "Agent", "Task", "Skill"];
const FIELDS: { readonly [tool: string]: string } = {
  Bash: "command",
  WebFetch: "url",
  WebSearch: "query",
  Task: "subagent_type",
  Skill: "skill",
  Grep: "path",
  Glob: "path",
  NotebookEdit: "notebook_path",
};

/** The call, and what its tool would say it touches. */
function subjectOf(what: string, cwd: string, home: string | undefined): { subject: Subject; effects: readonly Effect[] } {
  const [, tool = "Bash", inner = what] = /^([A-Za-z]\w*|mcp__[\w-]+)\(([\s\S]*)\)$/.exec(what.trim()) ?? [];
  const known = tool.startsWith("mcp__") || OTHERS.includes(tool) || FILE_TOOLS[tool] !== undefined;
  if (!known) return subjectOf(`Bash(${what})`, cwd, home);
  if (tool === "Agent") return subjectOf(`Task(${inner})`, cwd, home);
  const field = FIELDS[tool] ?? "file_path";
  const input = inputOf(inner) ?? (tool.startsWith("mcp__") ? {} : { [field]: inner });
  const given = typeof input[field] === "string" ? input[field] : "";
  const access = FILE_TOOLS[tool];
  if (access) {
    const target = /^[a-z][a-z+.-]+:\/\//i.test(given) ? given : resolve(cwd, given.replace(/^~(?=\/|$)/, home ?? "~"));
    return { subject: { tool, input }, effects: [{ kind: access, target }] };
  }
  const kind = tool === "Bash" ? "execute" : tool.startsWith("Web") ? "network" : "other";
  return { subject: { tool, input }, effects: [{ kind, target: given === "" ? tool : given }] };
}

function inputOf(text: string): { readonly [key: string]: Json } | undefined {
  if (!text.trimStart().startsWith("{")) return undefined;
  try {
    const input: unknown = JSON.parse(text);
    return typeof input === "object" && input !== null ? (input as { [key: string]: Json }) : undefined;
  } catch {
    return undefined; // a path or a command that begins with a brace
  }
}
