/** A file system in memory behind the FS port, with symlinks, modes and failures on demand. */
import { dirname, join, resolve } from "node:path";
import type { FileStat, FileSystem } from "@heddle/kernel/plugin";

type Node =
  | { kind: "file"; bytes: Uint8Array; mtimeMs: number; mode: number }
  | { kind: "symlink"; to: string }
  | { kind: "directory" }
  | { kind: "other" };

const fault = (code: string, path: string): Error => Object.assign(new Error(`${code}: ${path}`), { code });

export class MemoryFs implements FileSystem {
  readonly nodes = new Map<string, Node>([["/", { kind: "directory" }]]);
  readonly writes: string[] = [];
  /** Runs before each write; may throw what the disk would. */
  beforeWrite: (path: string) => void = () => {};
  /** Runs while a write is under way. */
  duringWrite: () => Promise<void> = async () => {};
  #clock = 1000;

  constructor(files: Readonly<Record<string, string | Uint8Array>> = {}) {
    this.folder("/w");
    for (const [path, content] of Object.entries(files)) this.set(path, content);
  }
  folder(path: string): void {
    for (let p = path; p !== "/"; p = dirname(p)) this.nodes.set(p, { kind: "directory" });
  }
  set(path: string, content: string | Uint8Array, mode = 0o644): void {
    this.folder(dirname(path));
    const bytes = typeof content === "string" ? new TextEncoder().encode(content) : content;
    this.nodes.set(path, { kind: "file", bytes, mtimeMs: this.#clock++, mode });
  }
  link(path: string, to: string): void {
    this.folder(dirname(path));
    this.nodes.set(path, { kind: "symlink", to });
  }
  special(path: string): void {
    this.nodes.set(path, { kind: "other" });
  }
  /** Makes a file look newer without changing it. */
  touch(path: string): void {
    const node = this.nodes.get(path);
    if (node?.kind === "file") node.mtimeMs = this.#clock++;
  }
  bytes(path: string): Uint8Array {
    const node = this.nodes.get(path);
    if (node?.kind !== "file") throw fault("ENOENT", path);
    return node.bytes;
  }
  text(path: string): string {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(this.bytes(path));
  }
  async remove(path: string): Promise<void> {
    for (const p of [...this.nodes.keys()]) if (p === path || p.startsWith(`${path}/`)) this.nodes.delete(p);
  }
  names(): string[] {
    return [...this.nodes].filter(([, n]) => n.kind !== "directory").map(([path]) => path);
  }

  #resolve(path: string, hops = 0): string {
    if (hops > 20) throw fault("ELOOP", path);
    if (path === "/") return "/";
    const full = join(this.#resolve(dirname(path), hops), path.slice(path.lastIndexOf("/") + 1));
    const node = this.nodes.get(full);
    return node?.kind === "symlink" ? this.#resolve(resolve(dirname(full), node.to), hops + 1) : full;
  }
  async readFile(path: string): Promise<Uint8Array> {
    return this.bytes(this.#resolve(path));
  }
  async writeFile(path: string, bytes: Uint8Array, options: { mode?: number } = {}): Promise<void> {
    const full = this.#resolve(path);
    this.beforeWrite(full);
    await this.duringWrite();
    const old = this.nodes.get(full);
    this.set(full, bytes, options.mode ?? (old?.kind === "file" ? old.mode : 0o644));
    this.writes.push(full);
  }
  async stat(path: string): Promise<FileStat | undefined> {
    const node = this.nodes.get(this.#resolve(path));
    if (!node || node.kind === "symlink") return undefined;
    if (node.kind !== "file") return { kind: node.kind, size: 0, mtimeMs: 0, mode: 0o755 };
    return { kind: "file", size: node.bytes.length, mtimeMs: node.mtimeMs, mode: node.mode };
  }
  async realpath(path: string): Promise<string> {
    return this.#resolve(path);
  }
  async readdir(path: string): Promise<readonly { name: string; kind: FileStat["kind"] }[]> {
    const full = this.#resolve(path);
    if (this.nodes.get(full)?.kind !== "directory") throw fault("ENOENT", path);
    return [...this.nodes]
      .filter(([p]) => p !== "/" && dirname(p) === full)
      .map(([p, n]) => ({ name: p.slice(p.lastIndexOf("/") + 1), kind: n.kind }))
      .sort((a, b) => (a.name < b.name ? -1 : 1));
  }
}
