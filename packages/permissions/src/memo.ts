/** What the gate sees of a file system, and one that remembers what it was asked, for the length of one decision. */
import type { FileSystem } from "@heddle/kernel/plugin";

export type Sight = Pick<FileSystem, "readFile" | "realpath" | "stat" | "readdir">;

export const remembering = (fs: Sight): Sight => ({
  readFile: memo((path) => fs.readFile(path)),
  realpath: memo((path) => fs.realpath(path)),
  stat: memo((path) => fs.stat(path)),
  readdir: memo((path) => fs.readdir(path)),
});

/** Failures are remembered too. */
export function memo<T>(ask: (path: string) => Promise<T>): (path: string) => Promise<T> {
  const known = new Map<string, Promise<T>>();
  return (path) => {
    const before = known.get(path);
    if (before) return before;
    const answer = ask(path);
    known.set(path, answer);
    return answer;
  };
}
