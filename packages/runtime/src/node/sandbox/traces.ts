/** What bubblewrap and commands leave where nothing may be: it is removed when the last command that it was for has ended. */
import { lstatSync, readlinkSync, realpathSync, rmdirSync, rmSync, symlinkSync, unlinkSync } from "node:fs";
import { dirname } from "node:path";
import type { SandboxPolicy } from "./policy.ts";

export class Traces {
  /** Empty files and folders that bubblewrap makes to bind something on, with how many commands they are for. */
  readonly #taken = new Map<string, number>();

  get taken(): ReadonlySet<string> {
    return new Set(this.#taken.keys());
  }
  /** Called before a command starts; what it returns when it has ended. */
  begin({ fixed, mended }: SandboxPolicy): () => void {
    const missing = fixed.filter((f) => f.missing).map((f) => f.path);
    for (const path of missing) this.#taken.set(path, (this.#taken.get(path) ?? 0) + 1);
    return () => {
      for (const path of missing) this.#free(path);
      for (const { path, link } of mended) mend(path, link);
    };
  }
  /** For the end of the process. */
  removeAll(): void {
    for (const path of this.#taken.keys()) removeEmpty(path);
    this.#taken.clear();
  }
  #free(path: string): void {
    const left = (this.#taken.get(path) ?? 1) - 1;
    if (left > 0) this.#taken.set(path, left);
    else {
      this.#taken.delete(path);
      removeEmpty(path);
    }
  }
}

function removeEmpty(path: string): void {
  try {
    const stat = lstatSync(path);
    if (stat.isDirectory()) rmdirSync(path);
    else if (stat.isFile() && stat.size === 0) unlinkSync(path);
  } catch {} // it has not even been made, or somebody outside has put something there
}

function mend(path: string, link: string | undefined): void {
  try {
    if (link !== undefined && readlinkSync(path) === link) return;
  } catch {} // it is gone, or no link any more
  try {
    if (realpathSync(dirname(path)) !== dirname(path)) return; // a link that a command made would lead elsewhere
    rmSync(path, { recursive: true, force: true });
    if (link !== undefined) symlinkSync(link, path);
  } catch {} // the folder that it was in is gone
}
