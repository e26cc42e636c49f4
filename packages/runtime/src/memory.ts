/** A host without a machine behind it: clock, ids, files, processes and storage in memory, for tests and for embedders who keep nothing. */
import type { FileStat, FileSystem, Network, ProcessOptions, ProcessResult } from "@heddle/kernel";
import type { Storage } from "@heddle/sessions";
import type { Host, Timers } from "./types.ts";

export type MemoryHostOptions = {
  /** Text by absolute path. Folders come with the files in them. */
  readonly files?: Readonly<Record<string, string | Uint8Array>>;
  /** Symlinks: where from, where to; both absolute. */
  readonly links?: Readonly<Record<string, string>>;
  /** Milliseconds since the epoch at the start. The clock stands still but for `advance` and waits, which are over at once. Default 2026-01-01. */
  readonly at?: number;
  /** What a process does. Default: no such command. */
  readonly run?: (o: ProcessOptions) => Partial<ProcessResult> | Promise<Partial<ProcessResult>>;
  /** Default: none. */
  readonly network?: Network;
};
export type MemoryHost = Host & {
  readonly timers: Timers;
  /** What a workspace holds. */
  readonly files: Map<string, Uint8Array>;
  /** What the storage holds: session logs and the debug log. */
  readonly stored: Map<string, Uint8Array>;
  /** Every process that was run, in order. */
  readonly ran: readonly ProcessOptions[];
  /** Text of a file of the workspace. */
  text(path: string): string | undefined;
  write(path: string, text: string): void;
  /** Moves the clock on; alarms that fall due go off. */
  advance(ms: number): void;
  /** From now on appending throws an error of this code; undefined mends it. */
  failAppends(code: string | undefined): void;
};

const START = Date.UTC(2026, 0, 1);
const { setImmediate: nextRound } = globalThis; // a test may put fake timers in its place

export function memoryHost(o: MemoryHostOptions = {}): MemoryHost {
  let now = o.at ?? START;
  let made = 0;
  const clock = { now: () => now };
  const alarms = new Set<{ readonly at: number; readonly fn: () => void }>();
  const advance = (ms: number): void => {
    const end = now + ms;
    for (;;) {
      const [next] = [...alarms].filter((a) => a.at <= end).sort((a, b) => a.at - b.at);
      if (!next) break;
      alarms.delete(next);
      now = Math.max(now, next.at);
      next.fn();
    }
    now = end;
  };
  const disk = new MemoryDisk(clock.now, o.files ?? {}, o.links ?? {});
  const storage = new MemoryStorage(clock.now);
  const ran: ProcessOptions[] = [];
  return {
    now: clock.now,
    id: (kind) => `${kind.toLowerCase().replace(/[^a-z0-9]+/g, "-")}-${String(++made).padStart(6, "0")}`,
    fs: disk,
    processes: {
      async run(options) {
        ran.push(options);
        const {
          stdout = "",
          stderr = "",
          ...more
        } = (await o.run?.(options)) ?? { exitCode: 127, stderr: `${options.command}: not found\n` };
        return { exitCode: 0, signal: null, stdout, stderr, output: stdout + stderr, droppedBytes: 0, ended: "exit", ...more };
      },
    },
    storage,
    ...(o.network ? { network: o.network } : {}),
    files: disk.files,
    stored: storage.files,
    ran,
    text(path) {
      const bytes = disk.files.get(path);
      return bytes && new TextDecoder().decode(bytes);
    },
    write: (path, text) => disk.put(path, new TextEncoder().encode(text)),
    advance,
    timers: {
      random: () => 0.5,
      alarm(ms, fn) {
        const alarm = { at: now + ms, fn };
        alarms.add(alarm);
        return () => alarms.delete(alarm);
      },
      async sleep(ms, signal) {
        await new Promise((resolve) => nextRound(resolve)); // so that whoever watches may abort it
        if (!signal.aborted) advance(ms);
      },
    },
    failAppends(code) {
      storage.failure = code;
    },
  };
}

export function systemError(code: string, what: string): Error & { code: string } {
  return Object.assign(new Error(`${code}: ${what}`), { code });
}
const parentOf = (path: string): string => path.slice(0, path.lastIndexOf("/")) || "/";

class MemoryDisk implements FileSystem {
  readonly files = new Map<string, Uint8Array>();
  readonly #meta = new Map<string, { mtimeMs: number; mode: number }>();
  readonly #links: Map<string, string>;
  readonly #now: () => number;

