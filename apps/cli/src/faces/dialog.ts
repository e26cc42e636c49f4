/** What a person is shown before a tool call is allowed, and what the answer means. */
import type { Answer, Ask, Json } from "@heddle/kernel/protocol";
import { readSettingsFile } from "../config/file.ts";
import { LOCAL_SETTINGS } from "../config/home.ts";
import { visible } from "../plain.ts";
import { callText } from "./call-line.ts";

type Permission = Extract<Ask, { kind: "permission" }>;
/** Characters; what is longer is shown as it is. */
const MAX_DIFF = 500_000;

/** The whole of it, nothing left out and nothing invisible: the arguments, or for a change of a file what changes. */
export async function whatHappens({ call, effects }: Permission): Promise<string> {
  const { tool, input } = call;
  const fields = typeof input === "object" && input !== null && !Array.isArray(input) ? (input as { readonly [key: string]: Json }) : {};
  const changed = await changeOf(tool, fields);
  const path = fields["file_path"];
  const leads = effects.filter((e) => e.kind === "write" && typeof path === "string" && e.target !== path);
  const text = changed === undefined ? callText(tool, input) : [visible(tool), ...changed.map((line) => `  ${visible(line)}`)].join("\n");
  return [text, ...leads.map((e) => `  writes: ${visible(e.target)}`)].join("\n");
}

/** Undefined where there is nothing to compare. */
async function changeOf(tool: string, input: { readonly [key: string]: Json }): Promise<string[] | undefined> {
  const { file_path: path, old_string: old, new_string: now, content, replace_all: all, ...more } = input;
  if (typeof path !== "string" || Object.keys(more).length > 0) return undefined;
  if (tool === "Edit" && typeof old === "string" && typeof now === "string") {
    const lines = await diff(old, now);
    const where = all === true ? "wherever it stands" : "once";
    return lines && [`file_path: ${path}`, `${where}:`, ...lines.filter((l) => !/^@@|^\\/.test(l))];
  }
  if (tool !== "Write" || typeof content !== "string") return undefined;
  const before = currentText(path);
  const lines = before === content ? ["(nothing changes)"] : await diff(before ?? "", content);
  return lines && [`file_path: ${path}${before === undefined ? " (a new file)" : ""}`, ...lines];
}

async function diff(before: string, after: string): Promise<string[] | undefined> {
  if (before.length + after.length > MAX_DIFF) return undefined;
  const { structuredPatch } = await import("diff");
  const patch = structuredPatch("", "", before, after, "", "", { context: 3, timeout: 500 });
  return patch?.hunks.flatMap((h) => [`@@ line ${h.oldStart} @@`, ...h.lines]);
}

/** Undefined where nothing that can be read is there. */
function currentText(path: string): string | undefined {
  try {
    return readSettingsFile(path);
  } catch {
    return undefined;
  }
}

/** Why it is asked, by which rule, and what can be answered. */
export function choicesOf({ why, rule, offer = [] }: Permission): string {
  const by = rule === undefined || why.includes(rule) ? "" : ` (${visible(rule)})`;
  const rules = offer.map(visible).join(", ");
  const kept = rules === "" ? [] : [`  s for this session · a always, in ${LOCAL_SETTINGS}: ${rules}`];
  return [`${visible(why)}${by}`, "Allow? y once · n no · or say what to do instead", ...kept].join("\n");
}

/** `save`: its rules are to be kept for sessions to come. */
export type Said = Exclude<Answer, { kind: "allow" }> | (Extract<Answer, { kind: "allow" }> & { readonly save?: boolean });

/** Anything that is not clearly a yes is a no; a sentence is the reason. Undefined for nothing, and for a rule where none is offered. */
export function permissionAnswer(text: string, offer: readonly string[] = []): Said | undefined {
  if (/^y(es)?$/i.test(text)) return { kind: "allow" };
  if (/^[sa]$/i.test(text)) return offer.length > 0 ? { kind: "allow", rules: offer, save: /a/i.test(text) } : undefined;
  if (text === "") return undefined;
  return /^no?$/i.test(text) ? { kind: "deny" } : { kind: "deny", reason: text };
}
