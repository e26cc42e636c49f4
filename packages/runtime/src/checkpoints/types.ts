/** What checkpoints need of a disk, and what they tell of a turn. */

/** Of the path itself, never of what a link leads to. `born`, `changed`: milliseconds since the epoch; `inode` names the file on its disk. */
export type Look = {
  readonly kind: "file" | "link" | "directory" | "other";
  readonly size: number;
  readonly mode: number;
  readonly mtimeMs: number;
  readonly changed: number;
  readonly born: number;
  readonly inode: string;
};

/** Files as they are: a link is a link. Paths are absolute. All but `put` and `remove` only look. */
export type Disk = {
  /** In the order of the paths; undefined where nothing is. */
  look(paths: readonly string[]): Promise<readonly (Look | undefined)[]>;
  /** The bytes of a file, or the target of a link; undefined where neither can be read. */
  read(paths: readonly string[]): Promise<readonly (Uint8Array | undefined)[]>;
  /** Atomic, in a folder that is made if need be; what was there is replaced. Of a link `bytes` are its target. */
  put(path: string, kind: "file" | "link", bytes: Uint8Array, mode: number): Promise<void>;
  /** A file or a link; nothing there is no failure. */
  remove(path: string): Promise<void>;
};

/** What stood at a path. `hash` is null where the content was not kept: too large, or too much. */
export type State = null | { readonly kind: "file" | "link"; readonly mode: number; readonly hash: string | null };
/** `by`: the tools that may have done it. `mixed`: someone else changed the file between two writes of the turn. */
export type FileChange = {
  readonly path: string;
  readonly before: State;
  readonly after: State;
  readonly by: readonly string[];
  readonly mixed?: true;
};
/** `partly`: why changes may be missing, other than those of tools that name what they write. */
export type Checkpoint = { readonly turn: string; readonly at: number; readonly changes: readonly FileChange[]; readonly partly?: string };

/**
 * undo: as the turn left it. undone: as it was before the turn. later: as a later turn left it, which has to be undone first. touched:
 * by someone else since, or in between. unknown: what was there before was not kept. outside: its folder leads out of the workspace by now.
 */
export type Standing = "undo" | "undone" | "later" | "touched" | "unknown" | "outside";
/** `failed`: why it could not be undone. */
export type Planned = FileChange & { readonly is: Standing; readonly failed?: string };

/** Undo is for the person: what someone else has changed since is never touched. */
export type Checkpoints = {
  /** Of turns that changed files, oldest first; also those before a resume. */
  list(): Promise<readonly Checkpoint[]>;
  /** What `undo` would do now. Empty for a turn that changed nothing. */
  plan(turn: string): Promise<readonly Planned[]>;
  /** Undoes what is `undo`, and says what each change is afterwards. Folders stay. Rejects while a turn changes files. */
  undo(turn: string): Promise<readonly Planned[]>;
};
