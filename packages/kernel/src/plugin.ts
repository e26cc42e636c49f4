/** All that a plugin may import: contribution shapes, `definePlugin`, `defineTool`, service tokens, ports and message types. */
import * as z from "zod";
import type { Capability } from "./ports.ts";
import type { Answer, AttachmentMessage, CallId, Content, Controls, Effect, Effort, EventType, Input, Json, Message } from "./protocol.ts";
import type { ModelFault, PluginId, PointId, Prefix, RuntimeEvent, SessionChange, StopReason, ToolOutcome, TurnId } from "./protocol.ts";
import type { Usage } from "./protocol.ts";

export * from "./ports.ts";
export * from "./protocol.ts";
export { z };

/** The plugin API version. Additive change: minor. Anything else: major. */
export const API_VERSION = "1.1.0";

/** A typed key for something one plugin offers another. Compared by id, so two copies of a package still agree. */
export type Service<T> = { id: string; readonly _type?: T };
export const service = <T>(id: string): Service<T> => ({ id });

type MaybePromise<T> = T | Promise<T>;

/** A contribution as anyone may see it. */
export type Listed = { plugin: PluginId; name: string; summary?: string; hint?: string; aliases?: readonly string[]; deferred?: boolean };

export type SessionView = {
  id: string;
  cwd: string;
  /** Further folders that count as the workspace. */
  directories: readonly string[];
  provider: string;
  model: string;
  effort?: Effort;
  permissionMode: string;
  /** Rules that the person has allowed in answers, until this session ends; its sub-agents have them too. */
  allowedTools?: readonly string[];
  /** True where nobody can answer an ask. */
  headless: boolean;
  /** Since the last clear; the log, not what compaction made of it. */
  messages: readonly Message[];
  prefix?: Prefix;
  list(point: PointId): readonly Listed[];
};

export type TurnView = { id: TurnId; step: number; input: Input; controls: Controls };

/** Everything a contribution may touch. Made anew for each call; `state`, `use`, `ask` and `capability` throw once it is settled. */
export interface CallContext {
  plugin: PluginId;
  /** Fires at the deadline and when the turn is aborted. */
  signal: AbortSignal;
  session: SessionView;
  turn: TurnView;
  /** The plugin's own options, already checked against its schema. */
  options: unknown;
  /** Milliseconds since the epoch. */
  now(): number;
  id(kind: string): string;
  /** One line for the debug log. */
  log(text: string): void;
  /** Plugin-private, per session; never shared between plugins. */
  state: { get(key: string): unknown; set(key: string, value: unknown): void };
  use<T>(token: Service<T>): T;
  /** The deadline stands still while the person thinks. Where nobody can answer: `{kind: "deny"}` at once. */
  ask(text: string, choices?: readonly string[]): Promise<Answer>;
  /** A capability that is in the manifest and was granted by the host; anything else throws and names the plugin. */
  capability<T>(token: Capability<T>): T;
}

/** `deadlineMs` shortens or lengthens the deadline of the point. */
type Named = { name: string; deadlineMs?: number };

/** `command` names a contribution at the point `commands`. */
export type Classified =
  | { as: "command"; command: string; args: string }
  | { as: "prompt"; content: Content; isMeta?: boolean; controls?: Controls };
/** May throw (as if silent); must be fast; the first answer wins. */
export type Classifier = Named & { classify(input: Input, ctx: CallContext): MaybePromise<Classified | undefined> };

/** `context` stays in the history for the model, hidden from the person, without asking the model anything now. */
export type CommandResult = Handled | { kind: "prompt"; content: Content; controls?: Controls };
type Level = "info" | "warning" | "error";
type Handled = { kind: "handled"; show?: string; level?: Level; context?: string; change?: SessionChange; controls?: Controls };
/** `local` commands end without the model; `prompt` commands expand into what the model is asked. May throw: the person is told. */
export interface Command extends Named {
  kind: "local" | "prompt";
  summary: string;
  /** What may follow the name. */
  hint?: string;
  aliases?: readonly string[];
  /** Not listed and not typed by hand: only a classifier leads here. */
  hidden?: boolean;
  run(args: string, ctx: CallContext): MaybePromise<CommandResult>;
}

/** block: the prompt is dropped. stop: it is kept, and the turn ends. pass: `context` goes to the model with it. */
export type Admitted = { say: "pass"; context?: string } | { say: "block" | "stop"; why: string };
/** A failure blocks. */
export type Admission = Named & { admit(content: Content, ctx: CallContext): MaybePromise<Admitted> };

/** Built once a session and kept, also over a resume. A failure leaves its part out. */
export type PromptPart = Named & { placement: "system" | "context"; build(ctx: CallContext): MaybePromise<string | undefined> };

