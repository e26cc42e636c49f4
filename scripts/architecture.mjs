// Checks which package may import what, and the rules that keep plugins testable. `node scripts/architecture.mjs [--root DIR]`
// prints each finding as `file:line: what is wrong, and what to do`, then the kernel's size; exits 1 when there is a finding.
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { builtinModules } from "node:module";
import { dirname, join, posix, relative, resolve, sep } from "node:path";
import { fileURLToPath } from "node:url";
import { commentFreeLines, importsOf, moduleState, parse, worldUses } from "./source.mjs";

const PLUGIN = ["@heddle/kernel/plugin"];
const FILES = [...PLUGIN, "@heddle/tools/contract"];
const MEMORY = [...PLUGIN, "@heddle/memdir/contract"];
const PROTOCOL = ["@heddle/kernel/protocol"];
const features = (names, may) => Object.fromEntries(names.map((n) => [`packages/${n}`, may]));

/** What each package may import of the workspace. An entry without a subpath stands for all entries of that package. */
const TABLE = {
  "packages/kernel": [],
  ...features(["input-pipeline", "commands", "tools", "permissions", "hooks", "context"], PLUGIN),
  ...features(["skills", "memdir"], PLUGIN),
  ...features(["attachments", "compaction"], FILES),
  ...features(["session-memory", "dream"], MEMORY),
  "packages/sessions": PROTOCOL,
  "packages/tui": PROTOCOL,
  "packages/runtime": ["@heddle/kernel", "@heddle/sessions"],
  "packages/testkit": ["@heddle/kernel", "@heddle/runtime"],
};
/** npm packages of a package that may not choose freely. */
const NPM = { "packages/kernel": ["zod"] };
/** Where the outer world is met: clock, ids, files, processes and streams come from here. */
const WORLD = ["apps/cli/", "packages/runtime/src/node/", "packages/testkit/src/node/"];
const PURE = ["path", "url", "buffer", "util", "crypto"];
const IMPURE_NAMES = { crypto: ["randomUUID", "randomBytes", "randomInt", "webcrypto"] };
const LINES = { warn: 400, fail: 600, kernel: 1500 };

const at = process.argv.indexOf("--root");
const root = at > 0 ? resolve(process.argv[at + 1] ?? ".") : join(dirname(fileURLToPath(import.meta.url)), "..");
const findings = [];
const warnings = [];
const found = (file, line, text) => findings.push(`${file}:${line}: ${text}`);

const names = (dir) => (existsSync(join(root, dir)) ? readdirSync(join(root, dir)).sort() : []);
const readJson = (file) => JSON.parse(readFileSync(join(root, file), "utf8"));

function sources(dir) {
  if (!existsSync(join(root, dir))) return [];
  return readdirSync(join(root, dir), { withFileTypes: true }).flatMap((e) => {
    if (e.isDirectory()) return e.name === "node_modules" ? [] : sources(`${dir}/${e.name}`);
    return /\.[mc]?tsx?$/.test(e.name) && !/\.generated\.ts$|\.d\.[mc]?ts$/.test(e.name) ? [`${dir}/${e.name}`] : [];
  });
}

/** Folder, package.json, and what the package may import. */
function packages() {
  return ["packages", "plugins", "apps"].flatMap((group) =>
    names(group)
      .map((name) => `${group}/${name}`)
      .filter((dir) => existsSync(join(root, dir, "package.json")))
      .flatMap((dir) => {
        const may = group === "plugins" ? PLUGIN : group === "apps" ? "all" : TABLE[dir];
        if (!may)
          found(`${dir}/package.json`, 1, `${dir} is not in the table of scripts/architecture.mjs: add a row that says what it may import`);
        return may ? [{ dir, may, json: readJson(`${dir}/package.json`) }] : [];
      }),
  );
}

