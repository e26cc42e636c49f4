/**
 * Shortens a slug to at most `max` characters, at a separator where there is one, so that no word is cut in two.
 * A first word that is longer than `max` is cut.
 */
export function truncate(slug, max, separator = "-") {
  if (slug.length <= max) return slug;
  const cut = slug.lastIndexOf(separator, max - 1);
  return cut > 0 ? slug.slice(0, cut) : slug.slice(0, max);
}
