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

/** The same in one line of at most `limit` characters. */
export function plainLine(text: string, limit = 200): string {
  const line = plain(text).replace(/\s+/g, " ").trim();
  return line.length <= limit ? line : `${line.slice(0, limit - 1).replace(/[\ud800-\udbff]$/, "")}…`;
}
