/** What a server has answered, as the model reads it. */
import type { NetworkAnswer } from "@heddle/kernel/plugin";
import { headOf } from "../text.ts";
import { textIn } from "./charset.ts";
import { markdownOf } from "./markdown.ts";

/** `failed`: not what was asked for, though it may have a text. */
export type Page = { readonly text: string; readonly failed: boolean };

/** Characters of a page, and of one that comes with an error. */
const MAX_TEXT = 200_000;
const MAX_ERROR = 2_000;

const BINARY: readonly (readonly [pattern: RegExp, what: string])[] = [
  [/^application\/pdf$/, "a PDF document"],
  [/^image\/(?!svg)/, "an image"],
  [/^(audio|video)\//, "audio or video"],
  [/^font\//, "a font"],
  [/^application\/(zip|gzip|x-.*(zip|tar|compressed)|vnd\.(?!.*(xml|json)$)|msword|octet-stream|java-archive|wasm)/, "a binary file"],
];
const MAGIC: readonly (readonly [start: string, what: string])[] = [
  ["%PDF-", "a PDF document"],
  ["\x89PNG", "an image"],
  ["\xff\xd8\xff", "an image"],
  ["GIF8", "an image"],
  ["PK\x03\x04", "a zip archive or an office document"],
  ["\x1f\x8b", "a compressed file"],
];

export async function pageOf({ status, headers, body, truncated }: NetworkAnswer, url: URL): Promise<Page> {
  const ok = status >= 200 && status < 300;
  const wait = headers["retry-after"];
  const later = wait === undefined || ok ? "" : ` It asks to wait before the next try: ${/^\d+$/.test(wait) ? `${wait} s` : wait}.`;
  const said = `${url.href} answered with HTTP ${status}.${later}`;
  const type = (headers["content-type"] ?? "").split(";")[0]!.trim().toLowerCase();
  if (body.length === 0) return { text: ok ? `${said} It has no content.` : said, failed: !ok };
  const what = binary(body, type);
  if (what !== undefined) {
    const size = `${truncated ? "over " : ""}${sizeOf(body.length)}`;
    return { text: `${url.href} is ${what} (${type || "no type given"}, ${size}); WebFetch reads text only.`, failed: true };
  }
  const charset = /;\s*charset\s*=\s*"?([\w:.-]+)/i.exec(headers["content-type"] ?? "")?.[1];
  const raw = await textIn(body, charset);
  const html = /html/.test(type) || (type === "" && /^\s*<(!doctype html|html)/i.test(raw));
  const { text, cut } = html ? await markdownOf(raw, url) : { text: raw.trim(), cut: false };
  if (!ok) return { text: text === "" ? said : `${said} The page says:\n${headOf(text, MAX_ERROR)}`, failed: true };
  if (text === "") return { text: `${said} It has no text${html ? "; it may need a browser that runs scripts" : ""}.`, failed: false };
  const whole = !truncated && !cut && text.length <= MAX_TEXT;
  return { text: `${headOf(text, MAX_TEXT)}${whole ? "" : "\n[The page goes on; it is too long to be fetched whole.]"}`, failed: false };
}

function binary(body: Uint8Array, type: string): string | undefined {
  const start = String.fromCharCode(...body.subarray(0, 8));
  const known = MAGIC.find(([magic]) => start.startsWith(magic))?.[1] ?? BINARY.find(([pattern]) => pattern.test(type))?.[1];
  if (known !== undefined) return known;
  const wide = start.startsWith("\xff\xfe") || start.startsWith("\xfe\xff");
  return !wide && !/utf-?(16|32)/.test(type) && body.subarray(0, 4096).includes(0) ? "a binary file" : undefined;
}

function sizeOf(bytes: number): string {
  if (bytes < 1024) return `${bytes} bytes`;
  return bytes < 1024 * 1024 ? `${Math.round(bytes / 1024)} KB` : `${(bytes / 1024 / 1024).toFixed(1)} MB`;
}
