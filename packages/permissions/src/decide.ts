/** The decision on one tool call, from its effects, the rules and the mode. Reads the file system, changes nothing, knows no session. */
import { resolve } from "node:path";
import type { Call, Effect, Json, Verdict } from "@heddle/kernel/plugin";
import { isPrivateHost } from "./hosts.ts";
import { remembering } from "./memo.ts";
import { inMode, type Mode, PLAN } from "./modes.ts";
import { allows, forbiddenBelow, forbids, type Located, locate, mapOf, type PathMap, type Place } from "./paths.ts";
import { protectedPart } from "./protected.ts";
import { coversField, coversHost, coversTool, FILE_TOOLS, type Rule } from "./rule.ts";
import type { Rules } from "./rules.ts";
import type { ShellCommand } from "./shell-command.ts";

export type Subject = Pick<Call, "tool" | "input">;

/** Every verdict says in `rule` what it rests on. `place` holds the port that paths are resolved with. */
export async function decide(call: Subject, effects: readonly Effect[], rules: Rules, mode: Mode, place: Place): Promise<Verdict> {
  return (await explain(call, effects, rules, mode, place)).verdict;
}

/** The decision, and the commands that it was made of. */
export type Explained = { readonly verdict: Verdict; readonly commands: readonly ShellCommand[] };
export async function explain(call: Subject, effects: readonly Effect[], rules: Rules, mode: Mode, where: Place): Promise<Explained> {
  const place = { ...where, fs: remembering(where.fs) };
  const map = await mapOf(place, rootsOf(rules));
  const facts = new Map<Effect, Located>();
  for (const e of effects)
    if (e.kind === "read" || e.kind === "write") facts.set(e, await spelled(call, await locate(e.target, map, place.fs), place, map));
  const texts = call.tool === "Bash" ? commandsOf(call, effects) : [];
  const commands = texts.length > 0 ? await (await import("./shell-command.ts")).readAll(texts, { place, map }) : [];
  const verdict = await judged({ call, effects, facts, commands, rules, place, map }, mode);
  return { verdict: inMode(verdict, mode), commands };
}

const rootsOf = (rules: Rules): readonly string[] => [
  ...new Set([...rules.allow, ...rules.ask, ...rules.deny].flatMap((r) => (r.root === undefined ? [] : [r.root]))),
];

/** What is strictest is looked for first. */
async function judged(one: Judging, mode: Mode): Promise<Verdict> {
  const { call, effects, commands, rules } = one;
  const bash = call.tool === "Bash";
  const denied = await forbidding(one, rules.deny);
  if (denied?.sure) return { say: "deny", why: `the rule "${denied.rule.label}" forbids it`, rule: denied.rule.label };
  if (mode === "plan") {
    const looking = bash && commands.length > 0 && (await onlyLooks(one));
    if (effects.some((e) => e.kind === "write" || (e.kind === "execute" && !looking)) || (bash && !looking))
      return { say: "deny", why: PLAN, rule: "mode plan" };
  }
  if (denied) return { say: "ask", why: `it may be what "${denied.rule.label}" forbids`, rule: denied.rule.label };
  const asked = await forbidding(one, rules.ask);
  if (asked) return { say: "ask", why: `the rule "${asked.rule.label}" wants to be asked`, rule: asked.rule.label };
  for (const { reading } of commands) {
    const target = reading.critical();
    if (target) return { say: "ask", why: `it would remove ${target}`, rule: "critical removal" };
  }
  const hidden = await hiddenBelow(one);
  if (hidden && mode !== "bypassPermissions") return { say: "ask", why: hidden.why, rule: hidden.rule };
  if (mode === "bypassPermissions") return { say: "allow", rule: "mode bypassPermissions" };
  if (effects.some((e) => e.sandbox === "outside")) return { say: "ask", why: "it would run outside the sandbox", rule: "sandbox" };
  const verdict = await allowing(one, mode);
  return verdict.say === "ask" && bash && effects.every((e) => e.sandbox === "inside") ? inSandbox(one) : verdict;
}

/** Asks for what a sandbox does not answer for. */
async function inSandbox({ effects, commands }: Judging): Promise<Verdict> {
  if (effects.length === 0 || commands.length === 0) return { say: "ask", why: "it does not say what it runs", rule: "sandbox" };
  for (const { reading } of commands) {
    const why = await (await import("./sandboxed.ts")).objection(reading);
    if (why) return { say: "ask", rule: "sandbox", ...why };
  }
  return { say: "allow", rule: "it runs in the sandbox" };
}

