/** From a plan to a runtime with a session. */
import { createRuntime, type Host, meaningOf, type Runtime, type Session } from "@heddle/runtime";
import { nodeHost } from "@heddle/runtime/node";
import * as z from "zod";
import type { WireInit } from "./faces/wire.ts";
import { DEFAULT_PROVIDER, FIRST_PARTY } from "./first-party.ts";
import { hostSandbox } from "./host-sandbox.ts";
import { type Io, say } from "./io.ts";
import type { SessionArgs, SetupArgs } from "./options.ts";
import { directoriesOf, noticesOf, type Overrides, type Plan, planOf, trustPlace } from "./plan.ts";
import { checkModel, servedBy } from "./providers.ts";
import { VERSION } from "./version.ts";

// Compiling a parser for each schema takes longer than a short run ever spends on parsing.
z.config({ jitless: true });

export type Engine = {
  runtime: Runtime;
  session: Session;
  cwd: string;
  /** Whether each answer has to satisfy a schema. */
  structured: boolean;
  /** One line each, for the person; it grows. */
  readonly notices: readonly string[];
  init(uuid: string): WireInit;
  /** Keeps rules for sessions to come; throws an error that says why it cannot. */
  saveRules(rules: readonly string[]): Promise<void>;
  /** What is to be said of a model that was chosen; undefined where it can be asked. */
  problemWith(model: string): string | undefined;
  dispose(): Promise<void>;
};
export type OpenAs = {
  /** Nobody can answer an ask. */
  headless: boolean;
  /** And yet somebody decides on tool calls. */
  decides?: boolean;
  /** No model will be called. */
  offline?: boolean;
  over?: Overrides;
  askTrust?: NonNullable<Overrides["askTrust"]>;
};

export function runtimeOf(plan: Plan, args: SetupArgs): Promise<Runtime> {
  const { config } = plan;
  const effort = args.effort ?? config.effort;
  const directories = directoriesOf(plan, args);
  const sandbox = hostSandbox(config, [plan.cwd, ...directories], plan.userDir);
  return createRuntime({
    host: warming(nodeHost({ network: { allowPrivate: config.allowPrivate }, ...(sandbox ? { sandbox } : {}) })),
    cwd: plan.cwd,
    directories,
    stateDir: config.home,
    plugins: plan.candidates,
    provider: plan.provider,
    model: plan.model,
    modelAliases: plan.modelAliases,
    ...(effort ? { effort } : {}),
    recovery: { ...config.recovery, fallbackModels: plan.fallbackModels },
    permissionMode: plan.permissionMode,
    withoutTools: plan.withoutTools,
    version: VERSION,
  });
}

/** While the first command of a session (git, as a rule) runs, loads what the first request needs: Node's fetch takes 20 ms of work. */
function warming(host: Host): Host {
  let cold = true;
  const run: Host["processes"]["run"] = (options) => {
    const result = host.processes.run(options);
    if (cold) setImmediate(() => void globalThis.Headers);
    cold = false;
    return result;
  };
  return { ...host, processes: { ...host.processes, run } };
}

