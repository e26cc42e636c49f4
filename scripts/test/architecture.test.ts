import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, describe, expect, it } from "vitest";

const script = join(dirname(fileURLToPath(import.meta.url)), "..", "architecture.mjs");
const made: string[] = [];
afterEach(() => {
  for (const dir of made.splice(0)) rmSync(dir, { recursive: true, force: true });
});

const kernel = {
  "packages/kernel/package.json": pkg(
    "@heddle/kernel",
    { zod: "catalog:" },
    { ".": "index", "./plugin": "plugin", "./protocol": "protocol" },
  ),
  "packages/kernel/src/index.ts": `export * from "./plugin.ts";\n`,
  "packages/kernel/src/plugin.ts": `export * from "./protocol.ts";\nexport * as z from "zod";\n`,
  "packages/kernel/src/protocol.ts": `/** Types. */\n\nexport type A = 1; // one\n`,
};

function pkg(name: string, dependencies: Record<string, string> = {}, entries: Record<string, string> = { ".": "index" }): string {
  const exports = Object.fromEntries(Object.entries(entries).map(([k, v]) => [k, { "@heddle/source": `./src/${v}.ts` }]));
  return JSON.stringify({ name, exports, dependencies }, null, 2);
}

function check(files: Record<string, string>): { code: number | null; findings: string[]; rest: string[] } {
  const root = mkdtempSync(join(tmpdir(), "heddle-architecture-"));
  made.push(root);
  for (const [path, text] of Object.entries({ ...kernel, ...files })) {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), text);
  }
  const ran = spawnSync(process.execPath, [script, "--root", root], { encoding: "utf8" });
  expect(ran.stderr).toBe("");
  const lines = ran.stdout.trim().split("\n");
  return {
    code: ran.status,
    findings: lines.slice(0, -2),
    rest: lines.slice(-2).map((l) => l.replace(/ of \S*heddle-architecture-\S+,/, ",")),
  };
}
/** Findings of one file of the tools package, without its path. */
function inTools(text: string, file = "packages/tools/src/index.ts"): string[] {
  const { findings } = check({
    "packages/tools/package.json": pkg("@heddle/tools", { "@heddle/kernel": "workspace:*", ms: "1.0.0" }),
    [file]: text,
  });
  return findings.map((f) => f.replace(`${file}:`, "")).map((f) => f.replace(/^(\d+): (.*?)[:,;] .*$/, "$1 $2"));
}

