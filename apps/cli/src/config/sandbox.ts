/** What settings say of the sandbox: the word or the object of each file, put together by rank. */
import type { Settings } from "./settings.ts";

/** `use`: not at all, where it works, or nothing runs without it. `unasked`: what runs in it is not asked for. */
export type Sandbox = {
  use: "off" | "auto" | "on";
  unasked: boolean;
  /** A command can be asked to run outside. */
  mayLeave: boolean;
  /** Hosts that may be reached, `*` for all; and those that may not all the same. */
  domains: string[];
  deniedDomains: string[];
  allowWrite: string[];
  denyWrite: string[];
  denyRead: string[];
};
export const noSandbox = (): Sandbox => ({
  ...{ use: "off", unasked: false, mayLeave: true, domains: [], deniedDomains: [] },
  ...{ allowWrite: [], denyWrite: [], denyRead: [] },
});

const USES = ["off", "auto", "on"] as const;
type Given = NonNullable<Settings["sandbox"]>;
type Said = { readonly mine: boolean; readonly notice: (text: string) => void; readonly withhold: (what: string, why: string) => void };

/** A file that is not `mine` may only tighten. */
export function mergeSandbox(sandbox: Sandbox, given: Given, { mine, notice, withhold }: Said, path: (p: string) => string): void {
  const said = typeof given === "string" ? { use: given } : fromObject(given);
  const object = typeof given === "string" ? {} : given;
  const loosens = (what: string): void => withhold(`sandbox.${what}`, "a project may make the sandbox tighter and never looser");
  if (said.use !== undefined) {
    if (mine || USES.indexOf(said.use) >= USES.indexOf(sandbox.use)) sandbox.use = said.use;
    else withhold("sandbox", "a project may make the sandbox tighter and never looser");
  }
  const unasked = typeof given === "string" ? (mine ? given !== "off" : undefined) : given.autoAllowBashIfSandboxed;
  if (unasked !== undefined) {
    if (mine || !unasked) sandbox.unasked = unasked;
    else loosens("autoAllowBashIfSandboxed");
  }
  if (object.allowUnsandboxedCommands !== undefined) {
    if (mine || !object.allowUnsandboxedCommands) sandbox.mayLeave = object.allowUnsandboxedCommands;
    else loosens("allowUnsandboxedCommands");
  }
  const { allowedDomains, deniedDomains = [] } = object.network ?? {};
  if (allowedDomains?.length === 0) sandbox.domains = [];
  else if (allowedDomains !== undefined) {
    if (mine) sandbox.domains.push(...allowedDomains);
    else loosens("network.allowedDomains");
  }
  sandbox.deniedDomains.push(...deniedDomains);
  const { allowWrite, denyWrite, denyRead } = object.filesystem ?? {};
  if (allowWrite?.length) {
    if (mine) sandbox.allowWrite.push(...plain("allowWrite", allowWrite, notice).map(path));
    else loosens("filesystem.allowWrite");
  }
  sandbox.denyWrite.push(...plain("denyWrite", denyWrite ?? [], notice).map(path));
  sandbox.denyRead.push(...plain("denyRead", denyRead ?? [], notice).map(path));
  if (object.excludedCommands?.length)
    notice("sandbox.excludedCommands has no effect: a command that the sandbox stops can be asked to run outside");
}

function fromObject({ enabled, failIfUnavailable }: Exclude<Given, string>): { use?: Sandbox["use"] } {
  if (enabled === undefined) return failIfUnavailable ? { use: "on" } : {};
  return { use: !enabled ? "off" : failIfUnavailable ? "on" : "auto" };
}

function plain(key: string, paths: readonly string[], notice: (text: string) => void): string[] {
  for (const path of paths.filter(isPattern))
    notice(`sandbox.filesystem.${key}: "${path}" is a pattern, and only paths can be used: name the paths`);
  return paths.filter((path) => !isPattern(path));
}
export const isPattern = (path: string): boolean => /[*?[\]!]/.test(path);
