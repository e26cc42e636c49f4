/** Reads the arguments of a program against the list of options under which it is known; anything else is not known. */
import type { Word } from "../shell/word.ts";

/** Files as they were named; `deep`: what is below them too; `names`: it shows what they are called and not what is in them. */
export type Looks = { readonly paths: readonly Word[]; readonly deep: boolean; readonly names?: boolean };
type Role = "paths" | "text" | "pattern" | "none" | ((operands: readonly Word[]) => readonly Word[] | undefined);

export type Program = {
  /** Letters that may stand in a cluster and take no value. */
  readonly flags?: string;
  /** Letters with a value, attached or as the next word. */
  readonly valued?: string;
  /** Letters among `valued` whose value is a file that is read. */
  readonly files?: string;
  /** Long options, exact; with `=` at the end when they take a value, `=?` when they may, `=@` when it is a file that is read. */
  readonly long?: string;
  /** Values of long options are attached, but for those that are named. */
  readonly attached?: { readonly apart: readonly string[] };
  /** `-5` and the like. */
  readonly number?: boolean;
  readonly operands: Role;
  readonly deep?: (options: readonly string[]) => boolean;
  /** Words that look like options and are none. */
  readonly verbatim?: boolean;
  /** No option of it writes or runs anything, so even a file whose name looks like one does no harm. */
  readonly tame?: boolean;
  readonly names?: boolean;
  /** It only prints its words, so they may come from what a harmless command printed. */
  readonly prints?: boolean;
};

export type Fit = { readonly options: readonly string[]; readonly operands: readonly Word[]; readonly files: readonly Word[] };

/** A word that may become an option: a pattern that a file name like `-x` matches. */
const mayBeOption = (w: Word): boolean => w.glob && /^[*?[-]/.test(w.value) && !/^--[a-z-]+=/.test(w.value);

export function fit(program: Program, args: readonly Word[]): Fit | undefined {
  if (args.some((w) => w.unknown && !(program.prints && w.unknown.from === "output"))) return undefined;
  if (program.verbatim) return { options: [], operands: args, files: [] };
  const operands: Word[] = [];
  const options: string[] = [];
  const files: Word[] = [];
  const long = new Map((program.long ?? "").split(" ").map((o) => [o.replace(/=[?@]?$/, ""), /=[?@]?$/.exec(o)?.[0] ?? ""]));
  // a value that looks like an option may be read as one by another version of the program
  const next = (at: number): Word | undefined => (args[at] && !args[at].glob && !args[at].value.startsWith("-") ? args[at] : undefined);
  for (let i = 0; i < args.length; i++) {
    const word = args[i]!;
    const arg = word.value;
    if (arg === "--" && !word.glob) {
      operands.push(...args.slice(i + 1));
      break;
    }
    if (mayBeOption(word) && !program.tame) return undefined;
    if (!arg.startsWith("-") || arg === "-") operands.push(word);
    else if (program.number && /^-\d+$/.test(arg)) options.push("number");
    else if (arg.startsWith("--")) {
      const [, option = "", value] = /^--([a-z0-9-]+)(=[\s\S]*)?$/.exec(arg) ?? [];
      const takes = long.get(option);
      if (takes === undefined || (takes === "" && value !== undefined) || (word.glob && value === undefined)) return undefined;
      options.push(option);
      if (takes !== "=" && takes !== "=@") continue;
      const given =
        value === undefined
          ? program.attached?.apart.includes(option) === false
            ? undefined
            : next(++i)
          : { ...word, value: value.slice(1) };
      if (!given || (takes === "=@" && word.glob)) return undefined;
      if (takes === "=@") files.push(given);
    } else {
      if (word.glob) return undefined;
      for (let k = 1; k < arg.length; k++) {
        const letter = arg[k]!;
        options.push(letter);
        if (program.valued?.includes(letter)) {
          const given = k < arg.length - 1 ? { ...word, value: arg.slice(k + 1) } : next(++i);
          if (!given) return undefined;
          if (program.files?.includes(letter)) files.push(given);
          break;
        }
        if (!program.flags?.includes(letter)) return undefined;
      }
    }
  }
  return { options, operands, files };
}

/** What the program reads when it only looks; undefined when it may do more. */
export function looks(program: Program, args: readonly Word[]): Looks | undefined {
  const found = fit(program, args);
  if (!found) return undefined;
  const { options, operands, files } = found;
  const deep = (program.deep?.(options) ?? false) || args.some((w) => mayBeOption(w) && program.deep !== undefined);
  const paths = pathsOf(program, operands, options);
  if (!paths) return undefined;
  const read = [...files, ...paths, ...(deep && paths.length === 0 ? [HERE] : [])].filter((w) => w.value !== "-");
  return { paths: read, deep, ...(program.names ? { names: true } : {}) };
}

export const HERE: Word = { text: ".", value: ".", glob: false };

function pathsOf({ operands: role }: Program, operands: readonly Word[], options: readonly string[]): readonly Word[] | undefined {
  if (typeof role === "function") return operands.some((w) => mayBeOption(w)) ? undefined : role(operands);
  if (role === "none") return operands.length === 0 ? [] : undefined;
  if (role === "text") return [];
  if (role === "paths" || options.some((o) => o === "e" || o === "regexp" || o === "f" || o === "file")) return operands;
  return operands[0]?.glob ? undefined : operands.slice(1);
}
