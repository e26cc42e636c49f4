/** Scripts of sed that print, delete and replace lines, and neither write files nor run anything. */

const ADDRESS = /(?:\d+|\$)/y;
const ENDS = /[ \t]*(?:;[ \t]*|$)/y;

/** Commands `p`, `d`, `q`, `=` and `s` with flags `g p i I` and numbers, behind numbers or `/patterns/`. */
export function isTameScript(script: string): boolean {
  if (script.includes("\n")) return false;
  let at = 0;
  const takes = (pattern: RegExp): boolean => {
    pattern.lastIndex = at;
    if (!pattern.test(script)) return false;
    at = pattern.lastIndex;
    return true;
  };
  /** From behind an opening delimiter to behind the closing one. */
  const between = (delimiter: string): boolean => {
    const start = at;
    for (; at < script.length; at++) {
      if (script[at] === "\\") at++;
      else if (script[at] === delimiter) {
        const text = script.slice(start, at++);
        // versions of sed differ on a delimiter in brackets
        return (text.match(/\[/g) ?? []).length <= (text.match(/\]/g) ?? []).length;
      }
    }
    return false;
  };
  const address = (): boolean => {
    if (script[at] !== "/") return takes(ADDRESS);
    at++;
    return between("/");
  };
  while (at < script.length) {
    if (address() && script[at] === ",") {
      at++;
      if (script[at] === "+") at++;
      if (!address()) return false;
    }
    const command = script[at++];
    if (command === "s") {
      const delimiter = script[at++];
      if (delimiter === undefined || /[\w\s\\;]/.test(delimiter) || !between(delimiter) || !between(delimiter)) return false;
      takes(/[gpiI0-9]*/y);
    } else if (command === undefined || !"pdq=".includes(command)) return false;
    if (!takes(ENDS)) return false;
  }
  return script !== "";
}
