/** A tool result cut to its head and its tail, with a note between them that says where the whole of it is. */
import { posix } from "node:path";
import { type Content, type FileSystem, type TextPart, type ToolMessage, textOf } from "@heddle/kernel/plugin";

/** Characters. */
const HEAD = 1_200;
const TAIL = 600;
/** Shortening something shorter would win too little. */
export const WORTH = 2 * (HEAD + TAIL);
const MAX_NAME = 100;

/** The same measure as a {@link Budget}: characters of JSON. */
export const sizeOf = (content: Content): number => JSON.stringify(content).length;

/** `path` is the file that has the full text. The images of the result are left out, and said to be. Undefined when it would win too little. */
export function shortened(message: ToolMessage, path: string | undefined): ToolMessage | undefined {
  if (sizeOf(message.content) < WORTH) return undefined;
  const text = textOf(message.content);
  const images = message.content.filter((p) => p.type === "image").length;
  const left = images === 0 ? [] : [images === 1 ? "an image" : `${images} images`];
  const cut = text.length > HEAD + TAIL;
  if (cut) left.push(`${text.length - HEAD - TAIL} of ${text.length} characters`);
  const where = path !== undefined && cut ? ` The full text is in ${path}.` : " Make the call again if they are needed.";
  const note = `[${left.join(" and ")} left out, because the conversation was too long.${where}]`;
  const said = cut ? `${head(text)}\n\n${note}\n\n${tail(text)}` : [text, note].filter(Boolean).join("\n\n");
  const part: TextPart = { type: "text", text: said };
  return sizeOf([part]) < sizeOf(message.content) ? { ...message, content: [part] } : undefined;
}

/** Never parts a surrogate pair. */
const head = (text: string): string => text.slice(0, HEAD).replace(/[\uD800-\uDBFF]$/, "");
const tail = (text: string): string => text.slice(-TAIL).replace(/^[\uDC00-\uDFFF]/, "");

/** Rejects when it cannot be written. */
export async function keep(fs: FileSystem, dir: string, message: ToolMessage): Promise<string> {
  const name = message.callId.replace(/[^\w-]/g, (c) => `%${c.charCodeAt(0).toString(16)}`).slice(0, MAX_NAME);
  const path = posix.join(dir, `${name}.txt`);
  await fs.writeFile(path, new TextEncoder().encode(textOf(message.content)), { mode: 0o600 });
  return path;
}
