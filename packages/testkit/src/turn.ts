/** Runs turns through the real runtime over a host in memory, and collects all that happened. */
import type { Answer, Ask, Decision, Input, Message, ModelRequest, RuntimeEvent, TurnOutcome } from "@heddle/kernel";
import { createRuntime, explain, type Host, type OpenOptions, type Problem, type RuntimeOptions, type Session } from "@heddle/runtime";
import { memoryHost } from "@heddle/runtime/memory";
import { type TestFiles, testHost } from "./host.ts";
import { type Reply, type ScriptedModel, scriptedModel } from "./model.ts";

/**
 * What `createRuntime` takes, with defaults: no plugins beside the model, `cwd` `/project`, `host` one in memory, `provider` the
 * scripted model. Without a `stateDir` sessions are kept in memory until the runtime is disposed; with null nothing is.
 */
export type StartOptions = Partial<RuntimeOptions> & {
  /** What the model says, in order; or a model made with `scriptedModel`. */
  readonly replies?: readonly Reply[] | ScriptedModel;
  /** Answers to asks in their order, or a function. Without it nobody can answer, and every ask is denied. */
  readonly answers?: readonly Answer[] | ((ask: Ask) => Answer);
  /** Sees each event as it comes; may steer, abort or change the session. */
  readonly onEvent?: (event: RuntimeEvent, session: Session) => void;
  /** Ignored when `host` is given. */
  readonly files?: TestFiles;
};
export type TestOpenOptions = OpenOptions & {
  /** What was said before; in place of `resume`. Its ids have to be others than those that the host makes. */
  readonly history?: readonly Message[];
};
/** Several are submitted one after the other, in one session. Default `hello`. */
export type Inputs = string | Input | readonly (string | Input)[];
export type RunOptions = StartOptions & TestOpenOptions & { readonly input?: Inputs };

/** Of the last turn: `outcome`, `text`, `added` and `shown`. `messages` is the history of the session. The rest is of all turns of the run. */
export type RunResult = {
  readonly outcome: TurnOutcome;
  readonly text: string;
  /** What the turn added to the history. */
  readonly added: readonly Message[];
  /** The texts among them that are for the person. */
  readonly shown: readonly string[];
  readonly messages: readonly Message[];
  readonly events: readonly RuntimeEvent[];
  /** Every request, and those that no real API would have taken. */
  readonly requests: readonly ModelRequest[];
  readonly refused: readonly string[];
  readonly asks: readonly Ask[];
  readonly decisions: readonly Decision[];
  /** Lines of the debug log, at most 4,000 characters each. */
  readonly logs: readonly LogLine[];
  /** The tables as `heddle explain` prints them, without times. */
  readonly explain: string;
  /** What plugins were not, or only partly, in use; at the start and, after `runTurnWith`, at the end. */
  readonly problems: readonly Problem[];
};
export type LogLine = { readonly plugin: string; readonly text: string };

export type TestSession = {
  readonly session: Session;
  /** Resolves when no turn runs any more. Rejects for a mistake of the test itself: asks without an answer. */
  run(input?: Inputs): Promise<RunResult>;
};
export type TestRuntime = {
  open(options?: TestOpenOptions): Promise<TestSession>;
  dispose(): Promise<readonly Problem[]>;
};

/** Rejects only for a mistake of the test itself: an essential plugin that does not start, asks without an answer. */
export async function runTurnWith(o: RunOptions = {}): Promise<RunResult> {
  const runtime = await startWith(o);
  try {
    const ran = await (await runtime.open(o)).run(o.input);
    return { ...ran, problems: [...ran.problems, ...(await runtime.dispose())] };
  } finally {
    await runtime.dispose();
  }
}

