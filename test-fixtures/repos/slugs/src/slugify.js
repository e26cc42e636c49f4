import { truncate } from "./truncate.js";

const SPELLED = { "&": " and ", "@": " at ", "%": " percent ", ß: "ss", æ: "ae", œ: "oe", ø: "o", ł: "l", đ: "d", þ: "th" };

/** A title as lower-case ASCII words joined by `separator`, at most `max` characters long. */
export function slugify(title, { max = 60, separator = "-" } = {}) {
  const words = title
    .toLowerCase()
    .replace(/[&@%ßæœøłđþ]/g, (letter) => SPELLED[letter])
    .normalize("NFD")
    .replace(/\p{M}/gu, "")
    .replace(/['’]/g, "")
    .split(/[^a-z0-9]+/)
    .filter((word) => word !== "");
  return truncate(words.join(separator), max, separator);
}
