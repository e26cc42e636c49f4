/** What the session store needs from a disk. The host implements it; tests keep it in memory. Paths are absolute. */

export interface AppendFile {
  /** Hands the text to the operating system before it returns: what was written survives the death of the process. Throws when it cannot. */
  append(text: string): void;
  close(): void;
}

export interface Storage {
  /** Opens for appending, readable by its owner only; makes missing folders likewise. Throws when it cannot. */
  openAppend(path: string): AppendFile;
  /** Undefined when nothing is there. */
  read(path: string): Promise<Uint8Array | undefined>;
  /** File names in a folder, newest first by change; empty when there is none. */
  list(dir: string): Promise<readonly { readonly name: string; readonly mtimeMs: number; readonly size: number }[]>;
  /** Names of the folders in a folder; empty when there is none. Without it a session is found from its own folder only. */
  folders?(dir: string): Promise<readonly string[]>;
  /** Moves a file over another; throws when it cannot. Without it the debug log ends when it is full. */
  rename?(from: string, to: string): void;
  /** Takes the lock file for this process. `holder` names the living process that has it. A lock of a dead process is taken over. */
  lock(path: string): { readonly release: () => void } | { readonly holder: string };
}
