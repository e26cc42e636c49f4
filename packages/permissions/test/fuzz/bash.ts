/** A real bash in a folder of its own, which is looked at before and after. */
import { spawnSync } from "node:child_process";
import { chmodSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, realpathSync, rmSync, statSync, writeFileSync } from "node:fs";
import * as files from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import type { FileSystem } from "@heddle/kernel/plugin";

export const hasBash = (): boolean => process.platform !== "win32" && spawnSync("bash", ["-c", "type timeout"]).status === 0;

const kindOf = (s: { isFile(): boolean; isDirectory(): boolean; isSymbolicLink(): boolean }) =>
  s.isFile() ? "file" : s.isDirectory() ? "directory" : s.isSymbolicLink() ? "symlink" : "other";
const refuse = (): never => {
  throw new Error("nothing is written here");
};

export class Folder {
  readonly root = realpathSync(mkdtempSync(join(tmpdir(), "heddle-fuzz-")));
  readonly work: string = join(this.root, "work");
  readonly home: string = join(this.root, "home");
  readonly fs: FileSystem = {
    readFile: (path) => files.readFile(path),
    writeFile: refuse,
    remove: refuse,
    stat: async (path) => {
      const s = await files.stat(path).catch(() => undefined);
      return s && { kind: kindOf(s), size: s.size, mtimeMs: s.mtimeMs, mode: s.mode };
    },
    realpath: (path) => files.realpath(path).catch(() => resolve(path)),
    readdir: async (path) => (await files.readdir(path, { withFileTypes: true })).map((e) => ({ name: e.name, kind: kindOf(e) })),
  };

  constructor() {
    this.#fill();
  }

  #fill(): void {
    for (const folder of [this.work, this.home]) rmSync(folder, { recursive: true, force: true });
    mkdirSync(join(this.work, "sub"), { recursive: true });
    mkdirSync(this.home);
    writeFileSync(join(this.work, "a.txt"), "b\na\n");
    writeFileSync(join(this.work, "b"), "");
    writeFileSync(join(this.work, "mark.sh"), "#!/bin/sh\ntouch MARK\n");
    chmodSync(join(this.work, "mark.sh"), 0o755);
  }

  /** The commands, each in a bash of its own, without input and with two seconds; those that changed anything come back. */
  culprits(commands: readonly string[]): string[] {
    const before = this.#seen();
    this.#run(commands);
    if (this.#seen() === before) return [];
    this.#fill();
    if (commands.length === 1) return [...commands];
    const half = Math.ceil(commands.length / 2);
    return [...this.culprits(commands.slice(0, half)), ...this.culprits(commands.slice(half))];
  }

  /** What `printf` makes of the words, undefined when bash refuses them. */
  words(texts: readonly string[]): (string[] | undefined)[] {
    const script =
      'while IFS= read -r -d "" c; do timeout 2 bash -c "$c" 2>/dev/null </dev/null && printf "ok" || printf "no"; printf "\\1"; done';
    const input = texts.map((t) => `printf '%s\\0' - ${t}\0`).join("");
    const { stdout } = spawnSync("bash", ["-c", script], { ...this.#options(), input, maxBuffer: 1 << 26 });
    return stdout
      .split("\x01")
      .slice(0, texts.length)
      .map((out) => (out.endsWith("ok") ? out.slice(0, -2).split("\0").slice(0, -1) : undefined));
  }

  remove(): void {
    rmSync(this.root, { recursive: true, force: true });
  }

  #options() {
    return { cwd: this.work, encoding: "utf8" as const, env: { PATH: "/usr/bin:/bin", HOME: this.home, LANG: "C.UTF-8" } };
  }

  #run(commands: readonly string[]): void {
    const script = 'while IFS= read -r -d "" c; do timeout -k 1 2 bash -c "$c" >/dev/null 2>&1 </dev/null; done';
    spawnSync("bash", ["-c", script], { ...this.#options(), input: commands.map((c) => `${c}\0`).join("") });
  }

  #seen(): string {
    const look = (path: string): string[] =>
      readdirSync(path).flatMap((name) => {
        const at = join(path, name);
        return statSync(at).isDirectory() ? [at, ...look(at)] : [`${at} ${readFileSync(at, "utf8")}`];
      });
    return look(this.root).join("\n");
  }
}