/** One attachment kind: its name, the schema of its data, when it is collected, and how the model reads it. */
export interface Attachment<S extends z.ZodType = z.ZodType> extends Named {
  schema: S;
  /** `turn`: with the first step only. `step`: before every model call. */
  when: "turn" | "step";
  collect(ctx: CallContext): MaybePromise<readonly z.output<S>[]>;
  /** Pure: the same data gives the same content. */
  render(data: z.output<S>): string | Content;
}

export type Memory = Named & { recall(ctx: CallContext): MaybePromise<readonly string[]> };

/** `limit` and `size` in characters of JSON. `overflowed`: the API has refused the view as too long. */
export type Budget = { limit: number; size: number; overflowed: boolean };
export type MakeAttachment = (kind: string, content: Content, data?: Json) => AttachmentMessage;
/** May drop messages, shorten results and add attachments made with `make`; anything else discards its view. */
export interface Compaction extends Named {
  compact(view: readonly Message[], budget: Budget, make: MakeAttachment, ctx: CallContext): MaybePromise<readonly Message[]>;
}

/** `deferred`: known by name until a tool message `loads` it; a provider without such a thing leaves it out until then. */
export type ToolSpec = { name: string; description: string; schema: Json; deferred?: true };
export type ModelRequest = {
  model: string;
  prefix: Prefix;
  messages: readonly Message[];
  /** The same array object for as long as the tools are the same. */
  tools: readonly ToolSpec[];
  effort?: Effort;
  /** Tokens; without it the provider's own limit. */
  maxOutput?: number;
  /** False asks for one JSON reply instead of a stream. */
  streaming?: boolean;
  sessionId: string;
};
/** `part` is the position of the part in the reply; pieces of one part are joined. */
export type ModelChunk =
  | { type: "text"; part: number; text: string }
  | { type: "reasoning"; part: number; text: string; opaque?: Json }
  | { type: "call.delta"; part: number; text: string }
  | { type: "call"; part: number; callId: CallId; tool: string; input: Json; malformed?: string }
  /** The part is complete; a call is by itself. What is complete survives when the reply is cut off. */
  | { type: "part.end"; part: number }
  /** Known before the end; the last one counts. */
  | { type: "usage"; usage: Usage }
  /** What was sent of this reply is void; `retry` says why it is asked for again. */
  | { type: "void"; why: string }
  | { type: "retry"; cause: string; attempt: number; of: number; waitMs: number; message: string; model?: string; status?: number }
  | { type: "ping" }
  /** `aborted`: cut off, only complete parts stand. `reminder`: not the last word; it asks the model to go on. */
  | { type: "stop"; stop: StopReason; usage?: Usage; reminder?: string };
/** The deadline counts from the last chunk. Throws {@link ModelError}; a stream without a `stop` chunk is a failure. */
export interface Provider extends Named {
  stream(request: ModelRequest, ctx: CallContext): AsyncIterable<ModelChunk>;
  /** The body that `stream` would send; no key, no network. */
  encode?(request: ModelRequest): Json;
  /** Tokens that fit into a request to this model. */
  window?(model: string): number;
  /** What is known of a model without asking anyone. */
  info?(model: string): ModelInfo;
  /** The models that the server offers. */
  models?(ctx: CallContext): MaybePromise<readonly ModelInfo[]>;
}
type Price = { upTo?: number; input: number; output: number; cacheRead: number; cacheWrite: number };
/** USD per million tokens as of the day `at`, by tiers of the size of the prompt in tokens; the last tier has no `upTo`. */
export type Prices = { at: string; tiers: readonly Price[] };
type Limits = { window?: number; maxOutput?: number };
export type ModelInfo = Limits & { id: string; images?: boolean; reasoning?: boolean; prices?: Prices };
/** What a provider throws. Known by its name, so that a provider with its own copy of this package works too. */
export class ModelError extends Error {
  override readonly name = "ModelError";
  constructor(
    message: string,
    readonly model: ModelFault,
  ) {
    super(message);
  }
}

type Lines = { added: number; removed: number };
/**
 * `lines`: how many it added to files and removed from them, for the session's sum. `loads` names deferred tools that the model may
 * call from now on. `change` counts for the session from the next step.
 */
