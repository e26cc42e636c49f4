/** The SDK: plugins, sessions, and the table that explains a turn. */
export { type ExplainOptions, explain, explainData, type TurnTable } from "./explain.ts";
export { Manifest, type ManifestInput } from "./manifest.ts";
export { changed, PluginRegistry } from "./plugins/registry.ts";
export { type Started, type StartOptions, startPlugins } from "./plugins/start.ts";
export { createRuntime } from "./runtime.ts";
export { circlesOf, meaningOf } from "./session/aliases.ts";
export { FailureBreaker } from "./session/breaker.ts";
export { type Cost, RUNTIME } from "./session/cost.ts";
export * from "./types.ts";
