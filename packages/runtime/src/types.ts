/** What an embedder gives to the runtime and gets from it. */
import type {
  Answer,
  Effort,
  FileSystem,
  Forks,
  ImageLimits,
  Images,
  Input,
  Json,
  Message,
  Network,
  PluginId,
  Processes,
  RuntimeEvent,
  TurnOutcome,
  Usage,
} from "@heddle/kernel";
import type { Storage } from "@heddle/sessions";
import type { Checkpoints, Disk } from "./checkpoints/types.ts";
import type { RecoveryOptions } from "./recovery/settings.ts";
import type { Cost } from "./session/cost.ts";

export type { Checkpoint, Checkpoints, Disk, FileChange, Planned } from "./checkpoints/types.ts";
export type { RecoveryOptions };

/** Clock, ids, disk, processes, images and network. `@heddle/runtime/node` has the one for Node. */
export type Host = {
  now(): number;
  /** Unique for ever, sortable by time, made of `[a-z0-9-]`. */
  id(kind: string): string;
  readonly fs: FileSystem;
  readonly processes: Processes;
  readonly storage: Storage;
  /** Names the contribution that blocks the thread and ends its call. Started only when code of others is loaded. */
  readonly watchdog?: Watchdog;
  /** Without them those of the platform, and waits without jitter. */
  readonly timers?: Timers;
  /** Without it nothing can be undone. */
  readonly disk?: Disk;
  /** Without it images reach a provider as they were given. */
  readonly images?: Images;
  /** Without it no tool reaches a server. */
  readonly network?: Network;
};

/** Servers scale what is larger down to this side, and refuse more than 5 MB of base64. */
export const IMAGE_LIMITS: ImageLimits = { side: 1568, bytes: 3_932_160 };

/** Waits and alarms; milliseconds. A test has a clock of its own. */
export type Timers = {
  /** Resolves when the time is over, or at once when the signal fires; never rejects. */
  sleep(ms: number, signal: AbortSignal): Promise<void>;
  /** Returns what cancels it. */
  alarm(ms: number, fn: () => void): () => void;
  /** From 0 up to 1. */
  random(): number;
};

/** `roots` maps plugin ids to the folders that their code is in. Each start adds to what is watched; the last stop ends it. */
export type Watchdog = {
  start(roots: ReadonlyMap<PluginId, string>): void;
  readonly watch: import("@heddle/kernel").Watch;
  stop(): void;
};

/** What discovery hands over. `manifest` is the unchecked `heddle` key. */
export type Candidate = {
  readonly id: PluginId;
  readonly version: string;
  /** Where it was found, as a person would say it. */
  readonly from: string;
  /** The folder of its code; absent for what is built in. */
  readonly dir?: string;
  readonly manifest: unknown;
  readonly options?: unknown;
  /** Renames contributions to settle a clash: `"tools/Echo": "AcmeEcho"`. */
  readonly rename?: Readonly<Record<string, string>>;
  /** Without it a failure is a problem in the list; with it the start fails. */
  readonly essential?: boolean;
  load(): Promise<unknown>;
};

/** One line about one plugin that is not, or only partly, in use. */
export type Problem = {
  readonly plugin: PluginId;
  readonly stage: "discover" | "manifest" | "api" | "requires" | "order" | "load" | "setup" | "contributes" | "dispose";
  readonly message: string;
};

export type RuntimeOptions = {
  readonly host: Host;
  readonly cwd: string;
  readonly directories?: readonly string[];
  /** Where sessions and logs are kept; null keeps nothing. */
  readonly stateDir: string | null;
  readonly plugins: readonly Candidate[];
  readonly provider: string;
  /** A model of that provider, or `provider/model`. */
  readonly model: string;
  /** Names that may stand for a model wherever one is named, also for one another: `fast` for `ollama/qwen3`. */
  readonly modelAliases?: Readonly<Record<string, string>>;
  readonly effort?: Effort;
  readonly permissionMode?: string;
  /** Tool names that the model never hears of. */
  readonly withoutTools?: readonly string[];
  readonly version?: string;
  /** What becomes of model calls that fail. */
  readonly recovery?: RecoveryOptions;
};

