/** Changes the text of a notebook in one place: indentation, order of keys and line ends stay what they are. */
import { findNodeAtLocation, type Node, parseTree } from "jsonc-parser";

export type NewCell = { readonly type: string; readonly source: string; readonly id?: string };
type Piece = { readonly offset: number; readonly length: number; readonly text: string };

/** Replaces the source of cell `at`, and its type when one is given; a code cell loses what it has put out. */
export function replaced(text: string, at: number, source: string, type: string | undefined): string {
  const cell = cellsOf(text).children?.[at];
  if (!cell) return text;
  const old = JSON.parse(text.slice(cell.offset, cell.offset + cell.length)) as Record<string, unknown>;
  const next = type ?? old["cell_type"];
  const put = (key: string, value: unknown): readonly Piece[] => {
    const node = findNodeAtLocation(cell, [key]);
    return node ? [{ offset: node.offset, length: node.length, text: rendered(text, value, node.offset) }] : [];
  };
  const lines = Array.isArray(old["source"]) ? sourceLines(source) : source;
  if (next === old["cell_type"])
    return spliced(text, [...put("source", lines), ...(next === "code" ? [...put("outputs", []), ...put("execution_count", null)] : [])]);
  const { outputs: _outputs, execution_count: _count, ...rest } = old;
  const fresh = { ...rest, cell_type: next, ...(next === "code" ? { execution_count: null, outputs: [] } : {}), source: lines };
  return spliced(text, [{ offset: cell.offset, length: cell.length, text: rendered(text, fresh, cell.offset) }]);
}

/** Puts a cell before the one that is now at `at`, or behind the last. */
export function inserted(text: string, at: number, { type, source, id }: NewCell): string {
  const cells = cellsOf(text);
  const cell = {
    cell_type: type,
    ...(type === "code" ? { execution_count: null } : {}),
    ...(id === undefined ? {} : { id }),
    metadata: {},
    ...(type === "code" ? { outputs: [] } : {}),
    source: sourceLines(source),
  };
  const next = cells.children?.[at];
  const last = cells.children?.[at - 1];
  const near = next ?? last;
  const space = near ? spaceBefore(text, near.offset) : breakAt(text, cells.offset, 1);
  const body = JSON.stringify(cell, null, unitOf(text) || undefined).replaceAll("\n", () => lineBreak(space) || "\n");
  if (next) return spliced(text, [{ offset: next.offset, length: 0, text: `${body},${space}` }]);
  if (last) return spliced(text, [{ offset: last.offset + last.length, length: 0, text: `,${space}${body}` }]);
  return spliced(text, [{ offset: cells.offset, length: cells.length, text: `[${space}${body}${breakAt(text, cells.offset, 0)}]` }]);
}

export function deleted(text: string, at: number): string {
  const cells = cellsOf(text);
  const cell = cells.children?.[at];
  const last = cells.children?.[at - 1];
  const next = cells.children?.[at + 1];
  if (!cell) return text;
  const end = cell.offset + cell.length;
  if (last) return spliced(text, [{ offset: last.offset + last.length, length: end - last.offset - last.length, text: "" }]);
  if (next) return spliced(text, [{ offset: cell.offset, length: next.offset - cell.offset, text: "" }]);
  return spliced(text, [{ offset: cells.offset, length: cells.length, text: "[]" }]);
}

function cellsOf(text: string): Node {
  const root = parseTree(text);
  const cells = root && findNodeAtLocation(root, ["cells"]);
  if (cells?.type !== "array") throw new Error("no cells in a notebook that was parsed");
  return cells;
}

function spliced(text: string, pieces: readonly Piece[]): string {
  return [...pieces]
    .sort((a, b) => b.offset - a.offset)
    .reduce((out, p) => out.slice(0, p.offset) + p.text + out.slice(p.offset + p.length), text);
}

/** As notebooks store it: each line with its end. */
const sourceLines = (source: string): string[] => source.split(/(?<=\n)/).filter((line) => line !== "");

/** One level of indentation; empty for a text in one line. */
const unitOf = (text: string): string => /^\s*\{\r?\n([ \t]+)"/.exec(text)?.[1] ?? "";
const eolOf = (text: string): string => (text.includes("\r\n") ? "\r\n" : "\n");

/** JSON as it would stand at `offset`, without what goes before it. */
function rendered(text: string, value: unknown, offset: number): string {
  const json = JSON.stringify(value, null, unitOf(text) || undefined);
  return json.replaceAll("\n", () => breakAt(text, offset, 0));
}

/** A line end and the indentation of the line of `offset`, with `deeper` levels more; empty for a text in one line. */
function breakAt(text: string, offset: number, deeper: number): string {
  const unit = unitOf(text);
  if (unit === "") return "";
  const line = text.slice(text.lastIndexOf("\n", offset - 1) + 1, offset);
  return eolOf(text) + (/^[ \t]*/.exec(line)?.[0] ?? "") + unit.repeat(deeper);
}

/** The white space that stands before `offset`. */
const spaceBefore = (text: string, offset: number): string => /\s*$/.exec(text.slice(Math.max(0, offset - 200), offset))?.[0] ?? "";
const lineBreak = (space: string): string => (space.includes("\n") ? space : "");
