/** The tape format: one model step per line, as JSON. */
import { type AssistantMessage, callsOf, type Json, type Message, textOf, z } from "@heddle/kernel/plugin";

const count = z.number().nonnegative();
const Call = z.strictObject({ tool: z.string().min(1), input: z.json(), malformed: z.string().optional() });
/** Without `stop` a step with calls stops for them, and any other is the end of the reply. `usage` in tokens. */
export const Step = z.strictObject({
  reasoning: z.string().optional(),
  text: z.string().optional(),
  calls: z.array(Call).optional(),
  stop: z.enum(["end", "tool-calls", "length", "refusal", "pause"]).optional(),
  usage: z.strictObject({ input: count, output: count, cacheRead: count.optional(), cacheWrite: count.optional() }).optional(),
});
export type Step = z.output<typeof Step>;

/** Says which line is wrong, and how. */
export class TapeError extends Error {
  override readonly name = "TapeError";
}

/** Empty lines count for nothing. Throws {@link TapeError}. */
export function parseTape(text: string): Step[] {
  const steps = text.split("\n").flatMap((line, i): Step[] => {
    if (line.trim() === "") return [];
    const wrong = (what: string): TapeError => new TapeError(`line ${i + 1}: ${what}`);
    let json: unknown;
    try {
      json = JSON.parse(i === 0 ? line.replace(/^\uFEFF/, "") : line);
    } catch (error) {
      throw wrong(`not JSON (${(error as Error).message})`);
    }
    const step = Step.safeParse(json);
    if (!step.success) throw wrong(step.error.issues.map((it) => `${it.path.join(".") || "the step"}: ${it.message}`).join("; "));
    if (Object.keys(step.data).length === 0) throw wrong("an empty step; give it text, calls or a stop");
    return [step.data];
  });
  if (steps.length === 0) throw new TapeError('no steps in it; each line is one, such as {"text":"Hello."}');
  return steps;
}

export const stringifyTape = (steps: readonly Step[]): string => steps.map((step) => `${JSON.stringify(step)}\n`).join("");

/** A reply as a step. Parts of one kind are joined; what only its own provider can read is left out. */
export function stepOf({ content, stop, usage }: AssistantMessage): Step {
  const reasoning = content.map((p) => (p.type === "reasoning" ? p.text : "")).join("");
  const text = textOf(content);
  const calls = callsOf({ content }).map(({ tool, input, malformed }) => ({
    tool,
    input: input as z.output<typeof Call>["input"],
    ...(malformed === undefined ? {} : { malformed }),
  }));
  const usual = calls.length > 0 ? "tool-calls" : "end";
  return {
    ...(reasoning === "" ? {} : { reasoning }),
    ...(text === "" ? {} : { text }),
    ...(calls.length === 0 ? {} : { calls }),
    ...(stop !== usual || (reasoning === "" && text === "" && calls.length === 0) ? { stop: stop as NonNullable<Step["stop"]> } : {}),
    ...(usage ? { usage } : {}),
  };
}

/** A model's complete reply: one step of a conversation. One that was cut off is asked for again, and is none. */
export function isReply(m: Message): m is AssistantMessage {
  return m.role === "assistant" && m.origin.by === "model" && m.stop !== "aborted" && m.stop !== "overflow";
}

const CALL_ID = /^replay_(\d+)_/;
export const callIdOf = (step: number, call: number): string => `replay_${String(step).padStart(4, "0")}_${call}`;

/** How many steps of a tape a conversation has had: what its last call id says, and the replies after that. */
export function stepsPlayed(messages: readonly Message[]): number {
  const replies = messages.filter(isReply);
  for (let i = replies.length - 1; i >= 0; i--) {
    const step = callsOf(replies[i]!).map((c) => CALL_ID.exec(c.callId)?.[1])[0];
    if (step !== undefined) return Number(step) + replies.length - 1 - i;
  }
  return replies.length;
}

export const asJson = (value: unknown): Json => JSON.parse(JSON.stringify(value)) as Json;
