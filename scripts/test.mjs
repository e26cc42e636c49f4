// `npm test`: every check of the repository in order, going on after a failure. The last line is `N passed, N failed`.
import { spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { install, pnpm, quietEnv, root } from "./install.mjs";
import { countTests, lastLine } from "./report.mjs";

const windows = process.platform === "win32";
const total = { passed: 0, failed: 0, skipped: 0, failures: [] };
const bin = (name) => join(root, "node_modules", ".bin", windows ? `${name}.CMD` : name);
const run = (command, ...args) => spawnSync(command, args, { cwd: root, stdio: "inherit", env: quietEnv, shell: windows }).status ?? 1;
const node = (...args) => run(process.execPath, ...args);
/** In every package that has it, after those it depends on. Uncached: what passes here has been run. */
const everywhere = (script) =>
  pnpm(["-r", "--no-bail", "--workspace-concurrency=2", "--reporter=append-only", "--if-present", "run", script]);

function timed(name, work) {
  const started = Date.now();
  console.log(`\n== ${name}`);
  const ok = work();
  console.log(`== ${name}: ${ok ? "passed" : "FAILED"} in ${((Date.now() - started) / 1000).toFixed(1)} s`);
  return ok;
}

function check(name, work) {
  const ok = timed(name, () => work() === 0);
  total[ok ? "passed" : "failed"]++;
  if (!ok) total.failures.push(name);
  return ok;
}

function tests() {
  const dir = mkdtempSync(join(tmpdir(), "heddle-test-"));
  const file = join(dir, "report.json");
  const code = run(bin("vitest"), "run", "--reporter=dot", "--reporter=json", `--outputFile.json=${file}`);
  const counted = countTests(existsSync(file) ? JSON.parse(readFileSync(file, "utf8")) : undefined, code, root);
  rmSync(dir, { recursive: true, force: true });
  for (const key of ["passed", "failed", "skipped"]) total[key] += counted[key];
  total.failures.push(...counted.failures);
  return counted.failed === 0;
}

if (check("install", install)) {
  check("prompts", () => node("scripts/prompts.mjs", "--check"));
  check("types", () => everywhere("typecheck"));
  check("lint", () => run(bin("biome"), "check", "."));
  check("architecture", () => node("scripts/architecture.mjs"));
  check("build", () => everywhere("build"));
  check("packaging", () => node("scripts/packaging.mjs"));
  timed("tests", tests);
}
if (total.failures.length > 0) console.log(`\nFailed:\n${total.failures.map((f) => `  ${f.split("\n")[0]}`).join("\n")}`);
console.log(`\n${lastLine(total)}`);
process.exitCode = total.failed > 0 ? 1 : 0;
