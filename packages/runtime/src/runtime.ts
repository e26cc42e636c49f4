/** Starts the plugins of an embedder and opens sessions on them. */
import { createLog, type LogOptions, openFile, openLog as openLogOf, type SessionLog, SessionLogError } from "@heddle/sessions";
import { textOfError } from "./plugins/problem.ts";
import { startPlugins } from "./plugins/start.ts";
import { timersOf, withRecovery } from "./recovery/index.ts";
import { meaningOf } from "./session/aliases.ts";
import { Catalog } from "./session/catalog.ts";
import { CostMeter } from "./session/cost.ts";
import { DebugLog } from "./session/debug-log.ts";
import { Engine, type SessionDeps } from "./session/engine.ts";
import type { SessionStart } from "./session/start.ts";
import { inOrder } from "./tools/pool.ts";
import { type OpenOptions, type Problem, type Runtime, type RuntimeOptions, SessionError } from "./types.ts";

/** Rejects only when an essential plugin does not start; every other problem is in `problems`. */
export async function createRuntime(o: RuntimeOptions): Promise<Runtime> {
  const { host } = o;
  const cwd = await host.fs.realpath(o.cwd).catch(() => o.cwd);
  const started = await startPlugins(o.plugins, { host, ...(o.withoutTools ? { withoutTools: o.withoutTools } : {}) });
  const debug = await DebugLog.open(host, o.stateDir);
  for (const problem of started.problems) debug.write(problem.plugin, problem.message);
  const means = { timers: host.timers ?? timersOf(), images: host.images };
  const aliases = o.modelAliases ?? {};
  const fallbackModels = o.recovery?.fallbackModels?.map((name) => meaningOf(aliases, name)) ?? [];
  const { registry, forget, inherit } = withRecovery(
    inOrder(started.registry, (plugin) => started.roots.has(plugin)),
    means,
    { ...o.recovery, fallbackModels },
    {
      broke: (id, it) => of(id)?.prefixBroke(it),
      spent: (id, signal) => of(id)?.spent(signal),
      billed: ({ session, turn }, by, usage) => of(session.id)?.billed(turn, by, usage),
      unfit: (id, why) => of(id)?.imagesUnfit(why),
    },
  );
  const of = (id: string): Engine | undefined => [...sessions].find((session) => session.id === id);
  const catalog = new Catalog(registry, aliases);
  const sessions = new Set<Engine>();
  let disposed: Promise<readonly Problem[]> | undefined;

  const costOf: LogOptions["costOf"] = (events) => {
    const meter = new CostMeter((provider, model) => catalog.info({ provider, model }));
    for (const event of events) meter.take(event);
    return meter.cost.models;
  };
  const { stateDir } = o;
  const place = { storage: host.storage, cwd, now: host.now, version: o.version ?? "0.0.0", costOf };
  const deps = (openLog: SessionDeps["openLog"]): SessionDeps => ({
    host,
    registry,
    catalog,
    watch: started.roots.size > 0 ? host.watchdog?.watch : undefined,
    debug,
    openLog,
    forkLogs:
      stateDir === null
        ? null
        : {
            create: (path, id, onFailure) => createLog({ ...place, stateDir, path, id, onFailure }),
            async open(path, id, onFailure) {
              const there = await host.storage.read(path).catch(() => true); // what cannot be read is told by the opening
              return there ? openFile({ ...place, stateDir, onFailure }, { path, id }).catch(asSessionError) : undefined;
            },
          },
    onOpen(session, copied) {
      sessions.add(session);
      if (copied !== undefined) inherit(copied, session.id);
    },
    onDispose(session) {
      sessions.delete(session);
      forget(session.id);
    },
  });
  const opened = (start: SessionStart, openLog: SessionDeps["openLog"]): Engine => new Engine(start, deps(openLog));
  const refuse = (): void => {
    if (disposed) throw new SessionError("the runtime is disposed; create another one to open a session");
  };
  return {
    problems: started.problems,
    plugins: started.plugins,
    async open(options = {}) {
      refuse();
      const fresh = startOf(o, options, cwd, host.id("session"));
      if (stateDir === null) {
        if (options.resume === undefined) return opened(fresh, () => null);
        throw new SessionError(`session "${options.resume}" cannot be resumed, because no sessions are kept; set a state folder`);
      }
      if (options.resume === undefined) return opened(fresh, (onFailure) => createLog({ ...place, stateDir, onFailure, id: fresh.id }));
      let tell: (message: string) => void = () => {};
      const { log, recovered, notices } = await openLogOf(
        { ...place, stateDir, onFailure: (message) => tell(message) },
        options.resume,
      ).catch(asSessionError);
      if (disposed) log.close(); // or its lock would be held by a session that nobody ends
      refuse();
      const start: SessionStart = {
        ...fresh,
        id: log.id,
        messages: recovered.messages,
        prefix: recovered.prefix,
        model: recovered.model ?? fresh.model,
        effort: recovered.effort ?? fresh.effort,
        toldEffort: recovered.effort,
        permissionMode: recovered.permissionMode ?? fresh.permissionMode,
        pending: recovered.pending,
        spent: recovered.spent,
        notices,
      };
      return opened(start, (onFailure): SessionLog => {
        tell = onFailure;
        return log;
      });
    },
    dispose() {
      disposed ??= (async () => {
        await Promise.all([...sessions].map((session) => session.dispose()));
        const left = await started.dispose();
        for (const problem of left) debug.write(problem.plugin, problem.message);
        debug.close();
        return left;
      })();
      return disposed;
    },
  };
}

function startOf(o: RuntimeOptions, options: OpenOptions, cwd: string, id: string): SessionStart {
  return {
    id,
    cwd,
    directories: o.directories ?? [],
    provider: o.provider,
    model: o.model,
    effort: o.effort,
    toldEffort: undefined,
    permissionMode: o.permissionMode ?? "default",
    headless: options.headless ?? false,
    decides: options.decides ?? options.headless !== true,
    maxSteps: options.maxSteps,
    maxBudgetUsd: options.maxBudgetUsd,
    askBudgetUsd: options.askBudgetUsd,
    messages: [],
    prefix: undefined,
    pending: [],
    notices: [],
    spent: [],
  };
}

function asSessionError(error: unknown): never {
  if (error instanceof SessionLogError) throw new SessionError(error.message);
  throw new SessionError(`the session cannot be opened: ${textOfError(error)}`);
}
