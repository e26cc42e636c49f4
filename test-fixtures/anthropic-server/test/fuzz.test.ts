/** Whatever a client sends, the validator answers; it never throws. */

import { expect, it } from "vitest";
import { type Json, type JsonObject, ThinkingSigner, validate } from "../src/index.ts";
import { isObject } from "../src/json.ts";
import { type Random, seededRandom } from "../src/random.ts";
import { assistant, body, call, HEADERS, result, system, TOOL, text, user } from "./helpers.ts";
import { pdf, png } from "./media.ts";

const JUNK: Json[] = [null, 5, -1, 0.5, true, "", " ", "junk", [], {}, [null], [[]], { type: "junk" }, { type: null }];

function places(value: Json, path: (string | number)[] = []): (string | number)[][] {
  if (Array.isArray(value)) return [path, ...value.flatMap((item, i) => places(item, [...path, i]))];
  if (!isObject(value)) return [path];
  return [path, ...Object.entries(value).flatMap(([key, item]) => places(item ?? null, [...path, key]))];
}

function pick<T>(items: readonly T[], random: Random): T {
  return items[Math.floor(random() * items.length)] as T;
}

function spoil(source: JsonObject, random: Random): Json {
  const copy = structuredClone(source);
  const path = pick(places(copy), random);
  const junk = structuredClone(pick(JUNK, random));
  if (path.length === 0) return junk;
  let parent = copy as Record<string | number, Json>;
  for (const key of path.slice(0, -1)) parent = parent[key] as Record<string | number, Json>;
  const last = path.at(-1)!;
  if (random() < 0.2) delete parent[last];
  else parent[last] = junk;
  return copy;
}

const RICH = body({
  system: [text("be good", { cache_control: { type: "ephemeral", ttl: "1h" } })],
  tools: [TOOL, { ...TOOL, name: "late", defer_loading: true }, { type: "bash_20250124", name: "bash" }],
  tool_choice: { type: "auto" },
  thinking: { type: "adaptive", display: "omitted", block_binding: { prefix_mismatch_behavior: "drop_block" } },
  output_config: { effort: "low" },
  context_management: { edits: [] },
  metadata: { user_id: "me" },
  cache_control: { type: "ephemeral" },
  messages: [
    user([text("x"), { type: "image", source: { type: "base64", media_type: "image/png", data: png(5, 5) } }]),
    system([{ type: "tool_addition", tool: { type: "tool_reference", name: "late" } }]),
    assistant([text("y"), call("a"), call("b")]),
    user([
      result("a", { content: [{ type: "tool_reference", tool_name: "late" }] }),
      result("b", { content: "no", is_error: true }),
      { type: "document", source: { type: "base64", media_type: "application/pdf", data: pdf(1) } },
    ]),
    system([], { output_config: { effort: "high" } }),
  ],
});

const BETAS =
  "context-management-2025-06-27,thinking-binding-controls-2026-08-01,mid-conversation-tool-changes-2026-07-01,mid-conversation-output-config-2026-07-01";

it("takes the request that the others are made from", () => {
  expect(validate(RICH, { ...HEADERS, "anthropic-beta": BETAS })).toBeUndefined();
});

it("never throws on a spoiled request", () => {
  const random = seededRandom(42);
  const signer = new ThinkingSigner("x");
  let refused = 0;
  for (let n = 0; n < 5000; n++) {
    const once = spoil(RICH, random);
    const request = isObject(once) && n % 2 ? spoil(once, random) : once;
    const betas = n % 3 ? { "anthropic-beta": BETAS } : {};
    const endpoint = n % 7 ? "messages" : "count_tokens";
    if (validate(request, { ...HEADERS, ...betas }, { signer, endpoint })) refused += 1;
  }
  expect(refused).toBeGreaterThan(3000);
});
