/** The sandbox in the built program: what runs in it unasked, what it keeps from, and what is said where it stops a command. */
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { nodeProcesses, sandboxedProcesses } from "@heddle/runtime/node";
import { describe, expect, it } from "vitest";
import { type World, world } from "./run.ts";

const temporary = mkdtempSync(join(tmpdir(), "heddle-probe-"));
const settings = { roots: ["/usr/share"], home: "/root", state: "/root/.heddle", temporary, network: "off" as const };
const problem = await sandboxedProcesses(nodeProcesses(), settings, []).sandboxProblem?.();
rmSync(temporary, { recursive: true });

const bash = (command: string, more = {}) => ({ calls: [{ name: "Bash", input: { command, ...more } }] });
const results = (w: World): string[] =>
  w.server
    .mainRequests()
    .slice(1)
    .map((r) => JSON.stringify((r.body as unknown as { messages: object[] }).messages.at(-1)));
const set = (w: World, sandbox: unknown, where = "home"): void => w.write(`${where}/.heddle/settings.json`, JSON.stringify({ sandbox }));

describe.skipIf(problem !== undefined)(`commands in a sandbox${problem === undefined ? "" : ` (skipped: ${problem})`}`, () => {
  it("run unasked, change the workspace and nothing else, and say where the sandbox may have stopped them", async () => {
    const write = (file: string) => bash(`node -e 'require("fs").writeFileSync("${file}", "x")'`);
    const script = [write("made"), write(".mcp.json"), bash("cat made"), { text: "Done." }];
    const w = await world({ script });
    set(w, "auto");
    expect(await w.run(["-p", "go"])).toMatchObject({ code: 0, stdout: "Done.\n", stderr: "" });
    expect(readFileSync(join(w.cwd, "made"), "utf8")).toBe("x");
    expect(existsSync(join(w.cwd, ".mcp.json"))).toBe(false);
    const [, second, third] = results(w);
    expect(third).toContain('"x"');
    expect(second).toMatch(/EACCES.*The sandbox may be why.*with dangerouslyDisableSandbox the person is asked/);
    expect(existsSync(join(w.cwd, ".claude"))).toBe(false);
  });
  it("do not leave it where nobody can be asked, nor where the settings forbid it", async () => {
    const script = [bash("touch ../outside", { dangerouslyDisableSandbox: true }), { text: "Done." }];
    for (const [sandbox, said] of [
      ["auto", "Denied: nobody can be asked"],
      [{ enabled: true, allowUnsandboxedCommands: false }, "The settings let no command run outside"],
    ] as const) {
      const w = await world({ script });
      set(w, sandbox);
      expect((await w.run(["-p", "go", "--allowedTools", "Bash"])).code).toBe(0);
      expect(results(w)[0]).toContain(said);
      expect(existsSync(join(w.cwd, "..", "outside"))).toBe(false);
    }
  });
  it("cannot read what a rule or the settings deny, by any program", async () => {
    const w = await world({ script: [bash("grep -r secret . ; node -p 'require(`fs`).readFileSync(`.env`, `utf8`)'"), { text: "Done." }] });
    w.write("project/.env", "secret=1");
    w.write("project/keys/a", "secret=2");
    w.write(
      "home/.heddle/settings.json",
      JSON.stringify({
        permissions: { deny: ["Read(.env)"], defaultMode: "bypassPermissions" },
        sandbox: { enabled: true, filesystem: { denyRead: [join(w.cwd, "keys")] } },
      }),
    );
    expect((await w.run(["-p", "go"])).code).toBe(0);
    expect(results(w)[0]).not.toMatch(/secret=\d/);
  });
});

describe("the setting", () => {
  it("costs the first request nothing where it is off, and a project cannot loosen it", async () => {
    const w = await world({ script: [{ text: "Done." }] });
    set(
      w,
      { enabled: true, autoAllowBashIfSandboxed: true, network: { allowedDomains: ["*"] }, filesystem: { allowWrite: ["/"] } },
      "project",
    );
    set(w, { enabled: true, failIfUnavailable: true });
    const { stderr } = await w.run(["-p", "go", "--trust"]);
    for (const what of ["autoAllowBashIfSandboxed", "network.allowedDomains", "filesystem.allowWrite"])
      expect(stderr).toContain(`sandbox.${what}`);
    expect(stderr).toContain("a project may make the sandbox tighter and never looser");
    const off = await world({ script: [{ text: "Done." }] });
    await off.run(["-p", "go"]);
    expect(JSON.stringify(off.server.mainRequests()[0]!.body)).not.toMatch(/sandbox/i);
  });
  it("is told of by doctor", async () => {
    const w = await world();
    const line = async (): Promise<string> => /^\w+ +sandbox .*$/m.exec((await w.run(["doctor"])).stdout)![0];
    expect(await line()).toMatch(/^note {2}sandbox {3}off: /);
    set(w, "on");
    expect(await line()).toMatch(problem === undefined ? /^ok {4}sandbox {3}commands run in one, without the network/ : /^fail {2}sandbox/);
    expect((await w.run(["doctor"], { cwd: w.home })).stdout).toMatch(/fail {2}sandbox.*holds the home folder/);
  });
});
