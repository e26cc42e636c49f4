/** The policy as a profile of seatbelt, on macOS. */
import type { SandboxPolicy } from "./policy.ts";

/** What programs need of the system to run at all, besides files. */
const BASE = ["(version 1)", "(deny default)", "(allow process*)", "(allow signal (target same-sandbox))", "(allow sysctl-read)"];
const DEVICES = ["/dev/null", "/dev/zero", "/dev/random", "/dev/urandom", "/dev/dtracehelper", "/dev/tty"];

/** Rules that come later count. A name is a path with its links resolved, as the system compares them. */
export function seatbeltProfile({ writable, fixed, hidden, scratch, network }: SandboxPolicy): string {
  const below = (paths: readonly string[]): string => paths.map((p) => ` (subpath ${quoted(p)})`).join("");
  const files = (rule: string, paths: readonly string[]): string[] => (paths.length === 0 ? [] : [`(${rule}${below(paths)})`]);
  const kept = fixed.map((f) => f.path);
  return [
    ...BASE,
    '(allow mach-lookup (global-name "com.apple.system.opendirectoryd.libinfo") (global-name "com.apple.system.logger"))',
    "(allow file-read*)",
    `(allow file-write-data file-ioctl${DEVICES.map((d) => ` (literal ${quoted(d)})`).join("")})`,
    ...files("allow file-write*", [...writable, scratch]),
    ...files("deny file-write*", kept),
    ...files(
      "deny file-read* file-write*",
      hidden.map((h) => h.path),
    ),
    ...(network === "on" ? ["(allow network*)"] : []),
  ].join("\n");
}

const quoted = (path: string): string => `"${path.replace(/[\\"]/g, "\\$&")}"`;
