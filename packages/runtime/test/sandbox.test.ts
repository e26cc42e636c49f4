import {
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import { nodeProcesses, type SandboxSettings, sandboxedProcesses } from "../src/node/index.ts";

/** Not in /tmp, which a sandboxed command has one of its own of. */
const TEMPORARY = existsSync("/var/tmp") ? "/var/tmp" : tmpdir();
process.setMaxListeners(50); // each port listens for the end of the process, and here are many
const made: string[] = [];
const folder = (): string => {
  const path = realpathSync(mkdtempSync(join(TEMPORARY, "sandbox-test-")));
  made.push(path);
  return path;
};
afterEach(() => {
  for (const path of made.splice(0)) rmSync(path, { recursive: true, force: true });
});

function commandLine(pid: string): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, "utf8");
  } catch {
    return "";
  }
}

/** `files` by their paths below the workspace. */
function setup(files: Record<string, string> = {}, more: Partial<SandboxSettings> = {}) {
  const dir = folder();
  const [proj, home] = [join(dir, "proj"), join(dir, "home")];
  for (const path of [proj, join(home, ".ssh"), join(home, ".heddle")]) mkdirSync(path, { recursive: true });
  writeFileSync(join(home, ".ssh", "id"), "key");
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(join(proj, name, ".."), { recursive: true });
    writeFileSync(join(proj, name), text);
  }
  const settings: SandboxSettings = { roots: [proj], home, state: join(home, ".heddle"), temporary: dir, network: "off", ...more };
  const env = { PATH: process.env["PATH"], MY_TOKEN: "t", PLAIN: "p" };
  const processes = sandboxedProcesses(nodeProcesses({ env }), settings, Object.keys(env));
  const sh = async (script: string, cwd = proj): Promise<string> =>
    (await processes.run({ command: "sh", args: ["-c", `exec 2>&1; ${script}`], cwd, sandbox: true })).output.trim();
  return { dir, proj, home, processes, sh };
}

describe("a host without a sandbox", () => {
  it("starts nothing that asks for one", async () => {
    const run = nodeProcesses().run({ command: "true", cwd: "/", sandbox: true });
    await expect(run).rejects.toMatchObject({ code: "ENOSANDBOX" });
  });
  it("says why, where the workspace holds the home", async () => {
    const { processes, home } = setup({}, { roots: ["/"] });
    expect(await processes.sandboxProblem?.()).toMatch(/^the folder \/ holds the home folder/);
    await expect(processes.run({ command: "true", cwd: home, sandbox: true })).rejects.toMatchObject({ code: "ENOSANDBOX" });
  });
});

