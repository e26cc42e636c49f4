/** Answers to side requests and compactions, which use no step of the script. */

import { isObject, type Json, type JsonObject, objects } from "./json.ts";
import { type Random, randomText } from "./random.ts";
import { lastUserText } from "./request-kind.ts";
import type { ResolvedStep } from "./script.ts";

export const DEFAULT_SUMMARY = "<summary>\nThe user asked for a task. The work so far is done as asked.\n</summary>";
const TITLE = "Scripted task";

function sampleString(key: string): string {
  return /title|name/i.test(key) ? TITLE : "ok";
}

/** The smallest value that a schema accepts, with every property it names. */
export function sampleOf(schema: Json | undefined, key = "", depth = 0): Json {
  if (!isObject(schema) || depth > 8) return {};
  if (schema["const"] !== undefined) return schema["const"];
  if (schema["default"] !== undefined) return schema["default"];
  if (Array.isArray(schema["enum"])) return schema["enum"][0] ?? null;
  const branch = [schema["anyOf"], schema["oneOf"], schema["allOf"]].find(Array.isArray);
  if (branch) return sampleOf(branch[0], key, depth + 1);
  const type = Array.isArray(schema["type"]) ? schema["type"][0] : schema["type"];
  if (type === "string") return sampleString(key);
  if (type === "integer" || type === "number") return typeof schema["minimum"] === "number" ? schema["minimum"] : 0;
  if (type === "boolean") return false;
  if (type === "null") return null;
  if (type === "array") {
    const length = typeof schema["minItems"] === "number" ? schema["minItems"] : 0;
    return Array.from({ length }, () => sampleOf(schema["items"], key, depth + 1));
  }
  const properties = isObject(schema["properties"]) ? schema["properties"] : {};
  return Object.fromEntries(Object.entries(properties).map(([name, item]) => [name, sampleOf(item, name, depth + 1)]));
}

function minimalInput(tool: JsonObject | undefined): Json {
  const schema = tool?.["input_schema"];
  if (!isObject(schema)) return {};
  const required = Array.isArray(schema["required"]) ? schema["required"] : [];
  const properties = isObject(schema["properties"]) ? schema["properties"] : {};
  return Object.fromEntries(required.map((name) => [String(name), sampleOf(properties[String(name)], String(name))]));
}

function formatSchema(body: JsonObject): Json | undefined {
  const config = body["output_config"];
  const format = (isObject(config) ? config["format"] : undefined) ?? body["output_format"];
  return isObject(format) ? format["schema"] : undefined;
}

export function plainStep(text: string): ResolvedStep {
  return { thinking: undefined, text, calls: [], serverBlocks: [], stopReason: undefined };
}

export function sideStep(body: JsonObject, random: Random): ResolvedStep {
  const choice = body["tool_choice"];
  const tools = objects(body["tools"]);
  if (isObject(choice) && (choice["type"] === "any" || choice["type"] === "tool")) {
    const tool = choice["type"] === "tool" ? tools.find((item) => item["name"] === choice["name"]) : tools[0];
    const call = { id: `toolu_01q${randomText(random, 16)}`, name: String(tool?.["name"]), input: minimalInput(tool) };
    return { ...plainStep(""), text: undefined, calls: [call] };
  }
  const schema = formatSchema(body);
  if (schema !== undefined) return plainStep(JSON.stringify(sampleOf(schema)));
  const asked = `${JSON.stringify(body["system"] ?? "")} ${lastUserText(body)}`;
  return plainStep(/\btitle\b/i.test(asked) ? TITLE : "ok");
}
