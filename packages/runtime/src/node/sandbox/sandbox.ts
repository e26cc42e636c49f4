/** The process port with a sandbox: a decorator that runs what asks for it behind bubblewrap on Linux and seatbelt on macOS. */
import { existsSync, mkdtempSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Processes, ProcessOptions, ProcessResult } from "@heddle/kernel";
import type { NetworkAccess } from "../network-access.ts";
import { BRIDGE } from "./bridge.ts";
import { bubblewrapArgs } from "./bubblewrap.ts";
import { policyOf, unfit } from "./find-policy.ts";
import type { SandboxPolicy, SandboxSettings } from "./policy.ts";
import { seatbeltProfile } from "./seatbelt.ts";
import { Traces } from "./traces.ts";

const PROBE_MS = 5_000;
/** Never looked up in PATH, where a project can put programs. */
const BUBBLEWRAP = ["/usr/bin/bwrap", "/bin/bwrap", "/usr/local/bin/bwrap", "/run/current-system/sw/bin/bwrap"];
const SEATBELT = "/usr/bin/sandbox-exec";

/** In the folder that stands in for /tmp. */
const PROXY = ".heddle-proxy";
const hasProxy = (policy: SandboxPolicy): policy is SandboxPolicy & { readonly network: object } =>
  typeof policy.network === "object" && process.platform === "linux";

type Wrapped = { readonly command: string; readonly args: readonly string[] };

/** `variables`: the names in the environment that commands inherit. `access`: to the hosts that the settings open. */
export function sandboxedProcesses(
  port: Processes,
  settings: SandboxSettings,
  variables: readonly string[],
  access: NetworkAccess = {},
): Processes {
  const traces = new Traces();
  let scratch: string | undefined;
  let proxy: Promise<void> | undefined;
  let problem: Promise<string | undefined> | undefined;
  const onExit = (): void => {
    traces.removeAll();
    if (scratch !== undefined) rmSync(scratch, { recursive: true, force: true });
  };
  const policy = (): SandboxPolicy => {
    if (scratch === undefined) {
      scratch = realpathSync(mkdtempSync(join(settings.temporary ?? tmpdir(), "heddle-sandbox-")));
      process.once("exit", onExit);
    }
    return policyOf(settings, scratch, variables, traces.taken);
  };
  const sandboxProblem = (): Promise<string | undefined> => {
    problem ??= problemOf(port, settings, policy, traces);
    return problem;
  };
  return {
    async run(options): Promise<ProcessResult> {
      if (options.sandbox !== true) return port.run(options);
      const why = await sandboxProblem();
      if (why !== undefined) throw Object.assign(new Error(`no sandbox: ${why}`), { code: "ENOSANDBOX" });
      if (!isOnPath(options)) throw Object.assign(new Error(`${options.command}: not found`), { code: "ENOENT" });
      const by = policy();
      if (hasProxy(by)) {
        const { network } = by;
        proxy ??= import("./proxy.ts").then(({ startProxy }) => startProxy(join(by.scratch, PROXY), network, access));
        await proxy;
      }
      const end = traces.begin(by);
      try {
        return await port.run({ ...plain(options), ...wrap(by, options) });
      } finally {
        end();
      }
    },
    sandboxProblem,
  };
}

const plain = ({ sandbox: _, ...rest }: ProcessOptions): ProcessOptions => rest;

function wrap(policy: SandboxPolicy, { command, args = [], cwd }: ProcessOptions): Wrapped {
  if (process.platform === "darwin") {
    const environment = ["/usr/bin/env", ...policy.withoutVariables.flatMap((name) => ["-u", name]), `TMPDIR=${policy.scratch}`];
    return { command: SEATBELT, args: ["-p", seatbeltProfile(policy), ...environment, command, ...args] };
  }
  const bridge = hasProxy(policy) ? [process.execPath, "-e", BRIDGE, "--", `/tmp/${PROXY}`] : [];
  return { command: bubblewrap()!, args: [...bubblewrapArgs(policy, cwd), ...bridge, command, ...args] };
}

/** A program that is not there is no failure of the sandbox. */
const isOnPath = ({ command }: ProcessOptions): boolean =>
  command.includes("/") || (process.env["PATH"] ?? "").split(":").some((dir) => existsSync(join(dir, command)));

const bubblewrap = (): string | undefined => BUBBLEWRAP.find((path) => existsSync(path));

/** Tried with a program that does nothing. */
async function problemOf(
  port: Processes,
  settings: SandboxSettings,
  policy: () => SandboxPolicy,
  traces: Traces,
): Promise<string | undefined> {
  const wide = unfit(settings);
  if (wide !== undefined) return wide;
  if (process.platform !== "linux" && process.platform !== "darwin") return `there is none for ${process.platform}`;
  if (process.platform === "linux" && bubblewrap() === undefined)
    return "bubblewrap is not installed: install the package bubblewrap, 0.8 or newer";
  try {
    const by = policy();
    const end = traces.begin(by);
    const cwd = by.writable[0] ?? "/";
    const tried = await port.run({ ...wrap(by, { command: "/bin/sh", args: ["-c", ":"], cwd }), cwd, timeoutMs: PROBE_MS }).finally(end);
    return tried.ended === "exit" && tried.exitCode === 0 ? undefined : meaningOf(tried.output.trim() || `it ended with ${tried.exitCode}`);
  } catch (error) {
    return meaningOf((error as Error).message);
  }
}

/** What bubblewrap says, with what can be done. */
export function meaningOf(said: string): string {
  const first = said.split("\n", 1)[0]!;
  if (/disable-userns/.test(said)) return `bubblewrap is too old, 0.8 is needed (${first})`;
  if (/mount proc|mounting proc/i.test(said))
    return `this runs in a container that keeps /proc to itself; it has to be started with --security-opt systempaths=unconfined (${first})`;
  if (/namespace|uid map|setting up|loopback|Operation not permitted|Permission denied/i.test(said))
    return `the system lets no one make user namespaces: see the sysctls kernel.unprivileged_userns_clone and kernel.apparmor_restrict_unprivileged_userns, and in a container its seccomp profile (${first})`;
  return `it does not work here (${first})`;
}
