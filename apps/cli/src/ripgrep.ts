/** Finds ripgrep: the optional package beside heddle, else the system's. */
import { accessSync, constants, realpathSync } from "node:fs";
import { delimiter, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Env } from "./io.ts";

export const HOW_TO_GET_IT =
  "install ripgrep (apt install ripgrep, brew install ripgrep), or npm install -g heddle without --omit=optional";

/** An absolute path, or undefined. */
export function ripgrepPath(env: Env): string | undefined {
  const name = process.platform === "win32" ? "rg.exe" : "rg";
  const folders = (env["PATH"] ?? "").split(delimiter).filter((f) => f !== "");
  return packaged(name) ?? folders.map((folder) => join(folder, name)).find(runs);
}

/** Beside the package that brings it, as npm and pnpm put it. Node's own search takes milliseconds of each start. */
function packaged(name: string): string | undefined {
  for (let folder = dirname(fileURLToPath(import.meta.url)); ; folder = dirname(folder)) {
    const found = join(
      realOf(join(folder, "node_modules", "@vscode", "ripgrep")),
      "..",
      `ripgrep-${process.platform}-${process.arch}`,
      "bin",
      name,
    );
    if (runs(found)) return found;
    if (dirname(folder) === folder) return undefined;
  }
}

function realOf(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    return path;
  }
}

function runs(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
