/** Which rules forbid a shell command, or may be meant to. Everything in it that may run counts. */
import { type CommandReading, expand, join, touches } from "./command.ts";
import { loose } from "./glob.ts";
import { forbiddenBelow, forbids } from "./paths.ts";
import { coversCommand, type Rule } from "./rule.ts";
import { type Candidates, candidatesOf, readings, textOfWords } from "./shell/candidates.ts";
import type { Part } from "./shell/narrow.ts";
import { baseName } from "./shell/text.ts";
import type { Word } from "./shell/word.ts";
import { wildcard } from "./wildcard.ts";

/** `sure` is false when the rule may be meant, and only a person can tell. */
export type Forbidden = { readonly rule: Rule; readonly sure: boolean };
type Hit = "sure" | "maybe" | undefined;

/** Their operands are files whose content they show. */
const READERS: readonly string[] =
  "cat head tail wc nl rev cmp comm diff cut sort uniq stat tac od xxd hexdump strings base64 base32 paste fold fmt md5sum sha1sum sha256sum file less more source . dd tr tee rg".split(
    " ",
  );
/** They show files too, but not every operand is one. */
const FILTERS: readonly string[] = "grep egrep fgrep sed awk gawk mawk perl jq".split(" ");
const TALKERS: readonly string[] = ["echo", "printf", "cd", "pwd"];
const MAX_WORDS = 500;
/** Files that are looked at below a folder that is searched. */
const MAX_BELOW = 5_000;

/** The first rule of the list that forbids the command or may forbid it; a sure one is preferred. */
export async function forbidden(reading: CommandReading, rules: readonly Rule[]): Promise<Forbidden | undefined> {
  let maybe: Forbidden | undefined;
  for (const rule of rules) {
    const hit =
      rule.covers.kind === "command"
        ? named(reading, rule.covers.pattern)
        : rule.covers.kind === "path"
          ? await opened(reading, rule)
          : undefined;
    if (hit === "sure") return { rule, sure: true };
    if (hit) maybe ??= { rule, sure: false };
  }
  return maybe;
}

function named(reading: CommandReading, pattern: string): Hit {
  if (coversCommand(pattern, reading.command.trim())) return "sure";
  const { all, hidden, sure } = reading.found;
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
  if (!maybe && (!sure || "doubt" in reading.narrow)) {
    const bare = reading.command.replace(/\\\n|['"\\]/g, "").split(/[^\w.+-]+/);
    maybe = fixed[0] === "" || bare.includes(baseName(fixed[0]!));
  }
  return maybe ? "maybe" : undefined;
}

/** Whether the command opens what a rule about files forbids. */
async function opened(reading: CommandReading, rule: Rule): Promise<Hit> {
  const write = rule.covers.kind === "path" && rule.covers.access === "write";
  if ("doubt" in reading.narrow) return openedWide(reading, rule, write, reading.found);
  let maybe = false;
  for (const part of reading.narrow.parts) {
    const touched = touches(part);
    const known = [...part.redirects.filter((r) => r.kind === "write" || !write).map((r) => r.to)];
    known.push(...(write ? [] : (touched?.reads ?? [])), ...(touched?.writes ?? []));
    for (const word of known)
      for (const path of (await reading.pathsOf(word, part)) ?? []) {
        if (forbids(rule, await reading.locate(path), reading.world.map) && !word.glob) return "sure";
        maybe ||= word.glob && forbids(rule, await reading.locate(path), reading.world.map);
      }
    if (known.some((w) => w.unknown || (w.glob && mayMean(w.value, rule)))) maybe = true;
    if (touched?.deep && !write) for (const word of touched.reads) maybe ||= await findsBelow(reading, word, part, rule);
    if (touched) continue;
    const wide = await openedWide(reading, rule, write, candidatesOf(part.source, reading.world.grammar));
    if (wide === "sure") return wide;
    maybe ||= wide === "maybe";
  }
  return maybe ? "maybe" : undefined;
}

/** Whether a search below the folder would come to a file that the rule is about. */
async function findsBelow(reading: CommandReading, word: Word, part: Part, rule: Rule): Promise<boolean> {
  const { place, map } = reading.world;
  for (const path of (await reading.pathsOf(word, part)) ?? [])
    if (await forbiddenBelow(await reading.locate(path), [rule], map, place.fs, MAX_BELOW)) return true;
  return false;
}

async function openedWide(reading: CommandReading, rule: Rule, write: boolean, { all, simple }: Candidates): Promise<Hit> {
  const { place, map } = reading.world;
  const hits = async (text: string): Promise<boolean> => {
    for (const folder of reading.folders) if (forbids(rule, await reading.locate(join(folder, expand(text, place))), map)) return true;
    return false;
  };
  let maybe = false;
  let words = 0;
  for (const { opens } of simple) for (const word of opens) if ((word.write || !write) && (await hits(word.text))) return "sure";
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
  return maybe ? "maybe" : undefined;
}

/** Whether the pattern fits the name that the rule is about, be there such a file or not. */
function mayMean(glob: string, { covers }: Rule): boolean {
  if (covers.kind !== "path") return false;
  const last = (path: string): string => path.slice(path.lastIndexOf("/") + 1);
  return wildcard(loose(last(glob)), last(covers.pattern.replace(/\/\*\*$/, "")));
}
