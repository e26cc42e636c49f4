import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { Processes } from "@heddle/kernel/plugin";
import { rgPath } from "@vscode/ripgrep";
import { describe, expect, it } from "vitest";
import { type Kit, kitOf } from "./support/harness.ts";
import { nodeFs, nodeProcesses, tempDir } from "./support/node-ports.ts";

type Setup = {
  readonly dir: string;
  readonly kit: Kit;
  readonly processes: ReturnType<typeof nodeProcesses>;
  call(tool: string, input: object): Promise<string>;
};
const setup = async (
  options = {},
  more: { living?: () => boolean; folder?: string; processes?: Processes; headless?: boolean } = {},
): Promise<Setup> => {
  const dir = tempDir();
  const processes = nodeProcesses();
  const kit = await kitOf({
    ...{ fs: nodeFs, processes, cwd: dir, now: Date.now, headless: false },
    options: { ripgrep: rgPath, ...options },
    ...more,
  });
  const call = async (tool: string, input: object): Promise<string> => {
    const { text, isError } = await kit.call(tool, input);
    return (isError ? "ERROR " : "") + text;
  };
  return { dir, kit, processes, call };
};
const until = async (what: () => boolean): Promise<void> => {
  while (!what()) await new Promise((resolve) => setTimeout(resolve, 5));
};
/** The first look that shows a text. */
const showing = async (call: Setup["call"], text: string): Promise<string> => {
  for (;;) {
    const seen = await call("BashOutput", { bash_id: "bash_1" });
    if (seen.includes(text)) return seen;
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
};
const STARTED = (id: string) =>
  `[It runs in the background as ${id}, and you are told when it ends. BashOutput shows its output, KillShell stops it.]`;

describe("a command in the background", () => {
  it("is there at once, is looked at piece by piece, and its end is told", async () => {
    const { dir, kit, call } = await setup();
    const command = "echo one; until [ -e go ]; do sleep 0.02; done; echo two; exit 3";
    expect(await kit.call("Bash", { command, run_in_background: true })).toEqual({
      text: STARTED("bash_1"),
      isError: false,
      loads: ["BashOutput", "KillShell", "Monitor"],
    });
    const first = await showing(call, "one");
    expect(first).toContain("one\n[bash_1 is running]");
    expect(await call("BashOutput", { bash_id: "bash_1" })).toBe("(no new output)\n[bash_1 is running]");
    expect(kit.background.list("s")).toMatchObject([{ id: "bash_1", command, ended: null }]);
    expect(kit.told).toEqual([]);
    await call("Bash", { command: "touch go" });
    await until(() => kit.told.length > 0);
    const name = command.slice(0, 80);
    expect(kit.told).toEqual([
      `[Background command bash_1, ${name}${command.length > 80 ? "…" : ""}: exit code 3. 4 characters of its output are unseen (BashOutput).]`,
    ]);
    expect(await call("BashOutput", { bash_id: "bash_1" })).toBe("two\n[bash_1 has ended: exit code 3]");
    expect(kit.background.list("s")).toMatchObject([{ ended: "exit code 3" }]);
    expect(existsSync(join(dir, "go"))).toBe(true);
  });

  it("shows a line that has no end yet, such as a question", async () => {
    const { call, kit } = await setup();
    await call("Bash", { command: "printf 'Sure? '; until [ -e go ]; do sleep 0.02; done; echo yes", run_in_background: true });
    expect(await showing(call, "Sure?")).toBe("Sure? \n[bash_1 is running]");
    await call("Bash", { command: "touch go" });
    await until(() => kit.told.length > 0);
    expect(await call("BashOutput", { bash_id: "bash_1" })).toBe("yes\n[bash_1 has ended: exit code 0]");
  });

  it("is stopped with all it has started, also when it does not want to", async () => {
    const { dir, kit, processes, call } = await setup();
    await call("Bash", { command: "trap '' TERM; (sleep 1; touch late) & touch up; while :; do sleep 1; done", run_in_background: true });
    await until(() => existsSync(join(dir, "up")));
    expect(await call("KillShell", { shell_id: "bash_1" })).toBe("[bash_1 has ended: stopped before its end, with all it had started]");
    expect(processes.running.size).toBe(0);
    expect(await call("KillShell", { shell_id: "bash_1" })).toBe("[bash_1 has ended: stopped before its end, with all it had started]");
    expect(kit.told).toEqual([]); // whoever stops it need not be told
    await call("Bash", { command: "sleep 1.1" });
    expect(existsSync(join(dir, "late"))).toBe(false);
  });

  it("keeps the word of the process, whoever sweeps up afterwards", async () => {
    const { kit, call } = await setup();
    await call("Bash", { command: "exit 0", run_in_background: true });
    await call("Bash", { command: "kill -9 $$", run_in_background: true });
    await until(() => kit.told.length === 2);
    for (const [id, ended] of [
      ["bash_1", "exit code 0"],
      ["bash_2", "exit code 137: SIGKILL"],
    ]) {
      expect(await call("KillShell", { shell_id: id })).toBe(`[${id} has ended: ${ended}]`);
      expect(await call("BashOutput", { bash_id: id })).toBe(`(no new output)\n[${id} has ended: ${ended}]`);
    }
  });

  it("ends at a timeout of its own", async () => {
    const { kit, call } = await setup();
    await call("Bash", { command: "sleep 60", run_in_background: true, timeout: 100 });
    await until(() => kit.told.length > 0);
    expect(kit.told).toEqual(["[Background command bash_1, sleep 60: its time was over, and it was killed with all it had started.]"]);
  });

  it("belongs to its session, and is told of by name when another is meant", async () => {
    const { kit, call } = await setup();
    const earlier = "Commands that an earlier process of this session ran ended with it.";
    const none = `ERROR There is no background command "bash_1". There is none. ${earlier}`;
    expect(await call("BashOutput", { bash_id: "bash_1" })).toBe(none);
    expect(await call("KillShell", { shell_id: "bash_1" })).toBe(none);
    await call("Bash", { command: "sleep 60", run_in_background: true });
    expect(await call("KillShell", { shell_id: "x" })).toBe(`ERROR There is no background command "x". There are: bash_1. ${earlier}`);
    expect((await kit.call("BashOutput", { bash_id: "bash_1" }, { session: "other" })).isError).toBe(true);
    await kit.background.stopAll("other");
    expect(kit.background.list("s")).toHaveLength(1);
    await kit.background.stopAll("s");
    expect(kit.background.list("s")).toEqual([]);
    expect(kit.told).toEqual([]);
  });

  it("does not move the folder in which the next command runs", async () => {
    const { dir, kit, call } = await setup();
    await call("Bash", { command: "cd /", run_in_background: true });
    await until(() => kit.told.length > 0);
    expect(await call("Bash", { command: "pwd" })).toBe(dir);
  });

  it("keeps the head and the tail of what nobody has looked at, and all of it in a file", async () => {
    const folder = tempDir();
    const { kit, call } = await setup({ bashOutputLimit: 1000 }, { folder });
    await call("Bash", { command: "seq 1 10000", run_in_background: true });
    await until(() => kit.told.length > 0);
    const [, file] = /, 48894 characters, in (\S+) \.\.\.\]/.exec(await call("BashOutput", { bash_id: "bash_1" }))!;
    expect(readFileSync(file!, "utf8")).toContain("\n5000\n");
  });

  it("ends with the plugin", async () => {
    const { kit, processes, call } = await setup();
    await call("Bash", { command: "sleep 60", run_in_background: true });
    await call("Bash", { command: "sleep 60", run_in_background: true });
    expect(processes.running.size).toBe(2);
    await kit.dispose();
    expect([processes.running.size, kit.told]).toEqual([0, []]);
  });

  it("ends with a session that cannot be told anything any more", async () => {
    let living = true;
    const { kit, processes, call } = await setup({}, { living: () => living });
    await call("Bash", { command: "sleep 60", run_in_background: true });
    await call("Bash", { command: "until [ -e go ]; do sleep 0.02; done", run_in_background: true });
    living = false;
    await call("Bash", { command: "touch go" });
    await until(() => processes.running.size === 0);
    expect([kit.background.list("s"), kit.told]).toEqual([[], []]);
  });

  it("is refused when there are too many, and told of when it cannot start", async () => {
    const { kit, call } = await setup();
    for (let n = 0; n < 32; n++) await call("Bash", { command: "sleep 60", run_in_background: true });
    expect(await call("Bash", { command: "sleep 60", run_in_background: true })).toMatch(
      /^ERROR 32 commands run in the background already/,
    );
    await kit.dispose();
    const none = await setup({}, { processes: { run: async () => Promise.reject(Object.assign(new Error("spawn"), { code: "ENOENT" })) } });
    expect(await none.call("Bash", { command: "x", run_in_background: true })).toBe(
      "ERROR The command was not run: neither bash nor sh could be started (spawn)",
    );
    expect(none.kit.background.list("s")).toEqual([]);
  });

  it("forgets the oldest of those that have ended", async () => {
    const { kit, call } = await setup();
    for (let n = 0; n < 25; n++) await call("Bash", { command: "true", run_in_background: true });
    await until(() => kit.told.length === 25);
    expect(kit.background.list("s").map((b) => b.id)).toEqual(Array.from({ length: 20 }, (_, n) => `bash_${n + 6}`));
  });

  it("has the session's id in its environment", async () => {
    const { call } = await setup();
    expect(await call("Bash", { command: "echo $HEDDLE_SESSION" })).toBe("s");
  });
});

