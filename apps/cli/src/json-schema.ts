/** The schema that `--json-schema` names: read, and checked before anything starts. */
import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { checkOf, type Schema } from "@heddle/structured-output";
import { UsageError } from "./exit.ts";

/** `given`: JSON, or a file of it relative to `cwd`. Throws a {@link UsageError} that says what is wrong. */
export function schemaOf(given: string, cwd: string): Schema {
  const inline = /^\s*[{[]/.test(given);
  const flag = inline ? "--json-schema" : `--json-schema ${given}`;
  const refuse = (why: string): UsageError => new UsageError(`${flag}: ${why}`);
  let text = given;
  try {
    if (!inline) text = readFileSync(resolve(cwd, given), "utf8");
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    if (code === "EISDIR") throw refuse("it is a folder: name the file of the schema");
    if (code !== "ENOENT") throw refuse(message);
    if (!isJson(given)) throw refuse("there is no such file, and it is no JSON object either");
  }
  let schema: unknown;
  try {
    schema = JSON.parse(text.replace(/^\ufeff/, ""));
  } catch (error) {
    throw refuse(`it is not JSON: ${(error as Error).message}`);
  }
  if (typeof schema !== "object" || schema === null || Array.isArray(schema))
    throw refuse(`a JSON Schema is a JSON object such as {"type":"object"} here, and this is ${kindOf(schema)}`);
  try {
    checkOf(schema as Schema);
  } catch (error) {
    throw refuse((error as Error).message);
  }
  return schema as Schema;
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
const kindOf = (it: unknown): string =>
  Array.isArray(it) ? "an array" : it === null || typeof it === "boolean" ? `"${it}"` : `a ${typeof it}`;
