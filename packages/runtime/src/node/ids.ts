/** Ids that are unique for ever and sort by the time they were made. */
import { randomBytes } from "node:crypto";

const ALPHABET = "0123456789abcdefghijklmnopqrstuvwxyz";
const COUNTS = 36 ** 2;

/** `session` ids stand alone, since people type them; all others begin with their kind. */
export function idMaker(now: () => number): (kind: string) => string {
  let last = 0;
  let count = 0;
  return (kind) => {
    const at = Math.max(now(), last);
    count = at === last ? count + 1 : 0;
    last = count < COUNTS ? at : at + 1;
    count %= COUNTS;
    const random = [...randomBytes(8)].map((byte) => ALPHABET[byte % 36]).join("");
    const body = `${last.toString(36).padStart(9, "0")}${count.toString(36).padStart(2, "0")}${random}`;
    return kind === "session" ? body : `${kind.toLowerCase().replace(/[^a-z0-9]+/g, "-")}-${body}`;
  };
}
