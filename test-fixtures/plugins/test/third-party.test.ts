import { spawn } from "node:child_process";
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import type { ScriptedReply } from "@heddle/testkit";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { broken, build, buildCli, makeProject, root } from "./project.ts";

let project = "";
beforeAll(async () => {
  for (const name of ["kernel", "sessions", "runtime", "testkit"]) build(name);
  buildCli();
  project = await makeProject();
}, 240_000);
afterAll(() => {
  if (project) rmSync(dirname(project), { recursive: true, force: true });
});

type Ran = { lines: string[]; refused: string[]; outcome: { kind: string }; messages: [role: string, text: string][] };
type Scenario = {
  plugins: readonly string[];
  options?: Record<string, unknown>;
  input: string | readonly string[];
  replies: readonly (string | ScriptedReply)[];
  node?: true;
};
type Ended = { code: number | null; out: string; err: string };
/** Runs Node in the project, with a HOME of its own. */
const run = (...args: string[]): Promise<Ended> =>
  new Promise((resolve, reject) => {
    const { NODE_OPTIONS: _, ...env } = process.env;
    const child = spawn(process.execPath, args, {
      cwd: project,
      env: { ...env, HOME: join(project, "../home"), HEDDLE_HOME: join(project, "../home/.heddle") },
      stdio: ["ignore", "pipe", "pipe"],
      timeout: 25_000,
      killSignal: "SIGKILL",
    });
    let out = "";
    let err = "";
    child.stdout.on("data", (chunk) => (out += chunk));
    child.stderr.on("data", (chunk) => (err += chunk));
    child.on("error", reject);
    child.on("close", (code) => resolve({ code, out, err }));
  });
async function turn(scenario: Scenario): Promise<Ran> {
  const file = fileURLToPath(new URL("turn.mjs", import.meta.url));
  const { code, out, err } = await run(file, JSON.stringify({ root, project, ...scenario }));
  if (code !== 0 || err !== "") throw new Error(`exit code ${code}\n${err}${out}`);
  const ran = JSON.parse(out) as Ran;
  return { ...ran, lines: ran.lines.sort() };
}
const greeting = { calls: [{ tool: "Greeting", input: { name: "Ada" } }] };
const talk = [
  ["user", "greet Ada!"],
  ["attachment", "The person sounds excited."],
  ["assistant", "tool-call"],
  ["tool", "Hello, Ada!"],
  ["assistant", "Done."],
];

