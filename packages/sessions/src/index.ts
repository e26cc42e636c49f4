/** Append-only session logs: write, recover, resume. */
export { SessionLogError } from "./error.ts";
export { findSession, listSessions, type Place, projectDir, type SessionFile, slugOf } from "./folder.ts";
export { type Header, isKept, type LogLine, lineParser, type Newer, type QueuedInput, type TakenInput } from "./lines.ts";
export { createLog, folderOf, forkPath, isForkId, type LogOptions, type OpenedLog, openFile, openLog, type SessionLog } from "./log.ts";
export { INTERRUPTED, type Mended, mend } from "./mend.ts";
export { isEvent, type LogContents, MAX_LINE, readLog, refusalOf, turnsOf } from "./read.ts";
export { interruptedText, type Recovered, recover } from "./recover.ts";
export type { AppendFile, Storage } from "./storage.ts";
