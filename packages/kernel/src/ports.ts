/** What a host hands out as capabilities, so that a test, a remote workspace or a sandbox can stand in. Paths are absolute. */
import type { CallId, Effort, ModelCost, TurnOutcome, Usage } from "./protocol.ts";

/** Consent and least privilege of what is handed out; not a sandbox. */
export const CAPABILITIES = ["fs", "process", "network", "images", "session", "forks"] as const;
export type CapabilityId = (typeof CAPABILITIES)[number];

/** A typed key for a capability. */
export type Capability<T> = { id: CapabilityId; readonly _type?: T };
const capability = <T>(id: CapabilityId): Capability<T> => ({ id });

export const FS = capability<FileSystem>("fs");
export const PROCESS = capability<Processes>("process");
export const NETWORK = capability<Network>("network");
export const IMAGES = capability<Images>("images");
export const SESSION = capability<SessionPort>("session");
export const FORKS = capability<Forks>("forks");

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
  /** A file, or a folder with all that is in it; nothing there is no failure. A symlink itself goes, not what it leads to. */
  remove(path: string): Promise<void>;
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
  /** A file that takes stdout whole, up to 1 GiB; it is made when there is more of it than `maxBytes`, for its owner alone. */
  spool?: string;
  /** It changes and reaches only what the host's policy opens; where that cannot be had, it is not started: code `ENOSANDBOX`. */
  sandbox?: boolean;
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
  /** Why nothing can run with `sandbox`, for a person; undefined where it can. Found out once. Absent: the host has no sandbox. */
  sandboxProblem?(): Promise<string | undefined>;
}

export type NetworkOptions = { headers?: Readonly<Record<string, string>>; signal?: AbortSignal; timeoutMs?: number; maxBytes?: number };
/** `body` is decompressed, and cut off at `maxBytes` (10 MiB by default). Header names are in lower case. */
export type NetworkAnswer = { status: number; headers: Readonly<Record<string, string>>; body: Uint8Array; truncated: boolean };
export interface Network {
  /** One request to an http(s) address; a redirect is an answer. Rejects with code `EPRIVATE` for what resolves to no public address. */
  get(url: string, options?: NetworkOptions): Promise<NetworkAnswer>;
}

export type ImageType = "image/png" | "image/jpeg" | "image/gif" | "image/webp";
type Size = Readonly<{ width: number; height: number }>;
/** Pixels of the longest side, and bytes of the file. */
export type ImageLimits = Readonly<{ side: number; bytes: number }>;
/** Or why there is none, to be read after "image left out: ". `unable`: nothing is installed that could make it smaller. */
export type Fitted =
  | (Size & Readonly<{ mimeType: ImageType; bytes: Uint8Array; was: Size & { bytes: number } }>)
  | { why: string; unable?: true };
/** Both look at the bytes, never at a name or a declared type. */
export interface Images {
  /**
   * Scaled, turned as its camera was held, of several pictures the first; of another type where its own is not taken or stays too
   * large. The same bytes give the same bytes. Never rejects. Costs nothing for what is within the limits, else up to seconds.
   */
  fit(bytes: Uint8Array, limits?: ImageLimits): Promise<Fitted>;
  /** From the header alone. Undefined for what servers do not take, also where `fit` can convert it. */
  size(bytes: Uint8Array): (Size & { mimeType: ImageType }) | undefined;
}

/**
 * `fork`: with the session's own history, prefix and tools, byte for byte. `new`: `system` and the prompt are all that there is,
 * and what the session knows of the project where `context` says so. `resume`: one of this session that has ended.
 */
export type ForkOptions = {
  /** For a person, in a line. */
  title: string;
  prompt: string;
  from: { kind: "fork" } | { kind: "new"; system: string; context?: boolean } | { kind: "resume"; id: string };
  callId?: CallId;
  /** Names of the tools it has; without it those of its session. A `fork` hears of all, and calls of others fail. */
  tools?: readonly string[];
  withoutTools?: readonly string[];
  model?: string;
  effort?: Effort;
  /** Counts where it is stricter than that of its session. */
  permissionMode?: string;
  maxSteps?: number;
};
/** `text`: the last that it said; `answered`: this is how it ended. `steps`, `usage`: of its own calls of models. */
export type ForkEnd = { id: string; outcome: TurnOutcome; text: string; answered: boolean; steps: number; usage: Usage };
/** `text`: the last that it said. */
export type ForkState = { id: string; title: string; depth: number; running: boolean; steps: number; text: string };
/** Sub-agents of the session. All that are left end with it. */
export interface Forks {
  /** It ends when `signal` fires. Throws when there are too many, or too deep. `end` rejects when it cannot be resumed, else never. */
  start(options: ForkOptions, signal?: AbortSignal): { id: string; end: Promise<ForkEnd> };
  /** Said to it at its next step, for the model only; false when it has ended. */
  tell(id: string, text: string): boolean;
  list(): readonly ForkState[];
  stop(id: string): void;
}

/** `usd`: what writing its tokens anew costs more than reading them from the cache; absent where no price is known. */
export type PrefixCost = { cause: string; tokens: number; usd?: number };
/** What a command may ask of its session beyond its own result. */
export interface SessionPort {
  /** Absolute: a folder for files of this session, for its owner alone; null where nothing is kept. It may have to be made. */
  readonly folder: string | null;
  /** Said to the running turn at its next step, or submitted as a turn of its own. `isMeta`: for the model only. */
  tell(text: string, options?: { isMeta?: boolean }): void;
  /** Everything the model would see now, by place. Sizes are characters of JSON. */
  window(): { parts: readonly { label: string; size: number }[]; limit: number };
  /** USD so far, without the models of `unpriced`; milliseconds spent waiting for models. */
  cost(): { usd: number; unpriced: readonly string[]; models: readonly ModelCost[]; breaks: readonly PrefixCost[]; apiMs: number };
}
