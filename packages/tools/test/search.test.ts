import { execFileSync } from "node:child_process";
import { chmodSync, mkdirSync, symlinkSync, utimesSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import type { Processes } from "@heddle/kernel/plugin";
import { rgPath } from "@vscode/ripgrep";
import { describe, expect, it } from "vitest";
import { type Kit, kitOf } from "./support/harness.ts";
import { MemoryFs } from "./support/memory-fs.ts";
import { nodeFs, nodeProcesses, tempDir } from "./support/node-ports.ts";

/** A folder with these files, older from first to last unless `sameTime`. */
const tree = async (
  files: Record<string, string>,
  { sameTime = false } = {},
): Promise<{ dir: string; kit: Kit; processes: ReturnType<typeof nodeProcesses> }> => {
  const dir = tempDir();
  Object.entries(files).forEach(([path, content], n) => {
    mkdirSync(dirname(join(dir, path)), { recursive: true });
    writeFileSync(join(dir, path), content);
    const time = 1_700_000_000 - (sameTime ? 0 : n);
    utimesSync(join(dir, path), time, time);
  });
  const processes = nodeProcesses();
  return { dir, processes, kit: await kitOf({ fs: nodeFs, processes, cwd: dir, options: { ripgrep: rgPath }, now: Date.now }) };
};
const namesOf = async (kit: Kit, input: Record<string, unknown>): Promise<string[]> => {
  const { text, isError } = await kit.call("Glob", input);
  expect(isError).toBe(false);
  return text.startsWith("No files") ? [] : text.split("\n");
};

describe("Glob", () => {
  it("sorts newest first, equal times by name", async () => {
    const { kit } = await tree({ "b.ts": "", "a.ts": "", "src/c.ts": "", "d.js": "" });
    expect(await namesOf(kit, { pattern: "**/*.ts" })).toEqual(["b.ts", "a.ts", "src/c.ts"]);
    expect(await namesOf(kit, { pattern: "*.{ts,js}" })).toEqual(["b.ts", "a.ts", "d.js"]);
    const same = await tree({ "b.ts": "", "a.ts": "", "A.ts": "" }, { sameTime: true });
    expect(await namesOf(same.kit, { pattern: "*" })).toEqual(["A.ts", "a.ts", "b.ts"]);
  });

  it("finds what is in dot folders, but not in .git", async () => {
    const { kit } = await tree({ ".cfg/a.md": "", ".cfg/x/b.md": "", ".git/config.md": "", "z.md": "" });
    expect({
      star: await namesOf(kit, { pattern: ".cfg/*" }),
      deep: await namesOf(kit, { pattern: ".cfg/**/*.md" }),
      name: await namesOf(kit, { pattern: ".cfg/a.md" }),
      anywhere: await namesOf(kit, { pattern: "**/a.md" }),
      all: await namesOf(kit, { pattern: "**/*.md" }),
      git: await namesOf(kit, { pattern: "*", path: ".git" }),
    }).toEqual({
      star: [".cfg/a.md"],
      deep: [".cfg/a.md", ".cfg/x/b.md"],
      name: [".cfg/a.md"],
      anywhere: [".cfg/a.md"],
      all: [".cfg/a.md", ".cfg/x/b.md", "z.md"],
      git: [".git/config.md"],
    });
  });

  it("takes brackets, braces, spaces and quotes in names for themselves too", async () => {
    const page = "app/[id]/(grp)/p {x}.tsx";
    const { kit, dir } = await tree({ [page]: "", "app/i/q.tsx": "", 'it\'s "q".ts': "", "a\\b.ts": "" });
    expect({
      folder: await namesOf(kit, { pattern: "app/[id]/**" }),
      path: await namesOf(kit, { pattern: "**", path: "app/[id]/(grp)" }),
      braces: await namesOf(kit, { pattern: "**/p {x}.tsx" }),
      exact: await namesOf(kit, { pattern: page }),
      absolute: await namesOf(kit, { pattern: `${dir}/app/[id]/**/*.tsx` }),
      quotes: await namesOf(kit, { pattern: 'it\'s "q".ts' }),
      backslash: await namesOf(kit, { pattern: "a\\b.ts" }),
    }).toEqual({
      folder: [page, "app/i/q.tsx"],
      path: [page],
      braces: [page],
      exact: [page],
      absolute: [page, "app/i/q.tsx"],
      quotes: ['it\'s "q".ts'],
      backslash: ["a\\b.ts"],
    });
  });

  it("leaves out what is ignored, unless it is asked for by its folder", async () => {
    const { kit } = await tree({ ".gitignore": "build/\n*.log\n", "build/a.js": "", "src/a.js": "", "src/b.log": "" });
    expect(await namesOf(kit, { pattern: "**/a.js" })).toEqual(["src/a.js"]);
    expect(await namesOf(kit, { pattern: "*.js", path: "build" })).toEqual(["build/a.js"]);
    expect(await namesOf(kit, { pattern: "build/**" })).toEqual(["build/a.js"]);
    expect(await namesOf(kit, { pattern: "**/*.log", path: "src" })).toEqual([]);
  });

  it("takes a folder's name for all that is in it", async () => {
    const { kit } = await tree({ "src/a/b.ts": "" });
    expect(await namesOf(kit, { pattern: "src" })).toEqual(["src/a/b.ts"]);
    expect(await namesOf(kit, { pattern: "src/" })).toEqual(["src/a/b.ts"]);
    expect(await namesOf(kit, { pattern: "./src/a/*.ts" })).toEqual(["src/a/b.ts"]);
  });

  it("stops at 100, the same each time, and says how many there are", async () => {
    const files = Object.fromEntries(Array.from({ length: 300 }, (_, n) => [`d${n % 7}/f${n}.ts`, ""]));
    const { kit } = await tree(files, { sameTime: true });
    const first = await kit.call("Glob", { pattern: "**/*.ts" });
    const lines = first.text.split("\n");
    expect(lines.slice(100)).toEqual(["[100 of 300 files, newest first. Narrow the pattern to see others.]"]);
    expect(lines.slice(0, 100)).toEqual(Object.keys(files).sort().slice(0, 100));
    expect(await kit.call("Glob", { pattern: "**/*.ts" })).toEqual(first);
  });

  it("says when there is no match, no folder, or a file in its place", async () => {
    const { kit, dir } = await tree({ "src/a.ts": "" });
    expect({
      none: await kit.call("Glob", { pattern: "*.py" }),
      noBase: await kit.call("Glob", { pattern: "lib/*.ts" }),
      noPath: await kit.call("Glob", { pattern: "*", path: "scr" }),
      file: await kit.call("Glob", { pattern: "*", path: "src/a.ts" }),
    }).toEqual({
      none: { text: "No files match *.py in the project folder.", isError: false },
      noBase: { text: "No files match lib/*.ts in the project folder. There is no folder lib.", isError: false },
      noPath: { text: `scr does not exist (the project folder is ${dir}). Did you mean src?`, isError: true },
      file: { text: "src/a.ts is a file, not a folder.", isError: true },
    });
  });
});

describe("Grep", () => {
  const grep = async (kit: Kit, input: Record<string, unknown>): Promise<string> => {
    const { text, isError } = await kit.call("Grep", input);
    return (isError ? "ERROR " : "") + text;
  };

  it("has three modes", async () => {
    const { kit } = await tree({ "b.ts": "foo\nbar\nfoo foo\n", "a.ts": "x\nFoo\n", "c.py": "foo" });
    expect({
      files: await grep(kit, { pattern: "foo" }),
      content: await grep(kit, { pattern: "foo", output_mode: "content" }),
      count: await grep(kit, { pattern: "foo", output_mode: "count", "-i": true }),
      bare: await grep(kit, { pattern: "bar", output_mode: "content", "-n": false }),
      around: await grep(kit, { pattern: "bar", output_mode: "content", "-C": 1 }),
      before: await grep(kit, { pattern: "Foo", output_mode: "content", "-B": "1" }),
      glob: await grep(kit, { pattern: "foo", glob: "*.{py,rs}" }),
      globs: await grep(kit, { pattern: "foo", glob: "*.py, b.*" }),
      type: await grep(kit, { pattern: "foo", type: "py" }),
      one: await grep(kit, { pattern: "foo", path: "b.ts", output_mode: "content" }),
      none: await grep(kit, { pattern: "zzz" }),
    }).toEqual({
      files: "b.ts\nc.py",
      content: "b.ts:1:foo\nb.ts:3:foo foo\nc.py:1:foo",
      count: "b.ts:2\na.ts:1\nc.py:1\n[4 matching lines in 3 files]",
      bare: "b.ts:bar",
      around: "b.ts-1-foo\nb.ts:2:bar\nb.ts-3-foo foo",
      before: "a.ts-1-x\na.ts:2:Foo",
      glob: "c.py",
      globs: "b.ts\nc.py",
      type: "c.py",
      one: "b.ts:1:foo\nb.ts:3:foo foo",
      none: "No matches in the project folder.",
    });
  });

  it("shows newest files first in each mode, equal times by name", async () => {
    const { kit } = await tree({ "z.txt": "hit\n", "d/b.txt": "hit\nhit\n", "a.txt": "hit\n" });
    expect({
      files: await grep(kit, { pattern: "hit" }),
      content: await grep(kit, { pattern: "hit", output_mode: "content" }),
      count: await grep(kit, { pattern: "hit", output_mode: "count" }),
      second: await grep(kit, { pattern: "hit", output_mode: "content", offset: 1, head_limit: 2 }),
    }).toEqual({
      files: "z.txt\nd/b.txt\na.txt",
      content: "z.txt:1:hit\nd/b.txt:1:hit\nd/b.txt:2:hit\na.txt:1:hit",
      count: "z.txt:1\nd/b.txt:2\na.txt:1\n[4 matching lines in 3 files]",
      second: "d/b.txt:1:hit\nd/b.txt:2:hit\n[There is more: go on with offset 3, or narrow the search.]",
    });
    const same = await tree({ "b.txt": "hit", "a.txt": "hit" }, { sameTime: true });
    expect(await grep(same.kit, { pattern: "hit", output_mode: "content" })).toBe("a.txt:1:hit\nb.txt:1:hit");
  });

  it("goes through more files than one command takes", async () => {
    const files = Object.fromEntries(Array.from({ length: 330 }, (_, n) => [`f${String(n).padStart(3, "0")}.txt`, "hit\n"]));
    const { kit } = await tree(files);
    const lines = (await grep(kit, { pattern: "hit", output_mode: "content", head_limit: 0 })).split("\n");
    expect(lines).toEqual(Object.keys(files).map((name) => `${name}:1:hit`));
  });

  it("pages through a fixed order, each entry once", async () => {
    const files = Object.fromEntries(Array.from({ length: 25 }, (_, n) => [`d${n % 3}/f${n}.txt`, "hit\nmiss\nhit\n"]));
    const { kit } = await tree(files, { sameTime: true });
    const pages: string[] = [];
    for (let offset = 0; ; offset += 10) {
      const lines = (await grep(kit, { pattern: "hit", head_limit: 10, offset })).split("\n");
      pages.push(...lines.filter((line) => !line.startsWith("[")));
      if (!lines.at(-1)!.startsWith("[")) break;
      expect(lines.at(-1)).toBe(`[There is more (25 in all): go on with offset ${offset + 10}, or narrow the search.]`);
    }
    expect(pages).toEqual(Object.keys(files).sort());
    expect(await grep(kit, { pattern: "hit", offset: 99 })).toBe("Nothing beyond offset 99: there are only 25.");
    expect(await grep(kit, { pattern: "hit", output_mode: "count", head_limit: 1 })).toBe(
      "d0/f0.txt:2\n[50 matching lines in 25 files]\n[There is more (25 in all): go on with offset 1, or narrow the search.]",
    );
  });

  it("searches hidden and ignored places when they are named, and only then", async () => {
    const { kit } = await tree({
      ".gitignore": "build/*\n*.log\n",
      ".hid/a": "K",
      "build/out.txt": "K",
      "build/sub/o.txt": "K",
      "x.log": "K",
      "a.txt": "",
    });
    expect({
      root: await grep(kit, { pattern: "K" }),
      hidden: await grep(kit, { pattern: "K", path: ".hid/" }),
      file: await grep(kit, { pattern: "K", path: "build/out.txt" }),
      folder: await grep(kit, { pattern: "K", path: "build" }),
      log: await grep(kit, { pattern: "K", path: "x.log" }),
    }).toEqual({
      root: "No matches in the project folder.",
      hidden: ".hid/a",
      file: "build/out.txt",
      folder: "build/out.txt\nbuild/sub/o.txt",
      log: "x.log",
    });
  });

  it("takes paths for paths and never for patterns", async () => {
    const { kit } = await tree({ "app/[id]/(grp)/p {x}.tsx": "K", "app/i/q.tsx": "K", "-e": "K", 'it\'s "q".ts': "K" });
    expect(await grep(kit, { pattern: "K", path: "app/[id]/(grp)" })).toBe("app/[id]/(grp)/p {x}.tsx");
    expect(await grep(kit, { pattern: "K", path: "app/[id]/(grp)/p {x}.tsx" })).toBe("app/[id]/(grp)/p {x}.tsx");
    expect(await grep(kit, { pattern: "K", path: "-e" })).toBe("-e");
    expect(await grep(kit, { pattern: "K", path: 'it\'s "q".ts', output_mode: "count" })).toBe(
      'it\'s "q".ts:1\n[1 matching line in 1 file]',
    );
  });

  it("handles special expressions, and explains those that are wrong", async () => {
    const { kit } = await tree({ "a.js": "fn ({\n  a })\n", "crlf.txt": "the end\r\nend \r\n", "u.txt": "über xy\n", "-v": "" });
    expect({
      lines: await grep(kit, { pattern: "fn\\s*\\(\\{\\n\\s*a", multiline: true }),
      notLines: await grep(kit, { pattern: "fn\\s*\\(\\{\\n\\s*a" }),
      realBreak: await grep(kit, { pattern: "{\n", multiline: false }),
      crlf: await grep(kit, { pattern: "end$", output_mode: "content" }),
      word: await grep(kit, { pattern: "\\bü" }),
      behind: await grep(kit, { pattern: "(?<=x)y" }),
      dash: await grep(kit, { pattern: "--x" }),
      type: await grep(kit, { pattern: "x", type: "zz" }),
      nul: await grep(kit, { pattern: "a\0b" }),
    }).toEqual({
      lines: "a.js",
      notLines: "ERROR The pattern spans lines: set multiline to true.",
      realBreak: expect.stringMatching(/^ERROR The pattern (spans lines|is not a valid)/),
      crlf: "crlf.txt:1:the end",
      word: "u.txt",
      behind: "u.txt",
      dash: "No matches in the project folder.",
      type: 'ERROR There is no file type "zz". Use `glob` in its place, such as *.zz.',
      nul: "ERROR `pattern` holds a NUL character, which no search can be given.",
    });
    for (const pattern of ["foo(", "a{", "[", "(?<=a(b)"])
      expect(await grep(kit, { pattern })).toMatch(/^ERROR The pattern is not a valid regular expression\. .*\n/);
  });

  it("cuts long lines and long answers, and ends ripgrep early", async () => {
    const { kit, processes } = await tree({ "one.txt": `${"x".repeat(600_000)}K`, "many.txt": "a line with e\n".repeat(200_000) });
    const long = await grep(kit, { pattern: "x", output_mode: "content" });
    expect(long.length).toBeLessThan(700);
    expect(long).toMatch(/^one\.txt:1:x+ \[\.\.\. /);
    const many = await grep(kit, { pattern: "e", output_mode: "content" });
    expect(many.split("\n").length).toBe(251);
    expect(many).toMatch(/\[There is more: go on with offset 250/);
    expect((await grep(kit, { pattern: "e", output_mode: "content", head_limit: 0 })).length).toBeLessThan(31_000);
    expect(processes.running.size).toBe(0);
  });

  it("says when a name is not UTF-8, and keeps the others", async () => {
    const { kit, dir } = await tree({ "a.txt": "hit" });
    writeFileSync(Buffer.concat([Buffer.from(`${dir}/caf`), Buffer.from([0xe9])]), "hit");
    expect(await grep(kit, { pattern: "hit", output_mode: "content" })).toBe(
      "a.txt:1:hit\n[The search is incomplete:\n1 file with a name that is not UTF-8 could not be opened]",
    );
    expect((await grep(kit, { pattern: "hit" })).split("\n").sort()).toEqual(["a.txt", "caf\uFFFD"]);
  });

  it("keeps what it found when a part cannot be read", async () => {
    const said: Processes = {
      async run(o) {
        o.onOutput?.("./a.t", "stdout");
        o.onOutput?.("xt\0./b.txt\0", "stdout");
        const stderr = "rg: ./secret: Permission denied (os error 13)\n";
        return { exitCode: 2, signal: null, stdout: "", stderr, output: "", droppedBytes: 0, ended: "exit" };
      },
    };
    const kit = await kitOf({ fs: new MemoryFs(), processes: said });
    expect(await kit.call("Grep", { pattern: "x" })).toEqual({
      text: "a.txt\nb.txt\n[The search is incomplete:\nrg: ./secret: Permission denied (os error 13)]",
      isError: false,
    });
  });

  it("says when look-around is not to be had", async () => {
    const plain: Processes = {
      async run(o) {
        const stderr = o.args!.includes("--pcre2")
          ? "rg: PCRE2 is not available in this build of ripgrep"
          : "rg: regex parse error:\nerror: look-around, including look-ahead and look-behind, is not supported";
        return { exitCode: 2, signal: null, stdout: "", stderr, output: stderr, droppedBytes: 0, ended: "exit" };
      },
    };
    const kit = await kitOf({ fs: new MemoryFs(), processes: plain });
    expect((await kit.call("Grep", { pattern: "(?<=x)y" })).text).toMatch(/^Look-around and backreferences need/);
  });

  it("names a missing path and the folder it was looked for in", async () => {
    const { kit, dir } = await tree({ "src/a.ts": "" });
    expect(await grep(kit, { pattern: "x", path: "nope" })).toBe(`ERROR nope does not exist (the project folder is ${dir}).`);
  });

  it("skips binary files, and says so for one that is named", async () => {
    const { kit } = await tree({ "b.bin": "K\0\x01", "t.txt": "K" });
    expect(await grep(kit, { pattern: "K" })).toBe("t.txt");
    expect(await grep(kit, { pattern: "K", path: "b.bin", output_mode: "content" })).toContain("binary file matches");
  });

  it("stops when the turn is aborted", async () => {
    const { kit, processes } = await tree({ "a.txt": "x\n" });
    const gone = new AbortController();
    gone.abort();
    await kit.call("Grep", { pattern: "x" }, { signal: gone.signal });
    expect(processes.running.size).toBe(0);
  });
});

describe("a pipe or a device", () => {
  it("is refused, since nothing may ever come out of it", async () => {
    const { kit, dir } = await tree({ "a.txt": "x" });
    execFileSync("mkfifo", [join(dir, "pipe")]);
    symlinkSync("/dev/zero", join(dir, "zero"));
    const refused = (name: string) => ({
      text: `${name} is neither a file nor a folder (a pipe, socket or device), so it is not read.`,
      isError: true,
    });
    for (const path of ["pipe", "zero"]) {
      expect(await kit.call("Grep", { pattern: "x", path })).toEqual(refused(path));
      expect(await kit.call("Glob", { pattern: "*", path })).toEqual(refused(path));
    }
    expect((await kit.call("Grep", { pattern: "x" })).text).toBe("a.txt");
  });

  it("that ripgrep waits for all the same costs a minute and no more", async () => {
    const patience: unknown[] = [];
    const stuck: Processes = {
      async run(o) {
        patience.push(o.timeoutMs);
        return { exitCode: null, signal: "SIGKILL", stdout: "", stderr: "", output: "", droppedBytes: 0, ended: "timeout" };
      },
    };
    const kit = await kitOf({ fs: new MemoryFs(), processes: stuck });
    expect(await kit.call("Grep", { pattern: "x" })).toEqual({
      text: "The search failed.\nrg did not end within 60 s: search a smaller folder",
      isError: true,
    });
    expect(patience).toEqual([60_000]);
  });
});

describe("ripgrep that cannot be started", () => {
  it("is a clear error that says how to get it", async () => {
    for (const options of [{ ripgrep: undefined }, { ripgrep: "/opt/none/rg" }]) {
      const fault = Object.assign(new Error("spawn"), { code: "ENOENT" });
      const kit = await kitOf({ fs: new MemoryFs(), processes: { run: async () => Promise.reject(fault) }, options });
      const expected = {
        text: `ripgrep could not be started ("${options.ripgrep ?? "rg"}": ENOENT). Install it (https://github.com/BurntSushi/ripgrep#installation), or set the option "ripgrep" of @heddle/tools to the path of rg.`,
        isError: true,
      };
      expect(await kit.call("Grep", { pattern: "x" })).toEqual(expected);
      expect(await kit.call("Glob", { pattern: "*" })).toEqual(expected);
    }
  });
});

describe("an unreadable folder", () => {
  it.skipIf(process.getuid?.() === 0)("costs its own matches only", async () => {
    const { kit, dir } = await tree({ "a.txt": "x", "shut/b.txt": "x" });
    chmodSync(join(dir, "shut"), 0);
    const { text, isError } = await kit.call("Grep", { pattern: "x" });
    chmodSync(join(dir, "shut"), 0o755);
    expect(isError).toBe(false);
    expect(text).toMatch(/^a\.txt\n\[The search is incomplete:\n.*Permission denied/);
  });
});
