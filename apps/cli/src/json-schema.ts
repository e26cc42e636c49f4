/** The schema that `--json-schema` names: read, and checked before anything starts. */
import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { checkOf, type Schema } from "@heddle/structured-output";
import { UsageError } from "./exit.ts";

/** `given`: JSON, or a file of it relative to `cwd`. Throws a {@link UsageError} that says what is wrong. */
export function schemaOf(given: string, cwd: string): Schema {
  const inline = given.trimStart().startsWith("{");
  const flag = inline ? "--json-schema" : `--json-schema ${given}`;
  const refuse = (why: string): UsageError => new UsageError(`${flag}: ${why}`);
  let schema: unknown;
  try {
    schema = JSON.parse((inline ? given : readFileSync(resolve(cwd, given), "utf8")).replace(/^\ufeff/, ""));
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    throw refuse(code === "ENOENT" ? "there is no such file, and it is no JSON object either" : message);
  }
  if (typeof schema !== "object" || schema === null || Array.isArray(schema)) throw refuse("a JSON Schema is a JSON object");
  try {
    checkOf(schema as Schema);
  } catch (error) {
    throw refuse((error as Error).message);
  }
  return schema as Schema;
}
