/** What a fork starts from: the messages and the prefix of its session, nothing, or its own log. */
import { callsOf, type Effort, type ForkOptions, type Message, type Prefix, unpaired } from "@heddle/kernel";
import { forkPath, isForkId, type OpenedLog, type SessionLog } from "@heddle/sessions";
import { SessionError } from "../types.ts";

/** Null where nothing is kept. `onFailure` is told that a log cannot be written any more. */
export type ForkLogs = {
  create(path: string, id: string, onFailure: (message: string) => void): SessionLog;
  /** Undefined where there is no such log. */
  open(path: string, id: string, onFailure: (message: string) => void): Promise<OpenedLog | undefined>;
} | null;

/** `view`: the messages of the last request; `history`: all since the last clear. */
export type Owned = {
  readonly path: string | null;
  readonly view: readonly Message[] | undefined;
  readonly history: readonly Message[];
  readonly prefix: Prefix | undefined;
};
export type Beginning = {
  readonly messages: readonly Message[];
  readonly prefix: Prefix | undefined;
  /** The prefix is its own, which its log has to tell. */
  readonly own: boolean;
  readonly model?: string | undefined;
  readonly effort?: Effort | undefined;
  readonly openLog: (onFailure: (message: string) => void) => SessionLog | null;
};

/** Rejects with a {@link SessionError} when a fork cannot be resumed. Whatever is taken from the session is taken before this first waits. */
export async function beginningOf(id: string, { from }: ForkOptions, of: Owned, logs: ForkLogs): Promise<Beginning> {
  const { path } = of;
  if (from.kind === "resume") return resumed(id, of, logs);
  const openLog: Beginning["openLog"] = (onFailure) => (path === null || !logs ? null : logs.create(forkPath(path, id), id, onFailure));
  if (from.kind === "fork") return { messages: sentBy(of), prefix: of.prefix, own: false, openLog };
  const context = from.context ? (of.prefix?.context ?? []) : [];
  const prefix = { system: [{ plugin: "@heddle/runtime", name: "agent", text: from.system }], context };
  return { messages: [], prefix, own: true, openLog };
}

/** As they were sent last, so that the cache is read; without the reply that is still being worked on. */
function sentBy({ view, history }: Owned): readonly Message[] {
  const known = new Set(view?.map((m) => m.id));
  const last = history.findLastIndex((m) => known.has(m.id));
  const all = view && last >= 0 ? [...view, ...history.slice(last + 1)] : history;
  const { open } = unpaired(all);
  const cut = all.findIndex((m) => m.role === "assistant" && callsOf(m).some((c) => open.includes(c.callId)));
  return cut < 0 ? all : all.slice(0, cut);
}

async function resumed(id: string, { path, history, prefix }: Owned, logs: ForkLogs): Promise<Beginning> {
  if (path === null || !logs)
    throw new SessionError(`the sub-agent "${id}" cannot be resumed, because no sessions are kept; start a new one`);
  const none = `there is no sub-agent "${id}" in this session; start a new one`;
  if (!isForkId(id)) throw new SessionError(none);
  let tell: (message: string) => void = () => {};
  const opened = await logs.open(forkPath(path, id), id, (message) => tell(message));
  if (!opened) throw new SessionError(none);
  const { log, recovered } = opened;
  const own = recovered.messages;
  const after = own[0]?.parentId ?? null;
  const at = history.findIndex((m) => m.id === after);
  if (own.length === 0 || (after !== null && at < 0)) {
    log.close();
    throw new SessionError(own.length === 0 ? none : `the sub-agent "${id}" continued a conversation that is gone; start a new one`);
  }
  return {
    messages: [...history.slice(0, at + 1), ...own],
    prefix: recovered.prefix ?? prefix,
    own: false,
    model: recovered.model,
    effort: recovered.effort,
    openLog(onFailure) {
      tell = onFailure;
      return log;
    },
  };
}
