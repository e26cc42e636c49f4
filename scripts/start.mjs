// `npm start [-- arguments]`: installs and builds what is out of date, then runs heddle. Node built-ins only, so that a fresh clone
// needs nothing but Node. Without arguments, a terminal and a key it runs the demo.
import { spawn, spawnSync } from "node:child_process";
import { join } from "node:path";
import { install, root } from "./install.mjs";

// What the tools print goes to stderr: stdout is heddle's.
const quiet = ["ignore", 2, 2];
function must(what, code) {
  if (code === 0) return;
  console.error(`heddle: ${what} failed; what it printed stands above`);
  process.exit(1);
}

must("installing the dependencies", install(quiet));
const { stale, built } = await import("../apps/cli/stale.mjs");
if (stale()) {
  console.error("heddle: building …");
  must("building", spawnSync(process.execPath, [join(root, "apps", "cli", "build.mjs")], { cwd: root, stdio: quiet }).status);
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
