/** Whether a heredoc begins and ends where every shell says it does, and its body is nothing but text. */
import type { Redirection } from "./grammar.ts";

type HereDoc = Extract<Redirection, { type: "HereDoc" }>;

/** A plain or wholly quoted delimiter; a body that starts on the next line and ends at the first line that could be the end. */
export function isHeredocPlain(source: string, node: HereDoc): boolean {
  const { delimiter, body, closing } = node;
  if (!delimiter || !closing || delimiter.end !== node.end) return false;
  const written = source.slice(delimiter.pos, delimiter.end);
  const [, , name] = /^(['"]?)([\w.-]+)\1$/.exec(written) ?? [];
  const line = source.indexOf("\n", node.end);
  if (name === undefined || name !== delimiter.value || line < 0 || body.pos !== line + 1) return false;
  // another heredoc or a quoted line break on the same line would move the body
  if (/<<|\\$/.test(source.slice(node.end, line)) || /<<(?!<)/.test(source.slice(source.lastIndexOf("\n", node.pos) + 1, node.pos)))
    return false;
  const text = source.slice(body.pos, closing.pos);
  if (written === name && /[$`\\]/.test(text)) return false;
  const lines = text.split("\n");
  const rest = lines.pop()!;
  const untabbed = (l: string): string => (node.operator === "<<-" ? l.replace(/^\t+/, "") : l);
  if (lines.some((l) => untabbed(l).startsWith(name)) || untabbed(rest) !== "") return false;
  const end = source.indexOf("\n", closing.pos);
  return untabbed(source.slice(closing.pos, end < 0 ? undefined : end)) === name;
}
