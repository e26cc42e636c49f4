/** The schemas of what contributions return. Nothing looks at a value before it has passed here. */
import * as z from "zod";
import { BadOutput } from "./guard.ts";

const text = z.string();
const maybe = text.optional();
const count = z.number().nonnegative();
const part = z.int().nonnegative();
const TextPart = z.object({ type: z.literal("text"), text });
const ImagePart = z.object({ type: z.literal("image"), mimeType: text, data: text });
const content = z.array(z.discriminatedUnion("type", [TextPart, ImagePart]));
const effort = z.enum(["low", "medium", "high", "xhigh", "max"]).optional();
const flag = z.boolean().optional();
const lasting = { model: maybe, effort };
const controls = z.object({ ...lasting, allowedTools: z.array(text).optional(), nextInput: maybe, submitNextInput: flag }).optional();
const yes = z.literal(true).optional();
const Change = z.object({ ...lasting, permissionMode: maybe, clear: yes, exit: yes });
const level = z.enum(["info", "warning", "error"]).optional();
const handled = { show: maybe, level, context: maybe, change: Change.optional(), controls };
const effects = ["read", "write", "execute", "network", "other"] as const;
const stops = ["end", "tool-calls", "length", "refusal", "pause", "overflow", "aborted"] as const;
const usage = z.object({ input: count, output: count, cacheRead: count.optional(), cacheWrite: count.optional() }).optional();
const retry = { cause: text, attempt: count, of: count, waitMs: count, message: text, model: maybe, status: count.optional() };
const lines = z.object({ added: count, removed: count }).optional();
const verdict = { rule: maybe, input: z.json().optional(), offer: z.array(text).optional() };

export const Returns = {
  classified: z.union([
    z.object({ as: z.literal("command"), command: text, args: text }),
    z.object({ as: z.literal("prompt"), content, isMeta: flag, controls }),
    z.undefined(),
  ]),
  command: z.discriminatedUnion("kind", [
    z.object({ kind: z.literal("handled"), ...handled }),
    z.object({ kind: z.literal("prompt"), content, controls }),
  ]),
  admitted: z.union([z.object({ say: z.literal("pass"), context: maybe }), z.object({ say: z.enum(["block", "stop"]), why: text })]),
  question: z.object({ text, choices: z.array(text).optional() }),
  text: maybe,
  texts: z.array(text),
  list: z.array(z.unknown()),
  json: z.json(),
  rendered: z.union([text, content]),
  content,
  verdict: z.union([
    z.object({ say: z.enum(["allow", "nothing"]), ...verdict }),
    z.object({ say: z.enum(["ask", "deny"]), why: text, ...verdict }),
  ]),
  tool: z.union([
    text.transform((content) => ({ content })),
    z.object({ content: z.union([text, content]), isError: flag, lines, loads: z.array(text).optional(), change: Change.optional() }),
  ]),
  effects: z.array(z.object({ kind: z.enum(effects), target: text, sandbox: z.enum(["inside", "outside"]).exactOptional() })),
  chunk: z.discriminatedUnion("type", [
    z.object({ type: z.literal("text"), part, text }),
    z.object({ type: z.literal("reasoning"), part, text, opaque: z.json().optional() }),
    z.object({ type: z.literal("call.delta"), part, text }),
    z.object({ type: z.literal("call"), part, callId: text.min(1), tool: text, input: z.json(), malformed: maybe }),
    z.object({ type: z.literal("part.end"), part }),
    z.object({ type: z.literal("usage"), usage: usage.unwrap() }),
    z.object({ type: z.literal("void"), why: text }),
    z.object({ type: z.literal("retry"), ...retry }),
    z.object({ type: z.literal("ping") }),
    z.object({ type: z.literal("stop"), stop: z.enum(stops), usage, reminder: maybe }),
  ]),
};

/** A copy with nothing in it that the schema does not name. Throws {@link BadOutput} with the path of what is wrong. */
export function must<T>(schema: z.ZodType, value: T): T {
  const r = schema.safeParse(value);
  if (r.success) return r.data as T;
  throw new BadOutput(r.error.issues.map((i) => `${i.path.join(".") || "value"}: ${i.message}`).join("; "));
}
