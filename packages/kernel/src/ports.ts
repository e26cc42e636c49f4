/** What a host hands out as capabilities, so that a test, a remote workspace or a sandbox can stand in. Paths are absolute. */
import type { Usage } from "./protocol.ts";

/** Consent and least privilege of what is handed out; not a sandbox. */
export const CAPABILITIES = ["fs", "process", "session"] as const;
export type CapabilityId = (typeof CAPABILITIES)[number];

/** A typed key for a capability. */
export type Capability<T> = { id: CapabilityId; readonly _type?: T };
const capability = <T>(id: CapabilityId): Capability<T> => ({ id });

export const FS = capability<FileSystem>("fs");
export const PROCESS = capability<Processes>("process");
export const SESSION = capability<SessionPort>("session");

/** `size` in bytes, `mtimeMs` since the epoch, `mode` the permission bits. */
export type FileStat = { kind: "file" | "directory" | "symlink" | "other"; size: number; mtimeMs: number; mode: number };

/** Rejects with an Error whose `code` is the system's (`ENOENT`, `EACCES`, …). */
export interface FileSystem {
  readFile(path: string): Promise<Uint8Array>;
  /** Atomic: readers see the old bytes or the new. Follows symlinks, keeps the mode of an existing file, makes missing folders. */
  writeFile(path: string, bytes: Uint8Array, options?: { mode?: number }): Promise<void>;
  /** Follows symlinks; undefined when nothing is there. */
  stat(path: string): Promise<FileStat | undefined>;
  /** The path with every symlink of its existing part resolved; a part that does not exist is kept. */
  realpath(path: string): Promise<string>;
  /** Names with their kinds, sorted by name. */
  readdir(path: string): Promise<readonly { name: string; kind: FileStat["kind"] }[]>;
}

export type ProcessOptions = {
  command: string;
  args?: readonly string[];
  cwd: string;
  env?: Readonly<Record<string, string>>;
  stdin?: string;
  /** Kills the whole process group. */
  timeoutMs?: number;
  signal?: AbortSignal;
  /** Bytes kept per stream, from its start and its end; the middle of longer output is dropped and counted. Default 1 MiB. */
  maxBytes?: number;
  onOutput?: (chunk: string, stream: "stdout" | "stderr") => void;
};
export type ProcessResult = {
  /** Null when a signal ended it. */
  exitCode: number | null;
  signal: string | null;
  stdout: string;
  stderr: string;
  /** Both streams in the order they came. */
  output: string;
  droppedBytes: number;
  ended: "exit" | "timeout" | "abort";
};
export interface Processes {
  /** Runs in a process group of its own, without a terminal and without heddle's credentials. Rejects only when it cannot be started. */
  run(options: ProcessOptions): Promise<ProcessResult>;
}

/** `usd`: what writing its tokens anew costs more than reading them from the cache; absent where no price is known. */
export type PrefixCost = { cause: string; tokens: number; usd?: number };
export type ModelCost = { provider: string; model: string; calls: number; usage: Required<Usage>; usd?: number };
/** What a command may ask of its session beyond its own result. */
export interface SessionPort {
  /** Everything the model would see now, by place. Sizes are characters of JSON. */
  window(): { parts: readonly { label: string; size: number }[]; limit: number };
  /** USD so far, without the models of `unpriced`; milliseconds spent waiting for models. */
  cost(): { usd: number; unpriced: readonly string[]; models: readonly ModelCost[]; breaks: readonly PrefixCost[]; apiMs: number };
}
