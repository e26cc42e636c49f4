/** One permission rule: from the text a person wrote to what it covers. */
import ignore, { type Ignore } from "ignore";
import { patternOf } from "./shell/text.ts";
import { wildcard } from "./wildcard.ts";

/** `source` is the file or flag that holds the rule, for messages; `root` the folder that a leading `/` in it stands for, by default the session's. */
export type RuleText = { readonly rule: string; readonly source: string; readonly root?: string | undefined };
export type List = "allow" | "ask" | "deny";

export type Covers =
  | { readonly kind: "everything" }
  /** A command in canonical form; `*` stands for anything. */
  | { readonly kind: "command"; readonly pattern: string }
  /** `access` write covers what changes files; read covers both, as who may not read a file may not replace it either. */
  | { readonly kind: "path"; readonly access: "read" | "write"; readonly anchor: Anchor; readonly files: Ignore; readonly pattern: string }
  | { readonly kind: "domain"; readonly host: string }
  /** Fields of the tool's input, any of which may match; ` *` at the end also stands for nothing more. */
  | { readonly kind: "field"; readonly names: readonly string[]; readonly value: string };
export type Anchor = "root" | "home" | "settings" | "cwd";
export type Rule = { readonly list: List; readonly label: string; readonly tool: string; readonly root?: string; readonly covers: Covers };

/** Which access the rules of a file tool speak of. */
export const FILE_TOOLS: { readonly [tool: string]: "read" | "write" } = {
  Read: "read",
  Grep: "read",
  Glob: "read",
  Edit: "write",
  Write: "write",
  MultiEdit: "write",
  NotebookEdit: "write",
};
const NAMED_BY: { readonly [tool: string]: readonly string[] } = {
  Skill: ["skill", "name", "command"],
  Agent: ["subagent_type", "agent"],
  Task: ["subagent_type", "agent"],
};
const KNOWN: readonly string[] = [
  "Bash",
  "WebFetch",
  "WebSearch",
  "TodoWrite",
  "ToolSearch",
  ...Object.keys(FILE_TOOLS),
  ...Object.keys(NAMED_BY),
];
const BASH_FIELDS: readonly string[] = ["run_in_background", "timeout", "description", "dangerouslyDisableSandbox"];

export type Malformed = { readonly list: List; readonly text: RuleText; readonly why: string; readonly tool: string | undefined };

