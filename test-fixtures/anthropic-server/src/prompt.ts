/** A request as the cache sees it: units in order, each with its tokens and the running hash of the prefix. */

import { createHash } from "node:crypto";
import { thinkingMode } from "./context.ts";
import { placedBlocks, systemBlocks } from "./conversation.ts";
import { isObject, type Json, type JsonObject, objects, withoutCacheControl } from "./json.ts";
import type { ModelRules } from "./models.ts";
import { blockTokens, jsonTokens, ROLE_CHANGE, textTokens } from "./tokens.ts";

export interface PromptUnit {
  path: string;
  tokens: number;
  /** Tokens of the prompt up to and with this unit. */
  total: number;
  /** Hash of the prefix that ends here. */
  prefix: string;
  /** Hash of this unit alone: tells whether the model has met this content before, wherever it stood. */
  identity: string;
}

export interface Prompt {
  units: PromptUnit[];
  tokens: number;
}

function hash(...parts: string[]): string {
  const digest = createHash("sha256");
  for (const part of parts) digest.update(part).update("\0");
  return digest.digest("base64url").slice(0, 22);
}

interface RawUnit {
  path: string;
  content: string;
  tokens: number;
  /** Settings that lose this level of the cache when they change; they join the hash at its first unit. */
  settings: string;
}

function messageSettings(body: JsonObject, model: ModelRules): string {
  const thinking = body["thinking"];
  const config = body["output_config"];
  const effort = isObject(config) ? config["effort"] : undefined;
  return JSON.stringify([
    body["tool_choice"] ?? { type: "auto" },
    thinkingMode(body, model),
    (isObject(thinking) ? thinking["budget_tokens"] : undefined) ?? null,
    effort ?? model.defaultEffort,
  ]);
}

function toolUnits(body: JsonObject): RawUnit[] {
  return objects(body["tools"]).flatMap((tool, i) => {
    if (tool["defer_loading"] === true) return [];
    const content = JSON.stringify(withoutCacheControl(tool));
    return [{ path: `tools.${i}`, content, tokens: textTokens(content), settings: "" }];
  });
}

/** Loads each deferred tool at its first reference only: later ones add nothing to the prompt. */
function deferredLoader(body: JsonObject): (name: string) => number {
  const waiting = new Map<Json | undefined, JsonObject>();
  for (const tool of objects(body["tools"])) if (tool["defer_loading"] === true) waiting.set(tool["name"], tool);
  return (name) => {
    const tool = waiting.get(name);
    waiting.delete(name);
    return tool ? jsonTokens(tool) : 0;
  };
}

function messageUnits(body: JsonObject, omitted: ReadonlySet<string>): RawUnit[] {
  const load = deferredLoader(body);
  let lastRole = "";
  return placedBlocks(body)
    .filter(({ path }) => !omitted.has(path))
    .map(({ block, path, role }) => {
      const change = role === lastRole ? 0 : ROLE_CHANGE;
      lastRole = role;
      const content = `${role} ${JSON.stringify(withoutCacheControl(block))}`;
      return { path, content, tokens: blockTokens(block, load) + change, settings: "" };
    });
}

export function promptOf(body: JsonObject, model: ModelRules, omitted: ReadonlySet<string> = new Set()): Prompt {
  const speed = `speed ${body["speed"] ?? "standard"}`;
  const system = systemBlocks(body).map((block, i): RawUnit => {
    const content = `system ${JSON.stringify(withoutCacheControl(block))}`;
    return { path: `system.${i}`, content, tokens: blockTokens(block, () => 0), settings: i === 0 ? speed : "" };
  });
  const messages = messageUnits(body, omitted);
  const first = messages[0];
  if (first) first.settings = (system.length === 0 ? speed : "") + messageSettings(body, model);

  const units: PromptUnit[] = [];
  let prefix = hash(String(body["model"]));
  let total = 0;
  for (const unit of [...toolUnits(body), ...system, ...messages]) {
    prefix = hash(prefix, unit.settings, unit.content);
    total += unit.tokens;
    const identity = hash(String(body["model"]), unit.content);
    units.push({ path: unit.path, tokens: unit.tokens, total, prefix, identity });
  }
  return { units, tokens: total };
}
