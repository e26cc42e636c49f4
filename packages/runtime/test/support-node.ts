/** A temporary folder for each test. */
import { mkdtempSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach } from "vitest";

/** Removed when the test is over. */
export function temporaryFolders(): () => string {
  const made: string[] = [];
  afterEach(() => {
    for (const dir of made.splice(0)) rmSync(dir, { recursive: true, force: true });
  });
  return () => {
    const dir = realpathSync(mkdtempSync(path.join(tmpdir(), "heddle-test-")));
    made.push(dir);
    return dir;
  };
}
