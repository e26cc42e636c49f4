/** How the end of an agent reads for the model that has started it: never empty, and honest about what did not work. */
import type { ForkEnd, ToolOutput, TurnOutcome } from "@heddle/kernel/plugin";
import { plural } from "../answer.ts";

export function report(end: ForkEnd, type: string): ToolOutput {
  const { id, text, steps, usage } = end;
  const { input, output, cacheRead = 0, cacheWrite = 0 } = usage;
  const tokens = `${input + cacheRead + cacheWrite} tokens in, ${output} out`;
  const cost = `[${named(id, type)}: ${plural(steps, "model call")}, ${tokens}; \`resume\` goes on with it]`;
  if (end.answered) return { content: `${text}\n\n${cost}` };
  const said = text.trim() === "" ? "It had said nothing." : `The last it said:\n${text}`;
  return { content: `The agent ${problem(end.outcome)} What it did until then stands. ${said}\n\n${cost}`, isError: true };
}

/** Of which type an agent is, is found again in what the conversation says of it. */
const named = (id: string, type: string): string => `agent ${id} (${type})`;
export const begun = (id: string, type: string): string =>
  `Started ${named(id, type)} in the background. You will be told its end; go on with other work.`;
export const typeIn = (text: string, id: string): string | undefined => {
  const at = text.indexOf(`agent ${id} (`);
  return at < 0 ? undefined : /\(([^)]*)\)/.exec(text.slice(at))?.[1];
};

function problem(outcome: TurnOutcome): string {
  switch (outcome.kind) {
    case "completed":
      return "ended without a last message.";
    case "step-limit":
      return `was stopped at its limit of ${plural(outcome.steps, "model call")}.`;
    case "refused":
      return "ended, because the model refused to answer.";
    case "aborted":
      return `was stopped: ${outcome.reason}.`;
    case "failed":
      return `failed: ${outcome.fault.message.replace(/^plugin "[^"]*" \(providers "[^"]*"\) /, "").replace(/\.?$/, ".")}`;
    case "blocked":
      return `did not begin: ${outcome.why.replace(/\.?$/, ".")}`;
    case "handled":
      return `did not begin: /${outcome.command} was run in its place.`;
  }
}
