/** What the tools that change a file share: is the file known and unchanged, is it text, and is the new content on the disk. */
import { type FileSystem, FS, type ToolContext, type ToolOutput } from "@heddle/kernel/plugin";
import { answering, plural, Refusal } from "./answer.ts";
import type { FileState, SeenLines } from "./contract.ts";
import { decode, type Encoding, encode, UTF8 } from "./encoding.ts";
import type { Locks } from "./file-state.ts";
import { absolute, locate, reserved, shown } from "./paths.ts";
import type { ShellFolder } from "./shell-folder.ts";
import { cutLine, lineAt, lineCount, linesOf, numbered } from "./text.ts";

export type ChangeServices = { readonly files: FileState; readonly locks: Locks; readonly shell: ShellFolder };
/** The file to change. `text` is undefined where there is none yet; `part`: what the model was shown, where that is not all. */
export type Target = {
  readonly fs: FileSystem;
  readonly path: string;
  readonly realpath: string;
  readonly name: string;
  readonly text: string | undefined;
  readonly encoding: Encoding;
  readonly part?: SeenLines | undefined;
  /** Of a notebook: its cells stand where Read has shown them. */
  readonly counted: boolean;
};

const SHOW_CHANGED = 6;

export const targetPath = (
  ctx: { readonly session: { readonly cwd: string }; capability: ToolContext["capability"] },
  path: string,
): Promise<string> => locate(ctx.capability(FS), absolute(ctx.session.cwd, path));

/** Holds the file's lock while `work` looks at it and writes it; answers itself when the file must not be changed. `verb`: for errors. */
export function changing(
  verb: string,
  asked: string,
  ctx: ToolContext,
  { files, locks }: ChangeServices,
  work: (target: Target) => Promise<ToolOutput>,
): Promise<ToolOutput> {
  return answering(`${verb} ${asked}`, async () => {
    const fs = ctx.capability(FS);
    const path = await targetPath(ctx, asked);
    const realpath = await fs.realpath(path);
    return locks(realpath, async () => work(await targetOf(fs, path, realpath, ctx, files)));
  });
}

async function targetOf(fs: FileSystem, path: string, realpath: string, ctx: ToolContext, files: FileState): Promise<Target> {
  const name = shown(ctx.session.cwd, path);
  if (reserved(path)) throw new Refusal(`${name} is the name of a device on Windows and no file; choose another name.`);
  const stat = await fs.stat(path);
  const target = { fs, path, realpath, name, counted: false };
  if (!stat) return { ...target, text: undefined, encoding: UTF8 };
  if (stat.kind === "directory") throw new Refusal(`${name} is a folder, not a file.`);
  if (stat.kind !== "file") throw new Refusal(`${name} is a pipe, socket or device; it is not changed.`);
  const bytes = await fs.readFile(path);
  const same = bytes.length === 0 || files.same(ctx.session.id, realpath, bytes);
  const decoded = await decode(bytes);
  if (decoded.kind !== "text") throw new Refusal(`${name} is ${decoded.what}; it is not changed.`);
  const { text, encoding, exact } = decoded;
  if (same === undefined) throw new Refusal(`${name} exists but has not been read in this session. Read it first.`);
  const seen = files.get(ctx.session.id, realpath);
  if (!same) throw new Refusal(changedText(name, seen?.text, text));
  if (!exact)
    throw new Refusal(`${name} is damaged ${encoding.name}, and more of it would change than you ask for. Repair or convert it first.`);
  return { ...target, text, encoding, part: seen?.part, counted: seen?.counted ?? false };
}

type Lines = NonNullable<ToolOutput["lines"]>;

/**
 * Writes and checks that all of it arrived; returns how many lines came and went. From here on the session knows the new content;
 * an edit (`whole` false) shows no more of the file than was known. `counted`: the cells of a
 * notebook stay in their places. Throws {@link Refusal} when the encoding cannot store the text.
 */
