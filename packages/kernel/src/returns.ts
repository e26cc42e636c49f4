/** The schemas of what contributions return. Nothing looks at a value before it has passed here. */
import * as z from "zod";
import { BadOutput } from "./guard.ts";

const Content = z.array(
  z.discriminatedUnion("type", [
    z.object({ type: z.literal("text"), text: z.string() }),
    z.object({ type: z.literal("image"), mimeType: z.string(), data: z.string() }),
  ]),
);
const EffortLevel = z.enum(["low", "medium", "high", "xhigh", "max"]);
const Controls = z.object({
  allowedTools: z.array(z.string()).optional(),
  model: z.string().optional(),
  effort: EffortLevel.optional(),
  nextInput: z.string().optional(),
  submitNextInput: z.boolean().optional(),
});
const Change = z.object({
  model: z.string().optional(),
  effort: EffortLevel.optional(),
  permissionMode: z.string().optional(),
  clear: z.literal(true).optional(),
  exit: z.literal(true).optional(),
});
const why = z.string();
const Part = z.number().int().nonnegative();
const Count = z.number().nonnegative();

export const Returns = {
  classified: z.union([
    z.object({ as: z.literal("command"), command: z.string(), args: z.string() }),
    z.object({ as: z.literal("prompt"), content: Content, isMeta: z.boolean().optional(), controls: Controls.optional() }),
    z.undefined(),
  ]),
  command: z.discriminatedUnion("kind", [
    z.object({
      kind: z.literal("handled"),
      show: z.string().optional(),
      level: z.enum(["info", "warning", "error"]).optional(),
      context: z.string().optional(),
      change: Change.optional(),
      controls: Controls.optional(),
    }),
    z.object({ kind: z.literal("prompt"), content: Content, controls: Controls.optional() }),
  ]),
  admitted: z.union([
    z.object({ say: z.literal("pass"), context: z.string().optional() }),
    z.object({ say: z.enum(["block", "stop"]), why }),
  ]),
  text: z.string().optional(),
  texts: z.array(z.string()),
  list: z.array(z.unknown()),
  json: z.json(),
  rendered: z.union([z.string(), Content]),
  content: Content,
  verdict: z.union([
    z.object({ say: z.enum(["allow", "nothing"]), rule: z.string().optional(), input: z.json().optional() }),
    z.object({ say: z.enum(["ask", "deny"]), why, rule: z.string().optional(), input: z.json().optional() }),
  ]),
  tool: z.union([z.string(), z.object({ content: z.union([z.string(), Content]), isError: z.boolean().optional() })]),
  effects: z.array(z.object({ kind: z.enum(["read", "write", "execute", "network", "other"]), target: z.string() })),
  chunk: z.discriminatedUnion("type", [
    z.object({ type: z.literal("text"), part: Part, text: z.string() }),
    z.object({ type: z.literal("reasoning"), part: Part, text: z.string(), opaque: z.json().optional() }),
    z.object({ type: z.literal("call.delta"), part: Part, text: z.string() }),
    z.object({
      type: z.literal("call"),
      part: Part,
      callId: z.string().min(1),
      tool: z.string(),
      input: z.json(),
      malformed: z.string().optional(),
    }),
    z.object({ type: z.literal("ping") }),
    z.object({
      type: z.literal("stop"),
      stop: z.enum(["end", "tool-calls", "length", "refusal", "pause", "overflow"]),
      usage: z.object({ input: Count, output: Count, cacheRead: Count.optional(), cacheWrite: Count.optional() }).optional(),
    }),
  ]),
};

/** Throws {@link BadOutput} with the path of what is wrong. */
export function must<T>(schema: z.ZodType<T>, value: unknown): T {
  const r = schema.safeParse(value);
  if (r.success) return r.data;
  throw new BadOutput(r.error.issues.map((i) => `${i.path.join(".") || "value"}: ${i.message}`).join("; "));
}
