// `npm start [-- arguments]`: installs and builds what is out of date, then runs heddle. Node built-ins only, so that a fresh clone
// needs nothing but Node. Without arguments, a terminal and a key it runs the demo.
import { spawn, spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const root = join(dirname(fileURLToPath(import.meta.url)), "..");
const { packageManager } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
const stamp = join(root, "node_modules", ".heddle-installed");

function must(what, command, args, shell = false) {
  // What the tools print goes to stderr: stdout is heddle's.
  const { status, error } = spawnSync(command, args, { cwd: root, stdio: ["ignore", 2, 2], shell });
  if (status === 0) return;
  console.error(`heddle: ${what} failed${error ? ` (${error.message})` : ""}: ${[command, ...args].join(" ")}`);
  process.exit(1);
}

/** Changes when the lockfile or any package.json does. */
function wanted() {
  const folders = ["packages", "plugins", "apps", "test-fixtures"].flatMap((g) =>
    existsSync(join(root, g)) ? readdirSync(join(root, g)).map((n) => join(root, g, n)) : [],
  );
  const files = ["pnpm-lock.yaml", "package.json", "pnpm-workspace.yaml"].map((f) => join(root, f));
  const hash = createHash("sha256");
  for (const file of [...files, ...folders.map((f) => join(f, "package.json"))].filter(existsSync)) hash.update(readFileSync(file));
  return hash.digest("hex");
}

const now = wanted();
if (!existsSync(stamp) || readFileSync(stamp, "utf8") !== now) {
  console.error("heddle: installing dependencies …");
  must("installing", "npx", ["-y", packageManager, "install", "--frozen-lockfile", "--reporter=silent"], process.platform === "win32");
  writeFileSync(stamp, now);
}
const { stale, built } = await import("../apps/cli/stale.mjs");
if (stale()) {
  console.error("heddle: building …");
  must("building", process.execPath, [join(root, "apps", "cli", "build.mjs")]);
}

const args = process.argv.slice(2);
const { ANTHROPIC_API_KEY, ANTHROPIC_AUTH_TOKEN, ANTHROPIC_BASE_URL } = process.env;
const reachable = ANTHROPIC_API_KEY || ANTHROPIC_AUTH_TOKEN || ANTHROPIC_BASE_URL;
const demo = args.length === 0 && !reachable && !(process.stdin.isTTY && process.stdout.isTTY);
// npm runs scripts in the package's folder; INIT_CWD is where the person is.
const child = spawn(process.execPath, [built, ...(demo ? ["demo"] : args)], {
  cwd: process.env.INIT_CWD ?? process.cwd(),
  stdio: "inherit",
});
process.on("SIGINT", () => {}); // the terminal has sent it to heddle too
process.on("SIGTERM", () => child.kill("SIGTERM"));
child.on("exit", (code, signal) => process.exit(code ?? (signal === "SIGINT" ? 130 : signal === "SIGTERM" ? 143 : 1)));
