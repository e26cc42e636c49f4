/** Jupyter notebooks of format 4 as cells. */
import { z } from "@heddle/kernel/plugin";

const Text = z.union([z.string(), z.array(z.string())]).transform((it) => (typeof it === "string" ? it : it.join("")));
const Data = z.record(z.string(), Text.or(z.unknown().transform((it) => JSON.stringify(it))));
const Output = z.looseObject({
  output_type: z.string(),
  text: Text.optional(),
  data: Data.optional(),
  ename: z.string().optional(),
  evalue: z.string().optional(),
  traceback: z.array(z.string()).optional(),
});
const Cell = z.looseObject({
  id: z.string().optional(),
  cell_type: z.string(),
  source: Text,
  execution_count: z.number().nullish(),
  outputs: z.array(Output).optional(),
});
const Notebook = z.looseObject({ nbformat: z.number(), nbformat_minor: z.number().default(0), cells: z.array(Cell) });
export type Output = z.output<typeof Output>;
export type Cell = z.output<typeof Cell>;
export type Notebook = z.output<typeof Notebook>;

/** Undefined where the text is no notebook of this format. */
export function parseNotebook(text: string): Notebook | undefined {
  try {
    return Notebook.safeParse(JSON.parse(text)).data;
  } catch {
    return undefined;
  }
}

/** Older notebooks have no ids; there the cells are counted from 0. */
export const cellId = (cell: Cell, index: number): string => cell.id ?? `cell-${index}`;

/** Where a cell is, or undefined. `counted`: the id is no cell's own, and only names a place. */
export function cellAt({ cells }: Notebook, id: string): { readonly at: number; readonly counted: boolean } | undefined {
  const own = cells.findIndex((cell) => cell.id === id);
  if (own >= 0) return { at: own, counted: false };
  const at = Number(/^cell-(\d+)$/.exec(id)?.[1] ?? Number.NaN);
  return at < cells.length ? { at, counted: true } : undefined;
}
