/** Which known names a mistyped one may have meant. */

/** At most three, nearest first; none that is further off than a third of its letters. */
export function nearest(name: string, known: readonly string[]): readonly string[] {
  const typed = name.toLowerCase();
  return known
    .map((k) => ({ k, far: k.toLowerCase().startsWith(typed) && typed.length > 1 ? 0.5 : distance(typed, k.toLowerCase()) }))
    .filter(({ k, far }) => far <= Math.max(1, Math.floor(Math.max(k.length, typed.length) / 3)))
    .sort((a, b) => a.far - b.far || (a.k < b.k ? -1 : 1))
    .slice(0, 3)
    .map(({ k }) => k);
}

/** Letters to insert, drop, change or swap with their neighbour. */
function distance(a: string, b: string): number {
  if (a.length > 64 || b.length > 64) return Number.POSITIVE_INFINITY;
  let before: number[] = [];
  let last = Array.from({ length: b.length + 1 }, (_, j) => j);
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    for (let j = 1; j <= b.length; j++) {
      const same = a[i - 1] === b[j - 1];
      let best = Math.min(last[j]! + 1, row[j - 1]! + 1, last[j - 1]! + (same ? 0 : 1));
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]) best = Math.min(best, before[j - 2]! + 1);
      row.push(best);
    }
    before = last;
    last = row;
  }
  return last[b.length]!;
}
