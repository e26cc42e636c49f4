/** Reads the bytes of a session log, whatever has happened to them: what is whole is kept, what is broken is counted. */
import type { RuntimeEvent } from "@heddle/kernel/protocol";
import { type Header, type LogLine, lineParser, type Newer, parseNewer } from "./lines.ts";

/** Bytes. A longer line cannot be made into a string that is worth having; it counts as broken. */
export const MAX_LINE = 256 * 1024 * 1024;

/** `newer`: set when the log is in a later format, and then the rest says little. `broken`: lines that could not be read, with the numbers of the first of them. `torn`: the last line has no end. */
export type LogContents = {
  readonly header: Header | undefined;
  readonly newer?: Newer;
  readonly lines: readonly LogLine[];
  readonly broken: number;
  readonly brokenAt: readonly number[];
  readonly torn: boolean;
};

const NEWLINE = 10;
const NUL = 0;
const SHOWN = 5;

/** A run of NUL bytes, which a crashed disk leaves behind, ends a line like a newline does: no JSON has a raw NUL. Never throws. */
export function readLog(bytes: Uint8Array): LogContents {
  const decoder = new TextDecoder();
  const lines: LogLine[] = [];
  const brokenAt: number[] = [];
  let header: Header | undefined;
  const parseLine = lineParser();
  let newer: Newer | undefined;
  let broken = 0;
  let number = 1;
  const fail = (): void => {
    broken++;
    if (brokenAt.length < SHOWN && brokenAt.at(-1) !== number) brokenAt.push(number);
  };
  const take = (from: number, to: number): void => {
    if (to <= from) return;
    const source = to - from > MAX_LINE ? undefined : decoder.decode(bytes.subarray(from, to));
    if (source?.trim() === "") return;
    const line = source === undefined ? undefined : parseLine(source);
    if (line?.type === "session") header ??= line;
    if (line) return void lines.push(line);
    newer ??= source === undefined ? undefined : parseNewer(source);
    fail();
  };
  let start = 0;
  for (let i = 0; i < bytes.length; i++) {
    const byte = bytes[i];
    if (byte !== NEWLINE && byte !== NUL) continue;
    take(start, i);
    if (byte === NUL) {
      while (bytes[i + 1] === NUL) i++;
      fail();
    } else number++;
    start = i + 1;
  }
  take(start, bytes.length);
  return { header, ...(newer ? { newer } : {}), lines, broken, brokenAt, torn: bytes.length > 0 && bytes.at(-1) !== NEWLINE };
}

export const isEvent = (line: LogLine): line is RuntimeEvent =>
  line.type !== "session" && line.type !== "input.queued" && line.type !== "input.taken";

/** Why the log must be neither shown nor written; undefined when it may. */
export function refusalOf({ newer }: LogContents, id: string): string | undefined {
  if (!newer) return undefined;
  const by = newer.version === undefined ? "a later heddle" : `heddle ${newer.version}`;
  return `session "${id}" was written by ${by} in a format that this one does not know (v ${newer.v}): update heddle, or choose another session`;
}

/** The events of each turn, in the order in which the turns began. What happened between turns belongs to none. */
export function turnsOf(lines: readonly LogLine[]): { readonly turn: string; readonly events: readonly RuntimeEvent[] }[] {
  const turns = new Map<string, RuntimeEvent[]>();
  for (const line of lines) {
    if (!isEvent(line) || line.turn === null) continue;
    const events = turns.get(line.turn);
    if (events) events.push(line);
    else turns.set(line.turn, [line]);
  }
  return [...turns].map(([turn, events]) => ({ turn, events }));
}
