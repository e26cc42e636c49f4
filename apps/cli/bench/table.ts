/** The rows of what was measured, with their budgets. */

/** `isOver` is undefined where there is no budget. */
export type Row = {
  readonly what: string;
  readonly value: string;
  readonly ratio?: string;
  readonly budget?: string;
  readonly isOver?: boolean;
};

const HEAD = ["", "p25 / median", "to node -e 0", "budget", ""];

export function table(rows: readonly Row[]): string {
  const lines = rows.map(({ what, value, ratio = "", budget = "", isOver }) => [
    what,
    value,
    ratio,
    budget,
    isOver === undefined ? "" : isOver ? "OVER" : "ok",
  ]);
  const all = [HEAD, ...lines];
  const widths = HEAD.map((_, i) => Math.max(...all.map((line) => line[i]!.length)));
  return all
    .map(
      (line) =>
        `${line
          .map((cell, i) => cell.padEnd(widths[i]!))
          .join("  ")
          .trimEnd()}\n`,
    )
    .join("");
}
