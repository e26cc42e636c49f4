/** Which part of a refused request the server wants gone, when it is one that the request can do without. */
import type { Said } from "./errors.ts";
import { OPTIONAL, type Optional, type Without } from "./parts.ts";
import { isObject, type JsonObject } from "./text.ts";

/** Wordings for what has no path in the body. */
const SIGNS: { readonly [O in Optional]?: RegExp } = {
  thoughts:
    /invalid_encrypted_content|encrypted content[^.]* could not be|(?:unknown|unexpected|unsupported|unrecognized|not allowed)[^.]*reasoning|required following item/i,
  include: /encrypted content is not supported|reasoning\.encrypted_content/i,
  "reasoning.summary": /generate reasoning summaries/i,
  images:
    /(?:does not|doesn't|not) support (?:image|vision)|image input is not supported|support image input|not a multimodal|image_url is only supported|no vision/i,
  reasoning_effort: /does not support thinking/i,
};

/** Undefined when the refusal is about something else. */
export function refusedOption(said: Said, body: JsonObject, without: Without): Optional | undefined {
  const { status = 0 } = said;
  const about = `${said.code} ${said.message}`;
  const asked = (option: Optional): boolean => {
    if (without.has(option)) return false;
    if (option === "images") return JSON.stringify(body).includes('"data:image/');
    if (option === "thoughts") return /"(?:encrypted_content|reasoning_content|reasoning)":"/.test(JSON.stringify(body));
    return has(body, option.split("."));
  };
  const named = (option: Optional): boolean => {
    if (SIGNS[option]?.test(about)) return true;
    if (option === "images" || option === "thoughts" || (status !== 400 && status !== 422)) return false;
    return said.param === option || new RegExp(`(?<![\\w.])${option.replace(".", "\\.")}(?![\\w.])`).test(about);
  };
  if (![400, 404, 422, 500].includes(status)) return undefined;
  return OPTIONAL.find((option) => asked(option) && named(option));
}

const has = (value: unknown, [key, ...rest]: readonly string[]): boolean =>
  key === undefined ? value !== undefined : isObject(value) && has(value[key], rest);
