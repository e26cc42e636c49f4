/** What an input leads to: it is classified, a command is run, and a prompt is admitted or not. The points `classifiers`, `commands`, `admission`. */
import {
  type Admitted,
  type AttachmentMessage,
  type Classified,
  type CommandResult,
  type Content,
  type Controls,
  type Draft,
  type Entry,
  type Input,
  must,
  noteOf,
  Returns,
  runOne,
  type StageEnv,
  type SystemMessage,
  type TurnEvent,
  typed,
  type UserMessage,
  userMessage,
} from "@heddle/kernel";

type Read = Extract<TurnEvent, { type: `input.${string}` }>;

export async function readInput(env: StageEnv, input: Input): Promise<Read> {
  const what = await classify(env, input);
  if (what?.as !== "command") {
    const meta = what?.isMeta ?? input.isMeta;
    return admit(env, userMessage(env, what?.content ?? typed(input), meta), what?.controls);
  }
  const { command: name, args } = what;
  const command = env.registry.find("commands", name);
  if (!command) return handled(env, name, { show: `There is no command "/${name}".`, level: "error" });
  const ran = await runOne(env, command, async (ctx, _, saw) => {
    const result = must(Returns.command, await command.it.run(args, ctx)) as CommandResult;
    saw({ note: result.kind });
    return result;
  });
  if (!ran.ok) return handled(env, name, { show: ran.fault.message, level: "error" });
  if (ran.value.kind === "handled") return handled(env, name, ran.value);
  const { point, plugin } = command;
  const { content, controls } = ran.value;
  return admit(env, { ...userMessage(env, content), origin: { by: "plugin", plugin, point, name: command.name } }, controls);
}

/** The first answer wins. */
async function classify(env: StageEnv, input: Input): Promise<Classified | undefined> {
  for (const e of env.registry.all("classifiers")) {
    const ran = await runOne(env, e, async (ctx, _, saw) => {
      const answer = must(Returns.classified, await e.it.classify(input, ctx)) as Classified | undefined;
      if (answer) saw({ note: answer.as === "command" ? `command ${answer.command}` : "prompt" });
      return answer;
    });
    if (ran.ok && ran.value) return ran.value;
  }
  return undefined;
}

function handled(env: StageEnv, command: string, result: Omit<Extract<CommandResult, { kind: "handled" }>, "kind">): Read {
  const { show, level = "info", context, controls, change } = result;
  if (change) env.emit({ type: "session.changed", change });
  const kept = context ? [userMessage(env, [{ type: "text", text: context }], true)] : [];
  const shown = show ? [systemMessage(env, "command-output", level, show)] : [];
  return {
    type: "input.handled",
    command,
    messages: [...kept, ...shown],
    ...(controls ? { controls } : {}),
    ...(change ? { change } : {}),
  };
}

async function admit(env: StageEnv, message: Draft<UserMessage>, controls?: Controls): Promise<Read> {
  const blocked = (why: string, kept: readonly Draft[]): Read => {
    return { type: "input.blocked", why, messages: [...kept, systemMessage(env, "prompt-blocked", "warning", why)] };
  };
  const empty = message.content.every((p) => p.type === "text" && p.text.trim() === "");
  if (empty) return blocked("The prompt is empty.", []);
  const { verdict, notes } = await judge(env, message.content);
  if (verdict.say !== "pass") return blocked(verdict.why, verdict.say === "stop" ? [message] : []);
  return { type: "input.ready", messages: [message, ...notes], ...(controls ? { controls } : {}) };
}

type Answer = { readonly verdict: Admitted; readonly notes: readonly Draft<AttachmentMessage>[] };

/** block > stop > pass. A blocker that cannot answer blocks, and says how to get rid of it. */
async function judge(env: StageEnv, content: Content): Promise<Answer> {
  const ask = async (e: Entry<"admission">): Promise<Answer> => {
    const ran = await runOne(env, e, async (ctx, _, saw) => {
      const verdict = must(Returns.admitted, await e.it.admit(content, ctx)) as Admitted;
      if (verdict.say !== "pass") saw({ note: verdict.say });
      return { verdict, notes: noteOf(env)(verdict.say === "pass" ? verdict.context : undefined, e) };
    });
    if (ran.ok) return ran.value;
    return { verdict: { say: "block", why: `${ran.fault.message}. Fix it, or disable plugin "${e.plugin}" in the settings.` }, notes: [] };
  };
  const answers = await Promise.all(env.registry.all("admission").map(ask));
  const of = (say: Admitted["say"]): Admitted | undefined => answers.find((a) => a.verdict.say === say)?.verdict;
  return { verdict: of("block") ?? of("stop") ?? { say: "pass" }, notes: answers.flatMap((a) => a.notes) };
}

function systemMessage(env: StageEnv, subtype: string, level: SystemMessage["level"], text: string): Draft<SystemMessage> {
  return { role: "system", id: env.id("system"), at: env.now(), origin: { by: "kernel" }, subtype, level, text };
}
