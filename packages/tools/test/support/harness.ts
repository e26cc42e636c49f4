/** Calls the plugin's tools as the loop would: schema, effects, run, each with a context that offers the ports and nothing else. */
import type { CallContext, Effect, FileSystem, Processes, Service, Tool, ToolContext, ToolOutput } from "@heddle/kernel/plugin";
import plugin, { BACKGROUND, type Background, FILES, type FileState, SHELL_FOLDER, type ShellFolder } from "../../src/index.ts";

export type Result = Pick<ToolOutput, "lines" | "loads"> & { readonly text: string; readonly isError: boolean };
export type Kit = {
  readonly tools: readonly Tool[];
  readonly files: FileState;
  readonly shell: ShellFolder;
  readonly background: Background;
  readonly progress: string[];
  /** What the session was told, one after the other. */
  readonly told: string[];
  dispose(): Promise<void>;
  call(tool: string, input: unknown, how?: { session?: string; signal?: AbortSignal }): Promise<Result>;
  effects(tool: string, input: unknown): Promise<readonly Effect[]>;
};
export type KitOptions = {
  readonly fs: FileSystem;
  readonly processes?: Processes;
  readonly cwd?: string;
  readonly options?: Record<string, unknown>;
  readonly now?: () => number;
  /** Of the session. */
  readonly folder?: string;
  /** False: the session is over, and cannot be told anything. */
  readonly living?: () => boolean;
};

const noProcesses: Processes = { run: async () => Promise.reject(new Error("no processes here")) };

export async function kitOf(o: KitOptions): Promise<Kit> {
  const { fs, processes = noProcesses, cwd = "/w", options = {}, now = () => 0, folder = null, living = () => true } = o;
  const services = new Map<string, unknown>();
  const told: string[] = [];
  const disposers: (() => void | Promise<void>)[] = [];
  const tell = (text: string, how?: { isMeta?: boolean }): void => {
    if (!living()) throw new Error("the session is closed");
    told.push(how?.isMeta ? text : `seen by the person: ${text}`);
  };
  const session = { folder, tell };
  const capability = ((token: { id: string }) => ({ fs, process: processes, session })[token.id]) as CallContext["capability"];
  const contributions = await plugin.setup({
    plugin: "@heddle/tools",
    options: plugin.options!.parse(options),
    signal: new AbortController().signal,
    provide: (token, value) => void services.set(token.id, value),
    use: <T>(token: Service<T>) => services.get(token.id) as T,
    capability,
    onDispose: (fn) => void disposers.push(fn),
  });
  const tools = contributions.tools!;
  const progress: string[] = [];
  let n = 0;
  const context = (session: string, signal: AbortSignal): ToolContext => ({
    plugin: "@heddle/tools",
    signal,
    session: {
      id: session,
      cwd,
      directories: [],
      provider: "p",
      model: "m",
      permissionMode: "default",
      headless: true,
      messages: [],
      list: () => [],
    },
    turn: { id: "t", step: 0, input: { text: "", source: "sdk" }, controls: {} },
    options: {},
    now,
    id: (kind) => `${kind}-${++n}`,
    log: () => {},
    state: { get: () => undefined, set: () => {} },
    use: (token) => services.get(token.id) as never,
    ask: async () => ({ kind: "deny" }),
    capability,
    callId: `c${n}`,
    progress: (text) => void progress.push(text),
  });
  const toolOf = (name: string): Tool => {
    const tool = tools.find((t) => t.name === name);
    if (!tool) throw new Error(`no tool ${name}`);
    return tool;
  };
  return {
    tools,
    files: services.get(FILES.id) as FileState,
    shell: services.get(SHELL_FOLDER.id) as ShellFolder,
    background: services.get(BACKGROUND.id) as Background,
    progress,
    told,
    async dispose() {
      for (const fn of disposers.reverse()) await fn();
    },
    async call(name, input, { session = "s", signal = new AbortController().signal } = {}) {
      const tool = toolOf(name);
      const parsed = tool.input.safeParse(input);
      if (!parsed.success) return { text: parsed.error.issues.map((i) => `${i.path.join(".")}: ${i.message}`).join("; "), isError: true };
      const ctx = context(session, signal);
      await tool.effects(parsed.data, ctx);
      const output: ToolOutput | string = await tool.run(parsed.data, ctx);
      if (typeof output === "string") return { text: output, isError: false };
      const text =
        typeof output.content === "string" ? output.content : output.content.map((p) => (p.type === "text" ? p.text : "")).join("");
      const { isError = false, lines, loads } = output;
      return { text, isError, ...(lines ? { lines } : {}), ...(loads ? { loads } : {}) };
    },
    async effects(name, input) {
      const tool = toolOf(name);
      return tool.effects(tool.input.parse(input), context("s", new AbortController().signal));
    },
  };
}
