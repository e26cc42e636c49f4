/** What each session has seen of which file, so that nobody overwrites what they have not seen; and one lock per file. */
import { createHash } from "node:crypto";
import { type Service, service } from "@heddle/kernel/plugin";

export type SeenFile = {
  readonly realpath: string;
  /** SHA-256 of the whole content, in hex. */
  readonly hash: string;
  /** The content, kept for texts up to 256 KB so that a later change can be shown. */
  readonly text?: string;
  /** Milliseconds since the epoch. */
  readonly at: number;
  readonly by: "read" | "write";
};

/** The last 100 files that were read or written, over all sessions. Older ones must be read again before they are changed. */
export interface FileState {
  get(sessionId: string, realpath: string): SeenFile | undefined;
  /** Newest first. */
  list(sessionId: string): readonly SeenFile[];
  /** Whether these bytes are what the session saw last; undefined when it has not seen the file. */
  same(sessionId: string, realpath: string, bytes: Uint8Array): boolean | undefined;
  /** Records that the session knows these bytes. */
  saw(
    sessionId: string,
    realpath: string,
    bytes: Uint8Array,
    how: { readonly at: number; readonly by: SeenFile["by"]; readonly text?: string },
  ): void;
  forget(sessionId: string, realpath: string): void;
}
export const FILES: Service<FileState> = service<FileState>("heddle.files");

const KEEP_FILES = 100;
const KEEP_TEXT = 256 * 1024;

export const hashOf = (bytes: Uint8Array): string => createHash("sha256").update(bytes).digest("hex");

export function createFileState(limit = KEEP_FILES): FileState {
  const seen = new Map<string, { readonly sessionId: string; readonly file: SeenFile }>();
  const keyOf = (sessionId: string, realpath: string): string => JSON.stringify([sessionId, realpath]);
  const use = (key: string): SeenFile | undefined => {
    const entry = seen.get(key);
    if (!entry) return undefined;
    seen.delete(key);
    seen.set(key, entry);
    return entry.file;
  };
  return {
    get: (sessionId, realpath) => use(keyOf(sessionId, realpath)),
    list: (sessionId) =>
      [...seen.values()]
        .filter((e) => e.sessionId === sessionId)
        .map((e) => e.file)
        .reverse(),
    same(sessionId, realpath, bytes) {
      const file = use(keyOf(sessionId, realpath));
      return file && file.hash === hashOf(bytes);
    },
    saw(sessionId, realpath, bytes, { at, by, text }) {
      const key = keyOf(sessionId, realpath);
      seen.delete(key);
      const kept = text !== undefined && text.length <= KEEP_TEXT ? { text } : {};
      seen.set(key, { sessionId, file: { realpath, hash: hashOf(bytes), at, by, ...kept } });
      for (const oldest of seen.keys()) {
        if (seen.size <= limit) break;
        seen.delete(oldest);
      }
    },
    forget: (sessionId, realpath) => void seen.delete(keyOf(sessionId, realpath)),
  };
}

/** Runs work on one file one after another, also for several sessions at a time. */
export type Locks = <T>(realpath: string, work: () => Promise<T>) => Promise<T>;

export function createLocks(): Locks {
  const last = new Map<string, Promise<unknown>>();
  return async (realpath, work) => {
    const before = last.get(realpath);
    const mine = (async () => {
      await before?.catch(() => undefined);
      return work();
    })();
    last.set(realpath, mine);
    try {
      return await mine;
    } finally {
      if (last.get(realpath) === mine) last.delete(realpath);
    }
  };
}
