/** Loads heddle as one script, compiled already: V8 keeps what it compiled in a file of the user, which halves the time of a start. */
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import { homedir } from "node:os";
import { dirname, join } from "node:path";
import { pathToFileURL } from "node:url";
import v8 from "node:v8";
import vm from "node:vm";
import { heddleHome } from "./config/home.ts";

export type Use = "main" | "light" | "none";
export type Whole = { start(argv: readonly string[]): Promise<never> };

/**
 * `name` is the file of the script beside this one. Commands that need little of it have a cache of their own, which is smaller and so
 * is read faster; runs that are not worth remembering have none.
 */
export function loadWhole(name: string, use: Use): Whole {
  // The only WebAssembly here is Node's HTTP parser: optimising it takes 25 MB and another thread, and gains nothing.
  v8.setFlagsFromString("--liftoff-only");
  const path = join(__dirname, name);
  // Only the user's own folder: whoever can write there can do worse already.
  const dir = join(heddleHome(process.env, homedir()), "cache");
  const cache = join(dir, `${use}-${name}.${process.version}-${process.arch}`);
  const cachedData = use === "none" ? undefined : ownFile(cache);
  // The build leaves nothing but ASCII in it, and that is read fastest as Latin-1.
  const script = new vm.Script(`(function(exports,require,module,__heddleUrl,__heddleImport){${readFileSync(path, "latin1")}\n})`, {
    filename: path,
    ...(cachedData ? { cachedData } : {}),
  });
  const module = { exports: {} as Whole };
  // Plugins are modules of their own. A cached script has no way to import by itself.
  const importModule = (specifier: string): Promise<unknown> => import(specifier);
  script.runInThisContext()(module.exports, require, module, pathToFileURL(path).href, importModule);
  const keeps = use !== "none" && (!cachedData || script.cachedDataRejected);
  if (keeps) process.once("exit", (code) => code === 0 && keep(dir, use, cache, script));
  return module.exports;
}

export function useOf(argv: readonly string[]): Use {
  if (argv[0] === "demo" || argv.includes("--help") || argv.includes("-h")) return "none";
  return ["plugins", "doctor", "explain"].includes(argv[0] ?? "") ? "light" : "main";
}

function ownFile(path: string): Buffer | undefined {
  try {
    return process.getuid && statSync(path).uid !== process.getuid() ? undefined : readFileSync(path);
  } catch {
    return undefined;
  }
}

/** At the end of a run, when all that a run needs is compiled. Replaces that of another version. */
function keep(dir: string, use: string, path: string, script: vm.Script): void {
  try {
    for (const folder of [dirname(dir), dir]) if (!existsSync(folder)) mkdirSync(folder, { mode: 0o700 });
    for (const old of readdirSync(dir)) if (old.startsWith(`${use}-`)) rmSync(join(dir, old));
    const part = `${path}.${process.pid}`;
    writeFileSync(part, script.createCachedData(), { mode: 0o600 });
    renameSync(part, path);
  } catch {
    // the next start is slower, and nothing else
  }
}
