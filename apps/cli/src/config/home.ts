/** Where the user's own sessions, settings and caches are, and their settings of a project. */
import { join } from "node:path";

export const heddleHome = (env: Readonly<Record<string, string | undefined>>, userDir: string): string =>
  env["HEDDLE_HOME"] || join(userDir, ".heddle");

/** From the folder of the project. */
export const LOCAL_SETTINGS = ".heddle/settings.local.json";
