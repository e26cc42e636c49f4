/** The attachment kind `file`: what the person mentions with `@` comes with the prompt. */
import { join, resolve } from "node:path";
import {
  type Attachment,
  type CallContext,
  type Content,
  defineAttachment,
  type FileSystem,
  FS,
  type Service,
  service,
  z,
} from "@heddle/kernel/plugin";
import { denier } from "./deny.ts";
import { imageData, imageOf, imagesOf, MAX_IMAGE_FILE, renderImage, seemsImage } from "./image.ts";
import { locate, within } from "./locate.ts";
import { type Mention, mentionsOf, type Range } from "./mentions.ts";
import { MAX_BYTES, MAX_IMAGES, referenceData, type Why, whyNot } from "./reference.ts";

export const MAX_LINES = 2_000;
export const MAX_NAMES = 200;

const Lines = z.object({ from: z.int(), to: z.int() });
/**
 * `path` is absolute. `range` is what was asked for. `lines` and `bytes` are of the whole file. `text` holds the lines that
 * are shown, the first of which is line `from`. `reference`: named and not put into the conversation.
 */
const schema = z.discriminatedUnion("kind", [
  z.object({
    kind: z.literal("text"),
    path: z.string(),
    range: Lines.optional(),
    lines: z.int(),
    bytes: z.int(),
    from: z.int(),
    text: z.array(z.string()),
  }),
  z.object({ kind: z.literal("directory"), path: z.string(), names: z.array(z.string()), total: z.int() }),
  imageData,
  referenceData,
]);
export type FileData = z.output<typeof schema>;

/** Making images smaller takes up to seconds each. */
const DEADLINE_MS = 60_000;

/** `deny`: gitignore patterns of Read deny rules. `home`: absolute; without it `@~/…` is no mention. */
export type FileOptions = { readonly deny: readonly string[]; readonly home?: string | undefined };

export function fileAttachment(options: FileOptions): Attachment {
  return defineAttachment({ name: "file", schema, when: "turn", deadlineMs: DEADLINE_MS, collect: (ctx) => collect(ctx, options), render });
}

/** What the tools for files know of a session's files; a mentioned file counts as read. */
type Files = { saw(session: string, real: string, bytes: Uint8Array, how: { at: number; by: "read"; text?: string }): void };
const FILES: Service<Files> = service<Files>("heddle.files");

/** `saw` is absent for what the model does not get to see. */
type Read = { readonly data: FileData; readonly saw?: (files: Files) => void };
type Found = { readonly path: string; readonly real: string; readonly isFolder: boolean; readonly range?: Range };

async function collect(ctx: CallContext, { deny, home }: FileOptions): Promise<FileData[]> {
  const { input } = ctx.turn;
  if (input.isMeta || input.source === "system") return [];
  const mentions = mentionsOf(input.text);
  if (mentions.length === 0) return [];
  const fs = ctx.capability(FS);
  const { cwd, directories } = ctx.session;
  const real = (path: string): Promise<string> => fs.realpath(path).catch(() => path);
  const workspace = await Promise.all([cwd, ...directories].map(real));
  const denied = denier(deny, { cwds: [...new Set([cwd, workspace[0]!])], home });
  const found = once(await Promise.all(mentions.map((m) => find(fs, m, cwd, home))));
  const left = { chars: MAX_BYTES, images: MAX_IMAGES };
  const kept: Read[] = [];
  // One after the other: a picture that is decoded takes a lot of memory.
  for (const it of found) {
    const { path } = it;
    if (denied(path, it.isFolder) || denied(it.real, it.isFolder)) kept.push(reference(path, "denied"));
    else if (!workspace.some((root) => within(root, it.real))) kept.push(reference(path, "outside"));
    else kept.push(bounded(await read(fs, it, ctx, left.images > 0).catch(() => reference(path, "unreadable")), left));
  }
  const files = filesOf(ctx);
  if (files) for (const { saw } of kept) saw?.(files);
  return kept.map(({ data }) => data);
}

const reference = (path: string, why: Why, bytes?: number): Read => ({
  data: { kind: "reference", path, why, ...(bytes === undefined ? {} : { bytes }) },
});

/** Undefined where no plugin keeps such a record. */
function filesOf(ctx: CallContext): Files | undefined {
  try {
    return ctx.use(FILES);
  } catch {
    return undefined;
  }
}

