/** The host of Node: the machine's clock, disk, processes, images and network. */
import { timersOf } from "../recovery/timers.ts";
import type { Host } from "../types.ts";
import { nodeDisk } from "./disk.ts";
import { nodeFiles } from "./files.ts";
import { idMaker } from "./ids.ts";
import { nodeImages } from "./images.ts";
import { type NetworkAccess, nodeNetwork } from "./network.ts";
import { environmentFor, nodeProcesses, type ProcessesOptions } from "./processes.ts";
import type { SandboxSettings } from "./sandbox/policy.ts";
import { sandboxedProcesses } from "./sandbox/sandbox.ts";
import { nodeStorage } from "./storage.ts";
import { nodeWatchdog, type WatchdogOptions } from "./watchdog.ts";

/** `env`: what commands inherit, in place of the environment of this process. `watchdog: null` watches nobody. Without `sandbox` there is none. */
export type NodeHostOptions = ProcessesOptions & {
  readonly watchdog?: WatchdogOptions | null;
  readonly network?: NetworkAccess;
  readonly sandbox?: SandboxSettings;
};

export function nodeHost(o: NodeHostOptions = {}): Host {
  const now = (): number => Date.now();
  const processes = nodeProcesses(o);
  return {
    now,
    id: idMaker(now),
    fs: nodeFiles(),
    processes: o.sandbox ? sandboxedProcesses(processes, o.sandbox, Object.keys(environmentFor(o)), o.network) : processes,
    storage: nodeStorage(),
    timers: timersOf(() => Math.random()),
    images: nodeImages(),
    network: nodeNetwork(o.network),
    disk: nodeDisk(),
    ...(o.watchdog === null ? {} : { watchdog: nodeWatchdog(o.watchdog) }),
  };
}