  constructor(now: () => number, files: Readonly<Record<string, string | Uint8Array>>, links: Readonly<Record<string, string>>) {
    this.#now = now;
    this.#links = new Map(Object.entries(links));
    for (const [path, bytes] of Object.entries(files)) this.put(path, typeof bytes === "string" ? new TextEncoder().encode(bytes) : bytes);
  }
  put(path: string, bytes: Uint8Array, mode?: number): void {
    this.files.set(path, bytes.slice());
    this.#meta.set(path, { mtimeMs: this.#now(), mode: mode ?? this.#meta.get(path)?.mode ?? 0o644 });
  }
  #isDirectory(path: string): boolean {
    if (path === "/") return true;
    const inside = `${path}/`;
    return [...this.files.keys(), ...this.#links.keys()].some((p) => p.startsWith(inside));
  }
  #resolve(path: string): string {
    let out = "";
    const parts = path.split("/").filter((p) => p !== "" && p !== ".");
    for (let hops = 0; parts.length > 0; ) {
      const part = parts.shift()!;
      if (part === "..") {
        out = parentOf(out) === "/" ? "" : parentOf(out);
        continue;
      }
      const target = this.#links.get(`${out}/${part}`);
      if (target === undefined) out += `/${part}`;
      else {
        if (++hops > 40) throw systemError("ELOOP", `too many symbolic links, "${path}"`);
        parts.unshift(...target.split("/").filter(Boolean));
        out = "";
      }
    }
    return out || "/";
  }
  async readFile(path: string): Promise<Uint8Array> {
    const real = this.#resolve(path);
    const bytes = this.files.get(real);
    if (bytes) return bytes.slice();
    if (this.#isDirectory(real)) throw systemError("EISDIR", `is a directory, "${path}"`);
    throw systemError("ENOENT", `no such file or directory, "${path}"`);
  }
  async writeFile(path: string, bytes: Uint8Array, options: { mode?: number } = {}): Promise<void> {
    const real = this.#resolve(path);
    if (this.#isDirectory(real)) throw systemError("EISDIR", `is a directory, "${path}"`);
    for (let p = parentOf(real); p !== "/"; p = parentOf(p)) if (this.files.has(p)) throw systemError("ENOTDIR", `not a directory, "${p}"`);
    this.put(real, bytes, this.files.has(real) ? undefined : options.mode);
  }
  async stat(path: string): Promise<FileStat | undefined> {
    const real = this.#resolve(path);
    const bytes = this.files.get(real);
    if (bytes) return { kind: "file", size: bytes.length, ...this.#meta.get(real)! };
    return this.#isDirectory(real) ? { kind: "directory", size: 0, mtimeMs: START, mode: 0o755 } : undefined;
  }
  async realpath(path: string): Promise<string> {
    return this.#resolve(path);
  }
  async remove(path: string): Promise<void> {
    const name = path.slice(parentOf(path).length).replace(/^\//, "");
    const real = `${this.#resolve(parentOf(path))}/${name}`.replace(/^\/\//, "/");
    for (const map of [this.files, this.#links, this.#meta])
      for (const key of map.keys()) if (key === real || key.startsWith(`${real}/`)) map.delete(key);
  }
  async readdir(path: string): Promise<readonly { readonly name: string; readonly kind: FileStat["kind"] }[]> {
    const real = this.#resolve(path);
    if (this.files.has(real)) throw systemError("ENOTDIR", `not a directory, "${path}"`);
    if (!this.#isDirectory(real)) throw systemError("ENOENT", `no such file or directory, "${path}"`);
    const inside = real === "/" ? "/" : `${real}/`;
    const kinds = new Map<string, FileStat["kind"]>();
    for (const p of [...this.files.keys(), ...this.#links.keys()]) {
      if (!p.startsWith(inside)) continue;
      const [name = "", ...deeper] = p.slice(inside.length).split("/");
      kinds.set(name, deeper.length > 0 ? "directory" : this.#links.has(p) ? "symlink" : "file");
    }
    return [...kinds].map(([name, kind]) => ({ name, kind })).sort((a, b) => (a.name < b.name ? -1 : 1));
  }
}

class MemoryStorage implements Storage {
  readonly files = new Map<string, Uint8Array>();
  readonly #changed = new Map<string, number>();
  readonly #locks = new Set<string>();
  readonly #now: () => number;
  #writes = 0;
  failure: string | undefined;

  constructor(now: () => number) {
    this.#now = now;
  }
  openAppend(path: string): { append(text: string): void; close(): void } {
    this.#check(path);
    return {
      append: (text) => {
        this.#check(path);
        const old = this.files.get(path) ?? new Uint8Array();
        const more = new TextEncoder().encode(text);
        const all = new Uint8Array(old.length + more.length);
        all.set(old);
        all.set(more, old.length);
        this.files.set(path, all);
        this.#changed.set(path, this.#now() + ++this.#writes / 1e6);
      },
      close() {},
    };
  }
  #check(path: string): void {
    if (this.failure) throw systemError(this.failure, `cannot write "${path}"`);
  }
  async read(path: string): Promise<Uint8Array | undefined> {
    return this.files.get(path)?.slice();
  }
  async list(dir: string): Promise<readonly { readonly name: string; readonly mtimeMs: number; readonly size: number }[]> {
    return [...this.files]
      .filter(([path]) => parentOf(path) === dir)
      .map(([path, bytes]) => ({ name: path.slice(dir.length + 1), mtimeMs: this.#changed.get(path) ?? 0, size: bytes.length }))
      .sort((a, b) => b.mtimeMs - a.mtimeMs);
  }
  async folders(dir: string): Promise<readonly string[]> {
    const inside = [...this.files.keys()].filter((path) => path.startsWith(`${dir}/`)).map((path) => path.slice(dir.length + 1).split("/"));
    return [...new Set(inside.filter((parts) => parts.length > 1).map((parts) => parts[0]!))].sort();
  }
  rename(from: string, to: string): void {
    this.#check(to);
    const bytes = this.files.get(from);
    if (!bytes) throw systemError("ENOENT", `no such file or directory, "${from}"`);
    this.files.delete(from);
    this.files.set(to, bytes);
  }
  lock(path: string): { readonly release: () => void } | { readonly holder: string } {
    this.#check(path);
    if (this.#locks.has(path)) return { holder: "this process" };
    this.#locks.add(path);
    return { release: () => void this.#locks.delete(path) };
  }
}
