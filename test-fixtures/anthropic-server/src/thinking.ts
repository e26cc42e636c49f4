/** Signatures of thinking blocks: they prove the text and carry the conversation it was thought in. */

import { createHash, createHmac } from "node:crypto";
import { activeTools, isThinking, placedBlocks, systemBlocks } from "./conversation.ts";
import { type Json, type JsonObject, sortedKeys, withoutCacheControl } from "./json.ts";
import { type Random, randomText } from "./random.ts";

export interface PrefixDigests {
  tools: string;
  system: string;
  messages: string;
}

export interface Seal extends PrefixDigests {
  nonce: string;
  model: string;
  text: string;
  /** The thinking block that the model saw last before this one, if any. */
  previous: string | undefined;
}

function digest(...parts: string[]): string {
  const hash = createHash("sha256");
  for (const part of parts) hash.update(part).update("\0");
  return hash.digest("hex").slice(0, 16);
}

const normal = (value: Json) => JSON.stringify(sortedKeys(withoutCacheControl(value)));

/**
 * The running digest after each block; entry n covers the first n blocks. Thinking is left out, because a client
 * may drop old thinking without changing the conversation in the eyes of the API.
 */
export function messageDigests(body: JsonObject): { after: string[]; countBefore: ReadonlyMap<string, number> } {
  const after = [digest("messages")];
  const countBefore = new Map<string, number>();
  for (const { block, path, role } of placedBlocks(body)) {
    countBefore.set(path, after.length - 1);
    if (!isThinking(block)) after.push(digest(after.at(-1) ?? "", role, normal(block)));
  }
  return { after, countBefore };
}

export function toolsDigest(body: JsonObject): string {
  return digest("tools", normal(activeTools(body)));
}

export function systemDigest(body: JsonObject): string {
  return digest("system", normal(systemBlocks(body)));
}

export function prefixDigests(body: JsonObject): PrefixDigests {
  return {
    tools: toolsDigest(body),
    system: systemDigest(body),
    messages: messageDigests(body).after.at(-1) ?? "",
  };
}

export interface ThoughtOrigin {
  model: string;
  prefix: PrefixDigests;
  previous: string | undefined;
}

/** Holds no record of what it signed: a signature stays valid for another server with the same secret. */
export class ThinkingSigner {
  readonly #secret: string;

  constructor(secret: string) {
    this.#secret = secret;
  }

  sign(text: string, origin: ThoughtOrigin, random: Random): string {
    const { tools, system, messages } = origin.prefix;
    const fields = [randomText(random, 12), origin.model, digest(text), tools, system, messages, origin.previous ?? ""];
    const payload = fields.join("|");
    return Buffer.from(`${payload}|${this.#mac(payload)}`).toString("base64");
  }

  read(signature: string): Seal | undefined {
    const decoded = Buffer.from(signature, "base64").toString();
    const [nonce, model, text, tools, system, messages, previous, mac] = decoded.split("|");
    if (nonce === undefined || model === undefined || text === undefined || tools === undefined) return undefined;
    if (system === undefined || messages === undefined || previous === undefined) return undefined;
    const payload = [nonce, model, text, tools, system, messages, previous].join("|");
    if (mac !== this.#mac(payload)) return undefined;
    return { nonce, model, text, tools, system, messages, previous: previous || undefined };
  }

  matches(seal: Seal, text: string): boolean {
    return seal.text === digest(text);
  }

  #mac(payload: string): string {
    return createHmac("sha256", this.#secret).update(payload).digest("hex").slice(0, 32);
  }
}