/** Rules are about the path that was asked for as well as the one it leads to; a tool may name only the latter. */
async function spelled(call: Subject, at: Located, place: Place, map: PathMap): Promise<Located> {
  if (FILE_TOOLS[call.tool] === undefined || at.problem) return at;
  const asked = ["file_path", "notebook_path", "path"].map((name) => field(call.input, name)).find((v) => typeof v === "string");
  if (typeof asked !== "string") return at;
  const named = await locate(resolve(place.cwd, asked), map, place.fs);
  return named.real === at.real ? { ...at, path: named.path } : at;
}

type Judging = {
  readonly call: Subject;
  readonly effects: readonly Effect[];
  readonly facts: ReadonlyMap<Effect, Located>;
  readonly commands: readonly ShellCommand[];
  readonly rules: Rules;
  readonly place: Place;
  readonly map: PathMap;
};

/** What the tool says it runs and what the model asked for; a tool that says nothing is taken at the model's word. */
function commandsOf(call: Subject, effects: readonly Effect[]): readonly string[] {
  const asked = field(call.input, "command");
  const said = effects.filter((e) => e.kind === "execute").map((e) => e.target);
  return [...new Set([...said, ...(typeof asked === "string" ? [asked] : [])])];
}

const field = (input: Json, name: string): Json | undefined =>
  input !== null && typeof input === "object" && !Array.isArray(input) && Object.hasOwn(input, name)
    ? (input as { readonly [key: string]: Json })[name]
    : undefined;

async function forbidding(one: Judging, rules: readonly Rule[]): Promise<{ rule: Rule; sure: boolean } | undefined> {
  const sure = rules.find((rule) => coversCall(rule, one));
  if (sure) return { rule: sure, sure: true };
  let maybe: { rule: Rule; sure: boolean } | undefined;
  for (const command of one.commands) {
    const hit = await command.forbidden(rules);
    if (hit?.sure) return hit;
    maybe ??= hit;
  }
  return maybe;
}

/** For rules that forbid: what the call is named, what it touches, what it says. */
function coversCall(rule: Rule, { call, effects, facts, map }: Judging): boolean {
  const { covers } = rule;
  const named = coversTool(rule, call.tool);
  switch (covers.kind) {
    case "everything": {
      const touches = [...facts.keys()].some((e) => e.kind === "write" || rule.tool.toLowerCase() === "read");
      const access = Object.entries(FILE_TOOLS).find(
        ([tool]) => tool.toLowerCase() === rule.tool.toLowerCase() && (tool === "Read" || tool === "Edit"),
      );
      return (
        named ||
        (access !== undefined &&
          (touches || (FILE_TOOLS[call.tool] !== undefined && (access[1] === "read" || FILE_TOOLS[call.tool] === "write"))))
      );
    }
    case "path": {
      if (rule.tool !== "Read" && rule.tool !== "Edit" && !named) return false;
      return [...facts].some(([e, at]) => (e.kind === "write" || covers.access === "read") && forbids(rule, at, map));
    }
    case "domain":
      return effects.some((e) => e.kind === "network" && coversHost(hostOf(e.target) ?? "", covers.host));
    case "field":
      return named && covers.names.some((name) => coversField(field(call.input, name), covers.value));
    case "command":
      return false;
  }
}

async function onlyLooks({ commands }: Judging): Promise<boolean> {
  for (const command of commands) {
    const covered = await command.covered({ allow: [], bounds: [], edits: false });
    if (!("by" in covered)) return false;
  }
  return true;
}

/** A search reads files that its effects do not name. */
async function hiddenBelow({ call, facts, rules, map, place }: Judging): Promise<{ why: string; rule: string } | undefined> {
  if (call.tool !== "Grep") return undefined;
  const bounds = [...rules.deny, ...rules.ask].filter((r) => r.covers.kind === "path" && r.covers.access === "read");
  if (bounds.length === 0) return undefined;
  for (const at of facts.values()) {
    const found = await forbiddenBelow(at, bounds, map, place.fs);
    if (found === "?")
      return { why: `the folder holds too many files to tell whether "${bounds[0]!.label}" speaks of one`, rule: bounds[0]!.label };
    if (found) return { why: `the search would reach ${found}, which a rule forbids to read`, rule: bounds[0]!.label };
  }
  return undefined;
}

