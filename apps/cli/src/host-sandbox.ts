/** The sandbox of the settings, as the host and the plugins are told of it. */
import { join, resolve } from "node:path";
import type { SandboxNetwork, SandboxSettings } from "@heddle/runtime/node";
import type { Config, ScopedRule } from "./config/read.ts";
import { isPattern } from "./config/sandbox.ts";

export const sandboxOptions = ({ sandbox }: Config): object =>
  sandbox.use === "off" ? {} : { sandbox: sandbox.use, mayLeaveSandbox: sandbox.mayLeave };

/** With the whole network open a sandbox keeps nothing in, so what runs in it is asked for as ever. */
export const isUnasked = ({ sandbox }: Config): boolean => sandbox.use !== "off" && sandbox.unasked && !sandbox.domains.includes("*");

/** Undefined where no sandbox is wanted. Rules that deny reading or editing a plain path count in it too. */
export function hostSandbox(
  { sandbox, home: state, rules }: Config,
  roots: readonly string[],
  userDir: string,
): SandboxSettings | undefined {
  if (sandbox.use === "off") return undefined;
  const denied = (tool: string): string[] => rules.deny.flatMap((rule) => pathOf(rule, tool, roots[0]!, userDir) ?? []);
  return {
    ...{ roots, home: userDir, state, network: networkOf({ sandbox, rules }), allowWrite: sandbox.allowWrite },
    denyWrite: [...sandbox.denyWrite, ...denied("Edit")],
    denyRead: [...sandbox.denyRead, ...denied("Read")],
  };
}

export function networkOf({ sandbox, rules }: Pick<Config, "sandbox" | "rules">): SandboxNetwork {
  const { domains: allow, deniedDomains } = sandbox;
  const ruled = rules.deny.flatMap(({ rule }) =>
    typeof rule === "string" ? (/^WebFetch\(domain:(.+)\)$/.exec(rule.trim())?.[1] ?? []) : [],
  );
  const deny = [...deniedDomains, ...ruled];
  if (allow.length === 0) return "off";
  return allow.includes("*") && deny.length === 0 ? "on" : { allow, deny };
}

function pathOf({ rule, dir }: ScopedRule, tool: string, cwd: string, userDir: string): string | undefined {
  const text = typeof rule === "string" ? new RegExp(`^${tool}\\((.+?)(/\\*\\*)?\\)$`).exec(rule.trim())?.[1] : undefined;
  if (text === undefined || isPattern(text)) return undefined;
  if (text.startsWith("//")) return text.slice(1);
  if (text.startsWith("~/")) return join(userDir, text.slice(2));
  return text.startsWith("/") ? join(dir, text) : resolve(cwd, text);
}
