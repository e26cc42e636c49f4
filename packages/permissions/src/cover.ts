/** What covers a shell command: that it only looks, rules that allow, and the mode. Each of its simple commands counts by itself. */
import { resolve } from "node:path";
import type { CommandReading } from "./command.ts";
import { gitRuns } from "./git-config.ts";
import { allows } from "./paths.ts";
import { type Edits, editsOnly } from "./programs/edits.ts";
import { isTameVariable } from "./programs/environment.ts";
import { looksOnly } from "./programs/looks.ts";
import type { Looks } from "./programs/options.ts";
import { fedByXargs, unwrapped } from "./programs/wrappers.ts";
import { protectedPart } from "./protected.ts";
import { coversCommand, type Rule } from "./rule.ts";
import type { Part } from "./shell/narrow.ts";
import { baseName, canonical } from "./shell/text.ts";
import type { Word } from "./shell/word.ts";

export type Covered = { readonly by: string } | { readonly why: string; readonly rule?: string };
type Judged = { readonly by: readonly string[] } | { readonly why: string; readonly rule?: string };
/** `bounds` are rules that forbid files; `edits`: whether the mode lets files of the workspace be changed. */
export type Allowing = { readonly allow: readonly Rule[]; readonly bounds: readonly Rule[]; readonly edits: boolean };

/** What they run is in their arguments. */
const RUNNERS: readonly string[] = "watch setsid ionice flock env sudo doas xargs exec eval".split(" ");
/** Not files of anybody. */
const STREAMS: readonly string[] = ["/dev/null", "/dev/stdin", "/dev/stdout", "/dev/stderr"];
/** Builtins after which names, variables and options may mean something else. */
export const CHANGERS: readonly string[] =
  "export declare typeset local readonly unset alias unalias hash enable source . eval set shopt trap read mapfile readarray getopts let exec bind complete".split(
    " ",
  );
const LOOKING = "read-only command";

/** Whether each part only looks, inside the workspace, or is covered by a rule or the mode. */
export const covered = (reading: CommandReading, rules: Allowing): Promise<Covered> => new Cover(reading).whole(rules);

/** The parts whose program neither a rule nor what is known of it covers. */
export const open = (reading: CommandReading, rules: Allowing): Promise<readonly Part[]> => new Cover(reading).open(rules);

class Cover {
  readonly #reading: CommandReading;

  constructor(reading: CommandReading) {
    this.#reading = reading;
  }

