/** A notebook as Read shows it: cells with their ids, sources and what they have put out, pictures among it. */
import type { Content } from "@heddle/kernel/plugin";
import { type Cell, cellId, type Notebook, type Output } from "../notebook/cells.ts";
import { headOf } from "../text.ts";

/** Characters of one output and of one answer. */
const MAX_OUTPUT = 4000;
const MAX_SHOWN = 100_000;
const MAX_IMAGES = 20;

type Part = Content[number];
/** Makes a picture in base64 fit, or says in a line why there is none. */
export type Picture = (data: string) => Promise<Part>;

/** Cells from the one at `first` (from 1), at most `most`. `last` is the number of the last one that fits. */
export async function notebookParts(
  { cells }: Notebook,
  first: number,
  most: number,
  picture: Picture,
): Promise<{ parts: Content; last: number }> {
  const parts: Part[] = [];
  let text = "";
  let size = 0;
  let images = 0;
  let last = first - 1;
  const flush = (): void => {
    if (text !== "") parts.push({ type: "text", text });
    text = "";
  };
  for (const [n, cell] of cells.slice(first - 1, first - 1 + most).entries()) {
    const shown = headOf(cell.source, MAX_SHOWN);
    const left = cell.source.length - shown.length;
    const body = `${heading(cell, first - 1 + n)}\n${shown}${left > 0 ? `[... ${left} more characters]` : ""}\n`;
    if (last >= first && size + body.length > MAX_SHOWN) break;
    last++;
    text += body;
    size += body.length;
    for (const output of cell.outputs ?? []) {
      const words = cut(wordsOf(output));
      if (words !== "") text += `[output]\n${words}\n`;
      size += words.length;
      const data = pictureOf(output);
      if (data === undefined) continue;
      if (++images > MAX_IMAGES) text += "[a picture that is left out: there are too many]\n";
      else {
        flush();
        parts.push(await picture(data));
      }
    }
  }
  flush();
  return { parts, last };
}

function heading(cell: Cell, index: number): string {
  const run = typeof cell.execution_count === "number" ? `, run ${cell.execution_count}` : "";
  return `[cell ${cellId(cell, index)}: ${cell.cell_type}${run}]`;
}

function wordsOf(output: Output): string {
  if (output.output_type === "stream") return output.text ?? "";
  if (output.output_type === "error") return output.traceback?.join("\n") || `${output.ename ?? "Error"}: ${output.evalue ?? ""}`;
  const data = output.data ?? {};
  const others = Object.keys(data).filter((type) => !PICTURE.test(type));
  return data["text/plain"] ?? (pictureOf(output) === undefined && others.length > 0 ? `(${others.join(", ")})` : "");
}

const PICTURE = /^image\/(png|jpeg|gif|webp)$/;
const pictureOf = ({ data = {} }: Output): string | undefined => Object.entries(data).find(([type]) => PICTURE.test(type))?.[1];

/** Without the colours of a terminal, and with the end of what is too long, where the error stands. */
function cut(text: string): string {
  const plain = text.replace(/\x1b\[[0-9;]*m/g, "").trimEnd();
  if (plain.length <= MAX_OUTPUT) return plain;
  const half = MAX_OUTPUT / 2;
  return `${headOf(plain, half)}\n[... ${plain.length - 2 * half} characters ...]\n${plain.slice(-half)}`;
}
