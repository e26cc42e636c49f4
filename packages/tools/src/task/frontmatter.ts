/** Splits a markdown file into the fields at its head and its body. Real files are often not valid YAML, and none of them is worth a crash. */

export type Fields = Readonly<Record<string, unknown>>;
export type Parsed = { readonly fields: Fields; readonly body: string };

/** Where the YAML cannot be read, lines of `key: value` and lists are. Never rejects. */
export async function readFrontmatter(source: string): Promise<Parsed> {
  const text = source.replace(/^\uFEFF/, "").replace(/\r\n?/g, "\n");
  const [, head, body] = /^---[ \t]*\n(?:([\s\S]*?)\n)?---[ \t]*(?:\n([\s\S]*))?$/.exec(text) ?? [];
  if (head === undefined) return { fields: {}, body: body ?? text };
  return { fields: (await readYaml(head)) ?? readLines(head), body: body ?? "" };
}

async function readYaml(source: string): Promise<Fields | undefined> {
  const { parse } = await import("yaml"); // few sessions need it, and loading it takes time
  try {
    const value: unknown = parse(source, { logLevel: "error", prettyErrors: false });
    return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Fields) : undefined;
  } catch {
    return undefined;
  }
}

/** What is indented goes on with the value above it. */
function readLines(source: string): Fields {
  const fields: Record<string, string | string[]> = {};
  let key: string | undefined;
  for (const line of source.split("\n")) {
    const [, name, value = ""] = /^([A-Za-z][\w-]*)[ \t]*:(?:[ \t]+(.*))?$/.exec(line) ?? [];
    if (name !== undefined) {
      key = name;
      fields[key] = /^[|>][-+]?$/.test(value.trim()) ? "" : unquoted(value);
    } else if (key !== undefined && line.trim() !== "") {
      const item = /^\s*-\s+(.*)$/.exec(line)?.[1];
      const old: string | string[] = fields[key] ?? "";
      if (item !== undefined && (old === "" || Array.isArray(old)))
        fields[key] = [...(old === "" ? [] : (old as string[])), unquoted(item)];
      else if (typeof old === "string") fields[key] = `${old} ${line.trim()}`.trim();
    }
  }
  return fields;
}
const unquoted = (text: string): string => /^(["'])(.*)\1$/.exec(text.trim())?.[2] ?? text.trim();
