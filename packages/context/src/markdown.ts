/** Reads an instruction file as Markdown: takes block comments out, and finds `@imports` outside of code. */

/** `imports` as they are written, each once, with `\ ` for a space. */
export type Markdown = { readonly text: string; readonly imports: readonly string[] };

const FENCE = /^[\s>]*(?:[-*+]\s+|\d+[.)]\s+)?(`{3,}|~{3,})(.*)$/;

/** Linear in the length of `source`, whatever is in it. A comment without an end is text. */
export function readMarkdown(source: string): Markdown {
  const lines = source.split("\n");
  const kept: string[] = [];
  const prose: string[] = [];
  let fence: string | undefined;
  let ends = true;
  for (let i = 0; i < lines.length; i++) {
    let line = lines[i]!;
    if (ends && fence === undefined && /^ {0,3}<!--/.test(line)) {
      const end = endOfComment(lines, i);
      ends = end !== undefined;
      if (end) {
        i = end.line;
        line = lines[i]!.slice(end.column);
        if (line.trim() === "") continue;
      }
    }
    kept.push(line);
    const [, mark, rest = ""] = FENCE.exec(line) ?? [];
    const closes = fence !== undefined && mark?.startsWith(fence) && rest.trim() === "";
    const opens = fence === undefined && mark !== undefined && !(mark.startsWith("`") && rest.includes("`"));
    prose.push(fence === undefined && !opens ? line : "");
    if (closes) fence = undefined;
    else if (opens) fence = mark;
  }
  const open = paragraphs(prose)
    .map(withoutSpans)
    .join("\n\n")
    .replace(/<!--[^\n]*?-->/g, " ");
  const imports = [...open.matchAll(/(?<!\S)@((?:\\ |\S)+)/g)].map((m) => m[1]!);
  return { text: kept.join("\n").trim(), imports: [...new Set(imports)] };
}

function endOfComment(lines: readonly string[], from: number): { line: number; column: number } | undefined {
  let after = lines[from]!.indexOf("<!--") + 4;
  for (let line = from; line < lines.length; line++) {
    const at = lines[line]!.indexOf("-->", after);
    if (at >= 0) return { line, column: at + 3 };
    after = 0;
  }
  return undefined;
}

function paragraphs(lines: readonly string[]): string[] {
  const all: string[][] = [[]];
  for (const line of lines) {
    if (line.trim() === "") all.push([]);
    else all.at(-1)!.push(line);
  }
  return all.map((p) => p.join("\n"));
}

/** Blots out what stands between two equal runs of backticks of one paragraph. */
function withoutSpans(text: string): string {
  const runs = [...text.matchAll(/`+/g)].map((m) => ({ at: m.index, length: m[0].length }));
  const unclosed = new Set<number>();
  let out = "";
  let done = 0;
  for (let i = 0; i < runs.length; i++) {
    const { at, length } = runs[i]!;
    let close = unclosed.has(length) ? runs.length : i + 1;
    while (close < runs.length && runs[close]!.length !== length) close++;
    if (close === runs.length) {
      unclosed.add(length);
      continue;
    }
    out += `${text.slice(done, at)}\``;
    done = runs[close]!.at + length;
    out += "`";
    i = close;
  }
  return out + text.slice(done);
}