export async function put(
  target: Target,
  text: string,
  ctx: ToolContext,
  files: FileState,
  whole: boolean,
  counted = false,
): Promise<Lines> {
  const encoded = await encode(text, target.encoding);
  if ("lost" in encoded)
    throw new Refusal(
      `${target.name} was not changed. It is ${target.encoding.name}, which has no "${encoded.lost}". Leave that out, or convert the file to UTF-8 first, for example with iconv in Bash.`,
    );
  const { bytes } = encoded;
  await target.fs.writeFile(target.path, bytes);
  const realpath = await target.fs.realpath(target.path);
  const size = (await target.fs.stat(target.path))?.size;
  if (size !== bytes.length) {
    files.forget(ctx.session.id, realpath);
    throw Object.assign(new Error(`${size ?? 0} of ${plural(bytes.length, "byte")} were written; read the file before you go on`), {
      code: "EIO",
    });
  }
  const part = whole || !target.part ? {} : { part: { ranges: [], of: lineCount(text) } };
  files.saw(ctx.session.id, realpath, bytes, { at: ctx.now(), by: "write", text, ...(counted ? { counted } : {}), ...part });
  return countLines(target.text ?? "", text);
}

/** A line that is there before and after, wherever, neither came nor went. */
function countLines(before: string, after: string): Lines {
  const { removed, added } = changedLines(before, after);
  const left = new Map<string, number>();
  for (const line of removed) left.set(line, (left.get(line) ?? 0) + 1);
  let kept = 0;
  for (const line of added) {
    const n = left.get(line) ?? 0;
    if (n > 0) kept++;
    left.set(line, n - 1);
  }
  return { added: added.length - kept, removed: removed.length - kept };
}

function changedText(name: string, before: string | undefined, now: string): string {
  const said = `${name} has changed since it was last read. Read it again, then repeat the change.`;
  if (before === undefined) return said;
  const { first, added } = changedLines(before, now);
  const part = added.slice(0, SHOW_CHANGED).map((line) => cutLine(line, 200));
  if (part.length === 0) return `${said} Lines from ${first} on were removed.`;
  return `${said} It now has, from line ${first}:\n${numbered(part, first)}${added.length > part.length ? "\n[...]" : ""}`;
}

/** The one stretch of lines outside of which both texts agree. `first` counts from 1. */
export function changedLines(
  before: string,
  after: string,
): { readonly first: number; readonly removed: string[]; readonly added: string[] } {
  const { head, tail } = common(before, after);
  const a = linesOf(before.slice(head, before.length - tail));
  const b = linesOf(after.slice(head, after.length - tail));
  let start = 0;
  while (start < a.length && start < b.length && a[start] === b[start]) start++;
  let end = 0;
  while (end < a.length - start && end < b.length - start && a[a.length - 1 - end] === b[b.length - 1 - end]) end++;
  return { first: lineAt(before, head) + start, removed: a.slice(start, a.length - end), added: b.slice(start, b.length - end) };
}

/** How many characters both texts share at their start and end, in whole lines: all that need not be taken apart into lines. */
function common(a: string, b: string): { head: number; tail: number } {
  const most = Math.min(a.length, b.length);
  const shared = (room: number, part: (text: string, from: number, to: number) => string): number => {
    let n = 0;
    for (const step of STEPS) while (n + step <= room && part(a, n, n + step) === part(b, n, n + step)) n += step;
    return n;
  };
  const head = a.lastIndexOf("\n", shared(most, (text, from, to) => text.slice(from, to)) - 1) + 1;
  const tail = shared(most - head, (text, from, to) => text.slice(text.length - to, text.length - from));
  const line = a.indexOf("\n", a.length - tail) + 1;
  return { head, tail: line === 0 ? 0 : a.length - line };
}
const STEPS = [1 << 16, 1 << 11, 1 << 6, 1];
