/** Makes a folder and those above it. Node's own `recursive` runs for ever where a file system answers ENOENT to every mkdir, as `/proc` does. */
import fs from "node:fs";
import path from "node:path";

/** Throws the system's error when the folder is not there afterwards. `mode` is that of the folders it makes. */
export function makeFolders(dir: string, mode = 0o777): void {
  if (isFolder(dir)) return;
  const parent = path.dirname(dir);
  if (parent !== dir) makeFolders(parent, mode);
  try {
    fs.mkdirSync(dir, { mode });
  } catch (error) {
    if (!isFolder(dir)) throw error; // another process was faster
  }
}

const isFolder = (dir: string): boolean => fs.statSync(dir, { throwIfNoEntry: false })?.isDirectory() === true;
