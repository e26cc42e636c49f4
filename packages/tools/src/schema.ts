/** The JSON Schema that a model reads, without what says nothing to it. */
import { type Json, z } from "@heddle/kernel/plugin";

export function leanSchema(schema: z.ZodType): Json {
  const { $schema: _dialect, ...rest } = z.toJSONSchema(schema, { io: "input" });
  const text = JSON.stringify(rest, (key, value: unknown) => (key === "minLength" || key === "minimum" ? undefined : value));
  return JSON.parse(text) as Json;
}
