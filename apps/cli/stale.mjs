// Says whether the built CLI is older than what it is made of. Node built-ins only: it runs before anything is installed.
import { existsSync, readdirSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const here = dirname(fileURLToPath(import.meta.url));
export const workspace = join(here, "..", "..");
export const built = join(here, "dist", "heddle.js");

/** Everything that goes into the bundle. */
const inputs = () => [
  join(here, "src"),
  join(here, "build.mjs"),
  join(here, "lazy-string-width.mjs"),
  join(here, "package.json"),
  join(workspace, "pnpm-lock.yaml"),
  join(workspace, "test-fixtures", "repos"),
  ...["packages", "plugins"].flatMap((group) =>
    readdirSync(join(workspace, group)).flatMap((name) => ["src", "package.json"].map((part) => join(workspace, group, name, part))),
  ),
];

function newest(path) {
  if (!existsSync(path)) return 0;
  const stat = statSync(path);
  if (!stat.isDirectory()) return stat.mtimeMs;
  return readdirSync(path).reduce((max, name) => (name === "node_modules" ? max : Math.max(max, newest(join(path, name)))), stat.mtimeMs);
}

export function stale() {
  if (!existsSync(built)) return true;
  const at = statSync(built).mtimeMs;
  return inputs().some((path) => newest(path) > at);
}
