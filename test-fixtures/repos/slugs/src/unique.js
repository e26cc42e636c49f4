import { slugify } from "./slugify.js";

/** A function like `slugify` that never gives the same slug twice: a number is added, within `max`. */
export function slugger(options = {}) {
  const { max = 60, separator = "-" } = options;
  const taken = new Set();
  return (title) => {
    const slug = slugify(title, options) || "untitled";
    let unique = slug;
    for (let n = 2; taken.has(unique); n++) {
      const suffix = `${separator}${n}`;
      unique = slug.slice(0, max - suffix.length) + suffix;
    }
    taken.add(unique);
    return unique;
  };
}
