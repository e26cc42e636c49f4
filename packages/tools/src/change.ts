/** What Edit and Write share: is the file known and unchanged, is it text, and is the new content on the disk. */
import { type FileSystem, FS, type ToolContext, type ToolOutput } from "@heddle/kernel/plugin";
import { failed } from "./answer.ts";
import type { FileState, Locks } from "./file-state.ts";
import { absolute, locate, shown } from "./paths.ts";
import type { ShellFolder } from "./shell-folder.ts";
import { cutLine, decode, encode, linesOf, numbered } from "./text.ts";

export type ChangeServices = { readonly files: FileState; readonly locks: Locks; readonly shell: ShellFolder };
/** The file to change. `text` is undefined where there is none yet. */
export type Target = {
  readonly fs: FileSystem;
  readonly path: string;
  readonly realpath: string;
  readonly name: string;
  readonly text: string | undefined;
  readonly bom: boolean;
};

const SHOW_CHANGED = 6;

export const targetPath = (
  ctx: { readonly session: { readonly cwd: string }; capability: ToolContext["capability"] },
  path: string,
): Promise<string> => locate(ctx.capability(FS), absolute(ctx.session.cwd, path));

/** Holds the file's lock while `work` looks at it and writes it; answers itself when the file must not be changed. */
export async function changing(
  asked: string,
  ctx: ToolContext,
  { files, locks }: ChangeServices,
  work: (target: Target) => Promise<ToolOutput>,
): Promise<ToolOutput> {
  const fs = ctx.capability(FS);
  const path = await targetPath(ctx, asked);
  const realpath = await fs.realpath(path);
  return locks(realpath, async () => {
    const name = shown(ctx.session.cwd, path);
    const stat = await fs.stat(path);
    const target = { fs, path, realpath, name };
    if (!stat) return work({ ...target, text: undefined, bom: false });
    if (stat.kind === "directory") return failed(`${name} is a folder, not a file.`);
    if (stat.kind !== "file") return failed(`${name} is a pipe, socket or device; it is not changed.`);
    const bytes = await fs.readFile(path);
    const same = bytes.length === 0 || files.same(ctx.session.id, realpath, bytes);
    const decoded = decode(bytes);
    if (decoded.kind === "binary") return failed(`${name} is ${decoded.what}; it is not changed.`);
    if (decoded.kind === "foreign")
      return failed(
        `${name} is ${decoded.encoding}, and would be damaged if it were written as UTF-8. Convert it first, for example with iconv in Bash.`,
      );
    if (same === undefined) return failed(`${name} exists but has not been read in this session. Read it first.`);
    if (!same) return failed(changedText(name, files.get(ctx.session.id, realpath)?.text, decoded.text));
    return work({ ...target, text: decoded.text, bom: decoded.bom });
  });
}

type Lines = NonNullable<ToolOutput["lines"]>;

/** Writes and checks that all of it arrived; returns how many lines came and went. From here on the session knows the new content. */
export async function put(target: Target, text: string, ctx: ToolContext, files: FileState): Promise<Lines> {
  const bytes = encode(text, target.bom);
  await target.fs.writeFile(target.path, bytes);
  const realpath = await target.fs.realpath(target.path);
  const size = (await target.fs.stat(target.path))?.size;
  if (size !== bytes.length) {
    files.forget(ctx.session.id, realpath);
    throw Object.assign(new Error(`${size ?? 0} of ${bytes.length} bytes were written; read the file before you go on`), { code: "EIO" });
  }
  files.saw(ctx.session.id, realpath, bytes, { at: ctx.now(), by: "write", text });
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
  const a = linesOf(before);
  const b = linesOf(after);
  let start = 0;
  while (start < a.length && start < b.length && a[start] === b[start]) start++;
  let end = 0;
  while (end < a.length - start && end < b.length - start && a[a.length - 1 - end] === b[b.length - 1 - end]) end++;
  return { first: start + 1, removed: a.slice(start, a.length - end), added: b.slice(start, b.length - end) };
}
