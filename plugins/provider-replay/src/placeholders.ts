/** `{{name}}` in the strings of a tape: filled in when it is played, put in when it is recorded. */
import type { Json } from "@heddle/kernel/plugin";

const PLACEHOLDER = /\{\{([A-Za-z][A-Za-z0-9_]*)\}\}/g;
/** Stands for two braces, so that text which looks like a placeholder can be recorded. */
const OPEN = "open";

/** What is not in `vars` stays as it is. A value is not looked at again. */
export function fill(text: string, vars: ReadonlyMap<string, string>): string {
  return text.replace(PLACEHOLDER, (whole, name: string) => (name === OPEN ? "{{" : (vars.get(name) ?? whole)));
}

/** The reverse of {@link fill} with `cwd`: `fill(abstract(text, cwd), vars)` is `text`, whatever else is in `vars`. */
export function abstract(text: string, cwd: string): string {
  const path = cwd.length > 1 ? `(?<![\\w.-])(${cwd.replace(/[\\^$.*+?()[\]{}|]/g, "\\$&")})(?![\\w-]|\\.\\w)|` : "";
  const found = new RegExp(`${path}\\{\\{(?=[A-Za-z][A-Za-z0-9_]*\\}\\})`, "g");
  return text.replace(found, (whole) => (whole === "{{" ? `{{${OPEN}}}` : "{{cwd}}"));
}

/** Keys of objects are strings too. */
export function mapStrings<T extends Json>(value: T, map: (text: string) => string): T {
  const walk = (v: Json): Json => {
    if (typeof v === "string") return map(v);
    if (Array.isArray(v)) return v.map(walk);
    if (v === null || typeof v !== "object") return v;
    return Object.fromEntries(Object.entries(v as { [key: string]: Json }).map(([key, it]) => [map(key), walk(it)]));
  };
  return walk(value) as T;
}