const packageOf = (specifier) => specifier.split("/", specifier.startsWith("@") ? 2 : 1).join("/");
const allows = (may, specifier) => may === "all" || may.some((m) => specifier === m || (m === packageOf(m) && packageOf(specifier) === m));
const list = (may) => (may.length > 0 ? may.join(", ") : "nothing of this repository");

function checkEdge(p, file, { specifier, line }) {
  const npm = packageOf(specifier);
  if (workspace.has(npm)) {
    if (npm === p.json.name) return found(file, line, `imports its own package by name: use a relative path`);
    if (allows(p.may, specifier)) return undefined;
    return found(
      file,
      line,
      `${p.dir} may not import "${specifier}": it may import ${list(p.may)}; move what you need there, or contribute it`,
    );
  }
  if (NPM[p.dir] && !NPM[p.dir].includes(npm))
    return found(file, line, `${p.dir} may not import "${npm}": it may use ${NPM[p.dir].join(", ")}`);
  const { dependencies, peerDependencies, optionalDependencies, devDependencies } = p.json;
  const declared = { ...dependencies, ...peerDependencies, ...optionalDependencies, ...(p.may === "all" ? devDependencies : {}) };
  if (!(npm in declared)) found(file, line, `imports "${npm}", which is not in ${p.dir}/package.json: add it to its dependencies`);
}

function checkNode(p, file, { specifier, line, named }) {
  const name = specifier.replace(/^node:/, "");
  if (!specifier.startsWith("node:")) return found(file, line, `imports "${specifier}": write "node:${specifier}"`);
  if (p.dir === "packages/kernel") return found(file, line, `the kernel may not import "${specifier}": take what you need as a parameter`);
  if (WORLD.some((w) => file.startsWith(w))) return undefined;
  if (!PURE.includes(name))
    return found(
      file,
      line,
      `imports "${specifier}", which is not pure (${PURE.join(", ")} are): ask for a capability or take it as a parameter`,
    );
  for (const n of named.filter((n) => IMPURE_NAMES[name]?.includes(n)))
    found(file, line, `imports ${n} of "${specifier}": use the host's id() or take it as a parameter`);
}

/** The source file that an import leads to, or undefined when it is not ours. */
function target(file, specifier) {
  if (specifier.startsWith(".")) {
    const path = posix.join(posix.dirname(file), specifier);
    return [path, path.replace(/\.js(x?)$/, ".ts$1"), `${path}.ts`, `${path}/index.ts`].find(
      (f) => /\.[mc]?tsx?$/.test(f) && existsSync(join(root, f)),
    );
  }
  const other = workspace.get(packageOf(specifier));
  const entry = other?.json.exports?.[`.${specifier.slice(packageOf(specifier).length)}`]?.["@heddle/source"];
  return entry ? posix.join(other.dir, entry) : undefined;
}

function checkFile(p, file) {
  const text = readFileSync(join(root, file), "utf8");
  const source = parse(file, text);
  for (const e of source.errors) found(file, 1, `cannot be read: ${e.message}; fix the syntax`);
  const imports = importsOf(source);
  for (const i of imports) {
    if (i.specifier.startsWith(".")) {
      if (!posix.join(posix.dirname(file), i.specifier).startsWith(`${p.dir}/`))
        found(file, i.line, `imports "${i.specifier}", outside its package: import the package by its name`);
    } else if (i.specifier.startsWith("node:") || builtinModules.includes(i.specifier)) checkNode(p, file, i);
    else checkEdge(p, file, i);
  }
  if (!WORLD.some((w) => file.startsWith(w)))
    for (const u of worldUses(source))
      found(file, u.line, `uses ${u.name}: take it from the host (ctx.now(), ctx.id(), ctx.log(), a capability) or as a parameter`);
  if (!p.dir.startsWith("apps/"))
    for (const s of moduleState(source)) found(file, s.line, `${s.what}: keep state in what setup() or a constructor makes`);
  const lines = text.split("\n").length - (text.endsWith("\n") ? 1 : 0);
  if (lines > LINES.fail) found(file, lines, `${lines} lines, more than ${LINES.fail}: split it by noun`);
  else if (lines > LINES.warn)
    warnings.push(`${file}:${lines}: warning: ${lines} lines, more than ${LINES.warn}: split it before it reaches ${LINES.fail}`);
  if (p.dir === "packages/kernel") {
    kernel.code += commentFreeLines(source);
    kernel.total += lines;
  }
  return imports.map((i) => ({ line: i.line, to: target(file, i.specifier) })).filter((i) => i.to && i.to !== file);
}

