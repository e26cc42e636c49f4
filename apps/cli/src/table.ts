/** Rows in columns. */
import { width } from "./faces/width.ts";
import { plainLine } from "./plain.ts";

/** Every cell in one line; the last column is as long as it is. */
export function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const cells = [head, ...rows].map((row) => row.map((cell) => plainLine(cell, 400)));
  const widths = head.map((_, i) => Math.max(...cells.map((row) => width(row[i] ?? ""))));
  return cells
    .map((row) =>
      row
        .map((cell, i) => (i === row.length - 1 ? cell : cell + " ".repeat(widths[i]! - width(cell))))
        .join("  ")
        .trimEnd(),
    )
    .join("\n");
}