describe("architecture check", () => {
  it("passes a good tree and prints the size of the kernel", () => {
    const good = check({
      "packages/tools/package.json": pkg("@heddle/tools", { "@heddle/kernel": "workspace:*" }),
      "packages/tools/src/index.ts": `import { z } from "@heddle/kernel/plugin";\nimport { join } from "node:path";\nexport const A: ReadonlySet<string> = new Set([join("a", "b")]);\nexport { z };\n`,
      "packages/runtime/package.json": pkg("@heddle/runtime", { "@heddle/kernel": "workspace:*" }),
      "packages/runtime/src/index.ts": `export * from "@heddle/kernel";\n`,
      "packages/runtime/src/node/clock.ts": `import "node:fs";\nexport const now = () => Date.now();\n`,
      "apps/cli/package.json": pkg("heddle", { "@heddle/tools": "workspace:*" }),
      "apps/cli/src/main.ts": `import "@heddle/tools";\nlet n = 0;\nconsole.log(process.pid, n++);\n`,
    });
    expect(good).toEqual({
      code: 0,
      findings: [],
      rest: ["kernel: 4 lines of code (6 lines with comments and blanks), limit 1500", "architecture: 7 files in 4 packages, 0 findings"],
    });
  });

  it("fails on an edge that is not in the table", () => {
    const bad = check({
      "packages/commands/package.json": pkg("@heddle/commands", { "@heddle/kernel": "workspace:*" }),
      "packages/commands/src/index.ts": `export const a = 1;\n`,
      "packages/tools/package.json": pkg("@heddle/tools", { "@heddle/kernel": "workspace:*", "@heddle/commands": "workspace:*" }),
      "packages/tools/src/index.ts": `import "@heddle/kernel";\nexport type { a } from "@heddle/commands";\nimport "../../commands/src/index.ts";\n`,
      "packages/sessions/package.json": pkg("@heddle/sessions", { "@heddle/kernel": "workspace:*" }),
      "packages/sessions/src/index.ts": `import "@heddle/kernel/plugin";\n`,
      "plugins/mine/package.json": pkg("@heddle/mine", { "@heddle/kernel": "workspace:*" }),
      "plugins/mine/src/index.ts": `export const load = () => import("@heddle/runtime");\n`,
      "packages/other/package.json": pkg("@heddle/other"),
      "packages/runtime/package.json": pkg("@heddle/runtime"),
    });
    expect(bad.code).toBe(1);
    expect(bad.findings).toEqual([
      "packages/other/package.json:1: packages/other is not in the table of scripts/architecture.mjs: add a row that says what it may import",
      `packages/sessions/src/index.ts:1: packages/sessions may not import "@heddle/kernel/plugin": it may import @heddle/kernel/protocol; move what you need there, or contribute it`,
      `packages/tools/package.json:10: dependencies names "@heddle/commands", which packages/tools may not import: remove it`,
      `packages/tools/src/index.ts:1: packages/tools may not import "@heddle/kernel": it may import @heddle/kernel/plugin; move what you need there, or contribute it`,
      `packages/tools/src/index.ts:2: packages/tools may not import "@heddle/commands": it may import @heddle/kernel/plugin; move what you need there, or contribute it`,
      `packages/tools/src/index.ts:3: imports "../../commands/src/index.ts", outside its package: import the package by its name`,
      `plugins/mine/src/index.ts:1: plugins/mine may not import "@heddle/runtime": it may import @heddle/kernel/plugin; move what you need there, or contribute it`,
    ]);
  });

  it("lets a feature import another's contract where the table says so", () => {
    const memory = (name: string, entry: string): Record<string, string> => ({
      "packages/memdir/package.json": pkg("@heddle/memdir", {}, { ".": "index", "./contract": "contract" }),
      "packages/memdir/src/contract.ts": "export type Entry = 1;\n",
      [`packages/${name}/package.json`]: pkg(`@heddle/${name}`, { "@heddle/memdir": "workspace:*" }),
      [`packages/${name}/src/index.ts`]: `import "@heddle/memdir${entry}";\n`,
    });
    expect(check(memory("dream", "/contract")).findings).toEqual([]);
    expect(check(memory("dream", "")).findings).toHaveLength(1);
    expect(check(memory("skills", "/contract")).findings).toHaveLength(2);
  });

  it("fails on import cycles, type imports included, within and across packages", () => {
    const bad = check({
      "packages/runtime/package.json": pkg("@heddle/runtime", { "@heddle/kernel": "workspace:*" }),
      "packages/runtime/src/index.ts": `import "./b.ts";\nimport "./d.ts";\n`,
      "packages/runtime/src/b.ts": `import { c } from "./c.ts";\nexport const b = c;\n`,
      "packages/runtime/src/c.ts": `\nexport const c = 1;\nexport type B = import("./b.ts").b;\n`,
      "packages/runtime/src/d.ts": `import "./e.ts";\n`,
      "packages/runtime/src/e.ts": `export {};\n`,
      "packages/kernel/src/plugin.ts": `import type { X } from "./index.ts";\nexport type { X };\n`,
    });
    expect(bad.findings).toEqual([
      "packages/kernel/src/index.ts:1: import cycle packages/kernel/src/index.ts -> packages/kernel/src/plugin.ts -> packages/kernel/src/index.ts: move what both need into a file of its own",
      "packages/runtime/src/b.ts:1: import cycle packages/runtime/src/b.ts -> packages/runtime/src/c.ts -> packages/runtime/src/b.ts: move what both need into a file of its own",
    ]);
  });

  it("fails on mutable state at module level", () => {
    const text = [
      `export let a = 1;`,
      `var b;`,
      `const c = new Map<string, number>();`,
      `export const d = new Set(["x"]) as Set<string>;`,
      `const e: ReadonlyMap<string, number> = new Map([["x", 1]]);`,
      `const f: string[] = [];`,
      `const g = { n: 0 };`,
      `export const add = (): void => { f.push("x"); g.n++; delete g.n; };`,
      `export function inner() { let x = 1; const f = [x]; f.push(2); const m = new Map(); return m; }`,
      `export class C { static n = 0; static readonly k = 1; own = new Map(); }`,
    ].join("\n");
    expect(inTools(text)).toEqual([
      "1 mutable let at module level",
      "2 mutable var at module level",
      `3 "c" is a Map at module level that anyone may change`,
      `4 "d" is a Set at module level that anyone may change`,
      "10 mutable static field at module level",
      `8 "f" is changed here`,
      `8 "g" is changed here`,
      `8 "g" is changed here`,
    ]);
  });

  it("fails on clock, randomness, process and console outside the host", () => {
    const text = [
      `export const a = () => Date.now();`,
      `export const b = () => Math.random();`,
      `export const c = () => console.log(process.env["HOME"]);`,
      `export const d = () => new Date();`,
      `export const ok = (at: number, console: { log(s: string): void }) => console.log(new Date(at).toISOString() + "process.env");`,
      `// process.exit()`,
      `export type T = typeof process;`,
      `export const e = { process: 1 }.process;`,
    ].join("\n");
    expect(inTools(text)).toEqual([
      "1 uses Date.now",
      "2 uses Math.random",
      "3 uses console",
      "3 uses process",
      "4 uses Date for the present time",
    ]);
  });

  it("fails on node modules that are not pure, and on any in the kernel", () => {
    const text = `import "node:fs";\nimport "path";\nimport { createHash, randomUUID } from "node:crypto";\nexport { createHash, randomUUID };\n`;
    expect(inTools(text)).toEqual([`1 imports "node:fs"`, `2 imports "path"`, `3 imports randomUUID of "node:crypto"`]);
    expect(check({ "packages/kernel/src/index.ts": `import "node:path";\nimport "ms";\n` }).findings).toEqual([
      `packages/kernel/src/index.ts:1: the kernel may not import "node:path": take what you need as a parameter`,
      `packages/kernel/src/index.ts:2: packages/kernel may not import "ms": it may use zod`,
    ]);
  });

  it("fails on a package that is not declared, and on { z } of zod, in tests too", () => {
    expect(inTools(`import "ms";\nimport "left-pad/x";\n`)).toEqual([`2 imports "left-pad"`]);
    expect(inTools(`import { z } from "zod";\nexport { z };\n`, "packages/tools/test/a.test.ts")).toEqual([`1 imports { z } from "zod"`]);
  });

  it("warns at 400 lines, fails at 600, and limits the kernel's lines of code", () => {
    const lines = (n: number, line: string): string => `${Array.from({ length: n }, () => line).join("\n")}\n`;
    expect(inTools(lines(400, "//"))).toEqual([]);
    expect(inTools(lines(401, "//"))).toEqual(["401 warning"]);
    expect(inTools(lines(601, "//"))).toEqual(["601 601 lines"]);
    expect(check({ "packages/kernel/src/a.ts": lines(600, "//") }).findings).toEqual([
      "packages/kernel/src/a.ts:600: warning: 600 lines, more than 400: split it before it reaches 600",
    ]);
    const big = Object.fromEntries([1, 2, 3, 4].map((n) => [`packages/kernel/src/a${n}.ts`, lines(374, "f();")]));
    expect(check(big)).toMatchObject({
      code: 1,
      findings: ["packages/kernel:1500: 1500 lines of code, the limit is 1500: make it a plugin instead"],
    });
  });
});
