/** Puts a budget on what a tool answers: of a longer text the model gets head and tail, and the name of the file that has all of it. */
import { posix } from "node:path";
import { type Content, type Entry, type FileSystem, must, Returns, type Tool, type ToolContext, textOf } from "@heddle/kernel";
import { around } from "./around.ts";
import { type Cut, cutMiddle } from "./cut.ts";

/** Characters of one result, where its tool says nothing. */
export const OUTPUT_LIMIT = 30_000;
/** Of those, what the words about the cut may take. */
const NOTE = 500;
const MAX_NAME = 100;

/** `folder`: of the session; null where nothing is kept. */
export type Keeping = { readonly fs: Pick<FileSystem, "writeFile" | "stat">; readonly folder: string | null };

export function withBudget(entry: Entry<"tools">, keeping: () => Keeping): Entry<"tools"> {
  const { it, name } = entry;
  const limit = it.outputLimit ?? OUTPUT_LIMIT;
  const fit = (text: string, { callId }: ToolContext): Promise<string> => fitted(text, limit, { ...keeping(), callId, tool: name });
  const run: Tool["run"] = async (input, ctx) => {
    const output = must(Returns.tool, await running(it, input, ctx, limit, fit));
    const content = typeof output === "string" ? output : output.content;
    const text = typeof content === "string" ? content : joined(content);
    if (text.length <= limit) return output;
    const short = await fit(text, ctx);
    const more = typeof output === "string" ? {} : output;
    if (typeof content === "string") return { ...more, content: short };
    return { ...more, content: [{ type: "text", text: short }, ...content.filter((part) => part.type !== "text")] };
  };
  return { ...entry, it: around(it, { run }) };
}

const joined = (content: Content): string => content.flatMap((part) => (part.type === "text" ? [textOf([part])] : [])).join("\n");

type Fit = (text: string, ctx: ToolContext) => Promise<string>;
/** What a tool throws is its answer too. */
async function running(it: Tool, input: unknown, ctx: ToolContext, limit: number, fit: Fit): Promise<Awaited<ReturnType<Tool["run"]>>> {
  try {
    return await it.run(input, ctx);
  } catch (error) {
    if (!(error instanceof Error) || typeof error.message !== "string" || error.message.length <= limit) throw error;
    throw new Error(await fit(error.message, ctx));
  }
}

type Place = Keeping & { readonly callId: string; readonly tool: string };
async function fitted(text: string, limit: number, place: Place): Promise<string> {
  const cut = cutMiddle(text, Math.max(limit - NOTE, Math.ceil(limit / 2)));
  if (!cut) return text;
  return `${cut.head}${cut.head.endsWith("\n") ? "" : "\n"}\n[${amount(cut)} left out here. ${await whereabouts(text, cut, place)}]\n\n${cut.tail}`;
}

const amount = ({ lines, chars, wholeLines }: Cut): string =>
  wholeLines ? `${lines.left} of ${lines.all} lines (${chars.left} characters)` : `${chars.left} of ${chars.all} characters`;

async function whereabouts(text: string, cut: Cut, place: Place): Promise<string> {
  if (place.folder === null) return "They are kept nowhere; ask for less at a time if they are needed.";
  try {
    const path = await keep(text, place.folder, place);
    const how = cut.wholeLines
      ? `Read it from offset ${cut.line} on, or search it with Grep.`
      : "Search it with Grep, or take parts of it with Bash.";
    return `The whole output is in ${path}. ${how}`;
  } catch (error) {
    return `They could not be kept: ${error instanceof Error ? error.message : String(error)}`;
  }
}

/** Some servers number the calls of each reply from zero: what another call has left is not written over. */
async function keep(text: string, folder: string, { fs, callId }: Place): Promise<string> {
  const name = callId.replace(/[^\w-]/g, (c) => `%${c.charCodeAt(0).toString(16)}`).slice(0, MAX_NAME);
  const pathOf = (n: number): string => posix.join(folder, "outputs", `${name}${n > 1 ? `_${n}` : ""}.txt`);
  let n = 1;
  while (await fs.stat(pathOf(n))) n++;
  await fs.writeFile(pathOf(n), new TextEncoder().encode(text), { mode: 0o600 });
  return pathOf(n);
}
