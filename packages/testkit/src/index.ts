/** For plugin authors: a scripted model, turns through the real runtime, the check of the plugin contract, golden turns. */
export { type Reply, type ScriptedCall, type ScriptedModel, type ScriptedReply, scriptedModel } from "./model.ts";
export { type CheckOptions, type CheckReport, checkPlugin, type Finding } from "./node/check.ts";
export { candidateOf } from "./node/folder.ts";
export { type GoldenOptions, type GoldenTurn, goldenTurns } from "./node/golden.ts";
export { type PluginMore, plugin } from "./plugin.ts";
export { explainAll, type RunOptions, type RunResult, runTurnWith } from "./turn.ts";
