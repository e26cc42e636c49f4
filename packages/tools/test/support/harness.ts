/** Calls the plugin's tools as the loop would: schema, effects, run, each with a context that offers the ports and nothing else. */
import type {
  CallContext,
  Effect,
  FileSystem,
  Images,
  Message,
  Processes,
  Service,
  Tool,
  ToolContext,
  ToolOutput,
} from "@heddle/kernel/plugin";
import { textOf } from "@heddle/kernel/plugin";
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
  call(tool: string, input: unknown, how?: How): Promise<Result>;
  /** Parts and all; throws where the input is wrong. */
  output(tool: string, input: unknown, how?: How): Promise<ToolOutput>;
  effects(tool: string, input: unknown): Promise<readonly Effect[]>;
};
type How = { session?: string; signal?: AbortSignal; messages?: readonly Message[]; callId?: string };
export type KitOptions = {
  readonly fs: FileSystem;
  /** Without it the capability is not granted. */
  readonly images?: Images;
  readonly processes?: Processes;
  readonly cwd?: string;
  readonly options?: Record<string, unknown>;
  readonly now?: () => number;
  /** Of the session. */
  readonly folder?: string;
  /** False: the session is over, and cannot be told anything. */
  readonly living?: () => boolean;
  /** Default true. */
  readonly headless?: boolean;
};

const noProcesses: Processes = { run: async () => Promise.reject(new Error("no processes here")) };

export async function kitOf(o: KitOptions): Promise<Kit> {
  const {
    fs,
    images,
    processes = noProcesses,
    cwd = "/w",
    options = {},
    now = () => 0,
    folder = null,
    living = () => true,
    headless = true,
  } = o;
  const services = new Map<string, unknown>();
  const told: string[] = [];
  const disposers: (() => void | Promise<void>)[] = [];
  const tell = (text: string, how?: { isMeta?: boolean }): void => {
    if (!living()) throw new Error("the session is closed");
    told.push(how?.isMeta ? text : `seen by the person: ${text}`);
  };
  const session = { folder, tell };
  const capability = ((token: { id: string }) => {
    const granted = { fs, process: processes, images, session }[token.id];
    if (!granted) throw new Error(`no ${token.id} here`);
    return granted;
  }) as CallContext["capability"];
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
  const context = ({ session = "s", signal = new AbortController().signal, messages = [], callId = `c${n}` }: How = {}): ToolContext => ({
    plugin: "@heddle/tools",
    signal,
    session: {
      id: session,
      cwd,
      directories: [],
      provider: "p",
      model: "m",
      permissionMode: "default",
      headless,
      messages,
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
    callId,
    progress: (text) => void progress.push(text),
  });
  const toolOf = (name: string): Tool => {
    const tool = tools.find((t) => t.name === name);
    if (!tool) throw new Error(`no tool ${name}`);
    return tool;
  };
  const output: Kit["output"] = async (name, input, how) => {
    const tool = toolOf(name);
    const parsed = tool.input.parse(input);
    const ctx = context(how);
    await tool.effects(parsed, ctx);
    const given = await tool.run(parsed, ctx);
    return typeof given === "string" ? { content: given } : given;
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
    async call(name, input, how) {
      const parsed = toolOf(name).input.safeParse(input);
      if (!parsed.success) return { text: parsed.error.issues.map((i) => `${i.path.join(".")}: ${i.message}`).join("; "), isError: true };
      const { content, isError = false, lines, loads } = await output(name, input, how);
      const text = typeof content === "string" ? content : textOf(content);
      return { text, isError, ...(lines ? { lines } : {}), ...(loads ? { loads } : {}) };
    },
    output,
    async effects(name, input) {
      const tool = toolOf(name);
      return tool.effects(tool.input.parse(input), context());
    },
  };
}
