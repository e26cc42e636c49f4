import type { Processes, ProcessOptions } from "@heddle/kernel/plugin";
import { nodeProcesses as ports, sandboxedProcesses } from "@heddle/runtime/node";
import { describe, expect, it } from "vitest";
import { kitOf } from "./support/harness.ts";
import { MemoryFs } from "./support/memory-fs.ts";
import { nodeFs, tempDir } from "./support/node-ports.ts";

/** A port that runs nothing: each command has this output and exit code. */
async function setup(options: object, problem: string | undefined, output = "", exitCode = 0) {
  const ran: (boolean | undefined)[] = [];
  const processes: Processes = {
    async run({ sandbox }: ProcessOptions) {
      ran.push(sandbox);
      return { exitCode, signal: null, stdout: output, stderr: "", output, droppedBytes: 0, ended: "exit" };
    },
    ...(problem === "none" ? {} : { sandboxProblem: async () => problem }),
  };
  const fs = new MemoryFs();
  await fs.writeFile("/w/a", new Uint8Array());
  const kit = await kitOf({ fs, processes, options: { ...options } });
  const call = async (leave?: unknown) => {
    const input = { command: "make", ...(leave === undefined ? {} : { dangerouslyDisableSandbox: leave }) };
    const [effect] = await kit.effects("Bash", input);
    const { text, isError } = await kit.call("Bash", input);
    return { effect: effect?.sandbox, ran: ran.splice(0), text, isError };
  };
  return { call, bash: kit.tools.find((t) => t.name === "Bash")! };
}

describe("Bash and the sandbox", () => {
  it("has nothing to do with one unless it is asked to", async () => {
    const { call, bash } = await setup({}, undefined);
    expect(await call(true)).toEqual({ effect: undefined, ran: [undefined], text: "(no output)", isError: false });
    expect(JSON.stringify([bash.description, bash.jsonSchema])).not.toMatch(/sandbox/i);
  });
  it.each(["auto", "on"])("%s: runs inside, and outside when the model asks for that, and says which", async (sandbox) => {
    const { call, bash } = await setup({ sandbox }, undefined);
    expect(await call()).toEqual({ effect: "inside", ran: [true], text: "(no output)", isError: false });
    expect(await call("false")).toMatchObject({ effect: "inside", ran: [true] });
    expect(await call("true")).toMatchObject({ effect: "outside", ran: [undefined] });
    expect(JSON.stringify(bash.jsonSchema)).toContain("dangerouslyDisableSandbox");
  });
  it.each([["none"], ["bubblewrap is not installed"]])(
    "where there is none (%s), auto runs and says so, on does not run",
    async (problem) => {
      const why = problem === "none" ? "this host has none" : problem;
      expect(await (await setup({ sandbox: "auto" }, problem)).call(true)).toEqual({
        effect: undefined,
        ran: [undefined],
        text: `[Commands run without a sandbox here: ${why}]`,
        isError: false,
      });
      expect(await (await setup({ sandbox: "on" }, problem)).call()).toEqual({
        effect: "inside",
        ran: [],
        text: `The settings let no command run without a sandbox, and there is none: ${why}. Tell the person.`,
        isError: true,
      });
    },
  );
  it("lets nothing out where the settings say so", async () => {
    const { call } = await setup({ sandbox: "auto", mayLeaveSandbox: false }, undefined, "curl: (6) Could not resolve host: a.com", 6);
    expect(await call(true)).toMatchObject({ effect: "inside", ran: [], isError: true });
    expect((await call()).text).toMatch(
      /\[The sandbox may be why: it reaches no network that the settings do not open\. If so, the settings let nothing run outside\.\]$/,
    );
  });
  it.each([
    ["touch: cannot touch '/etc/x': Read-only file system", "files outside"],
    ["npm error code EAI_AGAIN", "reaches no network"],
    ["curl: (56) CONNECT tunnel failed, response 403", "reaches no network"],
    ["error: could not lock config file .git/config: Device or resource busy", "files outside"],
    ["bwrap: Can't chdir to /x: No such file or directory", "files outside"],
  ])("says where the sandbox may be why: %s", async (output, why) => {
    const { text } = await (await setup({ sandbox: "auto" }, undefined, output, 1)).call();
    expect(text).toContain(why);
    expect(text).toContain("with dangerouslyDisableSandbox the person is asked");
    expect((await (await setup({ sandbox: "auto" }, undefined, output, 0)).call()).text).toBe(output);
    expect((await (await setup({ sandbox: "auto" }, undefined, output, 1)).call(true)).text).not.toContain("The sandbox may be why");
  });
  it("blames it for nothing else", async () => {
    expect((await (await setup({ sandbox: "auto" }, undefined, "1 test failed", 1)).call()).text).toBe("1 test failed\n[Exit code 1]");
  });
});

const dir = tempDir();
const processes = sandboxedProcesses(
  ports(),
  { roots: [dir], home: "/nonexistent", state: "/nonexistent/.heddle", temporary: tempDir(), network: "off" },
  [],
);
const problem = await processes.sandboxProblem?.();
describe.skipIf(problem !== undefined)(`a real sandbox${problem === undefined ? "" : ` (skipped: ${problem})`}`, () => {
  it.each([
    ['printf "<%s>" "$HOME" | tr a-z A-Z'],
    ['for f in x y; do printf "%s " "$f" | cat; done'],
    ['basename "$(pwd)" | rev'],
    [`v=(k l); printf %s "\${v[1]}" | cat`],
    ["cat <<EOF\na $(echo sub) `echo tick` EOF\nEOF"],
    ["exec echo replaced"],
    ["trap 'echo bye; exit 4' EXIT; echo hi; exit 2"],
    ["kill -TERM $$"],
    ["ls nothing-here"],
  ])("gives what bash gives without one: %s", async (command) => {
    const of = async (sandbox: string) =>
      (await kitOf({ fs: nodeFs, processes, cwd: dir, options: { sandbox } })).call("Bash", { command });
    expect(await of("on")).toEqual(await of("off"));
  });
  it("keeps the folder, and says that what was left running is over", async () => {
    const kit = await kitOf({ fs: nodeFs, processes, cwd: dir, now: Date.now, options: { sandbox: "on" } });
    expect((await kit.call("Bash", { command: "mkdir -p sub && cd sub" })).text).toBe(`[The folder is now ${dir}/sub]`);
    expect((await kit.call("Bash", { command: "pwd; sleep 60 > /dev/null 2>&1 &" })).text).toMatch(
      /What it left running has ended with it/,
    );
  });
});
