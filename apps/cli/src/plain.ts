/** Makes text from outside safe to show in a terminal: no control character reaches it, and nothing stays invisible. */

/** Tabs and line ends stay; escape sequences go; every other control, direction or tag character is shown as `\u{…}`. */
export function plain(text: string): string {
  return text
    .replace(/\r\n/g, "\n")
    .replace(/\x1b\[[0-?]*[ -/]*[@-~]|\x1b\][^\x07\x1b\n]*(?:\x07|\x1b\\)?|\x1b[PX^_][^\x1b\n]*(?:\x1b\\)?|\x1b[ -/]*[0-~]/g, "")
    .replace(
      /[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u2028\u2029\u202a-\u202e\u2060-\u2069\ufeff]|[\u{e0000}-\u{e007f}]/gu,
      (c) => (c === "\r" ? "\n" : `\\u{${c.codePointAt(0)!.toString(16)}}`),
    );
}

/** Shows everything that is in the text: what a person decides on, or is told was done, leaves nothing out. Blanks and line ends stay. */
export function visible(text: string): string {
  return text.replace(HIDDEN, (c) => `\\u{${c.codePointAt(0)!.toString(16)}}`);
}
/** Controls, formats, lone surrogates, and what shows as nothing or as a common blank that it is not. */
const HIDDEN = /(?![\t\n \u3000])[\p{Cc}\p{Cf}\p{Cs}\p{Z}\p{Default_Ignorable_Code_Point}\u2800]/gu;

/** JSON that says the same and holds no control character of any terminal. */
export const plainJson = (value: unknown, indent?: number): string =>
  JSON.stringify(value, null, indent).replace(/[\x7f-\x9f]/g, (c) => `\\u00${c.charCodeAt(0).toString(16)}`);

/** {@link plain} in one line of at most `limit` characters. */
export const plainLine = (text: string, limit = 200): string => oneLine(plain(text), limit);
/** {@link visible} in one line of at most `limit` characters. */
export const visibleLine = (text: string, limit = 200): string => oneLine(visible(text), limit);

function oneLine(text: string, limit: number): string {
  const line = text.replace(/\s+/g, " ").trim();
  return line.length <= limit ? line : `${line.slice(0, limit - 1).replace(/[\ud800-\udbff]$/, "")}…`;
}
