/** The plugin that connects heddle to OpenAI and to every server that speaks its APIs. */
import { definePlugin } from "@heddle/kernel/plugin";
import { KIND_NAMES, kindOf } from "./kinds.ts";
import { Options, serverOf } from "./options.ts";
import { createProvider } from "./provider.ts";

export { KIND_NAMES, type KindName } from "./kinds.ts";
export type { ListedModel } from "./list.ts";
export type { OpenAIProvider } from "./provider.ts";

export default definePlugin({
  options: Options,
  setup: ({ options }) => ({
    providers: KIND_NAMES.map((name) => createProvider(serverOf(kindOf(name), options[name], options.fetch))),
  }),
});
