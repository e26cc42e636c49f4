import { execFileSync, spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Processes } from "@heddle/kernel/plugin";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type Kit, kitOf } from "./support/harness.ts";
import { MemoryFs } from "./support/memory-fs.ts";
import { nodeFs, nodeProcesses, tempDir } from "./support/node-ports.ts";

type Setup = {
  readonly dir: string;
  readonly kit: Kit;
  readonly processes: ReturnType<typeof nodeProcesses>;
  sh(command: string, more?: object): Promise<string>;
};
const setup = async (env: Record<string, string> = {}, options = {}): Promise<Setup> => {
  const dir = tempDir();
  const processes = nodeProcesses(env);
  const kit = await kitOf({ fs: nodeFs, processes, cwd: dir, now: Date.now, options });
  const sh = async (command: string, more = {}): Promise<string> => {
    const { text, isError } = await kit.call("Bash", { command, ...more });
    return (isError ? "ERROR " : "") + text;
  };
  return { dir, kit, processes, sh };
};

describe("Bash, the command", () => {
  const snippets = [
    "printf %s ' !~ ' | od -An -tx1",
    "awk 'BEGIN{if (1 != 2) print \"ok\"}'",
    "printf %s '`a!`'",
    "cat <<'X'\np ! q $HOME `x` \\\nX",
    'printf "<%s>" "$HOME" | tr a-z A-Z',
    'for f in x y; do printf "%s " "$f" | cat; done',
    'basename "$(pwd)" | rev',
    'printf "1\\n2\\n" | wc -l',
    "Q=7 env | sed -n /^Q=/p",
    `v=(k l); printf %s "\${v[1]}" | cat`,
    "echo x > f.txt; cat < f.txt",
    "cat <<< hi",
    "cat <<EOF\na $(echo sub) `echo tick` EOF \nEOF \nEOF",
    "cat <<EOF\nunterminated",
    "echo a # note",
    "# only a comment",
    "echo a;",
    "true &",
    "echo 'quoted \"both\" '\\''ways'\\'''",
    'echo "a\\"b" \\\n  c',
    'echo $0 $# "$@" "[$1]"',
    "set -e; false; echo never",
    "set -e; echo on; (exit 5)",
    `set -u; echo \${nope-unset}`,
    "exit 3",
    "exec echo replaced",
    "trap 'echo bye' EXIT; echo hi",
    "trap 'echo bye; exit 4' EXIT; echo hi; exit 2",
    "exec > out.log; echo hidden; exec 1>&2; cat out.log",
    "ls nothing-here\nls nothing-there",
    "if",
    "echo (",
    "echo a\necho )",
    "echo a &&",
    "PS4=; set -x; echo traced",
    "f() { return 7; }; f",
    "f() { local x=1; echo $x; }; f; echo [$x]",
    "echo one; echo two >&2; echo three",
    "nonexistent-command-x",
    "shopt -s extglob\necho !(*)",
    'read x; echo "rc=$? [$x]"',
    "cat",
    "sleep 5 & kill $!; wait $!; echo rc=$?",
    "echo $LINENO\necho $LINENO",
    "[[ a < b ]] && echo less; (( 1 + 1 )) && echo sum",
    "diff <(echo a) <(echo b)",
    "printf 'no line end'",
    "return 3; echo after",
    "alias ll='echo x'; shopt -s expand_aliases\nll",
    `(exit 9) | true; echo \${PIPESTATUS[0]}`,
    "set -o noclobber; echo a > new.txt; cat new.txt",
    "declare -x D=1; export -p | grep -c ' D='",
    "unset PATH; echo still",
    "IFS=:; set -- a:b; echo $1",
    "flock_like() { ( echo in ) 9>lock; }; flock_like; exec 9>lock; echo mine >&9; cat lock",
    "kill -9 $$",
    "echo \\",
  ];

  it("does what plain bash does with the same text", async () => {
    const { dir, kit } = await setup();
    const differ: unknown[] = [];
    for (const command of snippets) {
      const fresh = (): void => {
        rmSync(dir, { recursive: true, force: true });
        mkdirSync(dir);
      };
      fresh();
      const env = { ...process.env, TERM: "dumb", EDITOR: "true", VISUAL: "true", PAGER: "cat", PWD: dir };
      const plain = spawnSync("bash", ["-c", 'exec bash -c "$1" 2>&1 </dev/null', "bash", command], { cwd: dir, env, encoding: "utf8" });
      fresh();
      const { text } = await kit.call("Bash", { command });
      const code = plain.status ?? 137;
      const ending = code === 0 ? "" : `[Exit code ${code}${code === 137 ? ": SIGKILL" : ""}]`;
      const expected = [plain.stdout.replace(/\n+$/, ""), ending].filter((s) => s !== "").join("\n") || "(no output)";
      const said = text.replace(/\n?\[Left running [^\n]*\]$/, "") || "(no output)";
      if (said !== expected) differ.push({ command, said, expected });
    }
    expect(differ).toEqual([]);
  });

  it("hands any text over unchanged", async () => {
    const { sh } = await setup();
    const quoted = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`;
    const printable = fc.string({
      unit: fc.constantFrom(...Array.from({ length: 95 }, (_, n) => String.fromCharCode(32 + n)), "é", "水", "\n"),
      minLength: 1,
      maxLength: 40,
    });
    await fc.assert(
      fc.asyncProperty(printable, async (text) => {
        expect(await sh(`printf '%s|' ${quoted(text)}`)).toBe(`${text}|`);
      }),
      { numRuns: 60 },
    );
  });

  it("keeps startup files out, asks no editor, and has no stdin", async () => {
    const home = tempDir();
    writeFileSync(join(home, "rc"), "echo banner; exit 1");
    const { dir, sh } = await setup({ BASH_ENV: join(home, "rc"), ENV: join(home, "rc"), EDITOR: "vim" });
    expect(await sh("echo ok; false; echo $?")).toBe("ok\n1");
    const git = (...args: string[]): void =>
      void execFileSync("git", ["-C", dir, "-c", "user.name=n", "-c", "user.email=e@x", ...args], { stdio: "ignore" });
    git("init", "-q");
    git("commit", "-q", "--allow-empty", "-m", "one");
    git("commit", "-q", "--allow-empty", "-m", "two");
    expect(await sh("git -c user.name=n -c user.email=e@x commit --allow-empty", { timeout: 5000 })).toMatch(
      /Aborting commit due to empty commit message/,
    );
    expect(await sh("git -c user.name=n -c user.email=e@x rebase -i HEAD~1", { timeout: 5000 })).not.toMatch(/Timed out/);
  });

  it("refuses what cannot be run, in words", async () => {
    const { sh } = await setup();
    expect(await sh("echo a\0b")).toMatch(/^ERROR The command holds a NUL/);
    expect(await sh(`echo ${"x".repeat(3_000_000)}`)).toMatch(/^ERROR The command is too long/);
  });
});

describe("Bash, the folder", () => {
  it("is kept from call to call, however the command ends", async () => {
    const { dir, sh } = await setup();
    mkdirSync(join(dir, "sub dir/in"), { recursive: true });
    const pwds: string[] = [];
    for (const command of [
      "cd 'sub dir'",
      "cd .. && false",
      "(cd /tmp)",
      "cd /tmp | cat",
      "cd 'sub dir'; exit 3",
      "exec true",
      "cd in; set -e; false; true",
      "cd ..; trap 'true' EXIT",
      "cd ..; )",
      "cd in; exec true",
      "f() { cd ..; }; f; (cd /; exec true); cd /tmp | cat; exec >/dev/null; exec sleep 0",
      "cd nowhere; exec true",
    ]) {
      await sh(command);
      pwds.push((await sh("pwd")).replace(dir, ""));
    }
    expect(pwds).toEqual([
      "/sub dir",
      "",
      "",
      "",
      "/sub dir",
      "/sub dir",
      "/sub dir/in",
      "/sub dir",
      "/sub dir",
      "/sub dir/in",
      "/sub dir",
      "/sub dir",
    ]);
  });

  it("is told when it changes, and known to others through the service", async () => {
    const { dir, kit, sh } = await setup();
    mkdirSync(join(dir, "sub"));
    expect(await sh("cd sub; echo x")).toBe(`x\n[The folder is now ${dir}/sub]`);
    expect(kit.shell.get("s")).toBe(`${dir}/sub`);
    expect(kit.shell.get("other")).toBeUndefined();
    expect((await kit.call("Bash", { command: "pwd" }, { session: "other" })).text).toBe(dir);
  });

  it("falls back when it is deleted, also with all of the project", async () => {
    const { dir, sh } = await setup();
    await sh("mkdir -p t1/t2 && cd t1/t2");
    await sh(`rm -rf ${dir}/t1`);
    expect(await sh("echo hi")).toBe(`hi\n[The folder ${dir}/t1/t2 is gone. This ran in ${dir}.]`);
    expect(await sh("cd / && pwd")).toBe("/\n[The folder is now /]");
    await sh(`cd ${dir}`);
    rmSync(dir, { recursive: true });
    const above = join(dir, "..");
    expect(await sh("echo hi; pwd")).toBe(`hi\n${above}\n[The folder ${dir} is gone. This ran in ${above}.]`);
  });

  it("keeps the path through a symlink", async () => {
    const { dir, sh } = await setup();
    await sh("mkdir real; ln -s real link; cd link");
    expect(await sh("pwd")).toBe(`${dir}/link`);
  });

  it("cannot be reached by redirections, and leaves no files behind", async () => {
    const temp = tempDir();
    const { dir, kit, sh } = await setup({ TMPDIR: temp });
    await sh("mkdir sub; exec >log 2>&1; cd sub; echo x");
    expect(await sh("pwd")).toBe(`${dir}/sub`);
    expect(readFileSync(join(dir, "log"), "utf8")).toBe("x\n");
    await sh("sleep 60", { timeout: 300 });
    await kit.dispose();
    expect(readdirSync(temp)).toEqual([]);
  });

  it("stays where it was when there is no place for the note of it", async () => {
    const { dir, sh } = await setup({ TMPDIR: "/dev/null/none" });
    expect(await sh("mkdir sub; cd sub; echo ok")).toBe("ok");
    expect(await sh("pwd")).toBe(dir);
  });

  it("is not set by output that looks like the note of it", async () => {
    const { dir, sh } = await setup();
    expect(await sh("printf '\\033]777;shell-9;/etc\\007x'")).toBe("x");
    expect(await sh("pwd")).toBe(dir);
  });
});

describe("Bash, the end", () => {
  it("tells exit codes and signals", async () => {
    const { sh } = await setup();
    expect(await sh("echo out; exit 7")).toBe("ERROR out\n[Exit code 7]");
    expect(await sh("kill -SEGV $$")).toBe("ERROR [Exit code 139: SIGSEGV]");
    expect(await sh("true")).toBe("(no output)");
  });

  it("kills all that was started when the time is over, where that is wanted, and keeps the output", async () => {
    const { dir, processes, sh } = await setup({}, { bashAtTimeout: "kill" });
    const text = await sh("(sleep 1; touch late) & echo started; mkfifo p; cat p", { timeout: 400 });
    expect(text).toBe(
      "ERROR started\n[Timed out after 400 ms and was killed with all it had started. A longer `timeout` may be given, up to 600000.]",
    );
    expect(processes.running.size).toBe(0);
    await sh("sleep 1");
    expect(existsSync(join(dir, "late"))).toBe(false);
  });

  it("hands over what there is when the turn is aborted", async () => {
    const { kit } = await setup();
    const stop = new AbortController();
    const running = kit.call("Bash", { command: "echo partial; sleep 60" }, { signal: stop.signal });
    const seen = async (): Promise<void> => {
      while (kit.progress.length === 0) await new Promise(setImmediate);
    };
    await seen();
    stop.abort();
    expect(await running).toEqual({ text: "partial\n[Stopped before its end.]", isError: true });
  });

  it("does not wait for what runs on in the background", async () => {
    const { sh } = await setup();
    const [pid, ...notes] = (await sh("sleep 30 >/dev/null 2>&1 & echo $!", { timeout: 5000 })).split("\n");
    expect(notes).toEqual([`[Left running until the session ends: process ${pid}]`]);
    expect(await sh(`kill ${pid}`)).toBe("(no output)");
  });

  it("leaves jobs by number to the shell, and names only those that still run", async () => {
    const { sh } = await setup();
    expect(await sh("sleep 500 & sleep 0.1; kill %1; echo rc=$?; wait")).toBe("rc=0");
    expect(await sh("sleep 500 & kill $!; wait; echo rc=$?")).toBe("rc=0");
    expect(await sh("true & wait")).toBe("(no output)");
  });

  it("gives the loop a little longer than the command, and never more than the limit", async () => {
    const tool = (await setup()).kit.tools.find((t) => t.name === "Bash")!;
    const deadline = tool.deadlineMs as (input: unknown) => number;
    const at = (timeout?: number): number => deadline(tool.input.parse({ command: "x", ...(timeout === undefined ? {} : { timeout }) }));
    expect([at(), at(1000), at(9_999_999)]).toEqual([125_000, 6_000, 605_000]);
    expect(tool.graceMs).toBeGreaterThan(0);
  });

  it("takes sh where there is no bash", async () => {
    const { dir } = await setup();
    const real = nodeProcesses();
    const noBash: Processes = {
      run: (o) => (o.command === "bash" ? Promise.reject(Object.assign(new Error("spawn bash"), { code: "ENOENT" })) : real.run(o)),
    };
    const kit = await kitOf({ fs: nodeFs, processes: noBash, cwd: dir });
    expect((await kit.call("Bash", { command: "mkdir s; cd s; echo $0" })).text).toBe(`sh\n[The folder is now ${dir}/s]`);
    const none = await kitOf({
      fs: new MemoryFs(),
      processes: { run: async () => Promise.reject(Object.assign(new Error("spawn"), { code: "ENOENT" })) },
    });
    expect((await none.call("Bash", { command: "x" })).text).toBe("The command was not run: neither bash nor sh could be started (spawn)");
  });
});

describe("Bash, the output", () => {
  it("keeps stdout and stderr in their order", async () => {
    const { sh } = await setup();
    const lines = Array.from({ length: 50 }, (_, n) => `${n}`);
    expect(await sh("for i in $(seq 0 49); do if ((i % 2)); then echo $i; else echo $i >&2; fi; done")).toBe(lines.join("\n"));
  });

  it("shows the head and the tail of long output in whole lines, with its full size", async () => {
    const { sh } = await setup();
    const text = await sh("seq 1 100000");
    const lines = text.split("\n");
    const gap = lines.findIndex((line) => line.startsWith("[..."));
    expect(text.length).toBeLessThan(30_200);
    expect(lines[gap]).toMatch(
      /^\[\.\.\. \d+ lines, \d+ characters left out; the whole output has 100001 lines, 588895 characters \.\.\.\]$/,
    );
    const numbers = [...lines.slice(0, gap), ...lines.slice(gap + 1)].map(Number);
    expect([numbers[0], numbers.at(-1)]).toEqual([1, 100_000]);
    expect(lines.slice(0, gap)).toEqual(Array.from({ length: gap }, (_, n) => `${n + 1}`));
    expect(Number(lines[gap]!.match(/\d+/)![0])).toBe(100_000 - numbers.length);
  });

  it("bounds a single endless line, and never cuts a character", async () => {
    const { sh } = await setup();
    const text = await sh("printf '水%.0s' $(seq 1 70000)");
    expect(text).toMatch(/^水+\n\[\.\.\. 0 lines, 40000 characters left out; [^\n]*\]\n水+$/);
    expect(await sh("printf '\\xf0\\x9f\\x98\\x80%.0s' $(seq 1 20001); printf x")).not.toMatch(
      /[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/,
    );
  });

  it("decodes characters that come in pieces", async () => {
    const { sh } = await setup();
    expect(await sh("printf 'a\\xe2'; sleep 0.06; printf '\\x80\\x94z\\n'")).toBe("a—z");
  });

  it("makes terminal output plain", async () => {
    const { sh } = await setup();
    expect(await sh("printf '\\033[3'; sleep 0.06; printf '1mRED\\033[0m\\n'; printf 'a\\rb\\rc\\n'")).toBe("RED\nc");
    expect(await sh("printf '\\033]0;title\\007\\033[2J\\033[H\\033]52;c;aGk=\\007done'")).toBe("done");
  });

  it("makes bytes that are no text harmless", async () => {
    const { sh } = await setup();
    expect(await sh("printf '\\377\\376\\000\\001x'")).toBe("\ufffd\ufffd\u2400x");
    const noise = await sh("head -c 4096 /dev/urandom");
    expect(JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(new TextEncoder().encode(JSON.stringify(noise))))).toBe(noise);
    expect(noise).not.toMatch(/[\0-\x08\x0b-\x1f\x7f-\x9f]/);
  });

  it("sends progress once, in order, and in small pieces", async () => {
    const { kit, sh } = await setup();
    await sh("for i in $(seq 20000); do echo line $i; done");
    const sent = kit.progress.join("");
    expect(sent.length).toBeLessThan(240_000);
    expect(Math.max(...kit.progress.map((piece) => piece.length))).toBeLessThanOrEqual(4000);
    const numbers = [...sent.matchAll(/line (\d+)\n/g)].map((m) => Number(m[1]));
    expect(numbers).toEqual([...numbers].sort((a, b) => a - b));
    expect(new Set(numbers).size).toBe(numbers.length);
  });

  it("names the file that has all of it, where something is left out", async () => {
    const folder = tempDir();
    const kit = await kitOf({ fs: nodeFs, processes: nodeProcesses(), cwd: folder, folder, options: { bashOutputLimit: 1000 } });
    const { text } = await kit.call("Bash", { command: "seq 1 10000" });
    const [, file] = /48894 characters, in (\S+) \.\.\.\]/.exec(text)!;
    expect(file).toMatch(new RegExp(`^${folder}/outputs/\\w+\\.txt$`));
    expect(readFileSync(file!, "utf8")).toContain("\n5000\n5001\n");
    expect((await kit.call("Bash", { command: "seq 1 100" })).text).not.toContain(folder);
    const keepsNothing = await kitOf({ fs: nodeFs, processes: nodeProcesses(), cwd: folder, options: { bashOutputLimit: 1000 } });
    expect((await keepsNothing.call("Bash", { command: "seq 1 10000" })).text).toContain("48894 characters ...]");
  });

  it("puts nothing into that file but what the command wrote, whatever becomes of it", async () => {
    const folder = tempDir();
    const options = { bashOutputLimit: 1001 };
    const kit = await kitOf({ fs: nodeFs, processes: nodeProcesses(), cwd: folder, folder, options, headless: true });
    const file = (callId: string): string => join(folder, "outputs", `${callId}.txt`);
    const kept = async (callId: string, command: string, more = {}): Promise<string | undefined> => {
      await kit.call("Bash", { command, ...more }, { callId });
      return existsSync(file(callId)) ? readFileSync(file(callId), "utf8") : undefined;
    };
    const json = await kept("json", `printf '["%s"]' $(printf 'x%.0s' $(seq 3000))`);
    expect(JSON.parse(json!)).toEqual(["x".repeat(3000)]);
    expect(await kept("left", "seq 1000; (sleep 0.05; echo late) & cd /")).toMatch(/\n1000\nlate\n$/);
    expect(kit.shell.get("s")).toBe("/");
    expect(await kept("killed", "seq 1000; sleep 60", { timeout: 300 })).toMatch(/\n1000\n$/);
    expect(await kept("errors", "seq 1000 >&2; exit 3")).toMatch(/\n1000\n$/);
    expect(await kept("fits", "printf 'x%.0s' $(seq 1000)")).toBeUndefined();
    expect(await kept("beyond", "printf 'x%.0s' $(seq 1001)")).toBe("x".repeat(1001));
    await kit.call("Bash", { command: "seq 1000", run_in_background: true }, { callId: "behind" });
    while (kit.told.length === 0) await new Promise((resolve) => setTimeout(resolve, 5));
    expect(readFileSync(file("behind"), "utf8")).toMatch(/\n1000\n$/);
  });

  it("shows what is said beside the command, by its sandbox for instance", async () => {
    const real = nodeProcesses();
    const processes: Processes = { run: (o) => real.run({ ...o, args: ["-c", "echo in; echo beside >&2"] }) };
    const kit = await kitOf({ fs: nodeFs, processes, cwd: tempDir() });
    expect((await kit.call("Bash", { command: "x" })).text.split("\n").sort()).toEqual(["beside", "in"]);
  });

  it("takes another limit as an option", async () => {
    const { sh } = await setup({}, { bashOutputLimit: 1000 });
    expect((await sh("seq 1 10000")).length).toBeLessThan(1200);
  });

  it("uses the collected output of a port that does not stream", async () => {
    const processes: Processes = {
      run: async () => ({
        exitCode: 0,
        signal: null,
        stdout: "",
        stderr: "",
        output: "\x1b[1mhi\x1b[0m\n",
        droppedBytes: 0,
        ended: "exit",
      }),
    };
    const kit = await kitOf({ fs: new MemoryFs(), processes });
    expect((await kit.call("Bash", { command: "x" })).text).toBe("hi");
  });
});