export type ToolOutput = { content: string | Content; isError?: boolean; lines?: Lines; loads?: readonly string[]; change?: SessionChange };
export type ToolContext = CallContext & { callId: CallId; progress(text: string): void };
export interface Tool<S extends z.ZodType = z.ZodType> extends Omit<Named, "deadlineMs"> {
  description: string;
  input: S;
  /** In place of what is derived from `input`. */
  jsonSchema?: Json;
  aliases?: readonly string[];
  deadlineMs?: number | ((input: z.output<S>) => number);
  /** Characters of text in one result; of more the host keeps head and tail, and the rest in a file. Without it the host's own limit. */
  outputLimit?: number;
  /** How long the tool may go on after an abort, to hand over what it has. Default 0. */
  graceMs?: number;
  /** Whether a session has the tool at all; asked once, so that the tools stay the same. A failure counts as yes. */
  isEnabled?(session: Omit<SessionView, "messages">): boolean;
  /** Rarely needed: the model knows its name and summary only, until a search loads it. */
  deferred?: boolean;
  /** Whether new input may stop a running call. Default `block`. */
  interrupt?: "cancel" | "block";
  /** A call that fails takes those of its reply along that have not ended. */
  failureCancels?: boolean;
  /** What gates, hooks and afterTool are shown of the input, with what it leaves unsaid; the call runs with the input as it was given. */
  observable?(input: z.output<S>, ctx: CallContext): MaybePromise<Json>;
  /** Facts, not policy: what this call would touch. Gates decide. Must not change anything. */
  effects(input: z.output<S>, ctx: CallContext): MaybePromise<readonly Effect[]>;
  /** "shared" calls overlap one another; "exclusive" ones run alone. */
  overlap: "shared" | "exclusive";
  /** May throw: the model gets an error result. */
  run(input: z.output<S>, ctx: ToolContext): MaybePromise<ToolOutput | string>;
}

/**
 * `rule` is what the trace shows as the reason. `input` proposes changed arguments, which are checked and judged again. `offer`: the
 * allow rules that the person may choose to have for calls like this one.
 */
export type Verdict = Said & { rule?: string; input?: Json; offer?: readonly string[] };
type Said = { say: "allow" | "nothing" } | { say: "ask" | "deny"; why: string };
export type Call = { callId: CallId; tool: string; plugin: PluginId; input: Json };
/** A failure denies. */
export type Gate = Named & { judge(call: Call, effects: readonly Effect[], ctx: CallContext): MaybePromise<Verdict> };
export interface AfterTool extends Named {
  after(call: Call, result: { outcome: ToolOutcome; content: Content }, ctx: CallContext): MaybePromise<string | undefined>;
}
/** A text sends the turn round again with it. */
export type Closer = Named & { close(added: readonly Message[], ctx: CallContext): MaybePromise<string | undefined> };
/** Parallel to the turn, never awaited by it. */
export type Observer = Named & { on: readonly EventType[]; observe(event: RuntimeEvent, ctx: CallContext): MaybePromise<void> };
/** Opaque to the kernel; each surface (tui, html, plain) defines what `render` is. */
export type Renderer = Named & { surface: string; render: unknown };

/** What each point holds. */
export type ByPoint = {
  classifiers: Classifier;
  commands: Command;
  admission: Admission;
  systemPrompt: PromptPart;
  attachments: Attachment;
  memory: Memory;
  compaction: Compaction;
  providers: Provider;
  tools: Tool;
  gates: Gate;
  afterTool: AfterTool;
  closers: Closer;
  observers: Observer;
  renderers: Renderer;
};
export type Contributions = { readonly [P in PointId]?: readonly ByPoint[P][] };

export interface SetupContext {
  plugin: PluginId;
  options: unknown;
  signal: AbortSignal;
  provide<T>(token: Service<T>, value: T): void;
  /** Something that a plugin named in `requires` has provided. */
  use<T>(token: Service<T>): T;
  capability<T>(token: Capability<T>): T;
  /** Run at dispose, last registered first. */
  onDispose(fn: () => void | Promise<void>): void;
}
export interface PluginDefinition<O extends z.ZodType = z.ZodType> {
  options?: O;
  /** Returns plain data; nothing is visible to anyone until this has returned and been checked against the manifest. */
  setup(ctx: SetupContext & { options: z.output<O> }): MaybePromise<Contributions>;
}
export const definePlugin = <O extends z.ZodType>(it: PluginDefinition<O>): PluginDefinition => it as unknown as PluginDefinition;

/** Fixes the JSON Schema with the plugin's own copy of zod, or by the function that is given, when it is first asked for. */
export function defineTool<S extends z.ZodType>(tool: Omit<Tool<S>, "jsonSchema"> & { jsonSchema?: Json | (() => Json) }): Tool {
  let schema: Json | undefined;
  return {
    ...(tool as unknown as Tool),
    get jsonSchema(): Json {
      const { jsonSchema: own, input } = tool;
      schema ??= (typeof own === "function" ? own() : own) ?? (z.toJSONSchema(input, { io: "input" }) as Json);
      return schema;
    },
  };
}
export const defineAttachment = <S extends z.ZodType>(attachment: Attachment<S>): Attachment => attachment as unknown as Attachment;
