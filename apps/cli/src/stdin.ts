/** Reads what was piped in, within limits. */
import type { Readable } from "node:stream";
import { UsageError } from "./exit.ts";

export const STDIN_LIMIT = 10 * 1024 * 1024;

/**
 * The whole of the stream as text; undefined when `patienceMs` is over and nothing has come. Refuses more than 10 MB, and
 * bytes that are not UTF-8 text, with a {@link UsageError}.
 */
export async function readText(stream: Readable, patienceMs: number | null): Promise<string | undefined> {
  const chunks: Buffer[] = [];
  let size = 0;
  const ended = await new Promise<boolean>((resolve, reject) => {
    const patience = patienceMs === null ? undefined : setTimeout(() => resolve(false), patienceMs);
    stream.on("data", (chunk: Buffer | string) => {
      clearTimeout(patience);
      const bytes = typeof chunk === "string" ? Buffer.from(chunk) : chunk;
      size += bytes.length;
      if (size > STDIN_LIMIT)
        reject(new UsageError("stdin is over the limit of 10 MB: write it to a file and name the file in the prompt"));
      else chunks.push(bytes);
    });
    stream.once("end", () => resolve(true));
    stream.once("error", () => resolve(true));
    stream.once("close", () => resolve(true));
  }).finally(() => stream.removeAllListeners("data").pause());
  return ended ? decode(Buffer.concat(chunks)) : undefined;
}

function decode(bytes: Buffer): string {
  const binary = "stdin is not text: write it to a file and name the file in the prompt";
  if (bytes.includes(0)) throw new UsageError(binary);
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    throw new UsageError(binary);
  }
}
