/** What the tools say when something outside is in the way: an error result in words, never a throw. */
import type { ToolOutput } from "@heddle/kernel/plugin";

/** What a tool will not do: its message is what the model reads. */
export class Refusal extends Error {}

export const failed = (text: string): ToolOutput => ({ content: text, isError: true });

const WORDS: Readonly<Record<string, string>> = {
  ENOENT: "it does not exist",
  EACCES: "permission is denied",
  EPERM: "permission is denied",
  EROFS: "the file system is read-only",
  ENOSPC: "the disk is full (ENOSPC); what was there before is unchanged",
  EDQUOT: "the disk quota is used up; what was there before is unchanged",
  EISDIR: "it is a folder",
  ENOTDIR: "a part of the path is a file, not a folder",
  ELOOP: "its symbolic links go round in a circle",
  ENAMETOOLONG: "the name is too long",
  EMFILE: "too many files are open; try again",
  EBUSY: "it is in use; try again",
  ETXTBSY: "it is a running program",
};

export function codeOf(error: unknown): string | undefined {
  const code = error instanceof Error ? (error as { code?: unknown }).code : undefined;
  return typeof code === "string" ? code : undefined;
}

/** Turns a refusal, or a system error of `work`, into an error result; of the latter it names `what`. Other errors are bugs and pass through. */
export async function answering(what: string, work: () => Promise<ToolOutput>): Promise<ToolOutput> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof Refusal) return failed(error.message);
    const code = codeOf(error);
    if (!code) throw error;
    return failed(`Cannot ${what}: ${WORDS[code] ?? (error as Error).message}.`);
  }
}

/** `1 line`, `2 lines`. */
export const plural = (n: number, noun: string): string => `${n} ${noun}${n === 1 ? "" : "s"}`;
