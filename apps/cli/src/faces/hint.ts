/** What to say to a line that begins something and then ends. */

const HINTS: Readonly<Record<string, string>> = {
  "/": "a command has a name: /help lists them",
  "!": "a command of the shell follows the mark, as in !git status",
};

/** Undefined for a line that says something. */
export const hintFor = (text: string): string | undefined => HINTS[text.trim()];
