/** What is shipped beside the code. */
import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";

/** The demo project and its tape: in `dist/assets` when bundled, in the repository when run from source. */
export function demoAssets(): { project: string; tape: string } {
  const bundled = fileURLToPath(new URL("./assets/", import.meta.url));
  const root = existsSync(bundled) ? bundled : fileURLToPath(new URL("../../../test-fixtures/repos/", import.meta.url));
  return { project: `${root}slugs`, tape: `${root}slugs.tape.jsonl` };
}