/** One runtime for any number of sessions and runs. Rejects when an essential plugin does not start. */
export async function startWith(o: StartOptions = {}): Promise<TestRuntime> {
  const { replies = [], cwd = "/project", stateDir = "/state" } = o;
  const model = "candidate" in replies ? replies : scriptedModel(replies);
  const given = o.host ?? testHost({ cwd, files: o.files ?? {} });
  const host = o.stateDir === undefined ? withOwnStorage(given) : given;
  const runtime = await createRuntime({
    provider: "script",
    model: "scripted",
    ...o,
    host,
    cwd,
    stateDir,
    plugins: [model.candidate, ...(o.plugins ?? [])],
  });
  const mistakes: string[] = [];
  const answer = answering(o.answers, mistakes);
  return {
    async open({ history, ...options } = {}) {
      const resume = history ? { resume: keep(host, stateDir, history) } : {};
      const session = await runtime.open({ headless: o.answers === undefined, ...options, ...resume });
      const all: RuntimeEvent[] = [];
      session.subscribe((event) => {
        all.push(event);
        if (event.type === "ask.opened" && o.answers) session.answer(event.ask.id, answer(event.ask));
        o.onEvent?.(event, session);
      });
      return {
        session,
        async run(input = "hello") {
          const before = { events: all.length, requests: model.requests.length, refused: model.refused.length };
          const logged = (await logsOf(host, stateDir)).length;
          const inputs = Array.isArray(input) ? (input as readonly (string | Input)[]) : [input as string | Input];
          let outcome: TurnOutcome = { kind: "completed" };
          let text = "";
          let added: readonly Message[] = [];
          for (const one of inputs) {
            ({ outcome, text, messages: added } = await session.submit(one));
            await session.idle();
            await soon();
          }
          if (mistakes.length > 0) throw new Error(mistakes.splice(0).join("\n"));
          const events = all.slice(before.events);
          return {
            outcome,
            text,
            added,
            shown: added.flatMap((m) => (m.role === "system" ? [m.text] : [])),
            messages: session.messages,
            events,
            requests: model.requests.slice(before.requests),
            refused: model.refused.slice(before.refused),
            asks: events.flatMap((e) => (e.type === "ask.opened" ? [e.ask] : [])),
            decisions: events.flatMap((e) => (e.type === "tool.decided" ? [e.decision] : [])),
            logs: (await logsOf(host, stateDir)).slice(logged),
            explain: explainAll(events),
            problems: runtime.problems,
          };
        },
      };
    },
    dispose: () => runtime.dispose(),
  };
}

const { setImmediate: nextRound } = globalThis; // a test may put fake timers in its place
/** No turn waits for subscribers and observers: this gives them a round of the event loop. */
const soon = (): Promise<void> => new Promise((resolve) => nextRound(resolve));

/** Leaves the disk of a real host alone. */
function withOwnStorage(host: Host): Host {
  const { fs, processes, images, watchdog, timers, network } = host;
  const { storage } = memoryHost();
  return {
    now: () => host.now(),
    id: (kind) => host.id(kind),
    fs,
    processes,
    storage,
    ...(images ? { images } : {}),
    ...(watchdog ? { watchdog } : {}),
    ...(timers ? { timers } : {}),
    ...(network ? { network } : {}),
  };
}

/** A session log of these messages; gives its id. */
function keep(host: Host, stateDir: string | null, history: readonly Message[]): string {
  if (stateDir === null) throw new Error("a history needs a state folder; leave stateDir out, and it is in memory");
  const id = host.id("session");
  const log = host.storage.openAppend(`${stateDir}/projects/history/${id}.jsonl`);
  for (const message of history) log.append(`${JSON.stringify({ type: "message.added", message, at: message.at, turn: null, step: 0 })}\n`);
  log.close();
  return id;
}

async function logsOf(host: Host, stateDir: string | null): Promise<readonly LogLine[]> {
  const bytes = stateDir === null ? undefined : await host.storage.read(`${stateDir}/logs/heddle.log`);
  return [...new TextDecoder().decode(bytes).matchAll(/^\S+ (\S+): (.*)$/gm)].map(([, plugin = "", text = ""]) => ({ plugin, text }));
}

function answering(answers: StartOptions["answers"], mistakes: string[]): (ask: Ask) => Answer {
  if (typeof answers === "function") return answers;
  const queue = [...(answers ?? [])];
  return (ask) => {
    const next = queue.shift();
    if (next) return next;
    mistakes.push(`there is no answer left for this ask: ${ask.kind === "question" ? ask.text : `${ask.call.tool}: ${ask.why}`}`);
    return { kind: "deny", reason: "the test has no answer left" };
  };
}

/** The table of each turn that `events` holds, in order, without times. */
export function explainAll(events: readonly RuntimeEvent[]): string {
  const turns = [...new Set(events.flatMap((e) => (e.turn === null ? [] : [e.turn])))];
  return turns
    .map((turn) =>
      explain(
        events.filter((e) => e.turn === turn),
        { times: false },
      ),
    )
    .join("\n");
}
