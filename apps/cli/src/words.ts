/** Parts a command line into flags and words, so that a prompt may hold anything and a list of rules ends where the prompt begins. */
import type { Options } from "yargs";
import { UsageError } from "./exit.ts";
import { nearest } from "./nearest.ts";
import { looksLikeRules } from "./rule-list.ts";

export type Flags = Readonly<Record<string, Options>>;
type Flag = { name: string; value?: string };

/** Flags that may stand alone, and then have the empty text as their value. */
const ALONE = new Set(["resume", "dry"]);
/** Lists of rules: they take the rules that follow. */
const RULES = new Set(["allowedTools", "disallowedTools"]);

/**
 * The same command line in a form that can be taken in one way only: every flag with its value in one piece, and with `prompt` all words
 * after `--`. Throws a {@link UsageError} for a flag that is not known or lacks its value.
 */
export function partWords(argv: readonly string[], flags: Flags, prompt: boolean): string[] {
  const parted: string[] = [];
  const words: string[] = [];
  const rest = [...argv];
  const nextValue = (): string | undefined =>
    rest[0] === undefined || rest[0] === "--" || /^--?[A-Za-z]\S*$/.test(rest[0]) ? undefined : rest.shift();
  for (let word = rest.shift(); word !== undefined; word = rest.shift()) {
    if (word === "--") {
      words.push(...rest);
      break;
    }
    const found = flagsIn(word, flags, prompt);
    if (!found) (prompt ? words : parted).push(word);
    for (const { name, value } of found ?? []) {
      const { type } = flags[name]!;
      if (type === "boolean") {
        if (value === undefined || /^(true|false)$/.test(value)) parted.push(value === undefined ? `--${name}` : `--${name}=${value}`);
        else if (name === "print") {
          parted.push("--print");
          words.push(value);
        } else throw new UsageError(`--${name} takes no value`);
        continue;
      }
      const given = value ?? nextValue() ?? (ALONE.has(name) ? "" : undefined);
      if (given === undefined || (given === "" && type === "number"))
        throw new UsageError(
          `--${name} needs a value${/^-/.test(rest[0] ?? "") ? `; one that begins with a dash goes after "=": --${name}=…` : ""}`,
        );
      parted.push(`--${name}=${given}`);
      if (RULES.has(name) && value === undefined) while (looksLikeRules(rest[0] ?? "")) parted.push(`--${name}=${rest.shift()}`);
    }
  }
  return words.length > 0 ? [...parted, "--", ...words] : parted;
}

/** The flags that a word is; undefined for a word of a prompt. */
function flagsIn(word: string, flags: Flags, prompt: boolean): Flag[] | undefined {
  const [, dashes, name = "", , value] = /^(--?)([A-Za-z][^\s=]*)(=(.*))?$/s.exec(word) ?? [];
  if (dashes === undefined) return undefined;
  const valued = (of: string): Flag => (value === undefined ? { name: of } : { name: of, value });
  if (dashes === "--" && Object.hasOwn(flags, name)) return [valued(name)];
  if (dashes === "-") {
    const letters = [...name].map((letter) => Object.keys(flags).find((f) => flags[f]!.alias === letter));
    const [first] = letters;
    if (first !== undefined && name.length > 1 && flags[first]!.type !== "boolean") return [{ name: first, value: word.slice(2) }];
    if (letters.every((l) => l !== undefined)) return letters.map((l, i) => (i === letters.length - 1 ? valued(l) : { name: l }));
  }
  const near = nearest(name, Object.keys(flags));
  if (prompt && near === undefined && /\s/.test(word)) return undefined;
  const hint = prompt ? "a prompt that begins with a dash goes after --" : "heddle --help";
  throw new UsageError(`unknown flag ${dashes}${name}${near ? `: did you mean --${near}?` : ""} (${hint})`);
}