function checkZod(file) {
  for (const i of importsOf(parse(file, readFileSync(join(root, file), "utf8"))))
    if (i.specifier === "zod" && i.named.some((n) => n === "z" || n === "default"))
      found(file, i.line, `imports { z } from "zod", which bundles every locale: write import * as z from "zod"`);
}

function checkDependencies(p) {
  const text = readFileSync(join(root, p.dir, "package.json"), "utf8").split("\n");
  for (const kind of ["dependencies", "peerDependencies", "optionalDependencies"]) {
    for (const name of Object.keys(p.json[kind] ?? {})) {
      const line = Math.max(1, text.findIndex((l) => l.includes(`"${name}"`)) + 1);
      const ok = workspace.has(name) ? p.may === "all" || p.may.some((m) => packageOf(m) === name) : (NPM[p.dir]?.includes(name) ?? true);
      if (!ok) found(`${p.dir}/package.json`, line, `${kind} names "${name}", which ${p.dir} may not import: remove it`);
    }
  }
}

/** Groups of files that import each other, each shown as one shortest way round. */
function checkCycles(graph) {
  const seen = new Set();
  for (const start of [...graph.keys()].sort()) {
    const cameFrom = new Map();
    const queue = [start];
    for (let file = queue.shift(); file !== undefined && !seen.has(start); file = queue.shift()) {
      for (const { to, line } of graph.get(file) ?? []) {
        if (to === start) {
          const way = [file];
          while (way[0] !== start) way.unshift(cameFrom.get(way[0]));
          const at = (graph.get(start) ?? []).find((e) => e.to === (way[1] ?? start))?.line ?? line;
          if (!way.some((f) => seen.has(f)))
            found(start, at, `import cycle ${[...way, start].join(" -> ")}: move what both need into a file of its own`);
          for (const f of way) seen.add(f);
          break;
        }
        if (!cameFrom.has(to)) queue.push(to);
        if (!cameFrom.has(to)) cameFrom.set(to, file);
      }
    }
  }
}

const kernel = { code: 0, total: 0 };
const all = packages();
const workspace = new Map(all.map((p) => [p.json.name, p]));
for (const name of names("test-fixtures")) {
  const file = `test-fixtures/${name}/package.json`;
  if (existsSync(join(root, file))) workspace.set(readJson(file).name, { dir: `test-fixtures/${name}`, json: readJson(file) });
}
const graph = new Map();
for (const p of all) {
  checkDependencies(p);
  for (const file of sources(`${p.dir}/src`)) graph.set(file, checkFile(p, file));
}
checkCycles(graph);
for (const group of ["packages", "plugins", "apps", "test-fixtures"])
  for (const name of names(group))
    for (const part of ["src", "test", "bench"]) for (const file of sources(`${group}/${name}/${part}`)) checkZod(file);
if (kernel.code >= LINES.kernel)
  found("packages/kernel", kernel.code, `${kernel.code} lines of code, the limit is ${LINES.kernel}: make it a plugin instead`);

for (const line of [...warnings, ...findings]) console.log(line);
console.log(`kernel: ${kernel.code} lines of code (${kernel.total} lines with comments and blanks), limit ${LINES.kernel}`);
console.log(
  `architecture: ${graph.size} files in ${all.length} packages of ${relative(process.cwd(), root).split(sep).join("/") || "."}, ${findings.length} findings`,
);
process.exitCode = findings.length > 0 ? 1 : 0;
