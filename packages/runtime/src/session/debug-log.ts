/** The debug log: one file for all sessions, bounded in size. A failure to write it is of no consequence to anyone. */
import type { AppendFile } from "@heddle/sessions";
import type { Host } from "../types.ts";

/** Bytes, about. A full log is kept once, as `heddle.log.1`. */
const MAX_SIZE = 5 * 1024 * 1024;
const MAX_LINE = 4_000;

export class DebugLog {
  readonly #host: Pick<Host, "now" | "storage">;
  readonly #path: string | undefined;
  #file: AppendFile | undefined;
  #size: number;
  #over = false;

  private constructor(host: Pick<Host, "now" | "storage">, path: string | undefined, size: number) {
    this.#host = host;
    this.#path = path;
    this.#size = size;
  }
  /** Without a `stateDir` nothing is written. */
  static async open(host: Pick<Host, "now" | "storage">, stateDir: string | null): Promise<DebugLog> {
    if (stateDir === null) return new DebugLog(host, undefined, 0);
    const dir = `${stateDir}/logs`;
    const files = await host.storage.list(dir).catch(() => []);
    return new DebugLog(host, `${dir}/heddle.log`, files.find((f) => f.name === "heddle.log")?.size ?? 0);
  }
  write(from: string, text: string): void {
    if (this.#path === undefined || this.#over) return;
    const one = String(text)
      .replace(/[\r\n]+/g, "\\n")
      .slice(0, MAX_LINE);
    const line = `${new Date(this.#host.now()).toISOString()} ${from}: ${one}\n`;
    try {
      if (this.#size + line.length > MAX_SIZE) this.#rotate(this.#path);
      this.#file ??= this.#host.storage.openAppend(this.#path);
      this.#file.append(line);
      this.#size += line.length;
    } catch {
      this.close();
    }
  }
  #rotate(path: string): void {
    const { storage } = this.#host;
    if (!storage.rename) throw new Error("the log is full");
    this.#file?.close();
    this.#file = undefined;
    storage.rename(path, `${path}.1`);
    this.#size = 0;
  }
  close(): void {
    this.#over = true;
    try {
      this.#file?.close();
    } catch {
      // what was written is written
    }
  }
}
