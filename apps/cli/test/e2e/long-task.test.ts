import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { ANSWER, FLAGS, prepare, script } from "./long-task.ts";
import { lines, world } from "./run.ts";

/** How often the process is killed; the moments are spread over the whole task. */
const KILLS = 100;
const AT_ONCE = 2;

describe("a task of twenty steps", () => {
  it("runs to its end without a refused request, and explain names every stage of it", async () => {
    const w = await world();
    prepare(w);
    w.server.setScript(script(w.cwd));
    const ran = await w.run(["-p", "do the twenty steps", ...FLAGS]);
    expect(ran).toMatchObject({ code: 0, stdout: `${ANSWER}\n` });
    expect(w.server.mainRequests()).toHaveLength(20);
    expect(w.server.warnings()).toEqual([]);
    expect(w.server.costRatio()).toBeLessThanOrEqual(1.005);
    expect(readFileSync(join(w.cwd, "src/part3.js"), "utf8")).toBe("export const part3 = 3;\nexport const twice3 = 2 * 3;\n");

    const explained = await w.run(["explain"]);
    expect(explained.code).toBe(0);
    for (const name of [
      "context/git",
      "context/instructions",
      "permissions/rules",
      "input-pipeline/input",
      "attachments/file",
      "Edit",
      "Grep",
      "Bash",
      "Glob",
      "Read",
    ])
      expect(explained.stdout).toContain(name);
    const data = JSON.parse((await w.run(["explain", "--json"])).stdout) as object;
    expect(JSON.stringify(data)).toContain("mode acceptEdits");
  });

  it(`survives ${KILLS} kills at any moment: the session goes on and no request is refused`, { timeout: 600_000 }, async () => {
    let seed = 42;
    const random = (): number => {
      seed = (seed * 1_103_515_245 + 12_345) % 2_147_483_648;
      return seed / 2_147_483_648;
    };
    // a moment lies behind the arrival of one of the requests, or, for every tenth, behind the start of the process
    const moments = Array.from({ length: KILLS }, (_, i) => ({ step: (i % 21) - 1, delay: random() * (i % 21 === 0 ? 400 : 40) }));
    const outcomes: string[] = [];
    const one = async ({ step, delay }: (typeof moments)[number]): Promise<void> => {
      const w = await world();
      prepare(w);
      const steps = script(w.cwd);
      let kill = (): void => {};
      w.server.setScript((_, index) => {
        if (index === step) setTimeout(() => kill(), delay);
        return steps[index];
      });
      const running = w.start(["-p", "do the twenty steps", ...FLAGS]);
      kill = () => running.child.kill("SIGKILL");
      if (step < 0) setTimeout(kill, delay);
      const killed = await running.ended;
      kill = () => {};
      const before = w.server.mainRequests().length;
      const again = await w.run(["-c", "-p", "go on", "--output-format", "stream-json", ...FLAGS]);
      const where = `killed ${Math.round(delay)} ms behind request ${step}, after ${before} requests: ${again.stderr}`;
      expect(
        w.server.refusals().map((r) => r.refusal),
        where,
      ).toEqual([]);
      // the thinking of a reply that was still coming in is nowhere; its calls are
      expect(
        w.server.warnings().filter((warning) => !warning.includes("came with thinking, which is missing")),
        where,
      ).toEqual([]);
      outcomes.push(killed.code === 0 ? "done" : before === 0 ? "before" : "during");
      if (again.stderr.includes("there is no session")) return expect([before, again.code], where).toEqual([0, 1]);
      expect(again.code, where).toBe(0);
      expect(lines(again.stdout).at(-1), where).toMatchObject({ type: "result", is_error: false });
    };
    const worker = async (): Promise<void> => {
      for (let next = moments.shift(); next !== undefined; next = moments.shift()) await one(next);
    };
    await Promise.all(Array.from({ length: AT_ONCE }, worker));
    expect(outcomes).toHaveLength(KILLS);
    expect(outcomes.filter((o) => o === "during").length).toBeGreaterThan(KILLS * 0.7);
  });
});