/** Never throws: a rule that cannot be read comes back as what is wrong with it. */
export function readRule(list: List, text: RuleText, home: string | undefined): Rule | Malformed {
  const m = /^([A-Za-z*][\w*.-]*)(?:\(([\s\S]*)\))?$/.exec(text.rule.trim());
  const wrong = (why: string): Malformed => {
    const [, tool, paren] = /^\s*([A-Za-z][\w-]*)(\(?)/.exec(text.rule) ?? [];
    const known = [...KNOWN].find((k) => k.toLowerCase() === tool?.toLowerCase());
    return { list, text, why, tool: known ?? (paren || m ? tool : undefined) };
  };
  if (!m) return wrong("it is not of the form Tool or Tool(specifier)");
  const tool = m[1]!;
  const spec = m[2]?.trim();
  if (spec === "") return wrong("the specifier is empty");
  if (list === "allow" && tool.includes("*") && !/^mcp__[\w.-]*[^_\W][\w.-]*__[\w.-]*\*/.test(tool))
    return wrong("an allow rule may use * in a tool name only after mcp__<server>__");
  const label = `${list} ${text.rule.trim()} (${text.source})`;
  const rule = (covers: Covers): Rule => ({ list, label, tool, ...(text.root === undefined ? {} : { root: text.root }), covers });
  if (spec === undefined || spec === "*") return rule({ kind: "everything" });
  if (tool.includes("*")) return wrong("a tool name with * takes no specifier");

  const field = /^([A-Za-z_]\w*):([\s\S]+)$/.exec(spec);
  if (tool === "Bash" && !(field && BASH_FIELDS.includes(field[1]!) && list !== "allow")) {
    const command = /^(.*):\*$/s.exec(spec);
    const pattern = command ? `${command[1]} *` : spec;
    return rule({ kind: "command", pattern: patternOf(pattern) });
  }
  const access = FILE_TOOLS[tool];
  if (access) {
    if (list === "allow" && tool !== "Read" && tool !== "Edit")
      return wrong(`a path is allowed with Read(...) or Edit(...), not with ${tool}(...)`);
    if (spec.startsWith("~/") && home === undefined) return wrong("the home folder is not known");
    return pathCovers(list, access, spec, rule, wrong);
  }
  if (tool === "WebFetch" && field?.[1] === "domain") return rule({ kind: "domain", host: field[2]!.toLowerCase().replace(/\.$/, "") });
  const names = NAMED_BY[tool];
  if (names && !field) return rule({ kind: "field", names, value: spec });
  if (field && list !== "allow") return rule({ kind: "field", names: [field[1]!], value: field[2]! });
  return wrong(list === "allow" ? `an allow rule for ${tool} takes no such specifier` : "the specifier is not of the form field:value");
}

function pathCovers(
  list: List,
  access: "read" | "write",
  spec: string,
  rule: (c: Covers) => Rule,
  wrong: (why: string) => Malformed,
): Rule | Malformed {
  const forms: readonly [string, Anchor, number][] = [
    ["//", "root", 1],
    ["~/", "home", 1],
    ["/", "settings", 0],
    ["./", "cwd", 2],
  ];
  const [, anchor, cut] = forms.find(([start]) => spec.startsWith(start)) ?? ["", "cwd" as const, 0];
  const pattern = spec.slice(cut).normalize("NFC");
  if (pattern.startsWith("!")) return wrong("a path pattern cannot be negated");
  if (pattern === "" || pattern.startsWith("../")) return wrong("the path leaves its anchor");
  const patterns = [pattern.startsWith("#") ? `\\${pattern}` : pattern];
  if (list !== "allow") {
    // who forbids `src/**` means the folder too, and at any depth when it is a single name
    if (pattern.endsWith("/**")) patterns.push(pattern.slice(0, -3));
    if (anchor === "cwd" && /^[^/]+\/\*\*$/.test(pattern)) patterns.push(`**/${pattern}`);
  }
  try {
    // an allow rule must not be widened by another spelling; where case does not matter, a forbidding one must reach it
    const files = ignore({ ignorecase: list !== "allow" }).add(patterns.filter((p) => p !== "" && p !== "/"));
    files.ignores("probe");
    return rule({ kind: "path", access, anchor, files, pattern });
  } catch {
    return wrong("the path pattern cannot be read");
  }
}

export const coversField = (value: unknown, wanted: string): boolean =>
  value !== undefined && (value === null || typeof value !== "object") && coversCommand(wanted, String(value));

/** A tool name as rules see it: `mcp__server` is all tools of that server; forbidding rules do not look at case. */
export function coversTool(rule: Rule, tool: string): boolean {
  const fold = (s: string): string => (rule.list === "allow" ? s : s.toLowerCase());
  const [wanted, is] = [fold(rule.tool), fold(tool)];
  if (coversTask(rule.tool) && coversTask(tool)) return true;
  return wildcard(wanted, is) || (/^mcp__[^*]+$/.test(wanted) && !wanted.slice(5).includes("__") && is.startsWith(`${wanted}__`));
}

/** The tool that starts an agent goes by two names. */
export const coversTask = (tool: string): boolean => tool === "Task" || tool === "Agent";

/** In `pattern`, ` *` at the end also stands for no further word. */
export const coversCommand = (pattern: string, command: string): boolean =>
  wildcard(pattern, command) || (pattern.endsWith(" *") && wildcard(pattern.slice(0, -2), command));

export function coversHost(host: string, rule: string): boolean {
  const is = host.toLowerCase().replace(/\.$/, "");
  if (rule === "*") return true;
  if (rule.startsWith("*.")) return is.endsWith(rule.slice(1)) && is.length > rule.length - 1;
  const parts = is.split(".");
  const wanted = rule.split(".");
  return parts.length === wanted.length && wanted.every((w, i) => wildcard(w, parts[i]!));
}