describe("a command that takes longer than its timeout", () => {
  it("goes on in the background with what it has written", async () => {
    const { dir, kit, call } = await setup();
    const command = "echo before; until [ -e go ]; do sleep 0.02; done; cd /; echo after";
    const { text, isError, loads } = await kit.call("Bash", { command, timeout: 300 });
    expect([text, isError, loads]).toEqual([
      "before\n[Not finished after 300 ms: it goes on in the background as bash_1, and you are told when it ends. BashOutput shows its output, KillShell stops it.]",
      false,
      ["BashOutput", "KillShell", "Monitor"],
    ]);
    const progress = kit.progress.length;
    await call("Bash", { command: "touch go" });
    await until(() => kit.told.length > 0);
    expect(await call("BashOutput", { bash_id: "bash_1" })).toBe("after\n[bash_1 has ended: exit code 0]");
    expect([kit.progress.length, await call("Bash", { command: "pwd" })]).toEqual([progress, dir]);
  });

  it("no longer hears of the call's abort", async () => {
    const { kit, processes } = await setup();
    const stop = new AbortController();
    await kit.call("Bash", { command: "sleep 60", timeout: 50 }, { signal: stop.signal });
    stop.abort();
    await new Promise((resolve) => setTimeout(resolve, 50));
    expect(processes.running.size).toBe(1);
    await kit.dispose();
  });
});

