/** A temporary project of a user, with the kernel and the fixture plugins installed from tarballs, as npm would. No network. */
import { spawnSync } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, readdirSync, realpathSync, statSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

export const root = fileURLToPath(new URL("../../..", import.meta.url));
const fixtures = join(root, "test-fixtures/plugins");
const npm = process.platform === "win32" ? "npm.cmd" : "npm";
export const broken: readonly string[] = readdirSync(join(fixtures, "broken")).sort();

function run(command: string, args: readonly string[], cwd: string): string {
  const ran = spawnSync(command, args, { cwd, encoding: "utf8", shell: process.platform === "win32" });
  if (ran.status !== 0) throw new Error(`${command} ${args.join(" ")} failed in ${cwd}: ${ran.error?.message ?? ran.stderr + ran.stdout}`);
  return ran.stdout;
}

const newest = (dir: string): number =>
  Math.max(
    0,
    ...readdirSync(dir, { recursive: true, withFileTypes: true })
      .filter((e) => e.isFile())
      .map((e) => statSync(join(e.parentPath, e.name)).mtimeMs),
  );

/** Builds a package of the workspace unless its `dist` is newer than its source. */
export function build(name: string): void {
  const dir = join(root, "packages", name);
  const dist = statSync(join(dir, "dist/index.js"), { throwIfNoEntry: false });
  if (!dist || dist.mtimeMs < newest(join(dir, "src")))
    run(process.execPath, [join(root, "node_modules/typescript/bin/tsc"), "-p", "tsconfig.build.json"], dir);
}

export function buildCli(): void {
  run(process.execPath, ["build.mjs", "--if-stale"], join(root, "apps/cli"));
}

/** The folder of the project. */
export async function makeProject(): Promise<string> {
  const { pnpmCommand } = (await import(join(root, "scripts/install.mjs"))) as { pnpmCommand(): string[] };
  const dir = realpathSync(mkdtempSync(join(tmpdir(), "heddle-plugins-")));
  const packed = join(dir, "packed");
  const project = join(dir, "project");
  mkdirSync(packed);
  mkdirSync(project);
  build("kernel");
  const [command = "", ...first] = pnpmCommand();
  run(command, [...first, "pack", "--pack-destination", packed], join(root, "packages/kernel"));
  const zod = join(dir, "zod"); // npm cannot pack it where pnpm has put it
  cpSync(dirname(createRequire(join(root, "packages/kernel/package.json")).resolve("zod/package.json")), zod, {
    recursive: true,
    filter: (path) => !/[\\/]zod[\\/]src$/.test(path),
  });
  const folders = [zod, join(fixtures, "acme-greeter"), ...broken.map((name) => join(fixtures, "broken", name))];
  run(npm, ["pack", "--loglevel=error", "--pack-destination", packed, ...folders], dir);
  writeFileSync(join(project, "package.json"), `${JSON.stringify({ name: "users-project", private: true, version: "1.0.0" })}\n`);
  const tarballs = readdirSync(packed).map((name) => join(packed, name));
  run(npm, ["install", "--offline", "--no-audit", "--no-fund", "--loglevel=error", ...tarballs], project);
  return project;
}