async function allowing(one: Judging, mode: Mode): Promise<Verdict> {
  const { call, effects, commands, rules } = one;
  const whole = rules.allow.find(
    ({ covers, ...r }) =>
      coversTool({ ...r, covers }, call.tool) &&
      (covers.kind === "everything" ||
        (covers.kind === "field" && covers.names.some((n) => coversField(field(call.input, n), covers.value)))),
  );
  const by = new Set<string>();
  for (const e of effects) {
    if (e.kind === "execute" && call.tool === "Bash" && !whole) continue;
    const covered = await coverEffect(one, e, mode, whole);
    if ("why" in covered) return { say: "ask", why: covered.why, rule: covered.rule ?? `mode ${mode}` };
    by.add(covered.by);
  }
  if (call.tool === "Bash" && !whole) {
    if (commands.length === 0) return { say: "ask", why: "it does not say what it runs", rule: `mode ${mode}` };
    const bounds = [...rules.deny, ...rules.ask].filter((r) => r.covers.kind === "path");
    for (const command of commands) {
      const covered = await command.covered({ allow: rules.allow, bounds, edits: mode === "acceptEdits" });
      if ("why" in covered) return { say: "ask", why: covered.why, rule: covered.rule ?? `mode ${mode}` };
      by.add(covered.by);
    }
  }
  return { say: "allow", rule: [...by].join(", ") || whole?.label || "touches nothing" };
}

async function coverEffect(
  { call, facts, rules, map }: Judging,
  e: Effect,
  mode: Mode,
  whole: Rule | undefined,
): Promise<{ readonly by: string } | { readonly why: string; readonly rule?: string }> {
  const at = facts.get(e);
  if (at?.problem) return { why: `${e.target} ${at.problem}`, rule: "unclear path" };
  const own = FILE_TOOLS[call.tool];
  const files = (access: "read" | "write"): Rule | undefined =>
    own && at
      ? allows(
          rules.allow.filter((r) => r.covers.kind === "path" && r.covers.access === access),
          at,
          map,
        )
      : undefined;
  if (e.kind === "write" && at) {
    const part = protectedPart(at);
    if (part) return { why: `${part} is protected: ${at.path}`, rule: `protected path ${part}` };
    const rule = whole ?? wholeFor("Edit", own, rules.allow) ?? files("write");
    if (rule) return { by: rule.label };
    if (at.inside === undefined) return { why: `writes outside the workspace: ${at.path}` };
    return mode === "acceptEdits" ? { by: "mode acceptEdits" } : { why: `writes ${at.path}` };
  }
  if (e.kind === "read" && at) {
    if (at.inside !== undefined) return { by: "inside the workspace" };
    const rule = whole ?? wholeFor("Read", own, rules.allow) ?? files("read") ?? (own === "write" ? files("write") : undefined);
    return rule ? { by: rule.label } : { why: `reads outside the workspace: ${at.path}` };
  }
  if (whole) return { by: whole.label };
  if (e.kind === "other" && call.tool === "Task") return { by: "each call of the agent is judged" };
  if (e.kind === "network" && call.tool === "WebFetch") {
    const host = hostOf(e.target);
    const rule =
      host === undefined || isPrivateHost(host)
        ? undefined
        : rules.allow.find((r) => r.covers.kind === "domain" && coversHost(host, r.covers.host));
    if (rule) return { by: rule.label };
  }
  const verb = { execute: "runs", network: "connects to", other: "acts on", read: "reads", write: "writes" }[e.kind];
  return { why: `no rule covers it; it ${verb} ${e.target}` };
}

/** A bare Read or Edit rule speaks for the other file tools of its kind. */
const wholeFor = (name: "Read" | "Edit", own: "read" | "write" | undefined, rules: readonly Rule[]): Rule | undefined =>
  own === (name === "Read" ? "read" : "write") ? rules.find((r) => r.tool === name && r.covers.kind === "everything") : undefined;

const hostOf = (url: string): string | undefined => (URL.canParse(url) ? new URL(url).hostname : undefined);
