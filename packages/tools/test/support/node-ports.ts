/** Real files and processes behind the ports, for what only a real shell and a real ripgrep can show. */
import { spawn } from "node:child_process";
import { promises as fsp, mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import type { FileSystem, Processes } from "@heddle/kernel/plugin";
import { afterAll } from "vitest";

/** A folder that goes when the tests of the file are over. */
export function tempDir(): string {
  const dir = realpathSync(mkdtempSync(join(tmpdir(), "heddle-tools-")));
  made.push(dir);
  return dir;
}
const made: string[] = [];
afterAll(() => {
  for (const dir of made) rmSync(dir, { recursive: true, force: true });
});

const absent = (error: unknown): undefined => {
  if (["ENOENT", "ENOTDIR"].includes((error as { code: string }).code)) return undefined;
  throw error;
};
const kindOf = (s: { isFile(): boolean; isDirectory(): boolean; isSymbolicLink(): boolean }) =>
  s.isFile()
    ? ("file" as const)
    : s.isDirectory()
      ? ("directory" as const)
      : s.isSymbolicLink()
        ? ("symlink" as const)
        : ("other" as const);

export const nodeFs: FileSystem = {
  readFile: (path) => fsp.readFile(path),
  async writeFile(path, bytes) {
    await fsp.mkdir(dirname(path), { recursive: true });
    await fsp.writeFile(path, bytes);
  },
  async stat(path) {
    const s = await fsp.stat(path).catch(absent);
    return s && { kind: kindOf(s), size: s.size, mtimeMs: s.mtimeMs, mode: s.mode & 0o7777 };
  },
  async realpath(path) {
    return fsp.realpath(path).catch(async () => join(await nodeFs.realpath(dirname(path)), path.slice(path.lastIndexOf("/") + 1)));
  },
  remove: (path) => fsp.rm(path, { recursive: true, force: true }),
  async readdir(path) {
    const entries = await fsp.readdir(path, { withFileTypes: true });
    return entries.map((e) => ({ name: e.name, kind: kindOf(e) })).sort((a, b) => (a.name < b.name ? -1 : 1));
  },
};

/** `running` holds the process groups that have not ended. */
export function nodeProcesses(extraEnv: Readonly<Record<string, string>> = {}): Processes & { readonly running: Set<number> } {
  const running = new Set<number>();
  return {
    running,
    run: (o) =>
      new Promise((resolve, reject) => {
        const env = { ...process.env, ...extraEnv, ...o.env };
        const child = spawn(o.command, [...(o.args ?? [])], { cwd: o.cwd, env, detached: true, stdio: ["pipe", "pipe", "pipe"] });
        child.stdin.on("error", () => {});
        child.stdin.end(o.stdin);
        const out = { stdout: "", stderr: "" };
        let output = "";
        let whole = "";
        let ended: "exit" | "timeout" | "abort" = "exit";
        const kill = (why: "timeout" | "abort") => (): void => {
          if (ended === "exit") ended = why;
          try {
            process.kill(-child.pid!, "SIGKILL");
          } catch {}
        };
        const onAbort = kill("abort");
        const timer = o.timeoutMs === undefined ? undefined : setTimeout(kill("timeout"), o.timeoutMs);
        child.on("error", reject);
        if (child.pid === undefined) return;
        running.add(child.pid);
        for (const name of ["stdout", "stderr"] as const) {
          child[name].setEncoding("utf8");
          child[name].on("data", (chunk: string) => {
            o.onOutput?.(chunk, name);
            if (name === "stdout") whole += chunk;
            if (out[name].length < (o.maxBytes ?? 1 << 20)) {
              out[name] += chunk;
              output += chunk;
            }
          });
        }
        o.signal?.addEventListener("abort", onAbort, { once: true });
        if (o.signal?.aborted) onAbort();
        const finish = (exitCode: number | null, signal: string | null): void => {
          clearTimeout(timer);
          running.delete(child.pid!);
          o.signal?.removeEventListener("abort", onAbort);
          if (o.spool !== undefined && whole.length > (o.maxBytes ?? 1 << 20)) {
            mkdirSync(dirname(o.spool), { recursive: true });
            writeFileSync(o.spool, whole);
          }
          resolve({ exitCode, signal, ...out, output, droppedBytes: 0, ended });
        };
        let over = false;
        child.on("close", (code, signal) => {
          if (!over) finish(code, signal);
          over = true;
        });
        child.on("exit", (code, signal) => {
          // What is left in the pipes comes at once; a background process may hold them open for ever.
          setTimeout(() => {
            if (over) return;
            over = true;
            child.stdout.destroy();
            child.stderr.destroy();
            finish(code, signal);
          }, 150);
        });
      }),
  };
}
