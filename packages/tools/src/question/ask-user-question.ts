/** The tool AskUserQuestion: has the person choose, one question after the other. */
import { type Answer, defineTool, type Tool, type ToolContext, type ToolOutput, z } from "@heddle/kernel/plugin";
import { failed } from "../answer.ts";
import { lenient } from "../input.ts";
import { prompts } from "../prompts.generated.ts";
import { leanSchema } from "../schema.ts";

const Option = z.object({ label: z.string().trim().min(1), description: z.string().optional() });
const Question = z.object({
  question: z.string().trim().min(1),
  /** A word or two, for a heading. */
  header: z.string().optional(),
  options: z.array(Option).min(2).max(4),
  multiSelect: z.boolean().optional(),
});
type Question = z.output<typeof Question>;
const input = lenient({ questions: z.array(Question).min(1).max(4) });

export const askUserQuestionTool = (): Tool =>
  defineTool({
    name: "AskUserQuestion",
    description: prompts["ask-user-question"],
    input,
    jsonSchema: () => leanSchema(input),
    overlap: "exclusive",
    isEnabled: (session) => !session.headless,
    effects: () => [],
    run: ({ questions }, ctx) => askAll(questions, ctx),
  });

async function askAll(questions: readonly Question[], ctx: ToolContext): Promise<ToolOutput> {
  if (ctx.session.headless) return failed("Nobody can answer here. Decide by yourself, and say in your reply what you took for granted.");
  const said: string[] = [];
  for (const one of questions) {
    const { text, choices } = posed(one);
    const answer = await ctx.ask(text, choices);
    if (answer.kind === "deny") {
      const why = answer.reason ? `: ${answer.reason}` : "";
      said.push(`"${one.question}": not answered${why}`);
      return { content: `${said.join("\n")}\nThe person does not want to be asked more now.` };
    }
    said.push(`"${one.question}": ${meant(answer, one, choices)}`);
  }
  return { content: `The person has answered:\n${said.join("\n")}` };
}

function posed({ question, header, options, multiSelect }: Question): { readonly text: string; readonly choices: readonly string[] } {
  const choices = options.map(({ label, description }) => (description ? `${label}: ${description}` : label));
  const several = multiSelect ? " (several: their numbers, with commas)" : "";
  return { text: `${header ? `${header}: ` : ""}${question}${several}`, choices };
}

/** Whoever asks hands over a choice, its number, or what else was said. */
function meant(answer: Exclude<Answer, { kind: "deny" }>, { options, multiSelect }: Question, choices: readonly string[]): string {
  if (answer.kind === "allow") return "yes";
  const text = answer.text.trim();
  const labels = (multiSelect ? text.split(/[\s,]+/).filter(Boolean) : [text]).map((part) => {
    const at = /^\d$/.test(part) ? Number(part) - 1 : choices.indexOf(part);
    return options[at]?.label;
  });
  const whole = options[choices.indexOf(text)]?.label;
  if (whole !== undefined) return whole;
  return labels.length > 0 && labels.every((label) => label !== undefined) ? [...new Set(labels)].join(", ") : text;
}
