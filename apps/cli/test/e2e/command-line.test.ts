/** What a command line means, and what is said of one that means nothing. */
import { spawn } from "node:child_process";
import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { terminal } from "./pty.ts";
import { program, type World, world } from "./run.ts";

const hello = [{ text: "Hello there." }];
const asked = (w: World): string =>
  JSON.stringify((w.server.mainRequests().at(-1)?.body as { messages: unknown[] } | undefined)?.messages.at(-1));

type Shell = { status: number | null; stdout: string; stderr: string };
function bash(command: string, w: World, env: Record<string, string> = {}): Promise<Shell> {
  const child = spawn("bash", ["-c", command, "bash", process.execPath, program], {
    cwd: w.cwd,
    env: { ...w.env, ...env },
    stdio: ["ignore", "pipe", "pipe"],
  });
  const out = { stdout: "", stderr: "" };
  for (const name of ["stdout", "stderr"] as const)
    child[name].setEncoding("utf8").on("data", (chunk: string) => {
      out[name] += chunk;
    });
  return new Promise((resolve) => child.on("close", (status) => resolve({ status, ...out })));
}

describe("a prompt", () => {
  it.each([
    [["-p", "- fix the list"], "- fix the list"],
    [["-p", "-1 is wrong"], "-1 is wrong"],
    [["-p", "---"], "---"],
    [["-p=hi"], "hi"],
    [["-p", "I need some help"], "I need some help"],
    [["-p", "I", "need", "help"], "I need help"],
    [["-p", "--allowedTools", "Bash(git status:*)", "Edit", "fix it"], "fix it"],
  ])("%j", async (args, prompt) => {
    const w = await world({ script: hello });
    const ran = await w.run(args);
    expect({ ...ran, ms: 0 }).toEqual({ code: 0, stdout: "Hello there.\n", stderr: "", ms: 0 });
    expect(asked(w)).toContain(`"${prompt}"`);
  });

  it("comes after all the rules that are allowed", async () => {
    const calls = [
      { name: "Bash", input: { command: "git --version" } },
      { name: "Write", input: { file_path: "a.txt", content: "x" } },
    ];
    const w = await world({ script: [{ calls }, { text: "Done." }] });
    const ran = await w.run(["--allowedTools", "Bash(git --version)", "Write", "-p", "do it"]);
    expect([ran.code, ran.stdout, ran.stderr, readdirSync(w.cwd)]).toEqual([0, "Done.\n", "", ["a.txt"]]);
  });

  it.each([
    ["/", "a command has a name: /help lists them"],
    ["!", "a command of the shell follows the mark"],
  ])("%s alone is not one", async (prompt, hint) => {
    const w = await world();
    const ran = await w.run(["-p", prompt]);
    expect([ran.code, ran.stdout, w.server.requests.length]).toEqual([2, "", 0]);
    expect(ran.stderr).toContain(hint);
  });
});

describe("flags", () => {
  it.each([
    ...[
      "--model",
      "--settings",
      "--allowedTools",
      "--disallowedTools",
      "--add-dir",
      "--max-turns",
      "--output-format",
      "--system-prompt",
    ].map((flag) => [["-p", "x", flag], `heddle: ${flag} needs a value`] as const),
    [["-p", "x", "--max-turns", "0"], "heddle: --max-turns needs a whole number above 0"],
    [["-p", "x", "--max-turns", "-3"], "heddle: --max-turns needs a whole number above 0"],
    [["-p", "x", "--max-turns="], "heddle: --max-turns needs a value"],
    [["-p", "x", "--add-dir", "nowhere"], "heddle: --add-dir nowhere: there is no such folder"],
    [["-p", "x", "--add-dir", "/dev/null"], "heddle: --add-dir /dev/null: there is no such folder"],
    [["-p", "--colour"], "heddle: unknown flag --colour (a prompt that begins with a dash goes after --)"],
    [["-p", "x", "--trust=maybe"], "heddle: --trust takes no value"],
    [["explain", "--settings"], "heddle: --settings needs a value"],
    [["doctor", "--nope"], "heddle: unknown flag --nope (heddle --help)"],
  ] as const)("%j is refused in one line", async (args, message) => {
    const w = await world();
    const ran = await w.run(args);
    expect([ran.code, ran.stdout, ran.stderr.split("\n").length]).toEqual([2, "", 2]);
    expect(ran.stderr).toContain(message);
  });

  it("the word help alone shows what there is", async () => {
    const w = await world();
    const ran = await w.run(["help"]);
    expect([ran.code, ran.stderr, w.server.requests.length]).toEqual([0, "", 0]);
    expect(ran.stdout).toContain("--output-format");
  });
});

