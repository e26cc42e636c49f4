/** A shell command that is to be judged: its narrow and its wide reading, and where the paths in it lead. */
import { resolve } from "node:path";
import { expandGlob } from "./glob.ts";
import { memo } from "./memo.ts";
import { type Located, locate, type PathMap, type Place } from "./paths.ts";
import { editsOnly } from "./programs/edits.ts";
import { looksOnly } from "./programs/looks.ts";
import { unwrapped } from "./programs/wrappers.ts";
import { criticalRemoval } from "./removal.ts";
import { type Candidates, candidatesOf } from "./shell/candidates.ts";
import type { Grammar } from "./shell/grammar.ts";
import { type Narrow, type Part, readNarrow } from "./shell/narrow.ts";
import type { Word } from "./shell/word.ts";

export type World = { readonly place: Place; readonly map: PathMap; readonly grammar: Grammar };

/** One command, read once for all questions about it. */
export class CommandReading {
  readonly command: string;
  readonly narrow: Narrow;
  readonly world: World;
  /** Remembers what it has found. */
  readonly locate: (path: string) => Promise<Located>;
  #found: Candidates | undefined;
  #folders: readonly string[] | undefined;

  constructor(command: string, world: World) {
    this.command = command;
    this.world = world;
    const { place, map } = world;
    this.locate = memo((path) => locate(path, map, place.fs));
    this.narrow = readNarrow(command, { home: place.home, folders: [place.shell ?? place.cwd] }, world.grammar);
  }

  /** Everything that may run, found wide. */
  get found(): Candidates {
    this.#found ??= candidatesOf(this.command, this.world.grammar);
    return this.#found;
  }

  /** Every folder the command may be in at some point. */
  get folders(): readonly string[] {
    this.#folders ??= foldersOf(this.found, this.world.place);
    return this.#folders;
  }

  /** What it would remove that nobody approves in advance. */
  critical(): string | undefined {
    return criticalRemoval(this.found, this.folders, this.world.map);
  }

  /** Every path that the word may stand for; undefined where only the shell knows. */
  async pathsOf(word: Word, { folders }: Part): Promise<readonly string[] | undefined> {
    if (word.unknown || (!folders && !word.value.startsWith("/"))) return undefined;
    if (!word.glob) return (folders ?? ["/"]).map((folder) => join(folder, word.value));
    const all = await Promise.all((folders ?? ["/"]).map((folder) => expandGlob(folder, word.value, this.world.place.fs)));
    return all.every((a) => a !== undefined) ? all.flat() : undefined;
  }
}

type Touched = { readonly reads: readonly Word[]; readonly writes: readonly Word[]; readonly deep: boolean };
/** The files that a command known to do nothing else reads and writes. */
export function touches({ words }: Part): Touched | undefined {
  const last = unwrapped(words).at(-1)!;
  if (last.length === 0 || last[0]!.value === "cd") return { reads: [], writes: [], deep: false };
  const looks = looksOnly(last);
  if (looks) return { reads: looks.paths, writes: [], deep: looks.deep };
  const edits = editsOnly(last);
  return edits && { reads: edits.reads, writes: edits.writes, deep: false };
}

export const join = (folder: string, path: string): string => (path.startsWith("/") ? path : `${folder}/${path}`);

/** `~` and `$HOME`, as the shell would. */
export function expand(text: string, place: Place): string {
  const home = /^(~|\$HOME)(?=\/|$)/.exec(text);
  if (home) return place.home === undefined ? "/" : place.home + text.slice(home[0].length);
  return text.replace(/^(~\+|\$PWD)(?=\/|$)/, place.cwd);
}

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
