/** Whether a command runs in the host's sandbox, and what is said of one that the sandbox seems to have stopped. */
import { type CallContext, PROCESS, type ProcessResult } from "@heddle/kernel/plugin";
import { wentWell } from "./ending.ts";

/** `auto`: where it works. `on`: no command runs without it. `mayLeave`: whether a command can be asked to run outside. */
export type SandboxUse = { readonly use: "off" | "auto" | "on"; readonly mayLeave: boolean };
/** `refusal`: why it must not run. `missing`: why it runs without a sandbox that was wanted. */
export type Placed = { readonly sandbox?: "inside" | "outside"; readonly refusal?: string; readonly missing?: string };

/** `leave`: the model wants it outside. The same for as long as the session lasts. */
export async function placeOf(leave: boolean | undefined, ctx: CallContext, { use, mayLeave }: SandboxUse): Promise<Placed> {
  if (use === "off") return {};
  const port = ctx.capability(PROCESS);
  const problem = port.sandboxProblem ? await port.sandboxProblem() : "this host has none";
  if (problem !== undefined)
    return use === "auto"
      ? { missing: problem }
      : { refusal: `The settings let no command run without a sandbox, and there is none: ${problem}. Tell the person.` };
  if (!leave) return { sandbox: "inside" };
  if (mayLeave) return { sandbox: "outside" };
  return { refusal: "The settings let no command run outside the sandbox. Do without, or tell the person." };
}

const NETWORK =
  /could not resolve|name resolution|name or service not known|network is unreachable|ENOTFOUND|EAI_AGAIN|ENETUNREACH|ECONNREFUSED|failed to connect|tunnel failed|settings of the sandbox|nodename nor servname/i;
const FILES = /read-only file system|EROFS|operation not permitted|EPERM|permission denied|EACCES|device or resource busy|EBUSY|^bwrap: /im;

/** Undefined where nothing in the output of a failed command speaks of the sandbox. */
export function blockedNote(result: ProcessResult, output: string, mayLeave: boolean): string | undefined {
  if (wentWell(result) || result.ended !== "exit") return undefined;
  const kept = [
    ...(NETWORK.test(output) ? ["it reaches no network that the settings do not open"] : []),
    ...(FILES.test(output) ? ["files outside the workspace, and some in it, cannot be changed"] : []),
  ];
  if (kept.length === 0) return undefined;
  const next = mayLeave
    ? "with dangerouslyDisableSandbox the person is asked whether it may run outside"
    : "the settings let nothing run outside";
  return `[The sandbox may be why: ${kept.join("; ")}. If so, ${next}.]`;
}
