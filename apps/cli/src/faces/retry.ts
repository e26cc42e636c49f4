/** A model call that is made again, in the words of a person. */
import type { RuntimeEvent } from "@heddle/kernel/protocol";
import { plainLine } from "../plain.ts";

type Retry = Extract<RuntimeEvent, { type: "model.retry" }>;

/** One line: which attempt this is, how long it waits, and what was wrong. */
export function retryText({ cause, attempt, of, waitMs, message, model }: Retry): string {
  const wait = waitMs < 100 ? "" : ` in ${(waitMs / 1000).toFixed(1)} s`;
  const whom = model === undefined ? "" : ` with ${model}`;
  return `retry ${attempt} of ${of}${whom}${wait} (${cause}): ${plainLine(message, 300)}`;
}
