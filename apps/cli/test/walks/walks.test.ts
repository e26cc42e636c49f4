import { describe, expect, it } from "vitest";
import { FAULTS, type Seen, walk } from "./walk.ts";

/** `npm run test:long` asks for more. */
const WALKS = Number(process.env["HEDDLE_WALKS"] ?? 500);
const AT_ONCE = 8;

describe("random lives of a session", () => {
  it(`${WALKS} of them: no request is refused, no input is lost, the session is of use to the end`, { timeout: 3_600_000 }, async () => {
    const seeds = Array.from({ length: WALKS }, (_, i) => i + 1);
    const broken: string[] = [];
    const seen: Seen[] = [];
    const worker = async (): Promise<void> => {
      for (let seed = seeds.shift(); seed !== undefined; seed = seeds.shift())
        await walk(seed).then(
          (saw) => seen.push(saw),
          (error: unknown) => broken.push(error instanceof Error ? error.message : String(error)),
        );
    };
    await Promise.all(Array.from({ length: AT_ONCE }, worker));
    expect(broken.slice(0, 5)).toEqual([]);
    // walks in which nothing happens prove nothing
    const count = (of: (s: Seen) => number): number => seen.reduce((n, s) => n + of(s), 0);
    const struck = new Set(seen.flatMap((s) => s.faults));
    const ends = new Set(seen.flatMap((s) => s.outcomes));
    console.log(
      `walks: ${count((s) => s.outcomes.length)} turns, ${count((s) => s.faults.length)} faults, ${count((s) => s.retries)} retries, ${count((s) => s.kills)} kills; ended ${[...ends].join(", ")}`,
    );
    if (WALKS < 100) return;
    expect(FAULTS.filter((f) => !struck.has(f))).toEqual([]);
    expect([...ends].sort()).toEqual(["aborted", "blocked", "completed", "failed", "refused", "step-limit"]);
    for (const n of [count((s) => s.kills), count((s) => s.retries), count((s) => s.voided), count((s) => s.dropped)])
      expect(n).toBeGreaterThan(5);
  });
});
