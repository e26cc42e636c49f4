/** Matching of `*` in rules, in linear time and without a RegExp made from anybody's text. */

/** `*` stands for any characters, blanks and none included. */
export function wildcard(pattern: string, text: string): boolean {
  const pieces = pattern.split("*");
  const head = pieces[0]!;
  if (pieces.length === 1) return pattern === text;
  const tail = pieces.at(-1)!;
  if (text.length < head.length + tail.length || !text.startsWith(head) || !text.endsWith(tail)) return false;
  const end = text.length - tail.length;
  let at = head.length;
  for (const piece of pieces.slice(1, -1)) {
    const found = text.indexOf(piece, at);
    if (found < 0 || found + piece.length > end) return false;
    at = found + piece.length;
  }
  return true;
}
