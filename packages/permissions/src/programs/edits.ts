/** The programs that change files and nothing else, with what they write and read: what acceptEdits covers of the shell. */
import type { Word } from "../shell/word.ts";
import { sed } from "./looks.ts";
import { fit, type Program } from "./options.ts";

/** `into`: what is copied to the last of `writes` comes to lie below it when that is a folder. */
export type Edits = { readonly writes: readonly Word[]; readonly reads: readonly Word[]; readonly into?: readonly Word[] };

const options = (flags: string, long = ""): Program => ({ flags, long, operands: "paths" });
const PROGRAMS: { readonly [name: string]: Program } = {
  mkdir: options("pv", "parents verbose"),
  touch: options("acm", "no-create"),
  rm: options("rRfvdi", "recursive force verbose dir"),
  rmdir: options("pv", "parents verbose ignore-fail-on-non-empty"),
  mv: options("fnvu", "force no-clobber verbose update"),
  cp: options("fnpvu", "force no-clobber verbose update"),
};

export function editsOnly(words: readonly Word[]): Edits | undefined {
  const [first, ...args] = words;
  if (!first || words.some((w) => w.glob || w.unknown)) return undefined;
  const name = first.value;
  if (name === "sed") return sedInPlace(args);
  const found = Object.hasOwn(PROGRAMS, name) ? fit(PROGRAMS[name]!, args) : undefined;
  if (!found || found.operands.length === 0) return undefined;
  const { operands } = found;
  if (name !== "mv" && name !== "cp") return { writes: operands, reads: [] };
  if (operands.length < 2) return undefined;
  const from = operands.slice(0, -1);
  const to = operands.at(-1)!;
  return name === "mv" ? { writes: operands, reads: [], into: from } : { writes: [to], reads: from, into: from };
}

/** `-i` with or without an ending for the copy that it keeps. */
function sedInPlace(args: readonly Word[]): Edits | undefined {
  const at = args.findIndex((w) => /^-i(\.\w+)?$/.test(w.value));
  if (at < 0) return undefined;
  const found = sed(args.filter((_, i) => i !== at));
  if (!found || found.paths.length === 0) return undefined;
  const ending = args[at]!.value.slice(2);
  const kept = ending === "" ? [] : found.paths.map((w) => ({ ...w, value: w.value + ending }));
  return { writes: [...found.paths, ...kept], reads: [] };
}