export type OpenOptions = {
  /** A session id or a unique beginning of one, or `latest`: the newest of this folder. Without it a new session. */
  readonly resume?: string;
  /** Nobody can answer: every ask is denied at once. */
  readonly headless?: boolean;
  /** Where the session is headless, somebody decides on tool calls all the same. */
  readonly decides?: boolean;
  /** Model calls per turn. */
  readonly maxSteps?: number;
  /** No model is called any more once the session, with what it cost before a resume, has cost so much; nor one whose price is not known. */
  readonly maxBudgetUsd?: number;
  /**
   * Once the session, with what it cost before a resume, has cost so much, the person is asked before a model is called; a yes lets it
   * cost as much again until the next question, a no ends the turn. Where nobody can answer the turn fails. Models without a price count for nothing.
   */
  readonly askBudgetUsd?: number;
};

export type Runtime = {
  readonly problems: readonly Problem[];
  readonly plugins: readonly PluginInfo[];
  /** Rejects with a {@link SessionError} that says what to do. */
  open(options?: OpenOptions): Promise<Session>;
  dispose(): Promise<readonly Problem[]>;
};
export type PluginInfo = {
  readonly id: PluginId;
  readonly version: string;
  readonly from: string;
  /** The folder of the plugin, and its folders of skills and markdown commands relative to it; absent for what is built in. */
  readonly dir?: string;
  readonly skills?: readonly string[];
  readonly commands?: readonly string[];
  /** `hidden`: not for lists that a person chooses from. */
  readonly contributes: readonly {
    readonly point: string;
    readonly name: string;
    readonly summary?: string;
    readonly hint?: string;
    readonly hidden?: true;
  }[];
};

export type TurnResult = {
  readonly turn: string;
  readonly outcome: TurnOutcome;
  readonly steps: number;
  readonly ms: number;
  /** Milliseconds spent waiting for the model. */
  readonly apiMs: number;
  /** What the turn added to the history. */
  readonly messages: readonly Message[];
  /** The text of the last assistant message, or what a command shows. */
  readonly text: string;
  /** Summed over the model calls of the turn. */
  readonly usage: Usage;
  readonly denials: readonly { readonly tool: string; readonly callId: string; readonly input: Json }[];
};

export type Session = {
  readonly id: string;
  /** Where the log is; null when nothing is kept. */
  readonly path: string | null;
  /** Since the last clear, without turns that the model refused. */
  readonly messages: readonly Message[];
  readonly model: string;
  readonly effort: Effort | undefined;
  readonly permissionMode: string;
  readonly busy: boolean;
  /** So far, also before a resume. */
  readonly cost: Cost;
  /** Its sub-agents. */
  readonly forks: Pick<Forks, "list" | "tell" | "stop">;
  /** Of files, as tools have changed them so far, also before a resume. */
  readonly lines: { readonly added: number; readonly removed: number };
  /** What was wrong with a log that was resumed, and how it was mended; or why nothing is kept. */
  readonly notices: readonly string[];
  /** Typed before the process ended and never part of a turn; for the person to send again or forget. */
  readonly pendingInputs: readonly Input[];
  /** Runs one turn. While another runs, waits for its end. Never rejects for what a plugin, a model or a person did. */
  submit(input: Input | string): Promise<TurnResult>;
  /**
   * Said to the running turn at its next step; submitted as a turn of its own when none is left. `now` stops the tools that run, if
   * all of them may be stopped, so that the step comes at once.
   */
  steer(input: Input | string, options?: { readonly now?: boolean }): void;
  answer(askId: string, answer: Answer): void;
  /** Ends the running turn; its finished results are kept. */
  abort(reason?: string): void;
  /** Called for every event in order, one at a time; while it is slow, deltas are merged and nothing else is dropped. */
  subscribe(listener: (event: RuntimeEvent) => void | Promise<void>): () => void;
  /** What would be sent for this input; runs input and context, calls no model, records nothing. */
  dry(input: Input | string): Promise<{ readonly request: Json | null; readonly events: readonly RuntimeEvent[] }>;
  /** What turns did to files; null where nothing is kept. */
  readonly checkpoints: Checkpoints | null;
  /** Resolves when no turn runs and no input waits. */
  idle(): Promise<void>;
  setModel(model: string): void;
  setEffort(effort: Effort): void;
  setPermissionMode(mode: string): void;
  /** Aborts what runs, and closes the log. */
  dispose(): Promise<void>;
};

/** Says which session, what is wrong, and what to do. */
export class SessionError extends Error {
  override readonly name = "SessionError";
}
