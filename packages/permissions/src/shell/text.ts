/** What is asked of the text of a command before any grammar sees it, and how words become one text again. */

/** Characters; a longer command is asked for. */
export const MAX_COMMAND = 10_000;

/** What a person would not see on the screen, or what the shell and we might read differently. */
const UNSEEN = /\p{C}|\p{Zl}|\p{Zp}|(?! )\p{Zs}|\u115f|\u1160|\u3164|\uffa0|[\ufe00-\ufe0f]/u;

export const hasUnseen = (command: string): boolean => UNSEEN.test(command.replaceAll("\n", "").replaceAll("\t", ""));

/** Joins words so that two lists of words give one text only when they are the same list. */
export const canonical = (words: readonly string[]): string =>
  words.map((w) => (w === "" || /[\s'"]/.test(w) ? `'${w.replaceAll("'", "'\\''")}'` : w)).join(" ");

export const baseName = (program: string): string => program.slice(program.lastIndexOf("/") + 1);

/**
 * The words of a rule's pattern, quotes and extra blanks taken away so that it can be held against canonical commands; the text as it
 * is where it holds more than plain and quoted words.
 */
export function patternOf(text: string): string {
  const words: string[] = [];
  for (const [, word] of text.trim().matchAll(/((?:[^\s'"\\$`;&|<>(){}]|'[^']*'|"[^"\\$`]*"|\\[^\n])+)(?:[ \t]+|$)/gy))
    words.push(
      word!.replace(/'([^']*)'|"([^"]*)"|\\(.)/gs, (_, single?: string, double?: string, escaped?: string) => single ?? double ?? escaped!),
    );
  const plain = text.trim().replace(/'[^']*'|"[^"\\$`]*"|\\[^\n]/g, "q");
  return plain === "" || /['"\\$`;&|<>(){}\n]/.test(plain) ? text : canonical(words);
}
