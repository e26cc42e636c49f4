/** All of the kernel, for a host. Plugins import `./plugin`, UIs import `./protocol`. */
export { BadOutput, type CallScope, describe, type GuardOptions, guard, type Ran, type Watch } from "./guard.ts";
export { CHARS_PER_TOKEN, runTurn, type TurnOptions, typed, userMessage } from "./loop.ts";
export * from "./machine.ts";
export * from "./plugin.ts";
export { POINT_IDS, POINTS, type Point } from "./points.ts";
export type { Entry, Registry } from "./registry.ts";
export { must, Returns } from "./returns.ts";
export { attachment, type Breaker, noteOf, runOne, type StageEnv, sizeOf, type TurnEnv, total } from "./stages.ts";
