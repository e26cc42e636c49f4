/** What the settings of a project want and get only where the person trusts the folder: the one list of it. */
import { createHash } from "node:crypto";
import { existsSync, readdirSync, statSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { entryOf } from "../third-party.ts";
import { sealOf } from "./seal.ts";
import type { Settings } from "./settings.ts";

/** `seal`: of code, what it consists of. `from`: the file that wants it. */
export type Want = {
  readonly kind: "rule" | "directory" | "plugin" | "without" | "recovery";
  readonly value: string;
  readonly seal?: string;
  readonly from: string;
};

/** Of one settings file of the project in `cwd`. */
export function wantsOf({ permissions, plugins, disabledPlugins, recovery }: Settings, from: string, cwd: string, userDir: string): Want[] {
  const many = (kind: Want["kind"], values: readonly unknown[] = []): Want[] => values.map((v) => ({ kind, value: textOf(v), from }));
  return [
    ...many("rule", permissions?.allow),
    ...many("directory", permissions?.additionalDirectories),
    ...(plugins ?? []).map((entry): Want => {
      const { path, package: name } = entryOf(entry);
      const folder = path === undefined ? packageFolder(name!, cwd) : resolve(cwd, path.replace(/^~(?=\/)/, userDir));
      return { kind: "plugin", value: textOf(entry), from, ...(folder === undefined ? {} : { seal: sealOf(folder) }) };
    }),
    ...many("without", disabledPlugins),
    ...(recovery ? many("recovery", [recovery]) : []),
  ];
}

/** What stands in the plugin folder of the project. */
export function pluginWants(cwd: string): Want[] {
  const folder = join(cwd, ".heddle", "plugins");
  if (!statSync(folder, { throwIfNoEntry: false })?.isDirectory()) return [];
  return readdirSync(folder)
    .sort()
    .map((name) => ({ kind: "plugin", value: name, from: folder, seal: sealOf(join(folder, name)) }));
}

/** Two wants have the same id when they want the same: a plugin whose code has changed is another one. */
export const idOf = ({ kind, value, seal }: Want): string =>
  createHash("sha256")
    .update(JSON.stringify([kind, value, seal ?? null]))
    .digest("hex");

const textOf = (value: unknown): string => (typeof value === "string" ? value : JSON.stringify(value));

function packageFolder(name: string, from: string): string | undefined {
  for (let dir = from; ; dir = dirname(dir)) {
    const folder = join(dir, "node_modules", name);
    if (existsSync(folder)) return folder;
    if (dirname(dir) === dir) return undefined;
  }
}
