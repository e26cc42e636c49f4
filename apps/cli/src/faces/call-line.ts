/** A tool call in one line, as a person would say it. */
import type { Json } from "@heddle/kernel/protocol";
import { visible, visibleLine } from "../plain.ts";

const TELLING = ["command", "file_path", "pattern", "path", "url", "query", "description", "prompt"];

/** Its name and its most telling argument; paths inside `cwd` without it. Cut at 120 characters, and nothing before that is left out. */
export function callLine(tool: string, input: Json, cwd?: string): string {
  const text = telling(input);
  return visibleLine(`${tool} ${cwd === undefined ? text : text.replaceAll(`${cwd}/`, "")}`, 120);
}

/** The whole of it, over several lines, nothing left out: what a person is asked to allow. */
export function callText(tool: string, input: Json): string {
  const fields = typeof input === "object" && input !== null && !Array.isArray(input) ? Object.entries(input) : [["input", input] as const];
  const shown = fields.map(([key, value]) => {
    const text = visible(typeof value === "string" ? value : JSON.stringify(value));
    return text.includes("\n") ? `${visible(key)}:\n${text.replace(/^/gm, "  ")}` : `${visible(key)}: ${text}`;
  });
  return [visible(tool), ...shown.map((s) => s.replace(/^/gm, "  "))].join("\n");
}

function telling(input: Json): string {
  if (typeof input !== "object" || input === null || Array.isArray(input)) return JSON.stringify(input) ?? "";
  const fields = input as { readonly [key: string]: Json };
  const key = TELLING.find((k) => typeof fields[k] === "string");
  return key === undefined ? JSON.stringify(input) : (fields[key] as string);
}
