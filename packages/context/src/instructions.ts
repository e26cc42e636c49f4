/** Puts instruction files into one text of bounded size, each with its path. */
import type { Instructions } from "./instruction-files.ts";
import { prompts } from "./prompts.generated.ts";

/** Characters of the whole text. */
export const INSTRUCTIONS_LIMIT = 40_000;
const CUT_NOTE = 100;

/** `warning` says which file is to be made smaller; it stands in the text as well. Undefined when there is nothing to say. */
export function assemble({ files, notes }: Instructions): { readonly text: string; readonly warning?: string } | undefined {
  if (files.length === 0 && notes.length === 0) return undefined;
  const whole = put(files, notes);
  if (whole.length <= INSTRUCTIONS_LIMIT) return { text: whole.toWellFormed() };
  const total = files.reduce((n, f) => n + f.text.length, 0);
  const biggest = files.reduce((a, b) => (b.text.length > a.text.length ? b : a), { path: "", text: "" });
  const warning = `The instruction files hold ${total} characters, and ${INSTRUCTIONS_LIMIT} are the limit: the longest are cut. The biggest is ${biggest.path} (${biggest.text.length} characters); make it shorter.`;
  const frame = put(
    files.map((f) => ({ ...f, text: "" })),
    [...notes, warning],
  ).length;
  const cap = fairCap(
    files.map((f) => f.text.length),
    INSTRUCTIONS_LIMIT - frame - files.length * CUT_NOTE,
  );
  const cut = files.map((f) => {
    if (f.text.length <= cap) return f;
    return { ...f, text: `${f.text.slice(0, cap)}\n[cut here: ${cap} of ${f.text.length} characters; read the file for the rest]` };
  });
  return {
    text: put(cut, [...notes, warning])
      .slice(0, INSTRUCTIONS_LIMIT)
      .toWellFormed(),
    warning,
  };
}

/** The largest length to which all may be cut so that they fit into `room`: the longest pay first. */
function fairCap(lengths: readonly number[], room: number): number {
  let left = Math.max(0, room);
  const sorted = [...lengths].sort((a, b) => a - b);
  for (const [i, length] of sorted.entries()) {
    const share = Math.floor(left / (sorted.length - i));
    if (length > share) return share;
    left -= length;
  }
  return Number.POSITIVE_INFINITY;
}

function put(files: Instructions["files"], notes: readonly string[]): string {
  const blocks = files.map((f) => `<instructions path=${JSON.stringify(f.path)}>\n${f.text}\n</instructions>`);
  return [prompts.instructions, ...blocks, ...notes].join("\n\n");
}