const problem = process.platform === "linux" ? await setup().processes.sandboxProblem?.() : "not on Linux";
const title = problem === undefined ? "a sandboxed command" : `a sandboxed command (skipped: ${problem})`;
describe.skipIf(problem !== undefined)(title, () => {
  it("writes in the workspace and in a /tmp of its own, which is kept, and nowhere else", async () => {
    const { sh, dir, proj, home } = setup();
    expect(await sh(`echo in > a; echo t > /tmp/t; echo x > ${home}/x || echo no; echo x > ${dir}/x || echo no`)).toContain("no");
    expect(readFileSync(join(proj, "a"), "utf8")).toBe("in\n");
    expect([existsSync(join(home, "x")), existsSync(join(dir, "x"))]).toEqual([false, false]);
    expect(await sh("cat /tmp/t")).toBe("t");
  });
  it("sees no keys, no secret variables, and reaches no network", async () => {
    const { sh, home } = setup();
    expect(
      await sh(`ls -A ${home}/.ssh; cat ${home}/.ssh/id || true; echo "[$MY_TOKEN$PLAIN]"; ls /run; cat /proc/net/dev | grep -c :`),
    ).toMatch(/No such file[^\n]*\n\[p\]\n(current-system\n|systemd\n)*1$/);
  });
  it("ends with all that it has started", async () => {
    const { sh } = setup();
    const seconds = `9${process.pid}.5`;
    await sh(`sleep ${seconds} > /dev/null 2>&1 &`);
    const lines = readdirSync("/proc").map((pid) => (/^\d+$/.test(pid) ? commandLine(pid) : ""));
    expect(lines.filter((line) => line.includes(seconds))).toEqual([]);
  });
  it("changes nothing that git or heddle obeys, be it there or not, whatever is renamed", async () => {
    const { sh, proj } = setup({
      ".git/config": "[core]\n\thooksPath = h\n",
      ".git/HEAD": "h",
      ".git/hooks/a": "a",
      ".vscode/tasks.json": "v",
      "h/x": "x",
    });
    const tries = [
      "echo x > .git/config",
      "echo x > .git/hooks/b",
      "mv .git gone",
      "rm -rf .git/hooks",
      "mkdir -p .claude && echo x > .claude/settings.json",
      "echo x > .mcp.json",
      "rm -f .claude && mkdir .claude",
      "echo x > .vscode/tasks.json",
      "echo x > h/pre-commit",
      "ln -sf /etc .heddle",
    ];
    for (const attempt of tries) expect(await sh(`(${attempt}) && echo done`), attempt).not.toContain("done");
    await sh("echo ok > .git/HEAD; echo ../evil > .git/commondir");
    expect(["config", "HEAD", "hooks/a"].map((f) => readFileSync(join(proj, ".git", f), "utf8").trim())).toEqual([
      "[core]\n\thooksPath = h",
      "ok",
      "a",
    ]);
    expect([".claude", ".heddle", ".mcp.json", "gone", ".git/commondir"].filter((f) => existsSync(join(proj, f)))).toEqual([]);
  });
  it("takes all it has started along when its time is over", async () => {
    const { processes, proj } = setup();
    const seconds = `8${process.pid}.5`;
    const ran = await processes.run({ command: "sh", args: ["-c", `sleep ${seconds} & wait`], cwd: proj, sandbox: true, timeoutMs: 200 });
    expect(ran.ended).toBe("timeout");
    const lines = readdirSync("/proc").map((pid) => (/^\d+$/.test(pid) ? commandLine(pid) : ""));
    expect(lines.filter((line) => line.includes(seconds))).toEqual([]);
  });
  it("leaves what somebody outside puts where it may put nothing", async () => {
    const { processes, proj } = setup();
    let seen = (): void => {};
    const started = new Promise<void>((resolve) => {
      seen = resolve;
    });
    const script = "echo started; while [ ! -e go ]; do sleep 0.01; done; ls -A .claude";
    const ran = processes.run({ command: "sh", args: ["-c", script], cwd: proj, sandbox: true, onOutput: () => seen() });
    await started;
    writeFileSync(join(proj, ".claude", "settings.json"), "{}");
    writeFileSync(join(proj, "go"), "");
    expect((await ran).output).toBe("started\n");
    expect(readdirSync(proj).sort()).toEqual([".claude", "go"]);
  });
  it("makes no repository where there is none", async () => {
    const { sh, proj } = setup();
    expect(await sh("mkdir .git && echo done")).not.toContain("done");
    expect(existsSync(join(proj, ".git"))).toBe(false);
  });
  it("leaves a protected link as it was", async () => {
    const { sh, proj, home } = setup();
    symlinkSync(home, join(proj, ".claude"));
    await sh("rm .claude; mkdir .claude; echo x > .claude/settings.json");
    expect(lstatSync(join(proj, ".claude")).isSymbolicLink() && readlinkSync(join(proj, ".claude"))).toBe(home);
  });
  it("keeps what may not come closed while another command still runs", async () => {
    const { sh, proj, processes } = setup();
    let begun = (): void => {};
    const started = new Promise<void>((resolve) => {
      begun = resolve;
    });
    const script = "echo started; while [ ! -e go ]; do sleep 0.01; done; echo x > .mcp.json && echo done";
    const long = processes.run({ command: "sh", args: ["-c", script], cwd: proj, sandbox: true, onOutput: () => begun() });
    await started;
    await sh("true");
    writeFileSync(join(proj, "go"), "");
    expect((await long).output).not.toContain("done");
    expect(existsSync(join(proj, ".mcp.json"))).toBe(false);
  });
  it("commits in a linked worktree, whose repository is elsewhere, and believes no made-up one", async () => {
    const { dir, proj, home, processes, sh } = setup({ f: "1" });
    const main = join(dir, "main");
    const who = "git -c user.name=a -c user.email=a@b.c";
    const plain = (script: string) => processes.run({ command: "sh", args: ["-c", script], cwd: dir });
    await plain(`rm -r proj; git init -q main; cd main; ${who} commit -q --allow-empty -m a; git worktree add -q ${proj}`);
    expect(await sh(`echo 1 > f; git add f; ${who} commit -q -m b && echo done`)).toBe("done");
    expect(await sh(`echo x >> ${main}/.git/config && echo done`)).not.toContain("done");
    rmSync(join(proj, ".git"));
    writeFileSync(join(proj, ".git"), `gitdir: ${home}/.ssh\n`);
    expect(await sh(`echo x > ${home}/.ssh/y && echo done`)).not.toContain("done");
  });
});
