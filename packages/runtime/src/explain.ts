/** Turns the events of one turn into the table a person reads: at most 100 columns wide. */
import type { RuntimeEvent, TurnOutcome } from "@heddle/kernel";
import { explainData, type TableRow, type TurnTable, thousands } from "./explain-data.ts";

export { explainData, type TableRow, type TableSection, type TurnTable } from "./explain-data.ts";

/** Without `times` the text has no milliseconds in it: the same turn gives the same text. Default true. */
export type ExplainOptions = { readonly times?: boolean };

const WIDTH = 100;
const MAX_NAME = 32;

type Widths = { readonly kind: number; readonly name: number; readonly status: number; readonly ms: number };

export function explain(events: readonly RuntimeEvent[], o: ExplainOptions = {}): string {
  const times = o.times ?? true;
  const table = explainData(events);
  const lines = head(table);
  const widths = widthsOf(
    table.sections.flatMap((s) => s.rows),
    times,
  );
  for (const section of table.sections) {
    if (section.rows.length === 0) continue;
    lines.push("", section.phase === "done" ? "observers" : `${section.phase}${section.step > 0 ? ` (step ${section.step + 1})` : ""}`);
    for (const row of section.rows) lines.push(...rowLines(row, widths, times));
  }
  lines.push("", ...wrap(foot(table, times), WIDTH));
  return `${lines.join("\n")}\n`;
}

function head(t: TurnTable): string[] {
  const input = JSON.stringify(t.input);
  const who = [t.source, t.model, t.permissionMode].filter(Boolean).join(", ");
  return [...wrap(`turn ${input.length > 300 ? `${input.slice(0, 299)}…` : input}`, WIDTH), `     ${who}`];
}

function widthsOf(rows: readonly TableRow[], times: boolean): Widths {
  const longest = (of: (row: TableRow) => number): number => rows.reduce((n, row) => Math.max(n, of(row)), 0);
  return {
    kind: longest((r) => r.kind.length),
    name: Math.min(
      MAX_NAME,
      longest((r) => r.name.length),
    ),
    status: longest((r) => r.status.length),
    ms: times ? longest((r) => msOf(r).length) : 0,
  };
}
const msOf = (row: TableRow): string => (row.ms === undefined ? "" : `${thousands(Math.round(row.ms))} ms`);

function rowLines(row: TableRow, w: Widths, times: boolean): string[] {
  const name = row.name.length > w.name ? `${row.name.slice(0, w.name - 1)}…` : row.name;
  const ms = w.ms > 0 ? `  ${msOf(row).padStart(w.ms)}` : "";
  const left = `  ${row.kind.padEnd(w.kind)}  ${name.padEnd(w.name)}  ${row.status.padEnd(w.status)}${ms}`;
  const first = times && row.firstMs !== undefined ? `first after ${thousands(row.firstMs)} ms` : "";
  const text = [first, row.text].filter(Boolean).join("; ");
  if (text === "") return [left.trimEnd()];
  const [start = "", ...rest] = wrap(text, WIDTH - left.length - 2);
  return [`${left}  ${start}`, ...rest.map((line) => `${" ".repeat(left.length + 2)}${line}`)];
}

function foot(t: TurnTable, times: boolean): string {
  const { input, output, cacheRead = 0, cacheWrite = 0 } = t.usage;
  const calls = `${t.modelCalls} model call${t.modelCalls === 1 ? "" : "s"}`;
  const used = `tokens in ${thousands(input)}, out ${thousands(output)}, cache read ${thousands(cacheRead)}, written ${thousands(cacheWrite)}`;
  return [`ended: ${outcomeText(t.outcome)}`, calls, used, ...(times ? [`${thousands(t.ms)} ms`] : [])].join("; ");
}

function outcomeText(outcome: TurnOutcome | null): string {
  switch (outcome?.kind) {
    case undefined:
      return "not yet, or cut off";
    case "handled":
      return `handled by /${outcome.command}`;
    case "blocked":
      return `blocked (${outcome.why})`;
    case "aborted":
      return `aborted (${outcome.reason})`;
    case "step-limit":
      return `step limit after ${outcome.steps}`;
    case "failed":
      return `failed (${outcome.fault.message})`;
    default:
      return outcome!.kind;
  }
}

/** Breaks at spaces where it can; a word longer than a line is cut. */
function wrap(text: string, width: number): string[] {
  const lines: string[] = [];
  let line = "";
  for (const word of text.split(" ")) {
    let rest = word;
    if (line !== "" && line.length + 1 + rest.length > width) {
      lines.push(line);
      line = "";
    }
    while (rest.length > width) {
      lines.push(rest.slice(0, width));
      rest = rest.slice(width);
    }
    line = line === "" ? rest : `${line} ${rest}`;
  }
  if (line !== "") lines.push(line);
  return lines;
}
