/** Checks values against a JSON Schema of draft 2020-12; `definitions` and what else older drafts share with it work too. */
import type { Json } from "@heddle/kernel/plugin";
import { Ajv2020, type ErrorObject } from "ajv/dist/2020.js";
import { fullFormats } from "ajv-formats/dist/formats.js";
import { endlessPart } from "./endless.ts";

export type Schema = { readonly [key: string]: Json };
/** What is wrong with a value, one line each and at most ten; empty when it fits. */
export type Check = (value: Json) => readonly string[];

const SHOWN = 10;

/** Throws an Error that says what is wrong with the schema: a keyword, a pattern, a reference that leads nowhere or in a circle. Unknown keywords and formats are ignored. */
export function checkOf(schema: Schema): Check {
  // An older draft by its name would not be found, and a check that answers later would take everything.
  const { $schema: _, $async: __, ...bare } = schema;
  // Making its code shorter takes time that grows with the square of the schema.
  const code = { optimize: false };
  const ajv = new Ajv2020({ strict: false, allErrors: true, logger: false, formats: fullFormats, code });
  if (!ajv.validateSchema(bare)) throw new Error(linesOf(ajv.errors, "the schema")[0]);
  const endless = endlessPart(bare);
  if (endless !== undefined) throw new Error(`${endless} leads back to itself without an end: no answer could ever be checked`);
  const validate = ajv.compile(bare);
  return (value) => (validate(value) ? [] : linesOf(validate.errors, "the answer"));
}

function linesOf(errors: readonly ErrorObject[] | null | undefined, whole: string): string[] {
  const lines = [...new Set((errors ?? []).map((error) => `${error.instancePath || whole} ${error.message}${detailOf(error)}`))];
  const more = lines.length - SHOWN;
  return more > 0 ? [...lines.slice(0, SHOWN), `and ${more} more`] : lines;
}

/** What the message leaves out. */
function detailOf({ params }: ErrorObject): string {
  const { additionalProperty, unevaluatedProperty, allowedValues, allowedValue } = params;
  const detail = additionalProperty ?? unevaluatedProperty ?? allowedValues ?? allowedValue;
  return detail === undefined ? "" : `: ${JSON.stringify(detail)}`;
}