  async whole(rules: Allowing): Promise<Covered> {
    if ("doubt" in this.#reading.narrow) return { why: this.#reading.narrow.doubt };
    const { parts } = this.#reading.narrow;
    const by = new Set<string>();
    const changed = parts.find((p) => CHANGERS.includes(unwrapped(p.words).at(-1)![0]?.value ?? ""));
    for (const part of parts) {
      const covered = await this.#partCovered(part, rules, parts.length > 1 && changed !== undefined);
      if ("why" in covered) return covered;
      for (const one of covered.by) by.add(one);
    }
    if (by.size > 1) by.delete(LOOKING);
    return { by: [...by].join(", ") || LOOKING };
  }

  async open(rules: Allowing): Promise<readonly Part[]> {
    const parts = "doubt" in this.#reading.narrow ? [] : this.#reading.narrow.parts;
    const judged = await Promise.all(parts.map((part) => (part.words.length > 0 ? this.#wordsCovered(part, rules, false) : { by: [] })));
    return parts.filter((_, i) => "why" in judged[i]!);
  }

  /** `changed`: a part of the command may have made another program of the one that is known. */
  async #partCovered(part: Part, rules: Allowing, changed: boolean): Promise<Judged> {
    const { words, assigns, redirects, source } = part;
    const by: string[] = [];
    for (const { kind, to } of redirects) {
      const covered = kind === "write" ? await this.#writes([to], part, rules) : await this.#reads([to], part, rules);
      if ("why" in covered) return covered;
      by.push(...covered.by);
    }
    const odd = assigns.find((a) => !isTameVariable(a, true));
    if (odd) return { why: `sets ${odd.name}, which may change what the command does: ${source}` };
    if (words.length === 0) return assigns.length === 0 ? { by } : { why: `sets a variable of the shell: ${source}` };
    const covered = await this.#wordsCovered(part, rules, changed);
    return "why" in covered ? covered : { by: [...covered.by, ...by] };
  }

  async #wordsCovered(part: Part, rules: Allowing, changed: boolean): Promise<Judged> {
    const { words, assigns, folders, source } = part;
    const levels = unwrapped(words);
    const last = levels.at(-1)!;
    const moved = last[0]!.value === "cd" ? await this.#moves(last, part) : undefined;
    if (moved) return moved;
    const known = !changed && assigns.every((a) => isTameVariable(a, false)) && (await this.#isAtHome(last, folders));
    const looks = known ? looksOnly(last) : undefined;
    const runs = looks && last[0]!.value === "git" ? await gitRuns(this.#reading.world.place.cwd, this.#reading.world.place.fs) : undefined;
    const seen = looks && (runs ? { why: `${this.#reading.world.place.cwd} ${runs}: ${source}` } : await this.#looked(looks, part, rules));
    if (seen && "by" in seen) return seen;
    const edits = known && rules.edits ? editsOnly(last) : undefined;
    const edited = edits && (await this.#edited(edits, part, rules));
    if (edited && "by" in edited) return edited;
    const unknown = words.find((w) => w.unknown);
    if (unknown) return seen ?? { why: `only the shell knows what ${unknown.text} is: ${source}` };
    const fed = fedByXargs(last);
    const texts = [...levels, ...(fed ? [fed] : [])].filter((w) => !w[0]!.glob).map((level) => level.map((w) => w.text));
    const rule = rules.allow.find((r) => r.covers.kind === "command" && texts.some((t) => allowsWords(r.covers, t)));
    if (!rule) return seen ?? edited ?? { why: `no rule allows: ${source}` };
    if (rules.bounds.length > 0 && words.some((w) => w.glob || w.text.startsWith("~")))
      return { why: `may name a file that "${rules.bounds[0]!.label}" speaks of: ${source}` };
    return { by: [rule.label] };
  }

  /** A program that only looks may look at what no word names; git obeys the configuration of the folder it is in. */
  async #isAtHome(words: readonly Word[], folders: Part["folders"]): Promise<boolean> {
    const { place, map } = this.#reading.world;
    for (const folder of folders ?? []) {
      const at = await this.#reading.locate(folder);
      if (at.inside === undefined || (words[0]!.value === "git" && folder !== place.cwd && at.real !== map.roots[0]!.real)) return false;
    }
    return folders !== undefined;
  }

  /** `cd` inside the workspace; undefined when it is left to rules. */
  async #moves(words: readonly Word[], part: Part): Promise<Judged | undefined> {
    const targets = words.slice(1).filter((w) => !/^-[LP-]$/.test(w.value));
    const [target] = targets;
    const paths =
      targets.length === 1 && target && !target.glob && !/^-/.test(target.value) ? await this.#reading.pathsOf(target, part) : undefined;
    if (!paths) return { why: `goes to a folder that only the shell knows: ${part.source}` };
    for (const path of paths) {
      const [at, straight] = [await this.#reading.locate(path), await this.#reading.locate(resolve(path))];
      if (at.inside === undefined || straight.inside === undefined || at.real !== straight.real)
        return { why: `leaves the workspace: ${target!.text}` };
    }
    return { by: [LOOKING] };
  }

  async #looked({ paths: found, names }: Looks, part: Part, rules: Allowing): Promise<Judged> {
    // of a pattern the folder that is listed matters, not where links in it lead
    const paths = found.map((w) => (names && w.glob ? { ...w, value: `${w.value.replace(/[^/]*[*?[].*$/, "")}.`, glob: false } : w));
    return this.#reads(paths, part, rules);
  }

  async #reads(words: readonly Word[], part: Part, { allow }: Allowing): Promise<Judged> {
    const readable = allow.filter((r) => r.covers.kind === "path" && r.covers.access === "read");
    const whole = allow.find((r) => r.tool === "Read" && r.covers.kind === "everything");
    for (const word of words) {
      const paths = await this.#reading.pathsOf(word, part);
      if (!paths) return { why: `only the shell knows which file ${word.text} is: ${part.source}` };
      for (const path of paths) {
        if (STREAMS.includes(path)) continue;
        const at = await this.#reading.locate(path);
        if (at.problem) return { why: `${word.text} ${at.problem}` };
        if (at.inside === undefined && !whole && !allows(readable, at, this.#reading.world.map))
          return { why: `reads outside the workspace: ${at.path}` };
      }
    }
    return { by: [LOOKING] };
  }

  async #writes(words: readonly Word[], part: Part, { allow, edits }: Allowing): Promise<Judged> {
    const writable = allow.filter((r) => r.covers.kind === "path" && r.covers.access === "write");
    const whole = allow.find((r) => r.tool === "Edit" && r.covers.kind === "everything");
    const by = new Set<string>();
    for (const word of words) {
      const paths = word.glob ? undefined : await this.#reading.pathsOf(word, part);
      if (!paths) return { why: `only the shell knows which file ${word.text} is: ${part.source}` };
      for (const path of paths) {
        if (STREAMS.includes(path)) continue;
        const at = await this.#reading.locate(path);
        if (at.problem) return { why: `${word.text} ${at.problem}` };
        const guarded = protectedPart(at);
        if (guarded) return { why: `${guarded} is protected: ${at.path}`, rule: `protected path ${guarded}` };
        const rule = whole ?? allows(writable, at, this.#reading.world.map);
        if (rule) by.add(rule.label);
        else if (at.inside === undefined) return { why: `writes outside the workspace: ${at.path}` };
        else if (edits) by.add("mode acceptEdits");
        else return { why: `writes ${at.path}` };
      }
    }
    return { by: [...by] };
  }

  async #edited({ writes, reads, into = [] }: Edits, part: Part, rules: Allowing): Promise<Judged> {
    const below = into.map((w) => ({ ...w, value: `${writes.at(-1)!.value}/${baseName(w.value.replace(/\/+$/, ""))}` }));
    const read = await this.#reads(reads, part, rules);
    return "why" in read ? read : this.#writes([...writes, ...below], part, { ...rules, allow: [] });
  }
}

/** A rule with `*` does not reach through programs that run whatever they are told to; one that spells the command out does. */
function allowsWords(covers: Rule["covers"], words: readonly string[]): boolean {
  if (covers.kind !== "command" || !coversCommand(covers.pattern, canonical(words))) return false;
  return !covers.pattern.includes("*") || !runsWhatItIsTold(words);
}

export function runsWhatItIsTold([name, ...args]: readonly string[]): boolean {
  const verb = args.findIndex((a) => !a.startsWith("-"));
  return (
    RUNNERS.includes(name!) ||
    (name === "find" && args.some((a) => /^-(exec|ok|delete|fprint|fls)/.test(a))) ||
    (name === "git" && args.slice(0, verb < 0 ? undefined : verb).some((a) => /^(-c|--config-env|--exec-path)/.test(a)))
  );
}
