/** Finds the name that a mistyped one was meant to be. */

/** Undefined when nothing is near: more than two edits, or more than a third of the word. */
export function nearest(word: string, names: readonly string[]): string | undefined {
  let best: string | undefined;
  let least = Math.min(2, Math.floor(word.length / 3)) + 1;
  for (const name of names) {
    const cost = name.startsWith(word) && word.length > 2 ? 1 : distance(word.toLowerCase(), name.toLowerCase());
    if (cost >= least) continue;
    least = cost;
    best = name;
  }
  return best;
}

/** Edits between two words, where swapping two neighbours counts once. */
function distance(a: string, b: string): number {
  let before: number[] = [];
  let last = Array.from({ length: b.length + 1 }, (_, j) => j);
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    for (let j = 1; j <= b.length; j++) {
      const change = last[j - 1]! + (a[i - 1] === b[j - 1] ? 0 : 1);
      let cost = Math.min(change, last[j]! + 1, row[j - 1]! + 1);
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]) cost = Math.min(cost, before[j - 2]! + 1);
      row.push(cost);
    }
    before = last;
    last = row;
  }
  return last[b.length]!;
}