describe("a third-party plugin, packed and installed", () => {
  it("brings a command, a tool and an attachment kind into a turn", async () => {
    const ran = await turn({
      plugins: ["acme-greeter"],
      options: { "acme-greeter": { greeting: "Good day" } },
      input: ["/greet Grace", "greet Ada!"],
      replies: [greeting, "Done."],
    });
    expect(ran).toEqual({
      lines: [],
      refused: [],
      outcome: { kind: "completed" },
      messages: [["system", "Good day, Grace!"], ...talk.map(([role, text]) => [role, text?.replace("Hello", "Good day")])],
    });
  });

  it("passes checkPlugin", async () => {
    const samples = { tools: { Greeting: [{ name: "Ada" }] }, commands: { greet: ["", "Ada"] } };
    const code = `const { checkPlugin } = await import(process.argv[1]);
      console.log((await checkPlugin("node_modules/acme-greeter", ${JSON.stringify({ samples })})).text);`;
    const testkit = new URL("packages/testkit/dist/index.js", `file://${root}/`).href;
    const passed = 'plugin "acme-greeter": all checks passed\n';
    expect(await run("--input-type=module", "-e", code, testkit)).toEqual({ code: 0, out: passed, err: "" });
  });

  it("goes on beside every broken one, each named in one line", async () => {
    const others = broken.filter((name) => name !== "loops").map((name) => `broken-${name}`);
    const ran = await turn({ plugins: ["acme-greeter", ...others, "acme-gone"], input: "greet Ada!", replies: [greeting, "Done."] });
    expect({ ...ran, lines: ran.lines.map((line) => line.replaceAll(project, "PROJECT")) }).toEqual({
      refused: [],
      outcome: { kind: "completed" },
      messages: talk,
      lines: [
        'plugin "acme-gone": is not installed in PROJECT; run "npm install acme-gone" there, or take it out of the settings',
        'plugin "broken-bad-manifest"@1.0.0 (package broken-bad-manifest): its package.json is wrong: heddle.contributes: Unrecognized key: "tool"',
        'plugin "broken-cycle-a"@1.0.0 (package broken-cycle-a): is in a circle of requirements: broken-cycle-a -> broken-cycle-b -> broken-cycle-a',
        'plugin "broken-cycle-b"@1.0.0 (package broken-cycle-b): is in a circle of requirements: broken-cycle-a -> broken-cycle-b -> broken-cycle-a',
        'plugin "broken-hangs-in-call" (attachments "hangs-in-call") gave no answer within 100 ms',
        'plugin "broken-hangs-in-setup"@1.0.0 (package broken-hangs-in-setup): its setup gave no answer within 5000 ms',
        'plugin "broken-manifest-mismatch"@1.0.0 (package broken-manifest-mismatch): setup returns tools "Delivered", but heddle.contributes.tools in package.json does not name it; heddle.contributes.tools in package.json names "Promised", but setup does not return it',
        'plugin "broken-name-clash"@1.0.0 (package broken-name-clash): tools "Greeting" is already the name of one of plugin "acme-greeter"; rename one of them in the settings, for example {"plugins":[{"package":"broken-name-clash","rename":{"tools/Greeting":"BrokenGreeting"}}]}',
        'plugin "broken-needs-other-api"@1.0.0 (package broken-needs-other-api): was built for plugin API ^9.0.0, and this is 1.1.0; install a version that fits',
        'plugin "broken-requires-missing"@1.0.0 (package broken-requires-missing): requires "acme-nowhere" ^1.0.0, which is not installed or not enabled; install or enable it',
        'plugin "broken-returns-rubbish" (attachments "returns-rubbish") returned something unusable: mood: Invalid input: expected string, received number',
        'plugin "broken-throws-in-call" (attachments "throws-in-call") threw: Cannot read properties of undefined (reading \'mood\')',
        'plugin "broken-throws-in-setup"@1.0.0 (package broken-throws-in-setup): its setup threw: no licence key in ACME_KEY',
      ],
    });
  });

  it("goes on when another blocks the thread, which is named and stopped", async () => {
    const ran = await turn({ plugins: ["acme-greeter", "broken-loops"], input: "greet Ada!", replies: [greeting, "Done."], node: true });
    expect({ ...ran, lines: ran.lines.map((line) => line.replace(/\d+\.\d s/, "N s")) }).toEqual({
      refused: [],
      outcome: { kind: "completed" },
      messages: talk,
      lines: ['plugin "broken-loops" (attachments "loops") blocked the process for N s and was stopped'],
    });
  });

  it("is found by its name, and used, by the built CLI, beside all broken ones", async () => {
    const cli = join(root, "apps/cli/dist/heddle.js");
    const tape = join(project, "../tape.jsonl");
    const names = broken.map((name) => `broken-${name}`);
    mkdirSync(join(project, ".heddle"), { recursive: true });
    writeFileSync(join(project, ".heddle/settings.json"), JSON.stringify({ plugins: ["acme-greeter", ...names] }));
    writeFileSync(tape, [greeting, { text: "Done." }].map((reply) => JSON.stringify(reply)).join("\n"));
    const replay = { package: "@heddle/provider-replay", options: { tape } };
    const settings = ["--settings", JSON.stringify({ provider: { name: "replay" }, plugins: [replay] })];
    const flags = ["--output-format", "stream-json", ...settings];

    const trusted = await run(cli, "-p", "greet Ada!", "--trust", ...flags);
    const messages = trusted.out
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line));
    expect({ code: trusted.code, result: messages.at(-1)?.result, tool: messages[2]?.message.content[0].content }).toEqual({
      code: 0,
      result: "Done.",
      tool: [{ type: "text", text: "Hello, Ada!" }],
    });
    const said = trusted.err
      .trim()
      .split("\n")
      .map((line) => /^heddle: plugin "([^"]+)"/.exec(line)?.[1]);
    expect(said.sort()).toEqual(names);

    const untrusted = await run(cli, "-p", "greet Ada!", ...flags);
    const init = JSON.parse(untrusted.out.split("\n")[0] ?? "");
    expect({ plugins: init.plugins, tools: init.tools.includes("Greeting") }).toEqual({ plugins: [], tools: false });
    expect(untrusted.err).toContain("the folder is not trusted (--trust)");
  });

  it("brings its command to the built CLI", async () => {
    mkdirSync(join(project, ".heddle"), { recursive: true });
    writeFileSync(join(project, ".heddle/settings.json"), JSON.stringify({ plugins: ["acme-greeter"] }));
    const ran = await run(
      join(root, "apps/cli/dist/heddle.js"),
      "-p",
      "/greet Ada",
      "--trust",
      "--settings",
      '{"provider":{"name":"replay"}}',
    );
    expect(ran).toEqual({ code: 0, out: "Hello, Ada!\n", err: "" });
  });
});
