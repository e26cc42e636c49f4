// Installs what the lockfile names when that has not been done yet, with the pnpm that package.json pins; no pnpm needs to be installed.
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

export const root = join(dirname(fileURLToPath(import.meta.url)), "..");
const windows = process.platform === "win32";

/** The environment of everything that the scripts start: no telemetry, no colours that a log could not show. */
export const quietEnv = { ...process.env, TURBO_TELEMETRY_DISABLED: "1", DO_NOT_TRACK: "1", TURBO_NO_UPDATE_NOTIFIER: "1" };

/** Command and arguments that run the pinned pnpm: the one on the PATH when it is that version, else through npx. */
export function pnpmCommand() {
  const pinned = JSON.parse(readFileSync(join(root, "package.json"), "utf8")).packageManager.split("+")[0];
  const here = spawnSync("pnpm", ["--version"], { cwd: root, encoding: "utf8", shell: windows });
  return `pnpm@${here.stdout?.trim()}` === pinned ? ["pnpm"] : ["npx", "-y", pinned];
}

/** Runs the pinned pnpm in the repository and returns its exit code. */
export function pnpm(args, options = {}) {
  const [command, ...first] = pnpmCommand();
  return spawnSync(command, [...first, ...args], { cwd: root, stdio: "inherit", env: quietEnv, shell: windows, ...options }).status ?? 1;
}

/** Returns 0 when everything is in place. A stamp in node_modules tells which lockfile was installed last. `stdio`: of pnpm. */
export function install(stdio = "inherit") {
  const stamp = join(root, "node_modules", ".heddle-lock");
  const lock = createHash("sha256")
    .update(readFileSync(join(root, "pnpm-lock.yaml")))
    .digest("hex");
  if (existsSync(stamp) && readFileSync(stamp, "utf8") === lock) return 0;
  console.error("heddle: installing dependencies …");
  const code = pnpm(["install", "--frozen-lockfile", "--silent"], { stdio });
  if (code === 0) writeFileSync(stamp, lock);
  return code;
}
