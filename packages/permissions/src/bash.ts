/** What rules say of a shell command: which forbid it, which allow it, and whether it only looks. */
import { resolve } from "node:path";
import { baseName, type Candidates, candidatesOf, readings, textOfWords } from "./candidates.ts";
import { allows, forbids, type Located, locate, type PathMap, type Place } from "./paths.ts";
import { looksOnly } from "./readonly.ts";
import { criticalRemoval } from "./removal.ts";
import { coversCommand, type Rule } from "./rule.ts";
import { canonical, hasUnseen, MAX_COMMAND, type Part, split, type Word } from "./shell.ts";

export type World = { readonly place: Place; readonly map: PathMap };
/** `sure` is false when the rule may be meant, and only a person can tell. */
export type Forbidden = { readonly rule: Rule; readonly sure: boolean };
export type Covered = { readonly by: string } | { readonly why: string };

/** Their operands are files whose content they show. */
const READERS: readonly string[] =
  "cat head tail wc nl rev cmp comm diff cut sort uniq stat tac od xxd hexdump strings base64 base32 paste fold fmt md5sum sha1sum sha256sum file less more source . dd tr tee rg".split(
    " ",
  );
/** They show files too, but not every operand is one. */
const FILTERS: readonly string[] = "grep egrep fgrep sed awk gawk mawk perl jq".split(" ");
const TALKERS: readonly string[] = ["echo", "printf", "cd", "pwd"];
/** What they run is in their arguments. */
const RUNNERS: readonly string[] = "watch setsid ionice flock env sudo doas xargs exec eval".split(" ");
const MAX_WORDS = 500;

/** One command, read once for all questions about it. */
export class CommandReading {
  readonly command: string;
  readonly parts: readonly Part[] | undefined;
  readonly found: Candidates;
  readonly folders: readonly string[];
  readonly #world: World;

  constructor(command: string, world: World) {
    this.command = command;
    this.#world = world;
    this.parts = split(command);
    this.found = candidatesOf(command);
    this.folders = foldersOf(this.found, world.place);
  }

  /** What it would remove that nobody approves in advance. */
  critical(): string | undefined {
    return criticalRemoval(this.found, this.folders, this.#world.map);
  }

  /** The first rule of the list that forbids the command or may forbid it; a sure one is preferred. */
  async forbidden(rules: readonly Rule[]): Promise<Forbidden | undefined> {
    let maybe: Forbidden | undefined;
    for (const rule of rules) {
      const hit =
        rule.covers.kind === "command"
          ? this.#forbids(rule.covers.pattern)
          : rule.covers.kind === "path"
            ? await this.#opens(rule)
            : undefined;
      if (hit === "sure") return { rule, sure: true };
      if (hit) maybe ??= { rule, sure: false };
    }
    return maybe;
  }

  #forbids(pattern: string): "sure" | "maybe" | undefined {
    if (coversCommand(pattern, this.command.trim())) return "sure";
    const { all, hidden, sure } = this.found;
    const fixed = pattern.split("*")[0]!.trim().split(" ");
    let maybe = hidden;
    for (const candidate of all) {
      for (const words of readings(candidate)) {
        if (coversCommand(pattern, textOfWords(words))) return "sure";
        const gap = words.findIndex((w) => w.unknown);
        // up to the first word that only the shell knows it is what the rule forbids
        if (gap > 0 && words.slice(0, gap).every((w, i) => i >= fixed.length || w.text === fixed[i]))
          maybe ||= gap < fixed.length || !pattern.endsWith("*");
      }
    }
    if (!maybe && (!sure || hasUnseen(this.command) || this.command.length > MAX_COMMAND)) {
      const bare = this.command.replace(/\\\n|['"\\]/g, "").split(/[^\w.+-]+/);
      maybe = fixed[0] === "" || bare.includes(baseName(fixed[0]!));
    }
    return maybe ? "maybe" : undefined;
  }

  /** Whether the command opens what a rule about files forbids. */
  async #opens(rule: Rule): Promise<"sure" | "maybe" | undefined> {
    const { place, map } = this.#world;
    const write = rule.covers.kind === "path" && rule.covers.access === "write";
    const hits = async (text: string): Promise<boolean> => {
      for (const folder of this.folders) {
        const at = await locate(resolve(folder, expand(text, place)), map, place.fs);
        if (forbids(rule, at, map)) return true;
      }
      return false;
    };
    let maybe = false;
    let words = 0;
    for (const part of this.parts ?? [undefined]) {
      const looks = part && looksOnly(part.words);
      if (looks) {
        if (looks.deep && !write) maybe = true;
        for (const path of write ? [] : looks.paths) if (await hits(path)) return "sure";
        continue;
      }
      const { all, simple } = part ? candidatesOf(part.source) : this.found;
      for (const { opens } of simple) for (const word of opens) if (await hits(word.text)) return "sure";
      for (const [program, ...rest] of all) {
        const reader = READERS.includes(program!.text);
        if (TALKERS.includes(program!.text) || (write && reader && program!.text !== "tee" && program!.text !== "dd")) continue;
        for (const { text, unknown } of rest) {
          if (++words > MAX_WORDS) return "maybe";
          if (!write && reader && (await hits(text))) return "sure";
          if (!write && unknown && (reader || FILTERS.includes(program!.text))) maybe = true;
          for (const form of [text, ...text.split(/[=:@]/).slice(1)]) maybe ||= form !== "" && (await hits(form));
        }
      }
    }
    return maybe ? "maybe" : undefined;
  }

  /** Whether each part only looks, inside the workspace, or is covered by a rule. `rules.deny` and `rules.ask` bound what may be looked at. */
  async covered(rules: {
    readonly allow: readonly Rule[];
    readonly ask: readonly Rule[];
    readonly deny: readonly Rule[];
  }): Promise<Covered> {
    if (!this.parts) return { why: this.#obscure() };
    const isFile = (r: Rule): boolean => r.covers.kind === "path";
    const bounds = [...rules.deny, ...rules.ask].filter(isFile);
    const { place, map } = this.#world;
    const straight = this.parts.every((p) => p.then !== ";" && p.then !== "||");
    const by = new Set<string>();
    let cwd = place.shell ?? place.cwd;
    const within = (await locate(cwd, map, place.fs)).inside !== undefined;
    for (const [i, { words, source }] of this.parts.entries()) {
      const target = cdTarget(words);
      if (target !== undefined && straight && this.parts.slice(0, i).every((p) => cdTarget(p.words) !== undefined && p.then === "&&")) {
        cwd = resolve(cwd, expand(target, place));
        const at = await locate(cwd, map, place.fs);
        if (at.inside === undefined || (await place.fs.stat(cwd))?.kind !== "directory") return { why: `leaves the workspace: ${target}` };
        by.add("read-only command");
        continue;
      }
      // git in another folder obeys the configuration it finds there
      const looks = !within || (words[0]!.text === "git" && cwd !== place.cwd) ? undefined : looksOnly(words);
      const problem = looks ? await this.#outside(looks, cwd, rules.allow, bounds) : undefined;
      if (looks && problem === undefined) {
        by.add("read-only command");
        continue;
      }
      const rule = rules.allow.find((r) => r.covers.kind === "command" && unwrapped(words).some((w) => allowsWords(r.covers, w)));
      if (!rule) return { why: problem ?? `no rule allows: ${source}` };
      if (bounds.length > 0 && words.some((w) => w.glob || w.tilde))
        return { why: `may name a file that "${bounds[0]!.label}" speaks of: ${source}` };
      by.add(rule.label);
    }
    return { by: [...by].join(", ") };
  }

  async #outside(
    looks: { paths: readonly string[]; deep: boolean },
    cwd: string,
    allow: readonly Rule[],
    bounds: readonly Rule[],
  ): Promise<string | undefined> {
    const { place, map } = this.#world;
    if (looks.deep && bounds[0]) return `searches a folder that "${bounds[0].label}" may speak of`;
    for (const path of looks.paths) {
      const at: Located = await locate(resolve(cwd, expand(path, place)), map, place.fs);
      const readable = allow.filter((r) => r.covers.kind === "path" && r.covers.access === "read");
      if (at.problem) return `${path} ${at.problem}`;
      if (at.inside === undefined && !allows(readable, at, map)) return `reads outside the workspace: ${at.path}`;
    }
    return undefined;
  }

  #obscure(): string {
    if (this.command.length > MAX_COMMAND) return `the command is longer than ${MAX_COMMAND} characters`;
    if (hasUnseen(this.command)) return "the command holds characters that cannot be seen";
    return "the command is more than plain words, so no rule can allow it";
  }
}

