/** Commands of a session and the ways in which heddle can end: none of them survives. */
import { spawnSync } from "node:child_process";
import { describe, expect, it } from "vitest";
import { type World, world } from "./run.ts";

/** Ends in a number that no other command has, so that its processes are found. */
let marks = 0;
const newMark = (): string => `7${process.pid}.${++marks}`;
const alive = (mark: string): number =>
  spawnSync("ps", ["-eo", "args"], { encoding: "utf8" })
    .stdout.split("\n")
    .filter((line) => line.trim() === `sleep ${mark}`).length;
const until = async (what: () => boolean): Promise<void> => {
  while (!what()) await new Promise((resolve) => setTimeout(resolve, 20));
};

const flags = ["--allowedTools", "Bash"];
const starting = (command: string, more: object = {}) => [
  { text: "Starting.", calls: [{ name: "Bash", input: { command, ...more } }] },
  { text: "Done." },
  { text: "Done again." },
];
/** In a group of its own, in the background of its shell, and in front. */
const idioms = (mark: string): string => `timeout 99999 sleep ${mark} & sleep ${mark} & sleep ${mark}`;
const opened = async (mark: string, more: object = {}): Promise<World> => world({ script: starting(idioms(mark), more) });

describe("what a session has started", () => {
  it("ends with a run that is over", async () => {
    const mark = newMark();
    const w = await opened(mark, { run_in_background: true });
    const ran = await w.run(["-p", "go", ...flags]);
    expect([ran.code, ran.stdout, alive(mark)]).toEqual([0, "Done.\n", 0]);
  });

  it("ends with its command at the timeout, and the model hears so", async () => {
    const mark = newMark();
    const w = await opened(mark, { timeout: 300 });
    const ran = await w.run(["-p", "go", ...flags]);
    expect([ran.code, ran.stdout, alive(mark)]).toEqual([0, "Done.\n", 0]);
    expect(JSON.stringify(w.server.mainRequests()[1]?.body)).toContain("Timed out after 300 ms and was killed");
  });

  it("ends with what a command of its own left running", async () => {
    const mark = newMark();
    const w = await world({ script: starting(`sleep ${mark} >/dev/null 2>&1 & timeout 99999 sleep ${mark} >/dev/null 2>&1 & true`) });
    const ran = await w.run(["-p", "go", ...flags]);
    expect([ran.code, alive(mark)]).toEqual([0, 0]);
    expect(JSON.stringify(w.server.mainRequests()[1]?.body)).toMatch(/Left running until the session ends: process \d+, \d+/);
  });

  for (const signal of ["SIGTERM", "SIGHUP", "SIGINT"] as const)
    it(`ends at ${signal}, while a command runs in front`, async () => {
      const mark = newMark();
      const w = await opened(mark);
      const running = w.start(["-p", "go", ...flags]);
      await until(() => alive(mark) === 3);
      running.child.kill(signal);
      const ran = await running.ended;
      expect([ran.code === 0, alive(mark)]).toEqual([false, 0]);
    });

  it("can be found after a kill -9 by the marks in its environment", async () => {
    const mark = newMark();
    const w = await opened(mark);
    const running = w.start(["-p", "go", ...flags]);
    await until(() => alive(mark) === 3);
    running.child.kill("SIGKILL");
    await running.ended;
    const rows = spawnSync("ps", ["-eo", "pid,args", "ewww"], { encoding: "utf8" }).stdout.split("\n");
    const left = rows.filter((row) => row.includes(`sleep ${mark}`) && /HEDDLE_SESSION=\S+/.test(row));
    for (const row of left) process.kill(Number(row.trim().split(" ")[0]), "SIGKILL");
    const all = left.every((row) => row.includes(`HEDDLE_PID=${running.child.pid}`));
    expect([left.length >= 3, all]).toEqual([true, true]);
    await until(() => alive(mark) === 0);
  });
});
