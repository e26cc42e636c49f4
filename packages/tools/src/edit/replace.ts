/** One replacement in a text: where it applies, and what comes out. */
import { toLf } from "../text.ts";
import { flatten, places, replaceAt, type Span } from "./match.ts";
import { whyAmbiguous, whyNotFound } from "./nearest.ts";

/** Places counted before they are too many to count. */
const MANY = 1000;

export type Replacement = { readonly old_string: string; readonly new_string: string; readonly replace_all?: boolean | undefined };
/** `places` are positions in `lf`, the text before as it was searched; `span` is the first of them in the text itself. */
export type Replaced = { readonly after: string; readonly places: readonly number[]; readonly lf: string; readonly span: Span };

/** The new text, or the words why there is none. */
export function replace(text: string, it: Replacement): Replaced | string {
  if (it.old_string === "") return "An empty old_string is for new and empty files only. Give the text to replace, or use Write.";
  const from = toLf(it.old_string);
  const to = toLf(it.new_string);
  // Where the two differ in their line ends alone, those are what is to change: matched and written to the letter.
  if (from === to) {
    const found = placesFor(text, it.old_string, it);
    if (found.length === 0) return "The two texts differ only in their line ends, and the file does not have those of old_string.";
    if (typeof found === "string") return found;
    const start = found[0] ?? 0;
    const span = { start, end: start + it.old_string.length };
    return { after: splice(text, found, it.old_string, it.new_string), places: found, lf: text, span };
  }
  const flat = flatten(text);
  const found = placesFor(flat.lf, from, it);
  if (found.length === 0) return whyNotFound(flat.lf, from);
  if (typeof found === "string") return found;
  const start = found[0] ?? 0;
  const span = { start: flat.at(start), end: flat.at(start + from.length) };
  return { after: replaceAt(flat, found, from, to), places: found, lf: flat.lf, span };
}

/** Where to replace, or the words why the places are too many. */
function placesFor(text: string, from: string, it: Replacement): readonly number[] | string {
  if (it.replace_all) return places(text, from, from.length);
  const found = places(text, from, 1, MANY);
  return found.length > 1 ? whyAmbiguous(text, found, found.length === MANY) : found;
}

function splice(text: string, starts: readonly number[], from: string, to: string): string {
  let after = "";
  let done = 0;
  for (const start of starts) {
    after += text.slice(done, start) + to;
    done = start + from.length;
  }
  return after + text.slice(done);
}