/** Throws when there is no model to talk to, after saying all that may be the reason. */
export async function openEngine(args: SetupArgs & Partial<SessionArgs>, io: Io, as: OpenAs): Promise<Engine> {
  const resume = args.continue ? "latest" : args.resume;
  const schema = args.jsonSchema === undefined ? undefined : await (await import("./json-schema.ts")).schemaOf(args.jsonSchema, io.cwd);
  const plan = await planOf(args, io, {
    ...as.over,
    ...(schema ? { schema } : {}),
    prewarm: resume === undefined,
    ...(as.askTrust ? { askTrust: as.askTrust } : {}),
    everyProvider: resume !== undefined || !as.headless || args.inputFormat === "stream-json",
  });
  const runtime = await runtimeOf(plan, args);
  const maxBudgetUsd = args.maxBudgetUsd ?? plan.config.maxBudgetUsd;
  const askBudgetUsd = args.askBudgetUsd ?? plan.config.askBudgetUsd;
  const before = [...noticesOf(plan), ...runtime.problems.map((p) => p.message)];
  const session = await runtime.open({
    headless: as.headless,
    ...(as.decides === undefined ? {} : { decides: as.decides }),
    ...(resume === undefined ? {} : { resume }),
    ...(args.maxTurns === undefined ? {} : { maxSteps: args.maxTurns }),
    ...(maxBudgetUsd === undefined ? {} : { maxBudgetUsd }),
    ...(askBudgetUsd === undefined ? {} : { askBudgetUsd }),
  });
  const providers = namesAt(runtime, "providers");
  const { error, notice } = checkModel(args.model === undefined ? session.model : plan.model, plan, providers);
  if (notice !== undefined) before.push(notice);
  if (!as.offline) before.push(...spareProblems(plan, providers));
  if (error && !as.offline) {
    for (const text of [...before, ...session.notices]) say(io, text);
    await runtime.dispose();
    throw error;
  }
  // What a resumed session remembers gives way to what is said now.
  if (resume !== undefined && args.model !== undefined) session.setModel(plan.model);
  if (resume !== undefined && args.effort !== undefined) session.setEffort(args.effort);
  if (resume !== undefined && args.permissionMode !== undefined) session.setPermissionMode(args.permissionMode);
  return {
    runtime,
    session,
    cwd: plan.cwd,
    structured: schema !== undefined,
    get notices() {
      return [...before, ...session.notices];
    },
    problemWith: (model) => problemWith(meaningOf(plan.modelAliases, model), plan, providers),
    saveRules: async (rules) => {
      const { saveRules } = await import("./config/save-rules.ts");
      const { accept } = await import("./config/trust.ts");
      await saveRules(plan.cwd, rules);
      await accept(trustPlace(io), rules);
    },
    init: (uuid) => initOf(plan, runtime, session, uuid),
    async dispose() {
      await runtime.dispose();
    },
  };
}

function problemWith(model: string, plan: Plan, providers: readonly string[]): string | undefined {
  const { error, notice } = checkModel(model, plan, providers);
  return error?.message ?? notice;
}
function spareProblems(plan: Plan, providers: readonly string[]): string[] {
  return plan.fallbackModels.flatMap((name) => {
    const problem = problemWith(meaningOf(plan.modelAliases, name), plan, providers);
    return problem === undefined ? [] : [`fallback model "${name}": ${problem}`];
  });
}

const namesAt = (runtime: Runtime, point: string): string[] =>
  runtime.plugins.flatMap((p) => p.contributes.filter((c) => c.point === point && !c.hidden).map((c) => c.name));

/** The variable that a key goes by, wherever it was set. */
function keySourceOf({ credentials, compatible }: Plan, provider: string): string {
  if (provider === DEFAULT_PROVIDER) return credentials.apiKey ? "ANTHROPIC_API_KEY" : credentials.helper ? "apiKeyHelper" : "none";
  return compatible[provider]?.["apiKey"] ? `${provider.toUpperCase()}_API_KEY` : "none";
}

function initOf(plan: Plan, runtime: Runtime, session: Session, uuid: string): WireInit {
  const names = (point: string): string[] => namesAt(runtime, point);
  return {
    type: "system",
    subtype: "init",
    cwd: plan.cwd,
    session_id: session.id,
    tools: names("tools").filter((t) => !plan.withoutTools.includes(t)),
    mcp_servers: [],
    model: session.model,
    permissionMode: session.permissionMode,
    slash_commands: names("commands"),
    apiKeySource: keySourceOf(plan, servedBy(session.model, plan.provider, namesAt(runtime, "providers")).provider),
    heddle_version: VERSION,
    output_style: "default",
    agents: [],
    skills: [],
    plugins: runtime.plugins
      .filter((p) => !FIRST_PARTY.includes(p.id))
      .map((p) => ({ name: p.id, path: p.dir ?? p.from, version: p.version })),
    plugin_errors: [...plan.problems, ...runtime.problems].map((p) => ({ plugin: p.plugin, type: p.stage, message: p.message })),
    uuid,
  };
}
