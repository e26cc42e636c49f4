/** References to tools inside results: each to a tool of the request, and none beside other content. */

import { placedBlocks } from "./conversation.ts";
import { type JsonObject, objects } from "./json.ts";
import { refuse } from "./refusal.ts";

export function checkReferences(body: JsonObject): void {
  const names = new Set(objects(body["tools"]).map((tool) => tool["name"]));
  for (const { block, path } of placedBlocks(body)) {
    if (block["type"] !== "tool_result") continue;
    const items = objects(block["content"]);
    const references = items.filter((item) => item["type"] === "tool_reference");
    const unknown = references.find((item) => !names.has(item["tool_name"] ?? null));
    if (unknown) refuse(`Tool reference '${unknown["tool_name"]}' not found in available tools`);
    if (references.length > 0 && references.length < items.length)
      refuse(`${path}.tool_result: tool_reference blocks cannot be mixed with other content`);
  }
}
