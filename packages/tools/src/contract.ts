/** What other feature packages may know of the tools: which files a session has seen. */
import { type Service, service } from "@heddle/kernel/plugin";

/** Lines from 1, both ends included; `of` is how many the file has. */
export type SeenLines = { readonly ranges: readonly (readonly [first: number, last: number])[]; readonly of: number };

export type SeenFile = {
  /** Absolute, with every symlink resolved. */
  readonly realpath: string;
  /** SHA-256 of the whole content, in hex. */
  readonly hash: string;
  /** The content of a text up to 256 K characters, so that a later change can be shown. Of all texts 25 MB are kept, the newest. */
  readonly text?: string;
  /** Where the model was shown a part only. */
  readonly part?: SeenLines;
  /** The call whose result shows `what` of this content. */
  readonly shown?: { readonly callId: string; readonly what: string };
  /** Read has shown the cells of this notebook, and each still stands in the place that it had there. */
  readonly counted?: boolean;
  /** Milliseconds since the epoch. */
  readonly at: number;
  readonly by: "read" | "write";
};
export type Seeing = Omit<SeenFile, "realpath" | "hash">;

/** The last 100 files that were read or written, over all sessions. Older ones must be read again before they are changed. */
export interface FileState {
  get(sessionId: string, realpath: string): SeenFile | undefined;
  /** Newest first. */
  list(sessionId: string): readonly SeenFile[];
  /** Whether these bytes are what the session saw last; undefined when it has not seen the file. */
  same(sessionId: string, realpath: string, bytes: Uint8Array): boolean | undefined;
  /** Records that the session knows these bytes. Parts of the same content add up. */
  saw(sessionId: string, realpath: string, bytes: Uint8Array, how: Seeing): void;
  forget(sessionId: string, realpath: string): void;
}
export const FILES: Service<FileState> = service<FileState>("heddle.files");
