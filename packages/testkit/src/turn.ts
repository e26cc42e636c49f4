/** Runs turns through the real runtime over a host in memory, and collects all that happened. */
import type { Answer, Ask, Effort, Input, Message, ModelRequest, RuntimeEvent, TurnOutcome } from "@heddle/kernel";
import { type Candidate, createRuntime, explain, type Host, type Problem, type Session } from "@heddle/runtime";
import { memoryHost } from "@heddle/runtime/memory";
import { type Reply, type ScriptedModel, scriptedModel } from "./model.ts";

export type RunOptions = {
  readonly plugins?: readonly Candidate[];
  /** What the model says, in order; or a model made with `scriptedModel`. */
  readonly replies?: readonly Reply[] | ScriptedModel;
  /** Several are submitted one after the other, in one session. Default `hello`. */
  readonly input?: string | Input | readonly (string | Input)[];
  /** Answers to asks in their order, or a function. Without it nobody can answer, and every ask is denied. */
  readonly answers?: readonly Answer[] | ((ask: Ask) => Answer);
  /** Sees each event as it comes; may steer, abort or change the session. */
  readonly onEvent?: (event: RuntimeEvent, session: Session) => void;
  /** Text files by path, absolute or relative to `cwd`. Ignored when `host` is given. */
  readonly files?: Readonly<Record<string, string>>;
  /** Default `/project`. */
  readonly cwd?: string;
  readonly host?: Host;
  /** Default null: nothing is kept. */
  readonly stateDir?: string | null;
  readonly resume?: string;
  readonly permissionMode?: string;
  readonly effort?: Effort;
  readonly withoutTools?: readonly string[];
  readonly maxSteps?: number;
};
/** Of the last turn, unless it says otherwise. */
export type RunResult = {
  readonly outcome: TurnOutcome;
  readonly text: string;
  /** Events of all turns. */
  readonly events: readonly RuntimeEvent[];
  /** The whole history of the session. */
  readonly messages: readonly Message[];
  /** Every request of every turn, and those that no real API would have taken. */
  readonly requests: readonly ModelRequest[];
  readonly refused: readonly string[];
  /** The tables of all turns as `heddle explain` prints them, without times. */
  readonly explain: string;
  /** What plugins were not, or only partly, in use; at the start and at the end. */
  readonly problems: readonly Problem[];
};

/** Rejects only for a mistake of the test itself: an essential plugin that does not start, asks without an answer. */
export async function runTurnWith(o: RunOptions = {}): Promise<RunResult> {
  const { replies = [], cwd = "/project", resume, maxSteps } = o;
  const model = "candidate" in replies ? replies : scriptedModel(replies);
  const runtime = await createRuntime({
    host: o.host ?? memoryHost({ files: absolute(o.files ?? {}, cwd) }),
    cwd,
    stateDir: o.stateDir ?? null,
    plugins: [model.candidate, ...(o.plugins ?? [])],
    provider: "script",
    model: "scripted",
    ...(o.permissionMode === undefined ? {} : { permissionMode: o.permissionMode }),
    ...(o.effort === undefined ? {} : { effort: o.effort }),
    ...(o.withoutTools === undefined ? {} : { withoutTools: o.withoutTools }),
  });
  const session = await runtime.open({
    headless: o.answers === undefined,
    ...(resume === undefined ? {} : { resume }),
    ...(maxSteps === undefined ? {} : { maxSteps }),
  });
  const events: RuntimeEvent[] = [];
  const mistakes: string[] = [];
  const answer = answering(o.answers, mistakes);
  let onEnd: () => void = () => {};
  session.subscribe((event) => {
    events.push(event);
    if (event.type === "ask.opened" && o.answers) session.answer(event.ask.id, answer(event.ask));
    o.onEvent?.(event, session);
    if (event.type === "turn.ended") onEnd();
  });
  const inputs: readonly (string | Input)[] = Array.isArray(o.input) ? o.input : [o.input ?? "hello"];
  let outcome: TurnOutcome = { kind: "completed" };
  let text = "";
  for (const input of inputs) {
    const ended = new Promise<void>((resolve) => {
      onEnd = resolve;
    });
    const [result] = await Promise.all([session.submit(input), ended]);
    outcome = result.outcome;
    text = result.text;
  }
  await session.idle();
  const { messages } = session;
  const left = await runtime.dispose();
  if (mistakes.length > 0) throw new Error(mistakes.join("\n"));
  const problems = [...runtime.problems, ...left];
  const { requests, refused } = model;
  return { outcome, text, events, messages, requests, refused, explain: explainAll(events), problems };
}

function answering(answers: RunOptions["answers"], mistakes: string[]): (ask: Ask) => Answer {
  if (typeof answers === "function") return answers;
  const queue = [...(answers ?? [])];
  return (ask) => {
    const next = queue.shift();
    if (next) return next;
    mistakes.push(`there is no answer left for this ask: ${ask.kind === "question" ? ask.text : `${ask.call.tool}: ${ask.why}`}`);
    return { kind: "deny", reason: "the test has no answer left" };
  };
}

const absolute = (files: Readonly<Record<string, string>>, cwd: string): Record<string, string> =>
  Object.fromEntries(Object.entries(files).map(([path, text]) => [path.startsWith("/") ? path : `${cwd}/${path}`, text]));

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