/** `~` and `$HOME`, as the shell would. */
function expand(text: string, place: Place): string {
  const home = /^(~|\$HOME)(?=\/|$)/.exec(text);
  if (home) return place.home === undefined ? "/" : place.home + text.slice(home[0].length);
  return text.replace(/^(~\+|\$PWD)(?=\/|$)/, place.cwd);
}

const cdTarget = (words: readonly Word[]): string | undefined => {
  const target = words[0]!.text === "cd" && words.length === 2 ? words[1]! : undefined;
  return target && !target.glob && !target.text.startsWith("-") && (!target.tilde || /^~(\/|$)/.test(target.text))
    ? target.text
    : undefined;
};

/** Every folder the command may be in at some point. */
function foldersOf(found: Candidates, place: Place): readonly string[] {
  const folders = [place.shell ?? place.cwd];
  for (const { words } of found.simple) {
    if (words[0]?.text !== "cd" && words[0]?.text !== "pushd") continue;
    const target = words.slice(1).find((w) => !w.text.startsWith("-"))?.text ?? "~";
    for (const folder of [...folders]) if (folders.length < 32) folders.push(resolve(folder, expand(target, place)));
  }
  return [...new Set(folders)];
}

/** A rule with `*` does not reach through programs that run whatever they are told to; one that spells the command out does. */
function allowsWords(covers: Rule["covers"], words: readonly string[]): boolean {
  if (covers.kind !== "command" || !coversCommand(covers.pattern, canonical(words))) return false;
  const [name, ...args] = words;
  const verb = args.findIndex((a) => !a.startsWith("-"));
  const runsMore =
    RUNNERS.includes(name!) ||
    (name === "find" && args.some((a) => /^-(exec|ok|delete|fprint|fls)/.test(a))) ||
    (name === "git" && args.slice(0, verb < 0 ? undefined : verb).some((a) => /^(-c|--config-env|--exec-path)/.test(a)));
  return !runsMore || !covers.pattern.includes("*");
}

/** The words as they stand and without the wrappers that only change how it runs. */
function unwrapped(words: readonly Word[]): readonly (readonly string[])[] {
  const texts = words.map((w) => w.text);
  const out = [texts];
  for (let left = texts; ; ) {
    const [name, second = "", third = ""] = left;
    const skip =
      name === "nohup" || (name === "command" && !second.startsWith("-"))
        ? 1
        : name === "timeout" && /^\d+(\.\d+)?[smhd]?$/.test(second)
          ? 2
          : name === "nice" && second === "-n" && /^-?\d+$/.test(third)
            ? 3
            : 0;
    if (skip === 0 || skip >= left.length) return out;
    left = left.slice(skip);
    out.push(left);
  }
}
