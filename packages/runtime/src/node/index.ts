/** Node behind the runtime: its host, and the discovery of plugins on disk. */
export { type Discovered, type DiscoverOptions, discoverPlugins } from "./discover.ts";
export { nodeFiles } from "./files.ts";
export { type NodeHostOptions, nodeHost } from "./host.ts";
export { idMaker } from "./ids.ts";
export { imageLibrary, nodeImages } from "./images.ts";
export { type NetworkAccess, nodeNetwork } from "./network.ts";
export { environmentFor, nodeProcesses, type ProcessesOptions } from "./processes.ts";
export type { SandboxNetwork, SandboxSettings } from "./sandbox/policy.ts";
export { sandboxedProcesses } from "./sandbox/sandbox.ts";
export { nodeStorage } from "./storage.ts";
export { nodeWatchdog, type WatchdogOptions } from "./watchdog.ts";
