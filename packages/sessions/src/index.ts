/** Append-only session logs: write, recover, resume. */
export type { AppendFile, Storage } from "./storage.ts";
