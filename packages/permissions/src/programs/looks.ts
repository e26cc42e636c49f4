/** Whether a simple command only looks, and at what. */
import type { Word } from "../shell/word.ts";
import { gitLooks } from "./git.ts";
import { fit, HERE, type Looks, looks } from "./options.ts";
import { isTameScript } from "./sed.ts";
import { PROGRAMS, VERSIONS } from "./table.ts";

const NOTHING: Looks = { paths: [], deep: false };

/** Undefined unless the command is known to change nothing, run nothing else and read nothing but the paths it gives back. */
export function looksOnly(words: readonly Word[]): Looks | undefined {
  const [first, ...args] = words;
  if (!first || first.glob || first.unknown) return undefined;
  const name = first.value;
  if (args.length === 1 && Object.hasOwn(VERSIONS, name) && VERSIONS[name]!.split(" ").includes(args[0]!.value)) return NOTHING;
  switch (name) {
    case "find":
      return find(args);
    case "git":
      return gitLooks(args);
    case "sed":
      return sed(args);
    case "test":
      return test(args);
    case "[":
      return args.at(-1)?.value === "]" ? test(args.slice(0, -1)) : undefined;
    case "command":
      return args.length === 2 && /^-[vV]$/.test(args[0]!.value) && !args[1]!.unknown ? NOTHING : undefined;
    default:
      return Object.hasOwn(PROGRAMS, name) ? looks(PROGRAMS[name]!, args) : undefined;
  }
}

const SED = {
  flags: "nErsuz",
  valued: "e",
  long: "quiet silent regexp-extended expression= separate null-data",
  operands: "paths",
} as const;
/** The files that sed reads with these arguments; undefined when its script may do more than change what it prints. */
export function sed(args: readonly Word[]): Looks | undefined {
  const found = fit(SED, args);
  if (!found) return undefined;
  const scripts: string[] = [];
  for (const [i, { value }] of args.entries()) {
    const [, attached] = /^(?:--expression=|-[nErsuz]*e)([\s\S]*)$/.exec(value) ?? [];
    if (attached !== undefined) scripts.push(attached === "" || value === "--expression" ? (args[i + 1]?.value ?? "") : attached);
    else if (value === "--expression") scripts.push(args[i + 1]?.value ?? "");
  }
  const given = found.options.some((o) => o === "e" || o === "expression");
  const files = given ? found.operands : found.operands.slice(1);
  if (!given) scripts.push(found.operands[0]?.value ?? "");
  if (found.operands[0]?.glob && !given) return undefined;
  return scripts.length > 0 && scripts.every(isTameScript) ? { paths: files, deep: false } : undefined;
}

const TESTS: readonly string[] =
  "-name -iname -path -ipath -wholename -regex -iregex -type -maxdepth -mindepth -size -mtime -mmin -atime -ctime -newer -newermt -perm -user -group -printf -links".split(
    " ",
  );
const ALONE: readonly string[] =
  "-print -print0 -ls -empty -not -o -or -a -and ! ( ) -prune -quit -depth -xdev -mount -readable -writable -executable".split(" ");
function find(args: readonly Word[]): Looks | undefined {
  if (args.some((w) => w.unknown)) return undefined;
  const from = args.findIndex((a) => /^[-!(),]/.test(a.value));
  const starts = from < 0 ? args : args.slice(0, from);
  if (starts.some((w) => /^[*?[]/.test(w.value) && w.glob) || args.slice(starts.length).some((w) => w.glob)) return undefined;
  const paths = [...(starts.length > 0 ? starts : [HERE])];
  for (let i = starts.length; i < args.length; i++) {
    const arg = args[i]!.value;
    if (ALONE.includes(arg)) continue;
    if (!TESTS.includes(arg) || ++i >= args.length) return undefined;
    if (arg === "-newer") paths.push(args[i]!);
  }
  return { paths, deep: false };
}

const UNARY: readonly string[] = "-e -f -d -r -w -x -s -L -h -b -c -p -S".split(" ");
const NUMBERS: readonly string[] = "-eq -ne -lt -le -gt -ge".split(" ");
/** Names of variables are left out: bash evaluates what stands in their brackets. */
function test(args: readonly Word[]): Looks | undefined {
  const [first, second, third] = args;
  if (args.some((w) => w.glob || (w.unknown && !w.unknown.one))) return undefined;
  if (first?.value === "!" && !first.unknown && args.length > 1) return test(args.slice(1));
  if (args.length === 1 && first) return first.value.startsWith("-") ? undefined : NOTHING;
  if (args.length === 2 && first && second && !first.unknown) {
    if (first.value === "-n" || first.value === "-z") return NOTHING;
    if (first.value === "-v") return /^[A-Za-z_]\w*$/.test(second.value) && !second.unknown ? NOTHING : undefined;
    return UNARY.includes(first.value) && !second.unknown ? { paths: [second], deep: false } : undefined;
  }
  if (args.length !== 3 || !first || !second || !third || second.unknown) return undefined;
  if (["=", "==", "!="].includes(second.value)) return NOTHING;
  const isNumber = (w: Word): boolean => w.unknown?.from === "output" || (!w.unknown && /^-?\d+$/.test(w.value));
  if (NUMBERS.includes(second.value)) return isNumber(first) && isNumber(third) ? NOTHING : undefined;
  return ["-nt", "-ot", "-ef"].includes(second.value) && !first.unknown && !third.unknown
    ? { paths: [first, third], deep: false }
    : undefined;
}
