/** Finds what a prompt mentions with `@`: `@path`, `@"path with spaces"`, `@path#L10-20`. */

/** Lines, counted from 1, both ends included. */
export type Range = { readonly from: number; readonly to: number };
/** What one mention may mean, likeliest first: a trailing full stop may or may not be part of a name. */
export type Mention = { readonly readings: readonly { readonly path: string; readonly range?: Range }[] };

/** Mentions of one prompt that are looked at. */
export const MAX_MENTIONS = 50;

// What stands before the @ of an address, a decorator call or code makes it no mention.
const MENTION = /(?<![A-Za-z0-9_.+\-%/\\@`])@(?:"([^"\n]+)"(#L\d+(?:-L?\d+)?)?|((?:\\ |[^ \t\r\n"])+))/g;
const RANGE = /^(.+)#L(\d+)(?:-L?(\d+))?$/su;
const TRAILING = /[.,;:!?)\]}>'`*…’”。，、；：！？）」』】]+$/u;

export function mentionsOf(text: string): Mention[] {
  const seen = new Set<string>();
  const mentions: Mention[] = [];
  for (const [whole, quoted, lines = "", plain] of text.matchAll(MENTION)) {
    if (seen.has(whole)) continue;
    if (seen.size === MAX_MENTIONS) break;
    seen.add(whole);
    mentions.push({ readings: quoted === undefined ? plainReadings(plain!.replaceAll("\\ ", " ")) : readings(quoted + lines) });
  }
  return mentions;
}

function plainReadings(word: string): Mention["readings"] {
  const words = [word, word.replace(TRAILING, ""), word.split(/\s/u, 1)[0]!.replace(TRAILING, "")];
  return [...new Set(words)].filter((w) => w !== "").flatMap(readings);
}

function readings(word: string): Mention["readings"] {
  const [, path, first, last = first] = RANGE.exec(word) ?? [];
  const ends = [Number(first), Number(last)].sort((a, b) => a - b);
  const from = Math.max(1, ends[0]!);
  return [{ path: word }, ...(path ? [{ path, range: { from, to: Math.max(from, ends[1]!) } }] : [])];
}