/** The first reading of a mention that is there. */
async function find(fs: FileSystem, { readings }: Mention, cwd: string, home: string | undefined): Promise<Found | undefined> {
  for (const { path: name, range } of readings) {
    const fromHome = name === "~" || name.startsWith("~/");
    if (fromHome && home === undefined) continue;
    const path = await locate(fs, fromHome ? join(home!, name.slice(1)) : resolve(cwd, name));
    const stat = path === undefined ? undefined : await fs.stat(path).catch(() => undefined);
    if (path === undefined || (stat?.kind !== "file" && stat?.kind !== "directory")) continue;
    const isFolder = stat.kind === "directory";
    return { path, real: await fs.realpath(path).catch(() => path), isFolder, ...(range && !isFolder ? { range } : {}) };
  }
  return undefined;
}

/** Each file once; the whole file stands for all its ranges. */
function once(found: readonly (Found | undefined)[]): Found[] {
  const whole = new Set(found.flatMap((f) => (f && !f.range ? [f.real] : [])));
  const byKey = new Map<string, Found>();
  for (const f of found) {
    if (!f || (f.range && whole.has(f.real))) continue;
    const key = JSON.stringify([f.real, f.range]);
    if (!byKey.has(key)) byKey.set(key, f);
  }
  return [...byKey.values()];
}

/** `mayShow`: whether a further image may come with the prompt. */
async function read(fs: FileSystem, { path, real, isFolder, range }: Found, ctx: CallContext, mayShow: boolean): Promise<Read> {
  if (isFolder) {
    const names = (await fs.readdir(path)).map((e) => (e.kind === "directory" ? `${e.name}/` : e.name));
    return { data: { kind: "directory", path, names: names.slice(0, MAX_NAMES), total: names.length } };
  }
  const size = (await fs.stat(path))?.size ?? 0;
  const named = seemsImage(path);
  if (named && size > MAX_IMAGE_FILE) return reference(path, "huge-image", size);
  if (named && size > MAX_BYTES && !mayShow) return reference(path, "images", size);
  if (!named && size > MAX_BYTES) return reference(path, "huge", size);
  const bytes = await fs.readFile(path);
  const text = decode(bytes);
  if (text === undefined) {
    const images = imagesOf(ctx);
    if (!named && !images?.size(bytes)) return reference(path, "binary", bytes.length);
    return mayShow ? { data: await imageOf(images, path, bytes) } : reference(path, "images", bytes.length);
  }
  if (bytes.length > MAX_BYTES) return reference(path, "huge", bytes.length);
  const lines = text.split(/\r?\n/);
  if (lines.at(-1) === "") lines.pop();
  const from = range?.from ?? 1;
  const shown = lines.slice(from - 1, Math.min(range?.to ?? lines.length, from - 1 + MAX_LINES));
  return {
    data: { kind: "text", path, ...(range ? { range } : {}), lines: lines.length, bytes: bytes.length, from, text: shown },
    saw: (files) => files.saw(ctx.session.id, real, bytes, { at: ctx.now(), by: "read", text }),
  };
}

function decode(bytes: Uint8Array): string | undefined {
  if (bytes.includes(0)) return undefined;
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    return undefined;
  }
}

/** Many files are as long as one long file. */
function bounded(it: Read, left: { chars: number; images: number }): Read {
  const { data } = it;
  if (data.kind === "image") left.images--;
  if (data.kind !== "text") return it;
  const size = data.text.reduce((n, line) => n + line.length + 1, 0);
  if (size > left.chars) return reference(data.path, "enough", data.bytes);
  left.chars -= size;
  return it;
}

function render(it: FileData): string | Content {
  if (it.kind === "image") return renderImage(it);
  if (it.kind === "reference") {
    const size = it.bytes === undefined ? "" : `, ${it.bytes} bytes`;
    return `The user mentions ${it.path}${size} (not attached: ${whyNot(it)}).`;
  }
  if (it.kind === "directory") {
    const rest = it.total - it.names.length;
    const more = rest > 0 ? [`(cut: ${rest} more of ${it.total} names)`] : [];
    return [`The user mentions the folder ${it.path}, which ${it.total === 0 ? "is empty." : "holds:"}`, ...it.names, ...more].join("\n");
  }
  if (it.lines === 0) return `The user mentions ${it.path}, which is empty.`;
  const to = it.from + it.text.length - 1;
  if (it.text.length === 0)
    return `The user mentions line ${it.from} of ${it.path}, which has only ${it.lines} line${it.lines === 1 ? "" : "s"}.`;
  const wanted = Math.min(it.range?.to ?? it.lines, it.lines);
  const part = it.range || to < wanted ? `, lines ${it.from}-${to} of ${it.lines}` : "";
  const cut = to < wanted ? [`(cut after ${MAX_LINES} lines; read on from line ${to + 1} if you need it)`] : [];
  return [`The user mentions ${it.path}${part}:`, ...it.text.map((line, i) => `${String(it.from + i).padStart(6)}\t${line}`), ...cut].join(
    "\n",
  );
}
