/** Finds ripgrep: the optional package beside heddle, else the system's. */
import { accessSync, constants } from "node:fs";
import { createRequire } from "node:module";
import { delimiter, join } from "node:path";
import type { Env } from "./io.ts";

export const HOW_TO_GET_IT =
  "install ripgrep (apt install ripgrep, brew install ripgrep), or npm install -g heddle without --omit=optional";

/** An absolute path, or undefined. */
export function ripgrepPath(env: Env): string | undefined {
  const name = process.platform === "win32" ? "rg.exe" : "rg";
  const require = createRequire(import.meta.url);
  try {
    // The package's own module does no more than this, and costs a load.
    const inside = createRequire(require.resolve("@vscode/ripgrep"));
    return inside.resolve(`@vscode/ripgrep-${process.platform}-${process.arch}/bin/${name}`);
  } catch {
    const folders = (env["PATH"] ?? "").split(delimiter).filter((f) => f !== "");
    return folders.map((folder) => join(folder, name)).find(runs);
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
