/** A tool that behaves as another one does, but for what is put in its place. */
import type { Tool } from "@heddle/kernel";

const FIELDS: { readonly [K in keyof Required<Tool>]: true } = {
  name: true,
  description: true,
  input: true,
  jsonSchema: true,
  aliases: true,
  deadlineMs: true,
  outputLimit: true,
  graceMs: true,
  isEnabled: true,
  deferred: true,
  interrupt: true,
  failureCancels: true,
  observable: true,
  effects: true,
  overlap: true,
  run: true,
};

/** Fields are read when they are asked for, since a schema takes time to make; methods see the tool that they belong to. */
export function around(tool: Tool, instead: Partial<Tool>): Tool {
  const made = {};
  for (const key of Object.keys(FIELDS) as (keyof Tool)[]) {
    if (!(key in tool) || key in instead) continue;
    const get = (): unknown => {
      const value: unknown = tool[key];
      return typeof value === "function" ? value.bind(tool) : value;
    };
    Object.defineProperty(made, key, { enumerable: true, get });
  }
  return Object.defineProperties(made, Object.getOwnPropertyDescriptors(instead)) as Tool;
}