describe("the surroundings", () => {
  it("a reader of the version that leaves, and a disk that is full", async () => {
    const w = await world();
    const gone = await bash('set -o pipefail; "$1" "$2" --version | true', w);
    expect(gone).toEqual({ status: 0, stdout: "", stderr: "" });
    if (!existsSync("/dev/full")) return;
    const full = await bash('"$1" "$2" --version >/dev/full', w);
    expect([full.status, full.stderr]).toEqual([1, expect.stringMatching(/^heddle: cannot write the answer: ENOSPC.*\n$/)]);
  });

  it.each(["-p x", "doctor", "explain", "plugins list", "demo", "--help", ""])("a folder that was deleted: heddle %s", async (args) => {
    const w = await world();
    const ran = await bash(`mkdir gone; cd gone; rmdir ../gone; "$1" "$2" ${args} </dev/null`, w);
    expect(ran).toEqual({
      status: 1,
      stdout: "",
      stderr: "heddle: the folder that you are in is gone: cd into one that is there, and run heddle again\n",
    });
  });

  it("a server address that is none is named, by where it was set", async () => {
    const w = await world();
    const bad = await w.run(["-p", "x"], { env: { ANTHROPIC_BASE_URL: "localhost:8080" } });
    expect({ ...bad, ms: 0 }).toEqual({
      code: 1,
      stdout: "",
      stderr:
        'heddle: ANTHROPIC_BASE_URL is "localhost:8080", which is no address of a server: it should look like https://api.anthropic.com\n',
      ms: 0,
    });
    const demo = await w.run(["demo"], { env: { ANTHROPIC_BASE_URL: "nonsense" } });
    expect(demo.code).toBe(0);
  });

  it("the demo does not claim to have kept what it could not", async () => {
    const w = await world();
    const ran = await w.run(["demo"], { env: { HEDDLE_HOME: "/dev/null/heddle" } });
    expect([ran.code, ran.stdout.includes("The session is kept")]).toEqual([0, false]);
    expect(ran.stderr).toMatch(/^heddle: .*no longer saved.*\n$/);
  });
});

