/** All of the kernel, for a host. Plugins import `./plugin`, UIs import `./protocol`. */
export { BadOutput, Breaker, type CallScope, describe, type GuardOptions, guard, type Ran, type Watch } from "./guard.ts";
export { CHARS_PER_TOKEN, runTurn, type TurnOptions } from "./loop.ts";
export * from "./machine.ts";
export * from "./plugin.ts";
export { POINT_IDS, POINTS, type Point } from "./points.ts";
export { type Entry, Registry } from "./registry.ts";
export type { TurnEnv } from "./stages.ts";