describe("where nobody is told afterwards, in a headless session", () => {
  it("kills a command at its timeout and says so", async () => {
    const { kit, processes } = await setup({}, { headless: true });
    expect(await kit.call("Bash", { command: "echo before; sleep 60", timeout: 300 })).toEqual({
      text: "before\n[Timed out after 300 ms and was killed with all it had started. A longer `timeout` may be given, up to 600000.]",
      isError: true,
    });
    expect([processes.running.size, kit.background.list("s")]).toEqual([0, []]);
  });

  it("says of a command in the background how long it lasts", async () => {
    const { kit, call } = await setup({}, { headless: true });
    expect(await call("Bash", { command: "sleep 60", run_in_background: true })).toBe(
      "[It runs in the background as bash_1, and ends at the latest when this session's last turn ends. Nobody is told afterwards: look at it with BashOutput before you finish. KillShell stops it.]",
    );
    await kit.dispose();
  });
});

describe("BashOutput with a filter", () => {
  it("gives the lines that match", async () => {
    const { kit, call } = await setup();
    await call("Bash", { command: "seq 1 30", run_in_background: true });
    await until(() => kit.told.length > 0);
    expect(await call("BashOutput", { bash_id: "bash_1", filter: "(" })).toMatch(/^ERROR The regex cannot be used: [\s\S]*unclosed group/);
    expect(await call("BashOutput", { bash_id: "bash_1", filter: "^.?7$" })).toBe("7\n17\n27\n[bash_1 has ended: exit code 0]");
    expect(await call("BashOutput", { bash_id: "bash_1" })).toBe("(no new output)\n[bash_1 has ended: exit code 0]");
  });

  it("takes no longer for a nasty pattern", async () => {
    const { kit, call } = await setup();
    await call("Bash", { command: "printf 'a%.0s' $(seq 20000); echo b", run_in_background: true });
    await until(() => kit.told.length > 0);
    expect(await call("BashOutput", { bash_id: "bash_1", filter: "^(a+)+$" })).toBe("(no line matches)\n[bash_1 has ended: exit code 0]");
  });

  it("says so when there is no ripgrep", async () => {
    const { kit, call } = await setup({ ripgrep: "/nonexistent/rg" });
    await call("Bash", { command: "sleep 60", run_in_background: true });
    expect(await call("BashOutput", { bash_id: "bash_1", filter: "x" })).toMatch(/^ERROR ripgrep could not be started/);
    await kit.dispose();
  });
});

