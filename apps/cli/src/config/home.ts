/** Where the user's own sessions, settings and caches are. */
import { join } from "node:path";

export const heddleHome = (env: Readonly<Record<string, string | undefined>>, userDir: string): string =>
  env["HEDDLE_HOME"] || join(userDir, ".heddle");
