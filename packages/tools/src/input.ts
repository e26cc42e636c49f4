/** Tool input as models really send it: numbers, booleans and lists as strings and nulls for what is left out are read as what they mean. */
import { z } from "@heddle/kernel/plugin";

type Shape = Record<string, z.ZodType>;

/** An object schema that takes `"10"` for 10, `"false"` for false, a list in JSON for the list, and null for absent. Its JSON Schema is that of the plain object. */
export const lenient = <S extends Shape>(shape: S) => z.preprocess((raw) => soften(raw, shape), z.object(shape));

function soften(raw: unknown, shape: Shape): unknown {
  if (typeof raw !== "object" || raw === null || Array.isArray(raw)) return raw;
  const out: Record<string, unknown> = {};
  for (const [key, value] of Object.entries(raw)) {
    if (value === null) continue;
    out[key] = typeof value === "string" ? meant(value, Object.hasOwn(shape, key) ? kindOf(shape[key]!) : "string") : value;
  }
  return out;
}

function meant(value: string, kind: string): unknown {
  const text = value.trim().toLowerCase();
  if (kind === "number" && /^-?\d+(\.\d+)?$/.test(text)) return Number(text);
  if (kind === "boolean" && (text === "true" || text === "false")) return text === "true";
  if (kind === "array" && text.startsWith("[")) return listIn(value);
  return value;
}

function listIn(value: string): unknown {
  try {
    return JSON.parse(value);
  } catch {
    return value;
  }
}

function kindOf(schema: z.ZodType): string {
  return schema instanceof z.ZodOptional ? kindOf(schema.unwrap() as z.ZodType) : schema.type;
}

/** A count of lines or entries: whole and not negative. */
export const count = z.number().min(0).optional();
export const flag = z.boolean().optional();