describe("sessions", () => {
  it("without any, -c and explain say so", async () => {
    const w = await world();
    for (const args of [["-c", "-p", "x"], ["-r", "-p", "x"], ["explain"]]) {
      const ran = await w.run(args);
      expect({ ...ran, ms: 0 }).toEqual({ code: 1, stdout: "", stderr: "heddle: there is no session of this folder yet\n", ms: 0 });
    }
  });

  it("are taken up without a word, whatever was in them", async () => {
    const calls = [{ name: "Read", input: { file_path: "a.txt" } }];
    const w = await world({ script: [{ text: "Hm.", calls: [...calls, ...calls] }, { text: "Done." }, { text: "Again." }] });
    w.write("project/a.txt", "x");
    await w.run(["-p", "read @a.txt and !nothing"]);
    for (const prompt of ["/cost", "/context", "!true", "go on"])
      expect(await w.run(["-c", "-p", prompt])).toMatchObject({ code: 0, stderr: "" });
    expect((await w.run(["explain"])).stderr).toBe("");
  });

  it("are listed for --resume without an id", async () => {
    const w = await world({ script: [{ text: "one" }, { text: "two" }] });
    await w.run(["-p", "the first prompt"]);
    await w.run(["-p", "the second prompt"]);
    const ran = await w.run(["-p", "x", "--resume"]);
    expect([ran.code, ran.stdout]).toEqual([2, ""]);
    expect(ran.stderr).toMatch(
      /^session +changed +first prompt\n\S+ +just now +the second prompt\n\S+ +just now +the first prompt\nheddle: --resume needs the id of a session/,
    );
  });

  it("are chosen by number in a terminal, which says what was taken up", async () => {
    const w = await world({ script: [{ text: "one" }, { text: "two" }] });
    await w.run(["-p", "the first prompt"]);
    await w.run(["-p", "the second prompt"]);
    const t = terminal(w, ["--resume"]);
    await t.shows(/1 +\S+ +just now +the second prompt\n2 +\S+ +just now +the first prompt\nNumber or id/);
    t.type("2\r");
    await t.shows('resumed: "the first prompt" · just now · 2 messages');
    t.type("\x04");
    expect(await t.ended).toBe(0);
    expect(t.text()).toMatch(/^> ?\nGo on with this session: heddle --resume \S+$/m);
  });

  it("of a later heddle are refused and left as they are", async () => {
    const w = await world({ script: hello });
    await w.run(["-p", "first"]);
    const projects = join(w.home, ".heddle", "projects");
    const dir = join(projects, readdirSync(projects)[0]!);
    const log = join(dir, readdirSync(dir).find((f) => f.endsWith(".jsonl"))!);
    const later = readFileSync(log, "utf8")
      .replace('"v":1', '"v":999')
      .replace(/"version":"[^"]*"/, '"version":"9.1.0"');
    writeFileSync(log, later);
    for (const args of [["-c", "-p", "x"], ["explain"]]) {
      const ran = await w.run(args);
      expect([ran.code, ran.stdout]).toEqual([1, ""]);
      expect(ran.stderr).toMatch(
        /^heddle: session "\S+" was written by heddle 9\.1\.0 in a format that this one does not know \(v 999\): update heddle.*\n$/,
      );
    }
    expect([readFileSync(log, "utf8"), w.server.mainRequests().length]).toEqual([later, 1]);
  });
});

describe("what is said", () => {
  it("of a provider's error: once, and without the name of a built-in plugin", async () => {
    const w = await world({ script: hello, faults: [{ name: "401", at: 0, times: 9 }] }, true);
    const ran = await w.run(["-p", "x"]);
    expect([ran.code, ran.stdout, ran.stderr.split("\n").length]).toEqual([1, "", 2]);
    expect(ran.stderr).not.toContain("plugin");
  });

  it("of a denial: flags only where they help", async () => {
    const calls = [{ name: "Write", input: { file_path: "a.txt", content: "x" } }];
    const w = await world({ script: () => ({ calls }) });
    const denied = async (...args: string[]): Promise<string> =>
      (await w.run(["-p", "x", "--max-turns", "1", ...args])).stderr.split("\n")[0]!;
    expect(await denied()).toContain("--allowedTools");
    for (const args of [
      ["--permission-mode", "plan"],
      ["--disallowedTools", "Write(a.txt)"],
    ]) {
      const line = await denied(...args);
      expect(line).toMatch(/^heddle: denied: Write a\.txt \(.+\)$/);
      expect(line).not.toContain("--allowedTools");
    }
  });

  it("of what a trusted project may not say: no advice to trust it", async () => {
    const w = await world({ script: hello });
    w.write("project/.heddle/settings.json", '{"provider": {"name": "other"}}');
    expect((await w.run(["-p", "x", "--trust"])).stderr).toMatch(/^heddle: not used: provider of [^;]*where requests go\n$/);
  });

  it("of a request that is only built: nothing was sent", async () => {
    const w = await world();
    const ran = await w.run(["explain", "--dry", "what now?"]);
    expect(ran.stdout).toMatch(/request +anthropic\/\S+ +would send /);
    expect(ran.stdout).toContain("; 0 model calls;");
  });

  it("of the commands: none that is hidden, and what each is", async () => {
    const w = await world();
    w.write(
      "home/.heddle/plugins/shy/package.json",
      JSON.stringify({
        name: "shy",
        version: "1.0.0",
        type: "module",
        heddle: { manifest: 1, api: "^1.0.0", main: "./i.js", contributes: { commands: ["shy-secret", "shy-open"] } },
      }),
    );
    w.write(
      "home/.heddle/plugins/shy/i.js",
      'const run = () => ({ kind: "handled" }); export default { setup: () => ({ commands: [{ name: "shy-secret", kind: "local", summary: "s", hidden: true, run }, { name: "shy-open", kind: "local", summary: "s", run }] }) };',
    );
    const request = { type: "control_request", request_id: "1", request: { subtype: "initialize" } };
    const running = w.start(["-p", "--input-format", "stream-json", "--output-format", "stream-json"]);
    running.child.stdin!.end(`${JSON.stringify(request)}\n`);
    const { stdout } = await running.ended;
    const { response } = JSON.parse(stdout.split("\n").find((l) => l.includes("control_response"))!) as {
      response: { response: { commands: { name: string; description: string }[] } };
    };
    const { commands } = response.response;
    expect(commands.map((c) => c.name)).toEqual(expect.arrayContaining(["help", "shy-open"]));
    expect(commands.map((c) => c.name)).not.toContain("shy-secret");
    expect(commands.filter((c) => c.description === "")).toEqual([]);
  });
});

