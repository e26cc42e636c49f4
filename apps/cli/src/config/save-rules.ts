/** Writes rules that a person wants to keep into the settings of a project that are their own. */
import { lstatSync } from "node:fs";
import { dirname, join } from "node:path";
import { applyEdits, findNodeAtLocation, modify, type ParseError, parseTree } from "jsonc-parser";
import { editFile } from "./edit-file.ts";
import { LOCAL_SETTINGS } from "./home.ts";

const FORMAT = { formattingOptions: { insertSpaces: true, tabSize: 2 } };

/** Comments and everything else in the file stay. Throws an error that says why the rules were not saved. */
export async function saveRules(cwd: string, rules: readonly string[]): Promise<void> {
  const path = join(cwd, LOCAL_SETTINGS);
  // A repository may bring a link that leads into another folder.
  for (const part of [dirname(path), path])
    if (lstatSync(part, { throwIfNoEntry: false })?.isSymbolicLink()) throw new Error(`${part} is a link: make it a file or folder`);
  await editFile(path, (text) => withRules(text, rules));
}

/** The text of a settings file with these rules among those that allow; one that is there already is not added. */
export function withRules(before: string | undefined, rules: readonly string[]): string {
  const given = (before ?? "").replace(/^\ufeff/, "");
  let text = given.trim() === "" ? "{}\n" : given;
  for (const rule of rules) {
    const errors: ParseError[] = [];
    const root = parseTree(text, errors, { allowTrailingComma: true, disallowComments: false });
    if (errors.length > 0 || root?.type !== "object") throw new Error(`${LOCAL_SETTINGS} cannot be read: correct it first`);
    const list = findNodeAtLocation(root, ["permissions", "allow"]);
    const within = findNodeAtLocation(root, ["permissions"]);
    if ((list && list.type !== "array") || (within && within.type !== "object"))
      throw new Error(`permissions.allow in ${LOCAL_SETTINGS} is not a list: correct it first`);
    if (list?.children?.some((n) => n.value === rule)) continue;
    const edits = list
      ? modify(text, ["permissions", "allow", list.children?.length ?? 0], rule, { ...FORMAT, isArrayInsertion: true })
      : modify(text, ["permissions", "allow"], [rule], FORMAT);
    text = applyEdits(text, edits);
  }
  return text;
}
