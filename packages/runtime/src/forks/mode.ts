/** Which of two permission modes allows less: a fork may be held tighter than its session, never looser. */

/** From the strictest on. */
const MODES: readonly string[] = ["plan", "dontAsk", "default", "acceptEdits", "auto", "bypassPermissions"];

/** `wanted` where it is known to be stricter than `most`; otherwise `most`. */
export function stricter(wanted: string | undefined, most: string): string {
  const place = MODES.indexOf(wanted ?? "");
  return place >= 0 && place < MODES.indexOf(most) ? wanted! : most;
}
