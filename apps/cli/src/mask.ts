/** Hides what looks like a key in text that somebody else wrote. */

const HIDDEN = "***";
/** Words that say of themselves that they are keys: of Anthropic and OpenAI, GitHub, Slack, Amazon, Google; JSON web tokens. */
const SHAPES =
  /\b(?:[spr]k[-_][\w-]{6,}|gh[pousr]_\w{6,}|github_pat_\w{6,}|glpat-[\w-]{6,}|xox[a-z]-[\w-]{6,}|A[KS]IA[0-9A-Z]{12,}|AIza[\w-]{16,}|eyJ[\w-]+\.[\w-]+(?:\.[\w-]*)?)/g;
const NAMED = /((?:\b|_)(?:key|token|secret|passw(?:or)?d)["']?\s*[=:]\s*["']?|\bbearer\s+)[^\s"']{4,}/gi;
const LONG = /[A-Za-z0-9+/_=-]{20,}/g;

/** A path and a name in words stay. */
function looksRandom(run: string): boolean {
  if (run.startsWith("/")) return run.split("/").some((part) => part.length >= 20 && looksRandom(part));
  const count = (of: RegExp): number => run.match(of)?.length ?? 0;
  const [lower, upper, digits] = [count(/[a-z]/g), count(/[A-Z]/g), count(/\d/g)];
  return (lower > 0 && upper > 0 && digits > 0) || (run.length >= 24 && digits > 3 && lower + upper > 3);
}

export const masked = (text: string): string =>
  text
    .replace(NAMED, (_, name: string) => name + HIDDEN)
    .replace(SHAPES, HIDDEN)
    .replace(LONG, (run) => (looksRandom(run) ? HIDDEN : run));
