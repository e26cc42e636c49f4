/** For plugin authors: a scripted model, turns through the real runtime, the check of the plugin contract, golden turns. */
export { type TestFile, type TestFiles, type TestHostOptions, testHost } from "./host.ts";
export { type Reply, type ScriptedCall, type ScriptedModel, type ScriptedReply, scriptedModel } from "./model.ts";
export { type CheckOptions, type CheckReport, checkPlugin, type Finding } from "./node/check.ts";
export { candidateOf } from "./node/folder.ts";
export { type GoldenOptions, type GoldenTurn, goldenTurns } from "./node/golden.ts";
export { ownPlugin, type PluginMore, plugin, pluginOf } from "./plugin.ts";
export {
  explainAll,
  type Inputs,
  type LogLine,
  type RunOptions,
  type RunResult,
  runTurnWith,
  type StartOptions,
  startWith,
  type TestOpenOptions,
  type TestRuntime,
  type TestSession,
} from "./turn.ts";
