/** Text and images of a message, in both APIs. */

import { Buffer } from "node:buffer";
import { isObject, isString, type Json, type JsonObject, kindOf, listOf } from "./json.ts";
import { missing, refuse, wrongType, wrongValue } from "./refusal.ts";

/** `text` and `image` name the part types of the API; `images` is false where none may stand. */
export interface ContentRules {
  text: readonly string[];
  image: string;
  images: boolean;
  role: string;
}

/** Refuses what no server can use. That blank text is refused everywhere is a convention: many servers do, OpenAI does not. */
export function checkContent(content: Json | undefined, at: string, rules: ContentRules): undefined {
  if (isString(content)) return checkText(content, at);
  const parts = listOf(content);
  if (!parts) {
    if (content === null || content === undefined) return refuse(`Invalid value for 'content': expected a string, got null.`, at);
    return wrongType(at, "one of an array of objects or string", kindOf(content));
  }
  if (parts.length === 0)
    refuse(`Invalid '${at}': empty array. Expected an array with minimum length 1, but got an empty array instead.`, at, "empty_array");
  for (const [i, part] of parts.entries()) checkPart(part, `${at}[${i}]`, rules);
  return undefined;
}

function checkText(text: Json | undefined, at: string): undefined {
  if (!isString(text)) return text === undefined ? missing(at) : wrongType(at, "a string", kindOf(text));
  if (text.trim() === "") refuse(`Invalid '${at}': text content blocks must be non-empty.`, at, "invalid_value");
  if (/[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/.test(text) || text.includes("\u0000"))
    refuse(`Invalid '${at}': the text holds a lone surrogate or NUL.`, at, "invalid_value");
  return undefined;
}

function checkPart(part: Json, at: string, rules: ContentRules): undefined {
  if (!isObject(part)) return wrongType(at, "an object", kindOf(part));
  const type = part["type"];
  if (isString(type) && rules.text.includes(type)) return checkText(part["text"], `${at}.text`);
  if (type !== rules.image || (!rules.images && rules.image === "input_image"))
    return wrongValue(at, type, rules.images ? [...rules.text, rules.image] : rules.text);
  if (!rules.images) {
    const place = at.slice(0, at.indexOf("]") + 1);
    refuse(
      `Invalid '${place}'. Image URLs are only allowed for messages with role 'user', but this message with role '${rules.role}' contains an image URL.`,
      place,
      "invalid_value",
    );
  }
  return checkImage(urlOf(part), at);
}
const urlOf = (part: JsonObject): Json | undefined => {
  const url = part["image_url"];
  return isObject(url) ? url["url"] : url;
};

/** Only data URLs: the server never goes to the network. That the declared type must be the real one is a convention. */
function checkImage(url: Json | undefined, at: string): undefined {
  const param = `${at}.image_url`;
  if (!isString(url)) return url === undefined ? missing(param) : wrongType(param, "a string", kindOf(url));
  const [, declared, data] = /^data:([^;,]*);base64,(.*)$/s.exec(url) ?? [];
  if (data === undefined) return refuse(`Failed to download image from ${url.slice(0, 60)}.`, param, "invalid_image_url");
  if (data === "" || data.length % 4 !== 0 || !/^[A-Za-z0-9+/]+={0,2}$/.test(data))
    return refuse("Invalid base64 image_url.", param, "invalid_base64");
  const kind = imageKind(Buffer.from(data, "base64"));
  if (kind === undefined)
    return refuse(
      "You uploaded an unsupported image. Please make sure your image has of one the following formats: ['png', 'jpeg', 'gif', 'webp'].",
      param,
      "invalid_image_format",
    );
  if (kind !== declared) refuse(`The image is ${kind}, but its data URL says ${declared}.`, param, "invalid_image_format");
  return undefined;
}

function imageKind(bytes: Buffer): string | undefined {
  const head = bytes.toString("latin1", 0, 12);
  if (head.startsWith("\x89PNG\r\n\x1a\n") && bytes.length >= 24) return "image/png";
  if (head.startsWith("\xff\xd8\xff")) return "image/jpeg";
  if (/^GIF8[79]a/.test(head)) return "image/gif";
  return head.startsWith("RIFF") && head.slice(8) === "WEBP" ? "image/webp" : undefined;
}
