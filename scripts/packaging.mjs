// Checks what would be published: every package has what its exports promise, and the packed CLI installs into an empty prefix and
// runs its demo there. Needs a build before. Prints each finding as `file: what, and what to do`; exits 1 when there is one.
import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pnpm, quietEnv, root } from "./install.mjs";

const windows = process.platform === "win32";
const findings = [];
const readJson = (path) => JSON.parse(readFileSync(path, "utf8"));

/** Paths that a user's Node or TypeScript follows; the condition of this workspace is not one. */
function targets(value) {
  if (typeof value === "string") return [value];
  return Object.entries(value ?? {}).flatMap(([condition, inner]) => (condition === "@heddle/source" ? [] : targets(inner)));
}

for (const group of ["packages", "plugins", "apps"]) {
  for (const name of readdirSync(join(root, group))) {
    const dir = join(root, group, name);
    if (!existsSync(join(dir, "package.json"))) continue;
    const json = readJson(join(dir, "package.json"));
    if (json.private) continue;
    const say = (text) => findings.push(`${group}/${name}/package.json: ${text}`);
    for (const path of new Set([...targets(json.exports), ...targets(json.bin), ...targets(json.heddle?.main)])) {
      if (!existsSync(join(dir, path))) say(`"${path}" is not there after a build; build it or take it out`);
      else if (path !== "./package.json" && !json.files?.some((f) => join(path).startsWith(f))) say(`"${path}" is not in "files"; add it`);
    }
    for (const key of ["description", "license", "engines", "files"]) if (!json[key]) say(`has no "${key}"; add it`);
    if (!existsSync(join(dir, "README.md"))) say("has no README.md beside it; write one");
  }
}

const dir = mkdtempSync(join(tmpdir(), "heddle-packaging-"));
const home = join(dir, "home");
const prefix = join(dir, "prefix");
mkdirSync(home);
/** What a command prints; undefined, and a finding, when it fails. */
function run(what, command, args, env = {}) {
  const ran = spawnSync(command, args, { cwd: dir, encoding: "utf8", env: { ...quietEnv, ...env }, shell: windows, timeout: 180_000 });
  if (ran.status === 0) return ran.stdout;
  findings.push(`apps/cli: ${what} failed (${ran.error?.message ?? `exit code ${ran.status}`}): ${ran.stderr}${ran.stdout}`);
  return undefined;
}
try {
  if (pnpm(["--filter", "heddle", "pack", "--pack-destination", dir], { stdio: "ignore" }) !== 0)
    findings.push("apps/cli: pnpm pack failed; run it there");
  const tarball = readdirSync(dir).find((name) => name.endsWith(".tgz"));
  const npm = windows ? "npm.cmd" : "npm";
  if (
    tarball &&
    run("npm i -g of the tarball", npm, ["install", "-g", "--prefix", prefix, "--no-audit", "--no-fund", join(dir, tarball)]) !== undefined
  ) {
    const installed = join(prefix, windows ? "node_modules/heddle" : "lib/node_modules/heddle");
    const text = readFileSync(join(installed, "package.json"), "utf8");
    if (/"(workspace|catalog):/.test(text))
      findings.push("apps/cli: the packed package.json still says workspace: or catalog:; pack it with pnpm");
    const heddle = join(prefix, windows ? "heddle.cmd" : "bin/heddle");
    const env = { HOME: home, USERPROFILE: home, HEDDLE_HOME: join(home, ".heddle") };
    const version = run("heddle --version", heddle, ["--version"], env);
    if (version !== undefined && !version.includes(JSON.parse(text).version))
      findings.push(`apps/cli: heddle --version says ${version.trim()}`);
    const demo = run("heddle demo", heddle, ["demo"], env);
    if (demo !== undefined && !demo.includes("ended: completed"))
      findings.push(`apps/cli: heddle demo did not complete its turn:\n${demo}`);
    const resizes = existsSync(join(installed, "node_modules", "sharp"));
    const doctor = spawnSync(heddle, ["doctor"], { cwd: dir, encoding: "utf8", env: { ...quietEnv, ...env }, shell: windows });
    if (!new RegExp(`^${resizes ? "ok" : "note"} +images `, "m").test(doctor.stdout))
      findings.push(`apps/cli: sharp is ${resizes ? "" : "not "}installed beside heddle, and heddle doctor says:\n${doctor.stdout}`);
  }
} finally {
  rmSync(dir, { recursive: true, force: true });
}

for (const finding of findings) console.log(finding);
console.log(`packaging: ${findings.length} findings`);
process.exitCode = findings.length > 0 ? 1 : 0;