describe("settings that cannot be read", () => {
  const writing = { script: [{ calls: [{ name: "Write", input: { file_path: "a.txt", content: "x" } }] }, { text: "Done." }] };

  it.each([
    ["a folder of links in a circle", "ln -s .heddle .heddle"],
    ["a pipe", "mkdir .heddle; mkfifo .heddle/settings.json"],
    ["a device", "mkdir .heddle; ln -s /dev/zero .heddle/settings.json"],
    ["a folder", "mkdir -p .heddle/settings.json"],
  ])("%s: every call is asked for", async (_name, make) => {
    const w = await world(writing);
    await bash(make, w);
    const ran = await w.run(["-p", "x", "--permission-mode", "acceptEdits"]);
    expect([ran.code, ran.stdout, existsSync(join(w.cwd, "a.txt"))]).toEqual([0, "Done.\n", false]);
    expect(ran.stderr).toMatch(/settings\.json: cannot be read \(.*[\s\S]*every tool call is asked for/);
  });

  it.skipIf(process.getuid?.() === 0)("a folder without rights: every call is asked for", async () => {
    const w = await world(writing);
    mkdirSync(join(w.cwd, ".heddle"));
    chmodSync(join(w.cwd, ".heddle"), 0);
    const ran = await w.run(["-p", "x", "--permission-mode", "acceptEdits"]);
    chmodSync(join(w.cwd, ".heddle"), 0o700);
    expect([existsSync(join(w.cwd, "a.txt")), ran.stderr.includes("every tool call is asked for")]).toEqual([false, true]);
  });

  it("--settings may be a pipe", async () => {
    const w = await world(writing);
    const ran = await bash(`"$1" "$2" -p x --settings <(sleep 0.2; echo '{"permissions":{"defaultMode":"acceptEdits"}}') </dev/null`, w);
    expect([ran, existsSync(join(w.cwd, "a.txt"))]).toEqual([{ status: 0, stdout: "Done.\n", stderr: "" }, true]);
  });
});

describe("an answer on a terminal", () => {
  it("steers it in no way", async () => {
    const w = await world({ script: [{ text: "before \x1b[2J\x1b]0;owned\x07\x9b2J after." }] });
    const t = terminal(w, ["-p", "x"]);
    expect(await t.ended).toBe(0);
    expect(t.text()).toBe("before \\u{9b}2J after.");
    expect(t.raw()).not.toMatch(/\x1b\[2J|\x1b\]0;|\x9b/);
  });
});