describe("Monitor", () => {
  it("tells of lines that match, those before it too, and then of the end", async () => {
    const { kit, call } = await setup();
    const command = "echo error 1; echo fine; until [ -e go ]; do sleep 0.02; done; echo fine; echo error 2; printf 'error 3'";
    await call("Bash", { command, run_in_background: true });
    expect(await call("Monitor", { bash_id: "bash_1", pattern: "^error" })).toBe("You are told of lines that match, until bash_1 ends.");
    await until(() => kit.told.length === 1);
    await call("Bash", { command: "touch go" });
    await until(() => kit.told.length === 3);
    expect(kit.told.slice(0, 2)).toEqual(["[Monitor of bash_1:]\nerror 1", "[Monitor of bash_1:]\nerror 2\nerror 3"]);
    expect(kit.told[2]).toMatch(/^\[Background command bash_1, .*: exit code 0\. \d+ characters of its output are unseen/s);
    expect(await call("Monitor", { bash_id: "bash_1", pattern: "x" })).toBe(
      "ERROR bash_1 has ended: exit code 0. BashOutput shows what it wrote.",
    );
  });

  it("stops when its time is over, says how much there was, and leaves the command alone", async () => {
    const { kit, call, processes } = await setup();
    await call("Bash", { command: "seq 1 100; sleep 60", run_in_background: true });
    await call("Monitor", { bash_id: "bash_1", pattern: ".", timeout: 2500 });
    await until(() => kit.told.length === 2);
    expect(kit.told).toEqual([
      `[Monitor of bash_1:]\n${Array.from({ length: 20 }, (_, n) => n + 1).join("\n")}\n[... and 80 more lines]`,
      "[The Monitor of bash_1 has stopped: its time is over.]",
    ]);
    expect(processes.running.size).toBe(1);
    await kit.dispose();
  });

  it("refuses what is no pattern and no command", async () => {
    const { kit, call } = await setup();
    await call("Bash", { command: "sleep 60", run_in_background: true });
    expect(await call("Monitor", { bash_id: "bash_1", pattern: "[" })).toMatch(/^ERROR The regex cannot be used/);
    expect(await call("Monitor", { bash_id: "bash_9", pattern: "x" })).toMatch(/^ERROR There is no background command/);
    await kit.dispose();
  });
});
