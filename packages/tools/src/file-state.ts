/** What each session has seen of which file, so that nobody overwrites what they have not seen; and one lock per file. */
import { createHash } from "node:crypto";
import type { FileState, SeenFile, SeenLines } from "./contract.ts";

const KEEP_FILES = 100;
/** Bytes of texts that are kept, of one file and of all; a character counts as two. */
const KEEP_TEXT = 512 * 1024;
const KEEP_TEXTS = 25 * 1024 * 1024;

export const hashOf = (bytes: Uint8Array): string => createHash("sha256").update(bytes).digest("hex");

const sizeOf = ({ text = "" }: { readonly text?: string }): number => text.length * 2;

export function createFileState(keepFiles = KEEP_FILES, keepTexts = KEEP_TEXTS): FileState {
  const seen = new Map<string, { readonly sessionId: string; readonly file: SeenFile }>();
  let texts = 0;
  const keyOf = (sessionId: string, realpath: string): string => JSON.stringify([sessionId, realpath]);
  const drop = (key: string): void => {
    texts -= sizeOf(seen.get(key)?.file ?? {});
    seen.delete(key);
  };
  const use = (key: string): SeenFile | undefined => {
    const entry = seen.get(key);
    if (!entry) return undefined;
    seen.delete(key);
    seen.set(key, entry);
    return entry.file;
  };
  const shrink = (): void => {
    for (const oldest of seen.keys()) {
      if (seen.size <= keepFiles) break;
      drop(oldest);
    }
    for (const [key, { sessionId, file }] of seen) {
      if (texts <= keepTexts) break;
      texts -= sizeOf(file);
      const { text: _text, ...rest } = file;
      seen.set(key, { sessionId, file: rest });
    }
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
    saw(sessionId, realpath, bytes, { text, part, ...how }) {
      const key = keyOf(sessionId, realpath);
      const hash = hashOf(bytes);
      const before = seen.get(key)?.file;
      const known = part && before?.hash === hash ? together(before.part, part) : part;
      const kept = text !== undefined && sizeOf({ text }) <= KEEP_TEXT ? { text } : {};
      drop(key);
      seen.set(key, { sessionId, file: { realpath, hash, ...how, ...kept, ...(known ? { part: known } : {}) } });
      texts += sizeOf(kept);
      shrink();
    },
    forget: (sessionId, realpath) => drop(keyOf(sessionId, realpath)),
  };
}

/** Undefined once nothing is missing. */
function together(before: SeenLines | undefined, { ranges, of }: SeenLines): SeenLines | undefined {
  if (!before) return undefined;
  const joined: (readonly [number, number])[] = [];
  for (const range of [...before.ranges, ...ranges].sort((a, b) => a[0] - b[0])) {
    const last = joined.at(-1);
    if (last && range[0] <= last[1] + 1) joined[joined.length - 1] = [last[0], Math.max(last[1], range[1])];
    else joined.push(range);
  }
  const [first] = joined;
  return first && first[0] <= 1 && first[1] >= of ? undefined : { ranges: joined, of };
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
