/** Puts recovery around every provider of a registry. The kernel knows nothing of it. */
import {
  type CallContext,
  type Entry,
  type Images,
  type ModelChunk,
  ModelError,
  POINT_IDS,
  type Provider,
  type Registry,
  type Usage,
} from "@heddle/kernel";
import { changed } from "../plugins/registry.ts";
import { targetIn } from "../session/catalog.ts";
import type { PrefixBreak } from "../session/prefix-watch.ts";
import type { Timers } from "../types.ts";
import { Budget } from "./budget.ts";
import { contextOf } from "./context.ts";
import { PING_MS, Recovery } from "./provider.ts";
import { type RecoveryOptions, type RecoverySettings, settingsOf } from "./settings.ts";
import { SessionMemory, type Target, TurnMemory } from "./turn.ts";

export type { RecoveryOptions } from "./settings.ts";
export { timersOf } from "./timers.ts";

export type Recovered = {
  readonly registry: Registry;
  /** `to` begins with the messages of `from`, as they were sent. */
  inherit(from: string, to: string): void;
  /** The session is over: nothing of it needs to be remembered. */
  forget(session: string): void;
};

/** What the wrapper asks and tells of a session. */
export type Sessions = {
  broke(session: string, it: PrefixBreak): void;
  /** Why the session may not call a model any more. A promise while the person is asked; it rejects when the signal fires. */
  spent(session: string, signal: AbortSignal): Promise<string | undefined> | string | undefined;
  /** A call of the session was paid for and brought no reply. */
  billed(ctx: Pick<CallContext, "session" | "turn">, by: { readonly provider: string; readonly model: string }, usage: Usage): void;
  /** Images cannot be made smaller; said once. */
  unfit(session: string, why: string): void;
};
const NOBODY: Sessions = { broke() {}, spent: () => undefined, billed() {}, unfit() {} };

export type Means = { readonly timers: Timers; readonly images?: Images | undefined };

/** A registry whose providers ask again. Names, order and everything else are those of `registry`. */
export function withRecovery(registry: Registry, means: Means, options?: RecoveryOptions, of: Sessions = NOBODY): Recovered {
  const { timers, images } = means;
  const settings = settingsOf(options);
  const sessions = new Map<string, SessionMemory>();
  const providers = registry.all("providers");
  const capabilities = [...new Set(providers.flatMap((e) => e.capabilities))];
  const memoryOf = (session: string): SessionMemory => {
    const known = sessions.get(session);
    if (known) return known;
    const made = new SessionMemory(images, (why) => of.unfit(session, why));
    sessions.set(session, made);
    return made;
  };
  const wrap = (entry: Entry<"providers">): Entry<"providers"> => {
    const { it } = entry;
    const aliases = (it as { readonly aliases?: readonly string[] }).aliases;
    const provider: Provider = {
      name: it.name,
      ...(aliases ? { aliases } : {}),
      async *stream(request, ctx) {
        const memory = memoryOf(ctx.session.id);
        const said = of.spent(ctx.session.id, ctx.signal);
        const spent = said instanceof Promise ? yield* alive(said, timers) : said;
        if (spent !== undefined) throw new ModelError(spent, { kind: "billing" });
        if (ctx.signal.aborted) return;
        const turn = memory.turn(ctx.turn.id, () => {
          const budget = new Budget(settings, ctx.session.headless, () => timers.random());
          return new TurnMemory(budget, fallbacksOf(registry, entry, settings));
        });
        const billed = (by: Target, usage: Usage): void => of.billed(ctx, { provider: by.entry.name, model: by.model }, usage);
        const answered = (by: Target, usage?: Usage): void => {
          const { name, it } = by.entry;
          const broke = memory.watch.answered(
            { ...request, model: by.model },
            name,
            usage,
            it.encode && ((request) => it.encode!(request)),
          );
          if (broke) of.broke(ctx.session.id, broke);
        };
        yield* new Recovery({ settings, timers, memory, turn, billed, answered }, entry, request, ctx).stream();
      },
      ...(it.encode ? { encode: (request) => it.encode!(request) } : {}),
      ...(it.window ? { window: (model) => it.window!(model) } : {}),
      ...(it.info ? { info: (model) => it.info!(model) } : {}),
      ...(it.models ? { models: (ctx) => it.models!(contextOf(ctx, entry, entry, ctx.signal)) } : {}),
    };
    return Object.freeze({ ...entry, capabilities, it: provider });
  };
  const wrapped = new Map<Entry, Entry>(providers.map((e) => [e, wrap(e)]));
  return {
    registry: changed(registry, POINT_IDS, (e) => wrapped.get(e) ?? e),
    inherit(from, to) {
      for (const [id, message] of sessions.get(from)?.slimmed ?? []) memoryOf(to).slimmed.set(id, message);
    },
    forget: (id) => void sessions.delete(id),
  };
}

/** The kernel counts the deadline of a provider from its last chunk, and a person may think for longer. */
async function* alive<T>(work: Promise<T>, timers: Timers): AsyncGenerator<ModelChunk, T> {
  const over = new AbortController();
  const end = (): void => over.abort();
  work.then(end, end);
  while (!over.signal.aborted) {
    await timers.sleep(PING_MS, over.signal);
    if (!over.signal.aborted) yield { type: "ping" };
  }
  return work;
}

function fallbacksOf(registry: Registry, usual: Entry<"providers">, { fallbackModels }: RecoverySettings): Target[] {
  return fallbackModels.map((name) => {
    const { provider, model } = targetIn(registry, usual.name, name);
    return { entry: registry.find("providers", provider) ?? usual, model };
  });
}
