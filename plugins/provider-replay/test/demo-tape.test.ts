import { execFileSync } from "node:child_process";
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { parseTape } from "../src/index.ts";

const REPOS = fileURLToPath(new URL("../../../test-fixtures/repos/", import.meta.url));

/** The count of failing tests. */
function failing(cwd: string): number {
  const env = { PATH: process.env["PATH"] ?? "" };
  const run = (): string => {
    try {
      return execFileSync(process.execPath, ["--test", "--test-reporter=tap"], { cwd, env, encoding: "utf8", stdio: "pipe" });
    } catch (error) {
      return (error as { stdout: string }).stdout;
    }
  };
  return Number(/^# fail (\d+)$/m.exec(run())![1]);
}

describe("the tape of the repository slugs", () => {
  it("reads, fails, edits and passes, as it says", () => {
    const cwd = mkdtempSync(join(tmpdir(), "slugs-"));
    try {
      cpSync(join(REPOS, "slugs"), cwd, { recursive: true });
      const steps = parseTape(readFileSync(join(REPOS, "slugs.tape.jsonl"), "utf8").replaceAll("{{cwd}}", cwd));
      expect(steps.map((s) => (s.calls ?? []).map((c) => c.tool))).toEqual([["Grep"], ["Read", "Read"], ["Bash"], ["Edit"], ["Bash"], []]);
      const failures: number[] = [];
      for (const { tool, input } of steps.flatMap((s) => s.calls ?? [])) {
        const o = input as Record<string, string>;
        const file = o["file_path"];
        const text = file === undefined ? "" : readFileSync(file, "utf8");
        if (tool === "Bash") {
          expect(o["command"]).toBe("node --test");
          failures.push(failing(cwd));
        } else if (tool === "Edit") {
          expect(text.split(o["old_string"]!).length).toBe(2);
          writeFileSync(
            file!,
            text.replace(o["old_string"]!, () => o["new_string"]!),
          );
        }
      }
      expect(failures).toEqual([1, 0]);
      expect(readFileSync(join(cwd, "src/truncate.js"), "utf8").split("\n")[6]).toContain("lastIndexOf(separator, max)");
    } finally {
      rmSync(cwd, { recursive: true, force: true });
    }
  });
});
